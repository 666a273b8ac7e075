"""What is missing of sequences of a linear dynamical system: states, entries, or both."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import Batch, Completion, Want
from kullback.models.linear._inference import Line, log_likelihoods, smooth_states
from kullback.models.linear._missing import draw_joint, expected_rows
from kullback.models.linear._system import LinearSystem
from kullback.numerics import LOG_TWO_PI, apply, whiten


def complete_sequences(system: LinearSystem, batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
    """Return states and entries of least energy, or drawn: those of a sequence are jointly Gaussian.

    So the mode is the mean, and a draw from p^(1/T) is √T times as far from it as one from p.
    """
    line = system.line_of(batch)
    _, centered, observed = system.centered_values(batch, line)
    v: Array = expected_rows(system, batch)
    h: Array = smooth_states(system.dynamics, line, system.outputs(centered, observed)).states.mean
    if temperature != 0:
        states, rows = draw_joint(system, batch, key)
        h, v = h + jnp.sqrt(temperature) * (states - h), v + jnp.sqrt(temperature) * (rows - v)
    if want == ("h",):
        return Completion(None, h, _sequence_totals(line, row_energies(system, line, batch, h)), True)
    filled = batch.filled(v)
    if want == ("v",):
        away = system.centered_values(filled, line)[1]
        each = log_likelihoods(system.dynamics, line, system.outputs(away, None))
        return Completion(v, None, -_sequence_totals(line, each), True)
    return Completion(v, h, _sequence_totals(line, row_energies(system, line, filled, h)), True)


def row_energies(system: LinearSystem, line: Line, batch: Batch, h: Float[Array, "rows q"]) -> Float[Array, " rows"]:
    """Return −log p(h_t | h_{t−1}) − log p(vₒ | h_t) of each row: they add up to the energy of a sequence."""
    _, centered, observed = system.centered_values(batch, line)
    outputs, (first, spread) = system.outputs(centered, observed), system.dynamics.initial
    begun = _gaussian_energy(h - first, spread)
    away = h - jnp.roll(h, 1, axis=0) @ jnp.asarray(system.transition).T - line.drive
    moved = _gaussian_energy(away, jnp.asarray(system.transition_noise))
    rest = outputs.values - apply(outputs.design, h)
    seen = 0.5 * jnp.sum(jnp.square(rest), axis=-1) - outputs.log_scale
    return jnp.where(line.start, begun, moved) + seen


def _sequence_totals(line: Line, each: Float[Array, " rows"]) -> Float[Array, " rows"]:
    """Return for each row what the rows of its sequence add up to."""
    number = jnp.cumsum(line.start) - 1
    return jax.ops.segment_sum(each, number, each.shape[0])[number]


def _gaussian_energy(away: Float[Array, "rows n"], covariance: Float[Array, "n n"]) -> Float[Array, " rows"]:
    square, log_det = whiten(covariance, away)
    return 0.5 * (square + log_det + away.shape[-1] * LOG_TWO_PI)
