"""Linear dynamical systems against the dense Gaussian of whole sequences, and autodiff."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.families import Batch, Extent, TimeIndex
from kullback.geometry import relative_entropy
from kullback.models import States
from kullback.models.linear._parameters import PARAMETERS
from models.linear.dense_sequences import DenseStatistics, assert_statistics, dense, random_system

LENGTHS = (5, 1, 4, 2)
ROWS = sum(LENGTHS)
STARTS = np.cumsum((0, *LENGTHS))
CARRY = States(np.array([0.3, -1.0]), np.array([[0.7, 0.2], [0.2, 0.5]]))


@quick
def ask(model, batch, carry=None):
    """All that a system says of rows."""
    filtered, last = model.filter(batch, carry)
    statistics, carried = model.expected_statistics(batch, carry)
    return model.log_likelihood(batch, carry), model.smooth(batch, carry), filtered, statistics, carried, last


own = quick(lambda model, like: model.own_statistics(like))


def case(m, holes, seed=0, **more):
    """A system, values, what is observed of them, inputs, and one weight for each of the sequences."""
    rng = np.random.default_rng(seed)
    model = random_system(rng, m=m, offset=m > 0, **more)
    values = 2 * rng.normal(size=(ROWS, 3))
    observed = rng.random((ROWS, 3)) < 0.6
    observed[0], observed[2], observed[6] = True, False, False
    observed = observed if holes else np.ones_like(observed)
    inputs = rng.normal(size=(ROWS, m)) if m else None
    return model, values, observed, inputs, rng.uniform(0.5, 2, len(LENGTHS))


def batch_of(values, observed, inputs, weight, **more):
    seen, time = None if observed.all() else observed, TimeIndex.of_lengths(LENGTHS)
    return Batch(values, np.repeat(weight, LENGTHS), observed=seen, time=time, inputs=inputs, **more)


def cut(array, k):
    return None if array is None else array[STARTS[k] : STARTS[k + 1]]


@pytest.mark.parametrize(("m", "holes"), [(0, False), (2, True)])
def test_all_is_that_of_the_dense_gaussian(m, holes):
    model, values, observed, inputs, weight = case(m, holes)
    likelihood, smoothed, filtered, statistics, carried, last = ask(model, batch_of(values, observed, inputs, weight))
    plain, total = DenseStatistics(model), 0.0
    for k, length in enumerate(LENGTHS):
        joint = dense(model, length, cut(inputs, k))
        given, rows = joint.given(cut(values, k), cut(observed, k)), slice(STARTS[k], STARTS[k + 1])
        np.testing.assert_allclose(np.sum(likelihood[rows]), given[0], rtol=1e-10)
        total += weight[k] * given[0]
        for t in range(length):
            here, row = joint.h(t), STARTS[k] + t
            np.testing.assert_allclose(smoothed.states.mean[row], given[1].mean[here], rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(
                smoothed.states.covariance[row], given[1].covariance[np.ix_(here, here)], rtol=1e-9, atol=1e-11
            )
            if t > 0:
                lag = given[1].covariance[np.ix_(here, joint.h(t - 1))]
                np.testing.assert_allclose(smoothed.lag[row], lag, rtol=1e-9, atol=1e-11)
            until = cut(observed, k) & (np.arange(length) <= t)[:, None]
            past = joint.given(cut(values, k), until)[1]
            np.testing.assert_allclose(filtered.mean[row], past.mean[here], rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(filtered.covariance[row], past.covariance[np.ix_(here, here)], atol=1e-11)
        plain.add(given[1], length, weight[k], cut(inputs, k))
    assert_statistics(statistics, plain)
    np.testing.assert_allclose(statistics.log_likelihood, total, rtol=1e-10)
    np.testing.assert_allclose(statistics.mass, np.dot(weight, LENGTHS), rtol=1e-12)
    for state in (carried, last):
        np.testing.assert_allclose(state.mean, filtered.mean[-1], rtol=1e-12)
        np.testing.assert_allclose(state.covariance, filtered.covariance[-1], rtol=1e-12)


def test_rows_that_continue_and_rows_ahead():
    """Row 0 continues from a carry; the end of the first sequence, and all of the last, are only looked at."""
    model, values, observed, inputs, weight = case(2, True, seed=1)
    first = np.isin(np.arange(ROWS), STARTS[1:])
    ahead = np.isin(np.arange(ROWS), [3, 4, 10, 11])
    batch = eqx.tree_at(lambda b: b.time, batch_of(values, observed, inputs, weight), TimeIndex(first, ahead))
    likelihood, smoothed, filtered, statistics, carried, last = ask(model, batch, CARRY)
    plain = DenseStatistics(model)
    for k, length in enumerate(LENGTHS):
        joint = dense(model, length, cut(inputs, k), CARRY if k == 0 else None)
        given = joint.given(cut(values, k), cut(observed, k))
        np.testing.assert_allclose(np.sum(likelihood[STARTS[k] : STARTS[k + 1]]), given[0], rtol=1e-10)
        plain.add(given[1], (3, 1, 4, 0)[k], weight[k], cut(inputs, k))
        if k == 0:
            here = joint.h(-1)
            np.testing.assert_allclose(smoothed.before.mean, given[1].mean[here], rtol=1e-9)
    assert_statistics(statistics, plain)
    counted = np.where(ahead, 0, np.asarray(batch.weight))
    np.testing.assert_allclose(statistics.log_likelihood, np.dot(counted, likelihood), rtol=1e-12)
    np.testing.assert_allclose(carried.mean, filtered.mean[9], rtol=1e-12)
    np.testing.assert_allclose(last.covariance, filtered.covariance[9], rtol=1e-12)


def test_own_statistics_are_those_of_the_dense_gaussian():
    model, _, _, inputs, weight = case(2, False, seed=2)
    for carry in (None, CARRY):
        steps = TimeIndex.of_lengths(LENGTHS)
        if carry is not None:
            steps = TimeIndex(np.isin(np.arange(ROWS), STARTS[1:]))
        each = np.repeat(weight, LENGTHS)
        found = own(model, Extent(each.sum(), steps, each, carry, inputs))
        plain = DenseStatistics(model)
        for k, length in enumerate(LENGTHS):
            joint = dense(model, length, cut(inputs, k), carry if k == 0 else None)
            plain.add(joint, length, weight[k], cut(inputs, k))
        assert_statistics(found, plain)
        assert float(found.log_likelihood) == 0


def test_rows_with_inputs_and_without_time_are_sequences_of_one_step():
    model, values, _, inputs, _ = case(2, False, seed=3)
    weight = np.random.default_rng(3).uniform(0.5, 2, ROWS)
    alone = Batch(values, weight, inputs=inputs)
    likelihood, _, _, statistics, _, _ = ask(model, alone)
    plain, expected = DenseStatistics(model), DenseStatistics(model)
    for row in range(ROWS):
        joint, known = dense(model, 1, inputs[row : row + 1]), inputs[row : row + 1]
        log_p, given, _ = joint.given(values[row : row + 1], np.ones((1, 3), bool))
        np.testing.assert_allclose(likelihood[row], log_p, rtol=1e-10)
        plain.add(given, 1, weight[row], known)
        expected.add(joint, 1, weight[row], known)
    assert_statistics(statistics, plain)
    assert_statistics(own(model, alone.extent), expected)


def test_padding_is_not_looked_at():
    """The last sequence is padding: rows without weight."""
    model, values, observed, inputs, weight = case(2, True)
    weight[-1], values[-2:], inputs[-2:] = 0, np.nan, np.nan
    found, carried = ask(model, batch_of(values, observed, inputs, weight))[3:5]
    plain = DenseStatistics(model)
    for k, length in enumerate(LENGTHS[:-1]):
        given = dense(model, length, cut(inputs, k)).given(cut(values, k), cut(observed, k))
        plain.add(given[1], length, weight[k], cut(inputs, k))
    assert_statistics(found, plain)
    here = np.arange(2) + 3 * 2
    np.testing.assert_allclose(carried.mean, given[1].mean[here], rtol=1e-9)


@pytest.mark.slow
def test_the_gradient_of_the_likelihood_is_that_of_the_cross_entropy():
    """Fisher's identity: ∇ log p(v) = E[∇ log p(h, v) | v]."""
    model, values, observed, inputs, weight = case(2, True)
    batch = batch_of(values, observed, inputs, weight)
    model = jax.tree.map(jnp.asarray, model)
    statistics = ask(model, batch)[3]

    @quick
    def both(model):
        return (
            jax.grad(lambda m: jnp.sum(m.log_likelihood(batch) * batch.weight))(model),
            jax.grad(lambda m: -m.cross_entropy(statistics))(model),
        )

    one, other = both(model)
    for name in PARAMETERS:
        a, b = getattr(one, name), getattr(other, name)
        if name.endswith(("noise", "covariance")):  # of a symmetric matrix, the symmetric part means something
            a, b = a + a.T, b + b.T
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9, err_msg=name)


def test_relative_entropy_is_that_of_the_dense_gaussians():
    rng = np.random.default_rng(5)
    p, q, length = random_system(rng, offset=True), random_system(rng, offset=True), 4
    one, other = dense(p, length), dense(q, length)
    away = other.mean - one.mean
    exact = 0.5 * (
        np.trace(np.linalg.solve(other.covariance, one.covariance))
        + away @ np.linalg.solve(other.covariance, away)
        - len(away)
        + np.linalg.slogdet(other.covariance)[1]
        - np.linalg.slogdet(one.covariance)[1]
    )
    found = quick(relative_entropy)(p, q, Extent.of_lengths(length))
    np.testing.assert_allclose(found, exact, rtol=1e-10)
    assert float(quick(relative_entropy)(p, p, Extent.of_lengths(length))) == 0
