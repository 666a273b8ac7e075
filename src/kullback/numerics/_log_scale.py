"""Logarithms of scales, and densities at any of them: what is computed is a number, and leads back from far away.

One rule holds for what would overflow: it is clipped, and the derivative is kept, so that learning finds its way back.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.numerics._linalg import LOG_TWO_PI


def bounded_log_scale(log_scale: Any) -> Float[Array, "..."]:
    """Return log scales clipped to ±300, in 32 bits to ±40; the derivative stays 1, and learning finds its way back.

    Exponentials of what is returned, and of twice as much, are finite and not 0.
    """
    log_scale = jnp.asarray(log_scale)
    most = 300.0 if _is_double(log_scale) else 40.0
    return _with_slope(log_scale, jnp.clip(log_scale, -most, most))


def bounded_log_ratio(log_ratio: Any) -> Float[Array, "..."]:
    """Return log ratios clipped from above, likewise: their exponential times that of a log scale is finite."""
    log_ratio = jnp.asarray(log_ratio)
    return _with_slope(log_ratio, jnp.minimum(log_ratio, 400.0 if _is_double(log_ratio) else 46.0))


def _with_slope(x: Array, value: Array) -> Array:
    """Return a value with the derivative of x; it is the value itself, however large x is."""
    return jax.lax.stop_gradient(value) + (x - jax.lax.stop_gradient(x))


def _is_double(x: Array) -> bool:
    return bool(np.finfo(x.dtype).bits >= 64)


@jax.custom_jvp
def log_normal(away: Any, log_scale: Any) -> Float[Array, "..."]:
    """Return log N(away | 0, σ²) for log σ within the bounds of `bounded_log_scale`.

    Distances of more than 1e150 σ, in 32 bits 1e18 σ, count as that many in value and derivatives: their squares would
    overflow. The derivative by `away` is at most 1e280, in 32 bits 1e30, so that its products with what `away` was
    made of are finite too.
    """
    return -0.5 * (jnp.square(_distance(away, log_scale)) + LOG_TWO_PI) - log_scale


@log_normal.defjvp
def _log_normal_jvp(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Array, Array]:
    away, log_scale = primals
    z = _distance(away, log_scale)
    most = 1e280 if _is_double(z) else 1e30
    slope = jnp.clip(z * jnp.exp(-log_scale), -most, most)
    return log_normal(away, log_scale), (jnp.square(z) - 1) * tangents[1] - slope * tangents[0]


def _distance(away: Any, log_scale: Any) -> Array:
    z = away * jnp.exp(-log_scale)
    most = 1e150 if _is_double(z) else 1e18
    return jnp.clip(z, -most, most)
