"""Coins: what is neither 0 nor 1, and coins that never or always fall on one side."""

import jax
import numpy as np

from contracts.quick import quick
from kullback.families import Batch, Bernoulli


def test_what_is_neither_side_has_no_mass():
    found = quick(lambda b, x: b.log_prob(x))(Bernoulli(0.3), np.array([-1.0, 0.5, 2.0, np.nan, 1.0]))
    assert np.isneginf(found).tolist() == [True, True, True, True, False]


def test_certain_coins():
    coins = Bernoulli(np.array([0.0, 1.0]))
    x = np.array([[0], [1]])
    log_p, drawn = quick(lambda b: (b.log_prob(x), b.sample(jax.random.key(0), (20,))))(coins)
    np.testing.assert_array_equal(log_p, [[0, -np.inf], [-np.inf, 0]])
    np.testing.assert_array_equal(drawn, np.tile([0, 1], (20, 1)))


def test_small_probabilities_keep_their_digits():
    """log(1−p) and the entropy of p = 1e-300."""
    log_p, entropy, natural = quick(lambda b: (b.log_prob(0), b.entropy, b.natural))(Bernoulli(1e-300))
    np.testing.assert_allclose(log_p, -1e-300, rtol=1e-12)
    np.testing.assert_allclose(entropy, 1e-300 * (1 + 300 * np.log(10)), rtol=1e-12)
    np.testing.assert_allclose(natural, -300 * np.log(10), rtol=1e-12)


def test_booleans_are_points():
    x = np.array([True, False, True])
    log_p, fitted = quick(lambda b: (b.log_prob(x), b.maximize(b.expected_statistics(Batch(x))[0])))(Bernoulli(0.25))
    np.testing.assert_allclose(log_p, np.log([0.25, 0.75, 0.25]), rtol=1e-14)
    np.testing.assert_allclose(fitted.probability, 2 / 3)
