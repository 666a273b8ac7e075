"""Inputs of a batch: they go wherever their rows go."""

import jax.numpy as jnp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.core import Batch, DistinctRows, Extent, TimeIndex, by_blocks, map_rows
from kullback.families import CenteredStatistics, DiagonalGaussian
from kullback.learning import em_step, online_em_step
from kullback.models import HiddenMarkovModel, Mixture
from kullback.models.hidden_markov._blocks import forward_backward_blocks, without_time
from kullback.models.hidden_markov._timeline import timeline
from kullback.numerics import outer

ROWS, LONG = 12, 2500


def rows_with_inputs(rows, **more):
    """Return a batch whose inputs are made from its values, so that they show which rows they belong to."""
    values = np.random.default_rng(0).normal(size=(rows, 2))
    return Batch(values, inputs=inputs_of(values), **more)


def inputs_of(values):
    return np.stack([values[:, 0] + values[:, 1], values[:, 0] * values[:, 1], values[:, 1]], axis=1)


def moments(batch):
    """Return the weighted moments of values and inputs, side by side."""
    table, weight = jnp.concatenate([batch.values, batch.inputs], axis=1), jnp.asarray(batch.weight)
    mean = weight @ table / jnp.sum(weight)
    away = table - mean
    spread = jnp.einsum("r,ri,rj->ij", weight, away, away) / jnp.sum(weight)
    return CenteredStatistics(jnp.sum(weight), jnp.zeros(()), mean, spread, outer)


def test_padding_takes_the_inputs_of_a_row_that_counts():
    values, weight = np.random.default_rng(1).normal(size=(5, 2)), np.array([0.0, 1.0, 2.0, 0.0, 1.0])
    inputs = inputs_of(values)
    inputs[weight == 0] = np.nan
    for some in (inputs, jnp.asarray(inputs)):
        found = Batch(values, weight, inputs=some)
        np.testing.assert_array_equal(found.inputs, inputs[[1, 1, 2, 1, 4]].astype(found.inputs.dtype))
        np.testing.assert_array_equal(found.values, values[[1, 1, 2, 1, 4]])


def test_inputs_stay_beside_their_rows():
    batch = rows_with_inputs(ROWS)
    part = quick(lambda b, start: b.rows(start, 4))(batch, 3)
    np.testing.assert_array_equal(part.inputs, inputs_of(np.asarray(part.values)))
    np.testing.assert_array_equal(part.values, batch.values[3:7])
    weighted, narrow = batch.weighted(np.arange(1.0, ROWS + 1)), batch.columns(batch.values[:, :1], None)
    for other in (weighted, narrow, batch.without_column(1), batch.scaled(None)):
        np.testing.assert_array_equal(other.inputs, batch.inputs)


def test_blocks_have_the_inputs_of_their_rows():
    batch = rows_with_inputs(LONG, weight=np.random.default_rng(2).integers(0, 3, LONG).astype(float))
    found, whole = quick(lambda b: (by_blocks(moments, b), moments(b)))(batch)
    np.testing.assert_allclose(found.mean, whole.mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.spread, whole.spread, rtol=1e-12, atol=1e-14)
    back = quick(lambda b: map_rows(lambda part, _: part.inputs, b))(batch)
    np.testing.assert_array_equal(back, batch.inputs)


def test_blocks_of_a_chain_have_the_inputs_of_their_rows():
    """Of one state, so that each row counts as what it weighs."""
    chain = HiddenMarkovModel([1.0], [[1.0]], DiagonalGaussian(np.zeros((1, 2)), np.ones((1, 2))))
    batch = rows_with_inputs(LONG, time=TimeIndex.of_lengths([LONG]))

    @quick
    def both(model, batch):
        before = jnp.ones(1)
        found, *_ = forward_backward_blocks(
            model._chain,
            before,
            without_time(batch),
            timeline(batch, True, before),
            lambda rows, _: model.emissions.log_likelihood(rows),
            lambda rows, *_: moments(rows),
        )
        return found, moments(batch)

    found, whole = both(chain, batch)
    assert float(found.mass) == LONG
    np.testing.assert_allclose(found.mean, whole.mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.spread, whole.spread, rtol=1e-12, atol=1e-14)


def test_an_extent_has_the_inputs_and_the_weight_of_each_row():
    weight = np.random.default_rng(3).uniform(1, 2, ROWS)
    for time in (None, TimeIndex.of_lengths([5, 7])):
        batch = rows_with_inputs(ROWS, weight=weight, time=time)
        for extent, factor in ((batch.extent, 1.0), (batch.extent.after(3).scale(0.5), 0.5)):
            np.testing.assert_array_equal(extent.inputs, batch.inputs)
            np.testing.assert_allclose(extent.weight, factor * weight, rtol=1e-15)
            np.testing.assert_allclose(extent.mass, factor * weight.sum(), rtol=1e-15)
            assert (extent.time is None) == (time is None)
    found = Extent.of_lengths([5, 7], 2.0, batch.inputs)
    assert found.inputs is batch.inputs
    np.testing.assert_array_equal(np.flatnonzero(found.time.starts), [0, 5])


def test_models_that_take_no_inputs_do_not_look_at_them():
    mixture = Mixture([0.4, 0.6], DiagonalGaussian([[-1.0, 0.0], [1.0, 0.0]], np.ones((2, 2))))
    batch = rows_with_inputs(ROWS)
    plain = Batch(batch.values)
    for step in (em_step, lambda model, data: online_em_step(model, data, 0.3)[:2]):
        one, other = step(mixture, batch)[0], step(mixture, plain)[0]
        np.testing.assert_array_equal(one.weights, other.weights)
        np.testing.assert_array_equal(one.components.mean, other.components.mean)


def test_errors_say_what_is_wrong():
    values = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"inputs have shape \(2, 1\): they must be a table of 3 rows"):
        Batch(values, inputs=np.ones((2, 1)))
    with pytest.raises(ValueError, match=r"inputs have shape \(3,\): they must be a table of 3 rows"):
        Batch(values, inputs=np.ones(3))
    with pytest.raises(ValueError, match="distinct is given with inputs"):
        Batch(values, distinct=DistinctRows(values[:1], None, np.zeros(3, int)), inputs=np.ones((3, 1)))
    whole = Batch(values, inputs=np.ones((3, 1), int))
    assert whole.inputs.dtype == np.float64
