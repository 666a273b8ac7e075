"""What gradient methods are known to do, on convex losses that are small enough to be written out; optax has them.

Equations are those of the machine learning notes, chapter 2, with their slips mended: steps go down, Adam corrects its
bias and adds ε outside of the root, backpropagation multiplies by the derivative of the activation.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tiers import slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)) * [1, 2, 0.5, 3]
Y = (RNG.random(200) < 1 / (1 + np.exp(-X @ [1, -0.5, 2, 0.2]))).astype(float)


@pytest.fixture(autouse=True)
def _in_64_bits():
    with jax.enable_x64(True):
        yield


def logistic(theta, x=X, y=Y):
    score = x @ theta
    return jnp.mean(jnp.logaddexp(0, score) - y * score)


def test_a_step_of_one_over_the_curvature_descends_as_the_lemma_says():
    curvature = np.linalg.eigvalsh(X.T @ X)[-1] / (4 * len(X))
    for start in RNG.normal(size=(20, 4)) * 3:
        gradient = jax.grad(logistic)(jnp.asarray(start))
        after = logistic(start - gradient / curvature)
        assert after <= logistic(start) - jnp.sum(gradient**2) / (2 * curvature) + 1e-15


def gradients(steps):
    return RNG.normal(size=(steps, 5)) * [1, 10, 0.1, 1, 0]


def taken(optimizer, gradients):
    theta = jnp.zeros(gradients.shape[1])
    state = optimizer.init(theta)
    for gradient in gradients:
        update, state = optimizer.update(jnp.asarray(gradient), state, theta)
        theta = optax.apply_updates(theta, update)
    return np.asarray(theta)


def test_adagrad_divides_by_the_root_of_the_sum_of_squares():
    found = gradients(3)
    theta, total = np.zeros(5), np.zeros(5)
    for gradient in found:
        total += gradient**2
        theta -= 0.1 * np.where(total > 0, gradient / np.sqrt(total + 1e-12), 0)
    optimizer = optax.adagrad(0.1, initial_accumulator_value=0.0, eps=1e-12)
    np.testing.assert_allclose(taken(optimizer, found), theta, rtol=1e-12)


def test_adam_corrects_the_bias_of_both_averages():
    found, b1, b2, eps = gradients(3), 0.9, 0.999, 1e-8
    theta, mean, square = np.zeros(5), np.zeros(5), np.zeros(5)
    for t, gradient in enumerate(found, 1):
        mean, square = b1 * mean + (1 - b1) * gradient, b2 * square + (1 - b2) * gradient**2
        theta -= 0.01 * (mean / (1 - b1**t)) / (np.sqrt(square / (1 - b2**t)) + eps)
    np.testing.assert_allclose(taken(optax.adam(0.01, b1, b2, eps), found), theta, rtol=1e-10)


def test_backpropagation_by_hand_is_what_autodiff_finds():
    sizes = (3, 5, 4, 2)
    weights = [RNG.normal(size=shape) for shape in zip(sizes[1:], sizes[:-1], strict=True)]
    x, target = RNG.normal(size=3), 1

    def loss(weights):
        h = x
        for matrix in weights[:-1]:
            h = jnp.tanh(matrix @ h)
        energies = -(weights[-1] @ h)
        return energies[target] + jax.nn.logsumexp(-energies)

    hidden = [x]
    for matrix in weights[:-1]:
        hidden.append(np.tanh(matrix @ hidden[-1]))
    scores = weights[-1] @ hidden[-1]
    delta = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum() - np.eye(2)[target]
    by_hand = [np.outer(delta, hidden[-1])]
    for below in range(len(weights) - 2, -1, -1):
        delta = (weights[below + 1].T @ delta) * (1 - hidden[below + 1] ** 2)  # ⊙ the derivative of tanh
        by_hand.insert(0, np.outer(delta, hidden[below]))
    for found, expected in zip(jax.grad(loss)([jnp.asarray(w) for w in weights]), by_hand, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["sgd", slow("adagrad"), slow("adam")])
def test_regret_grows_no_faster_than_about_the_root_of_the_steps(name):
    """The exponent between 250 and 16,000 rounds, against the best fixed θ of each horizon, in a ball."""
    rng, horizons = np.random.default_rng(1), (250, 1000, 4000, 16000)
    x = rng.normal(size=(horizons[-1], 3))
    y = (rng.random(len(x)) < 1 / (1 + np.exp(-x @ [2.0, -1.0, 0.5]))).astype(float)

    def decaying(t):
        return 0.5 / jnp.sqrt(t + 1.0)

    optimizer = {"sgd": optax.sgd(decaying), "adagrad": optax.adagrad(0.5), "adam": optax.adam(decaying)}[name]

    def turn(carry, row):
        theta, state = carry
        loss, gradient = jax.value_and_grad(logistic)(theta, row[0][None], row[1][None])
        update, state = optimizer.update(gradient, state, theta)
        theta = optax.apply_updates(theta, update)
        return (theta * jnp.minimum(1, 5 / jnp.linalg.norm(theta)), state), loss

    start = jnp.zeros(3)
    losses = np.asarray(jax.lax.scan(turn, (start, optimizer.init(start)), (jnp.asarray(x), jnp.asarray(y)))[1])
    regret = []
    for horizon in horizons:
        best = np.zeros(3)
        for _ in range(25):  # Newton
            p = 1 / (1 + np.exp(-x[:horizon] @ best))
            hessian = (x[:horizon] * (p * (1 - p))[:, None]).T @ x[:horizon]
            best -= np.linalg.solve(hessian, x[:horizon].T @ (p - y[:horizon]))
        regret.append(losses[:horizon].sum() - horizon * float(logistic(best, x[:horizon], y[:horizon])))
    assert min(regret) > 0
    exponent = np.polyfit(np.log(horizons), np.log(regret), 1)[0]
    assert exponent <= 0.6
