"""Contrastive divergence against the exact gradient: laws of small machines by sums over all states."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special
from sklearn.datasets import load_digits

from kullback.core import Batch
from kullback.learning import (
    Clock,
    ContrastiveDivergence,
    Epochs,
    Minibatches,
    PairGradient,
    PathWeights,
    begin,
    fit,
    gather,
    gram_natural_gradient,
)
from kullback.learning._contrast import Centers, Phase, ascent_of, center, uncenter
from kullback.models import RestrictedBoltzmannMachine
from models.boltzmann.small import gibbs_matrix, law, machine, states
from tiers import slow


@pytest.fixture(autouse=True)
def _in_64_bits():
    with jax.enable_x64(True):
        yield


def phases(model, data, p):
    """Return rows of the data, and all states with their probabilities for the chains: nothing is drawn."""

    def phase(v, share):
        h = special.expit(v @ model.weights + model.hidden_bias)
        return Phase(*map(jnp.asarray, (v, h, share)))

    return phase(data, np.full(len(data), 1 / len(data))), phase(states(len(model.visible_bias)), -p)


def exact_gradient(model, data):
    def likelihood(model):
        return -jnp.mean(model.energy(data)) - model.exact_log_partition()

    return jax.grad(likelihood)(jax.tree.map(jnp.asarray, model))


def flat(model):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(model)])


DATA = states(5)[[3, 17, 30, 30, 12]]


def test_the_plain_ascent_is_the_gradient_of_the_likelihood():
    model = machine()
    found = ascent_of(model, None, phases(model, DATA, law(model)))
    np.testing.assert_allclose(flat(found), flat(exact_gradient(model, DATA)), atol=1e-13)


def test_the_centered_ascent_is_that_of_biases_at_the_centers():
    """J·Jᵀ∇ of the map from centered coordinates, whose derivative is taken by autodiff."""
    model = machine()
    centers = Centers(jnp.asarray(DATA.mean(axis=0)), jnp.asarray([0.2, 0.5, 0.9, 0.4]))
    found = ascent_of(model, centers, phases(model, DATA, law(model)))
    at = center(model, centers)
    np.testing.assert_allclose(flat(uncenter(at, centers)), flat(model), atol=1e-13)
    _, back = jax.vjp(lambda at: uncenter(at, centers), at)
    along = back(exact_gradient(model, DATA))[0]
    expected = jax.jvp(lambda at: uncenter(at, centers), (at,), (along,))[1]
    np.testing.assert_allclose(flat(found), flat(expected), atol=1e-12)


def test_gaussian_units_go_in_units_of_their_deviations():
    """Of a table in other units, each step is the same one in those units; and it goes uphill."""
    model = machine(3, 4, gaussian=True)
    rng = np.random.default_rng(0)
    v, share = rng.normal(size=(6, 3)), np.array([0.5, 0.25, 0.25, -0.4, -0.3, -0.3])
    centers = Centers(jnp.asarray(v[:3].mean(axis=0)), jnp.asarray([0.2, 0.5, 0.9, 0.4]))

    def step(model, v, centers):
        h = jax.nn.sigmoid(model.hidden_logits(jnp.asarray(v)))
        both = Phase(jnp.asarray(v), h, jnp.asarray(share))
        return ascent_of(model, centers, (Phase(*(part[:3] for part in both)), Phase(*(part[3:] for part in both))))

    unit, origin = np.array([10.0, 0.1, 3.0]), np.array([5.0, -100.0, 0.0])
    other = RestrictedBoltzmannMachine(
        unit[:, None] * model.weights,
        unit * model.visible_bias + origin,
        model.hidden_bias,
        model.log_scale + np.log(unit),
    )
    one = step(model, v, centers)
    two = step(other, unit * v + origin, Centers(unit * centers.visible + origin, centers.hidden))
    np.testing.assert_allclose(two.weights, unit[:, None] * one.weights, rtol=1e-8)
    np.testing.assert_allclose(two.visible_bias, unit * one.visible_bias, rtol=1e-8)
    np.testing.assert_allclose(two.hidden_bias, one.hidden_bias, rtol=1e-8)
    np.testing.assert_allclose(two.log_scale, one.log_scale, rtol=1e-8)
    slope = jax.grad(lambda model: -jnp.sum(share * model.energy(v)))(jax.tree.map(jnp.asarray, model))
    assert flat(slope) @ flat(one) > 0


def test_the_gram_form_is_the_dense_solve():
    rng, damping = np.random.default_rng(0), 0.1
    v, h = rng.normal(size=(7, 5)), rng.normal(size=(7, 4))
    gradient = PairGradient(rng.normal(size=(5, 4)), rng.normal(size=5), rng.normal(size=4))
    found = gram_natural_gradient(PairGradient(*map(jnp.asarray, gradient)), jnp.asarray(v), jnp.asarray(h), damping)
    pairs = [np.concatenate([np.ravel(np.outer(a, b)), a, b]) for a, b in zip(v, h, strict=True)]
    fisher = np.cov(np.array(pairs).T, ddof=0)
    dense = np.linalg.solve(fisher + damping * np.eye(len(fisher)), np.concatenate([np.ravel(g) for g in gradient]))
    np.testing.assert_allclose(np.concatenate([np.ravel(g) for g in found]), dense, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("persistent", "sweeps"), [(False, 1), slow(False, 3), slow(True, 1)])
def test_gathered_gradients_are_on_average_those_of_data_after_gibbs_steps(persistent, sweeps):
    """CD-k: the chains' phase is data·Tᵏ. PCD: that of the chains before, moved on by T."""
    model, count = machine(4, 3), 60_000
    learner = ContrastiveDivergence(persistent=persistent, sweeps=sweeps, centered=False, chains=count)
    data = states(4)[[3, 9, 14, 14]]
    T = np.linalg.matrix_power(gibbs_matrix(model), sweeps)
    if persistent:
        hidden = states(3)[np.arange(count) % 8]
        p = np.mean([np.exp(_log_visible(model, h)) for h in states(3)], axis=0)
    else:
        hidden, p = None, np.bincount([3, 9, 14, 14], minlength=16) / 4 @ T
    rows = np.repeat(data, count // 4, axis=0)
    memory = learner.memory(model, lambda: None, jax.random.key(0))._replace(hidden=hidden)
    state = learner.init(model, lambda: None)
    clock = Clock(np.int32(0), np.asarray(0.0), jax.random.key(1))
    slope = gather(model, Batch(rows), learner, state, memory, clock)[0]
    expected = flat(ascent_of(model, None, phases(model, data, p)))
    assert np.abs(flat(slope.gradient.machine) - expected).max() < 4.5 * 0.5 / np.sqrt(count)
    assert np.abs(expected).max() > 0.05
    # the value is the log-likelihood, as far as the chains that know log Z tell: these begin without weights
    free = np.mean(-np.asarray(model.energy(data)))
    assert abs(-slope.loss - free + float(model.exact_log_partition())) < 1.0


def _log_visible(model, h):
    location = model.visible_bias + model.weights @ h
    return states(4) @ location - np.logaddexp(0, location).sum()


@pytest.mark.slow
def test_each_phase_is_divided_by_its_own_count():
    """Rows that come twice, or with twice the weight, change nothing."""
    model = machine()
    learner = ContrastiveDivergence(chains=10)
    memory = learner.memory(model, lambda: None, jax.random.key(0))
    state, clock = learner.init(model, lambda: Batch(DATA)), Clock(np.int32(1), np.asarray(0.0), jax.random.key(1))
    one = gather(model, Batch(DATA), learner, state, memory, clock)[0]
    for batch in (Batch(np.repeat(DATA, 2, axis=0)), Batch(DATA, np.full(5, 2.0))):
        other = gather(model, batch, learner, state, memory, clock)[0]
        np.testing.assert_allclose(flat(other.gradient), flat(one.gradient), rtol=1e-10, atol=1e-12)
        assert float(other.mass) == 10


@pytest.mark.slow
def test_the_rate_falls_to_zero_over_the_second_half():
    model, learner = machine(), ContrastiveDivergence(0.4, steps=100, first=50, chains=4)
    memory = learner.memory(model, lambda: None, jax.random.key(0))
    state = learner.init(model, lambda: None)
    clock = Clock(np.int32(1), np.asarray(0.0), jax.random.key(1))
    message = gather(model, Batch(DATA), learner, state, memory, clock)[0]
    along = flat(message.gradient.machine)
    for step, rate in ((50, 0.4), (100, 0.4), (125, 0.2), (149, 0.008), (150, 0.0), (400, 0.0)):
        moved, _, _ = learner.move(model, state, message, clock._replace(step=np.int32(step)))
        np.testing.assert_allclose(flat(moved) - flat(model), rate * along, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_chains_along_a_path_know_log_z():
    """A path that does not look at the chains: the mean weight is unbiased, and its error is honest."""
    end = machine(6, 4, spread=1.0)
    zero = RestrictedBoltzmannMachine(np.zeros((6, 4)), end.visible_bias, end.hidden_bias)

    @jax.jit
    def along(key):
        path = PathWeights.start(zero, 100, key)

        def turn(number, path):
            at = RestrictedBoltzmannMachine(
                end.weights * number / 50, jnp.asarray(end.visible_bias), jnp.asarray(end.hidden_bias)
            )
            return path.visit(at, jax.random.fold_in(key, number))

        return jax.lax.fori_loop(1, 51, turn, path).log_partition_estimate

    found = jax.vmap(along)(jax.random.split(jax.random.key(0), 50))
    errors = np.asarray(found.value) - float(end.exact_log_partition())
    assert abs(errors.mean()) < 4 * errors.std() / np.sqrt(50) + np.mean(found.standard_error) ** 2
    assert 0.5 < errors.std() / np.mean(found.standard_error) < 2


@pytest.mark.slow
def test_missing_entries_give_a_bound_and_a_gradient():
    model = machine()
    learner = ContrastiveDivergence(chains=10)
    memory = learner.memory(model, lambda: None, jax.random.key(0))
    observed = np.random.default_rng(0).random(DATA.shape) < 0.6
    batch = Batch(np.where(observed, DATA, np.nan), observed=observed)
    state, clock = learner.init(model, lambda: batch), Clock(np.int32(1), np.asarray(0.0), jax.random.key(1))
    found = gather(model, batch, learner, state, memory, clock)[0]
    assert np.all(np.isfinite(flat(found.gradient)))
    exact = np.mean(np.asarray(model.unnormalized(batch)))
    bound = -found.loss + memory.path.log_partition_estimate.value
    assert exact - 1.0 < bound <= exact + 1e-9


def test_bad_numbers():
    with pytest.raises(ValueError, match="chains is 0: it must be 1 or more"):
        ContrastiveDivergence(chains=0)
    with pytest.raises(ValueError, match="sweeps is 0"):
        ContrastiveDivergence(sweeps=0)
    with pytest.raises(ValueError, match="visible units are Gaussian: leave it out"):
        ContrastiveDivergence(damping=0.1).init(machine(gaussian=True), lambda: None)


def digits():
    X = (load_digits().data > 7).astype(np.float32)
    np.random.default_rng(0).shuffle(X)
    return X[:1500], X[1500:]


def trained(epochs, seed=0, **numbers):
    train, _ = digits()
    data, rule = Minibatches(lambda places: Batch(train[places]), len(train), 100, seed), Epochs(epochs)
    learner = ContrastiveDivergence(**{"steps": 15 * epochs, **numbers})
    model = RestrictedBoltzmannMachine.start(train.mean(axis=0), 16, seed, dtype=np.float32)
    place, _ = fit(learner, begin(learner, model, data, rule, seed), data, rule, seed=seed)
    wide = RestrictedBoltzmannMachine(*(np.asarray(leaf, float) for leaf in jax.tree.leaves(place.model)))
    return wide, place


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_digits_the_curve_is_in_nats(seed):
    """64 × 16 units, 4,000 steps: log Z of the path is as near as it says, and a fit better than independent bits.

    Of 16 fits the errors were 0.6 nats by root mean square, and the standard errors 0.68 to 0.81.
    """
    with jax.enable_x64(False):
        model, place = trained(267, seed)
        path = place.memories[0].path.log_partition_estimate
    error = float(path.standard_error)
    assert abs(float(path.value) - float(model.exact_log_partition())) < 2 * error < 2
    assert np.mean(model.log_likelihood(Batch(digits()[1].astype(float)))) > -18.8
    nats = np.mean(model.log_likelihood(Batch(digits()[0].astype(float))))
    assert abs(place.curve[-5:, 2].mean() - nats) < 2 * error + 0.3  # the rest is that of batches


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [{"centered": False}, {"persistent": False}, {"damping": 0.1, "rate": 0.05}])
def test_digits_by_every_method(numbers):
    with jax.enable_x64(False):
        model, _ = trained(100, **numbers)
    assert np.mean(model.log_likelihood(Batch(digits()[1].astype(float)))) > -20.5
