"""Differences of log Γ and of the digamma function that keep their digits."""

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from kullback.numerics._types import Numeric

#: log Γ(x) = (x − ½)·log x − x + ½·log 2π + Σ c_j x^(1−2j), good to rounding from here on.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
_LARGE = 16.0


def log_rising(x: Float[Numeric, "..."], step: Float[Numeric, "..."]) -> Float[Array, "..."]:
    """Return log Γ(x + step) − log Γ(x) = log x(x+1)…(x+step−1), for x > 0 and step ≥ 0.

    For large x both terms are large and nearly alike: there it is the difference of their Stirling series.
    """
    x, step = jnp.asarray(x), jnp.asarray(step)
    small, large = jnp.minimum(x, _LARGE), jnp.maximum(x, _LARGE)
    direct = gammaln(small + step) - gammaln(small)
    series = (large - 0.5) * jnp.log1p(step / large) + step * (jnp.log(large + step) - 1)
    return jnp.where(x < _LARGE, direct, series + _tail(large + step) - _tail(large))


def log_gamma_gap(k: Float[Numeric, "..."]) -> Float[Array, "..."]:
    """Return k·log k − k − log Γ(k) for k > 0: ½·log(k/2π) and less and less besides."""
    k = jnp.asarray(k)
    small, large = jnp.minimum(k, _LARGE), jnp.maximum(k, _LARGE)
    direct = small * (jnp.log(small) - 1) - gammaln(small)
    return jnp.where(k < _LARGE, direct, 0.5 * jnp.log(large / (2 * np.pi)) - _tail(large))


def _tail(x: Float[Array, "..."]) -> Float[Array, "..."]:
    z, total = 1 / (x * x), jnp.zeros_like(x)
    for c in reversed(_STIRLING):
        total = total * z + c
    return total / x


def digamma_rise(x: Float[Numeric, "..."], step: Float[Numeric, "..."]) -> Float[Array, "..."]:
    """Return digamma(x + step) − digamma(x) for x > 0 and step ≥ 0, in full relative accuracy.

    digamma(x + 1) = digamma(x) + 1/x ten times, then log x − 1/2x − 1/12x² + 1/120x⁴ − …; each difference is
    written as a product with the step, so that nothing cancels.
    """
    x, step = jnp.asarray(x), jnp.asarray(step)
    total = jnp.zeros_like(x + step)
    for k in range(10):
        total = total + step / ((x + k) * (x + step + k))
    u, w = 1 / (x + 10), 1 / (x + step + 10)
    first = step * u * w  # u − w
    u, w, second = u * u, w * w, first * (u + w)  # u² − w²
    both, product = u + w, u * w
    # (aᵐ − bᵐ)/(a − b) for m = 2, 3, 4, 5, 6 with a = u², b = w²
    powers = (
        both,
        both**2 - product,
        both * (both**2 - 2 * product),
        both**4 - 3 * both**2 * product + product**2,
        both * (both**2 - product) * (both**2 - 3 * product),
    )
    series = jnp.full_like(both, 1 / 12)
    for p, c in zip(powers, (-1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760), strict=True):
        series = series + c * p
    return total + jnp.log1p(step / (x + 10)) + first / 2 + second * series


def trigamma_fall(x: Float[Numeric, "..."], step: Float[Numeric, "..."]) -> Float[Array, "..."]:
    """Return trigamma(x) − trigamma(x + step) for x > 0 and step ≥ 0, by the same means and as accurately."""
    x, step = jnp.asarray(x), jnp.asarray(step)
    total = jnp.zeros_like(x + step)
    for k in range(10):
        u, w = 1 / (x + k), 1 / (x + step + k)
        total = total + step * u * w * (u + w)  # u² − w²
    u, w = 1 / (x + 10), 1 / (x + step + 10)
    # uᵐ − wᵐ is u − w times a sum of products, whose terms come one by one
    sums, power = jnp.ones_like(u * w), jnp.ones_like(w)
    series = jnp.ones_like(sums)
    for c in (1 / 2, 1 / 6, 0, -1 / 30, 0, 1 / 42, 0, -1 / 30, 0, 5 / 66, 0, -691 / 2730):
        power = power * w
        sums = u * sums + power
        series = series + c * sums
    return total + step * u * w * series
