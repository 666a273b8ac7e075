"""Hidden Markov models against the sum over all paths."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.families import Batch, Categorical, Extent, Gaussian, Poisson, Steps
from kullback.geometry import relative_entropy
from kullback.models import HiddenMarkovModel

K, T = 3, 6
PATHS = np.array(list(itertools.product(range(K), repeat=T)))


def gaussians(rng, n=2):
    root = rng.normal(size=(K, n, n))
    return Gaussian(2 * rng.normal(size=(K, n)), root @ root.swapaxes(-1, -2) + np.eye(n))


def random_model(seed=0, **other):
    rng = np.random.default_rng(seed)
    return HiddenMarkovModel(rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(K), K), gaussians(rng), **other)


def sequences(values, lengths, **other):
    return Batch(values, steps=Steps.of_lengths(lengths), **other)


VALUES = 2 * np.random.default_rng(1).normal(size=(T, 2))


def enumerated(model, scores, initial=None):
    """Return log p(h, v) of every path, in plain NumPy."""
    with np.errstate(divide="ignore"):
        initial = np.log(model.initial) if initial is None else np.log(initial)
        moves = np.log(model.transitions)[PATHS[:, :-1], PATHS[:, 1:]].sum(axis=1)
        return initial[PATHS[:, 0]] + moves + scores[np.arange(T), PATHS].sum(axis=1)


def counted(weight):
    """Return the expected states and transitions under weights of the paths."""
    states = np.stack([np.bincount(PATHS[:, t], weight, K) for t in range(T)])
    pairs = sum(np.bincount(PATHS[:, t] * K + PATHS[:, t + 1], weight, K * K) for t in range(T - 1))
    return states, pairs.reshape(K, K)


ask = quick(
    lambda m, batch, carry=None: (
        m.log_likelihood(batch, carry),
        m.posterior(batch, carry),
        *m.expected_statistics(batch, carry),
        m.filter(batch, carry)[0],
    )
)


def test_likelihood_posterior_and_counts_are_sums_over_all_paths():
    model = random_model()
    joint = enumerated(model, np.asarray(model.emissions.log_likelihood(Batch(VALUES))))
    total = np.logaddexp.reduce(joint)
    states, pairs = counted(np.exp(joint - total))
    likelihood, posterior, statistics, carry, filtered = ask(model, sequences(VALUES, [T]))
    assert float(likelihood.sum()) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(posterior, states, rtol=1e-10)
    np.testing.assert_allclose(statistics.transitions, pairs, rtol=1e-10)
    np.testing.assert_allclose(statistics.initial, states[0], rtol=1e-10)
    np.testing.assert_allclose(statistics.emissions.mass, states.sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(statistics.emissions.mean, states.T @ VALUES / states.sum(axis=0)[:, None], rtol=1e-10)
    np.testing.assert_allclose(carry, states[-1], rtol=1e-10)
    np.testing.assert_allclose(filtered[-1], states[-1], rtol=1e-10)
    assert float(statistics.mass) == T
    assert float(statistics.log_likelihood) == pytest.approx(total, rel=1e-12)


def test_the_most_probable_path_is_the_best_of_all():
    model = random_model()
    joint = enumerated(model, np.asarray(model.emissions.log_likelihood(Batch(VALUES))))
    path, added = quick(lambda m, batch: m.viterbi(batch))(model, sequences(VALUES, [T]))
    assert path.tolist() == PATHS[joint.argmax()].tolist()
    assert float(added.sum()) == pytest.approx(joint.max(), rel=1e-12)
    assert float(model.energy(VALUES, path)) == pytest.approx(-joint.max(), rel=1e-12)
