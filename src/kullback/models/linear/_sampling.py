"""Draws of sequences from a linear dynamical system."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from kullback.models.linear._kalman import draw_path
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
