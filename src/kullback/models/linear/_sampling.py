"""Draws from a linear dynamical system: of sequences, and of what is missing of them."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from kullback.core import Batch
from kullback.models.linear._inference import smooth_states
from kullback.models.linear._kalman import States, draw_path
from kullback.models.linear._observed_rows import missing_given_rest
from kullback.models.linear._system import LinearSystem
from kullback.numerics import apply


def draw_rows(
    system: LinearSystem, key: Array, start: Bool[Array, " rows"], drive: Float[Array, "rows q"], inputs: Any
) -> tuple[Float[Array, "rows q"], Float[Array, "rows n"]]:
    """Draw the states and the points of sequences."""
    first, second = jax.random.split(key)
    h = draw_path(system.dynamics, start, drive, jax.random.normal(first, drive.shape, drive.dtype))
    noise = jax.random.normal(second, (drive.shape[0], *system.event_shape), drive.dtype)
    factor = jnp.linalg.cholesky(jnp.asarray(system.observation_noise))
    return h, system.visible_mean(h, inputs) + apply(factor, noise)


def draw_missing(system: LinearSystem, batch: Batch, key: Array) -> Float[Array, "rows n"]:
    """Draw all missing entries together given what is observed of the sequences."""
    values, dtype = jnp.asarray(batch.values, system.transition.dtype), system.transition.dtype
    if batch.observed is None:
        return values
    line, observed = system.line(batch.time, batch.weight), jnp.asarray(batch.observed)
    _, drawn = draw_rows(system, key, line.start, line.drive, line.inputs)
    apart = jnp.where(observed, values - drawn, 0)
    dynamics = system.dynamics
    initial = States(jnp.zeros_like(dynamics.initial.mean), dynamics.initial.covariance)
    still, none = dynamics._replace(initial=initial), jnp.zeros_like(line.drive)
    outputs = system.outputs(apart, observed)
    mean = smooth_states(still, line._replace(drive=none), outputs).states.mean
    rest = missing_given_rest(jnp.asarray(system.observation), jnp.asarray(system.observation_noise), observed)
    moved = drawn + apply(rest.from_values, apart) + apply(rest.from_state, mean)
    return jnp.where(observed, values, moved).astype(dtype)
