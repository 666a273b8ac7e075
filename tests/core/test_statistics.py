"""Averages with mass: the parallel-axis rule, shares, and rows that are not looked at."""

import jax
import numpy as np

from contracts.quick import quick
from kullback.core import average, expand, share
from kullback.families import Batch, CenteredStatistics, Extent, Gaussian, MeanStatistics, Poisson
from kullback.numerics import outer


def test_the_parallel_axis_rule():
    rng = np.random.default_rng(0)
    x, y = rng.normal(1, 2, (7, 3)), rng.normal(-5, 1, (4, 3))

    def of(data):
        centred = data - data.mean(axis=0)
        spread = centred.T @ centred / len(data)
        return CenteredStatistics(np.array(len(data), float), np.array(1.5, float), data.mean(axis=0), spread, outer)

    merged = quick(lambda a, b: a.merge(b))(of(x), of(y))
    whole = of(np.concatenate([x, y]))
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-13)
    np.testing.assert_allclose(merged.spread, whole.spread, rtol=1e-13)
    assert merged.mass == 11
    assert merged.log_likelihood == 3


def test_share():
    first, second = np.array([1.0, 0.0, 2.0, 0.0]), np.array([3.0, 5.0, 0.0, 0.0])
    np.testing.assert_array_equal(share(first, second), [0.75, 1, 0, 0])


def test_expand():
    assert expand(np.zeros((2, 3)), 2).shape == (2, 3, 1, 1)


def test_average_skips_rows_without_weight():
    values = np.array([[1.0, 2.0], [np.nan, np.inf], [3.0, 6.0]])
    weight = np.array([[1.0, 0.0], [0.0, 0.0], [3.0, 0.0]])
    mass, mean = average(values, weight)
    np.testing.assert_array_equal(mass, [4, 0])
    np.testing.assert_array_equal(mean, [[2.5, 5], [0, 0]])


def test_merging_many_small_parts_loses_no_digits():
    """A thousand points one by one, far from the origin."""
    x = np.random.default_rng(1).normal(1e6, 1, (1000, 1))
    start = Gaussian(np.zeros(1), np.eye(1))

    @quick
    def fold(x):
        one = lambda row: start.expected_statistics(Batch(row[None]))[0]  # noqa: E731
        nothing = jax.tree.map(lambda leaf: 0 * leaf, one(x[0]))
        return jax.lax.scan(lambda total, row: (total.merge(one(row)), None), nothing, x)[0]

    total = fold(x)
    np.testing.assert_allclose(total.mass, 1000)
    np.testing.assert_allclose(total.spread[0, 0], np.var(x - 1e6), rtol=1e-9)
    np.testing.assert_allclose(total.mean[0], x.mean(), rtol=1e-14)


def test_extent_and_batch():
    batch = Batch(np.zeros((4, 2)), np.array([1.0, 2.0, 0.0, 0.5]), 0.1)
    assert batch.extent.mass == 3.5
    assert Batch(np.zeros((4, 2))).extent.mass == 4
    again = batch.weighted(np.ones((4, 3)))
    assert again.extent.mass.tolist() == [4, 4, 4]
    assert again.point_variance == batch.point_variance
    assert Extent().mass == 1


def test_plain_averages_merge_by_mass():
    a = MeanStatistics(np.array(1, float), np.array(0, float), np.array([2.0]))
    b = MeanStatistics(np.array(3, float), np.array(0, float), np.array([6.0]))
    assert a.merge(b).mean == 5
    assert Poisson(1.0).maximize(a.merge(b)).rate == 5
