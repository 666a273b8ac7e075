"""Rows with missing entries under Gaussians, by both kernels, against blocks of the covariance written out in NumPy."""

import jax
import numpy as np
import pytest
from scipy import stats

from kullback.families import Batch, Gaussian

ROWS, N = 12, 8


def rows_and_members(condition, seed=0):
    """Return rows that lack up to 4 of 8 entries, and two members whose covariances have this condition number."""
    rng = np.random.default_rng(seed)
    turns = np.linalg.qr(rng.normal(size=(2, N, N)))[0]
    covariance = turns * np.geomspace(1, 1 / condition, N) @ turns.swapaxes(-1, -2)
    covariance = (covariance + covariance.swapaxes(-1, -2)) / 2
    values, observed = rng.normal(size=(ROWS, N)), np.ones((ROWS, N), bool)
    for row, count in enumerate(rng.integers(1, 5, ROWS - 1), start=1):
        observed[row, rng.choice(N, count, replace=False)] = False
    return values, observed, Gaussian(rng.normal(size=(2, N)), covariance)


def by_hand(x, there, mean, covariance, point_variance):
    """Return log p(xₒ), E[x | xₒ], and Cov(x | xₒ) where xₒ itself has the variance of a point."""
    m, o = ~there, there
    filled, inside = mean.copy(), np.zeros((N, N))
    gain = np.linalg.solve(covariance[np.ix_(o, o)], covariance[np.ix_(o, m)]).T
    filled[o], filled[m] = x[o], mean[m] + gain @ (x - mean)[o]
    inside[np.ix_(m, m)] = covariance[np.ix_(m, m)] - gain @ covariance[np.ix_(o, m)]
    whole = np.zeros((N, o.sum()))
    whole[o], whole[m] = np.eye(o.sum()), gain
    density = stats.multivariate_normal(mean[o], covariance[np.ix_(o, o)]).logpdf(x[o])
    return density, filled, inside + point_variance * whole @ whole.T


@jax.jit
def answers(members, batch):
    statistics, _ = members.expected_statistics(batch)
    return members.log_likelihood(batch), members.conditional_mean(batch), statistics.mean, statistics.spread


@pytest.mark.parametrize("most", [None, 4], ids=["from the observed", "from the missing"])
def test_missing_entries_by_blocks_of_the_covariance(most):
    values, observed, members = rows_and_members(50.0)
    weight = np.random.default_rng(1).uniform(0.2, 1, (ROWS, 2))
    batch = Batch(values, weight, 0.05, observed, most_missing=most)
    density, filled, mean, spread = map(np.asarray, answers(members, batch))
    for k in range(2):
        rows = [
            by_hand(x, o, members.mean[k], members.covariance[k], 0.05) for x, o in zip(values, observed, strict=True)
        ]
        expected = np.array([row[1] for row in rows])
        share = weight[:, k] / weight[:, k].sum()
        center = share @ expected
        inside = np.tensordot(share, [row[2] for row in rows], axes=1)
        np.testing.assert_allclose(density[:, k], [row[0] for row in rows], rtol=1e-11)
        np.testing.assert_allclose(filled[:, k], expected, rtol=1e-11)
        np.testing.assert_allclose(mean[k], center, rtol=1e-11)
        np.testing.assert_allclose(
            spread[k], (expected - center).T @ ((expected - center) * share[:, None]) + inside, rtol=1e-10, atol=1e-13
        )


def test_both_kernels_keep_their_digits_when_columns_nearly_agree():
    values, observed, members = rows_and_members(1e8)
    few = answers(members, Batch(values, np.ones((ROWS, 2)), 1e-6, observed, most_missing=4))
    general = answers(members, Batch(values, np.ones((ROWS, 2)), 1e-6, observed))
    # the condition of the whitener is the root of that of the covariance: 1e4 · 1e-16, and some room
    for a, b in zip(few[1:], general[1:], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9 * np.abs(b).max())
    np.testing.assert_allclose(few[0], general[0], rtol=1e-9)


def test_a_bound_changes_no_draw():
    values, observed, members = rows_and_members(50.0)
    draw = jax.jit(lambda batch: members.impute(batch, jax.random.key(0)))
    few, general = draw(Batch(values, observed=observed, most_missing=4)), draw(Batch(values, observed=observed))
    np.testing.assert_allclose(few, general, rtol=1e-10)
    np.testing.assert_array_equal(np.asarray(few)[:, 0][observed], values[observed])


def test_one_row_that_lacks_entries_may_be_asked_of_many_members():
    """A decoder answers with a member for each draw of what is hidden; the row is the same."""
    values, observed, members = rows_and_members(50.0)
    free = members.coordinates("free")
    for x, there in zip(values[:4], observed[:4], strict=True):
        found = members.kind.log_prob_at("free", free, x, there)
        expected = [by_hand(x, there, members.mean[k], members.covariance[k], 0.0)[0] for k in range(2)]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
