"""The ratio of Bessel functions A(κ) = I₁(κ)/I₀(κ), its slope and its inverse, accurate over the whole range."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import i0e, i1e
from jaxtyping import Array

#: A(κ) = 1 − Σ c_j κ^−j for large κ.
_RATIO = (1 / 2, 1 / 8, 1 / 8, 25 / 128, 13 / 32, 1073 / 1024, 103 / 32, 375733 / 32768)
_LARGE = 100.0


def _gap_series(kappa: Any) -> Array:
    """Return 1 − A(κ) for large κ."""
    z = 1 / kappa
    value = jnp.zeros_like(z)
    for c in reversed(_RATIO):
        value = z * (value + c)
    return value


def _ratio_series_slope(kappa: Any) -> Array:
    z = 1 / kappa
    value = jnp.zeros_like(z)
    for j, c in reversed(list(enumerate(_RATIO, start=1))):
        value = z * (value + j * c)
    return z * value


@jax.custom_jvp
def bessel_ratio(kappa: Any) -> Array:
    """Return A(κ) = I₁(κ)/I₀(κ) for κ ≥ 0, the mean length of a von Mises variable."""
    kappa = jnp.asarray(kappa)
    large = kappa > _LARGE
    small = jnp.where(large, 1, kappa)
    return jnp.where(large, 1 - _gap_series(jnp.where(large, kappa, 2 * _LARGE)), i1e(small) / i0e(small))


def bessel_ratio_gap(kappa: Any) -> Array:
    """Return 1 − A(κ), with its digits where A(κ) is nearly 1."""
    kappa = jnp.asarray(kappa)
    large = kappa > _LARGE
    middle = jnp.where(large, 1, kappa)
    series = _gap_series(jnp.where(large, kappa, 2 * _LARGE))
    return jnp.where(large, series, (i0e(middle) - i1e(middle)) / i0e(middle))


@jax.custom_jvp
def log_i0e(kappa: Any) -> Array:
    """Return log I₀(κ) − κ for κ ≥ 0; its derivative A(κ) − 1 has its digits where A(κ) is nearly 1."""
    return jnp.log(i0e(kappa))


@log_i0e.defjvp
def _log_i0e_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Array, Array]:
    return log_i0e(primals[0]), -bessel_ratio_gap(primals[0]) * tangents[0]


def bessel_ratio_slope(kappa: Any) -> Array:
    """Return A′(κ) = 1 − A/κ − A², without the cancellation at both ends."""
    kappa = jnp.asarray(kappa)
    large, tiny = kappa > _LARGE, kappa < 1e-3
    middle = jnp.where(large | tiny, 1, kappa)
    ratio = bessel_ratio(middle)
    return jnp.where(
        large,
        _ratio_series_slope(jnp.where(large, kappa, 2 * _LARGE)),
        jnp.where(tiny, 0.5 - 3 * jnp.square(kappa) / 16, 1 - ratio / middle - jnp.square(ratio)),
    )


@bessel_ratio.defjvp
def _bessel_ratio_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Array, Array]:
    return bessel_ratio(primals[0]), bessel_ratio_slope(primals[0]) * tangents[0]


@jax.custom_jvp
def inverse_bessel_ratio(r: Any) -> Array:
    """Return the κ ≥ 0 with A(κ) = r, for 0 ≤ r < 1, by Newton steps."""
    r = jnp.asarray(r)
    start = r * (2 - jnp.square(r)) / ((1 - r) * (1 + r))

    def step(_: Any, kappa: Array) -> Array:
        return jnp.maximum(kappa - (bessel_ratio(kappa) - r) / bessel_ratio_slope(kappa), 0)

    return jax.lax.fori_loop(0, 8, step, start)


@inverse_bessel_ratio.defjvp
def _inverse_bessel_ratio_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Array, Array]:
    kappa = inverse_bessel_ratio(primals[0])
    return kappa, tangents[0] / bessel_ratio_slope(kappa)
