"""Counts in a fixed number of trials: entropy by enumeration, and the case of one trial."""

import itertools

import numpy as np
import pytest
from scipy import stats

from contracts.quick import quick
from kullback.families import Batch, Categorical, Multinomial


def test_entropy_by_enumeration():
    p = np.array([[0.2, 0.5, 0.3], [0.01, 0.98, 0.01], [0.0, 0.4, 0.6]])
    m = Multinomial(12, p)
    counts = np.array([c for c in itertools.product(range(13), repeat=3) if sum(c) == 12])
    log_p = np.asarray(quick(lambda m: m.log_prob(counts[:, None]))(m))
    mass = np.exp(log_p)
    np.testing.assert_allclose(mass.sum(axis=0), 1, rtol=1e-12)
    expected = -np.sum(np.where(mass > 0, mass * np.where(mass > 0, log_p, 0), 0), axis=0)
    np.testing.assert_allclose(quick(lambda m: m.entropy)(m), expected, rtol=1e-11)


@pytest.mark.parametrize("trials", [1, 30, 3000])
def test_entropy_of_two_categories_is_that_of_the_binomial(trials):
    p = np.array([1e-6, 1e-3, 0.3, 0.5, 0.99])
    found = quick(lambda m: m.entropy)(Multinomial(trials, np.stack([p, 1 - p], axis=-1)))
    np.testing.assert_allclose(found, stats.binom(trials, p).entropy(), rtol=1e-9, atol=1e-10)


def test_one_trial_is_a_category():
    p = np.array([0.2, 0.5, 0.3])
    m, c = Multinomial(1, p), Categorical(p)
    work = quick(lambda m, x: (m.log_prob(x), m.entropy, m.fisher("source")))
    for a, b in zip(work(m, np.eye(3, dtype=int)), work(c, np.arange(3)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_what_is_not_counts_has_no_mass():
    m = Multinomial(3, [0.5, 0.25, 0.25])
    x = np.array([[1.0, 1.0, 0.0], [4.0, -1.0, 0.0], [1.5, 1.5, 0.0], [np.nan, 1.0, 2.0], [1.0, 1.0, 1.0]])
    assert np.isneginf(quick(lambda m: m.log_prob(x))(m)).tolist() == [True, True, True, True, False]


def test_fit_is_the_share_of_each_category():
    counts = np.array([[3, 1, 0], [2, 2, 0], [1, 1, 2]])
    start = Multinomial(4, [0.2, 0.3, 0.5])
    batch = Batch(counts, np.array([1.0, 2.0, 1.0]))
    fitted = quick(lambda m: m.maximize(m.expected_statistics(batch)[0]))(start)
    np.testing.assert_allclose(fitted.probabilities, np.array([8, 6, 2]) / 16, rtol=1e-14)
    assert fitted.trials == 4
