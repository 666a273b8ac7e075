"""Geodesics of the unit sphere and of the hyperbolic half-space, accurate and smooth also where they are short."""

import math
from collections.abc import Callable, Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float

_COSH = [1 / math.factorial(2 * k) for k in range(7)]
_SINH = [1 / math.factorial(2 * k + 1) for k in range(7)]
_ARC = [math.prod(2 * j / (2 * j + 1) for j in range(1, k + 1)) for k in range(9)]


def _alternating(series: Sequence[float]) -> list[float]:
    return [(-1) ** k * c for k, c in enumerate(series)]


def _smooth(square: Array, series: Sequence[float], closed: Callable[[Array], Array]) -> Array:
    """Return closed(square), near 0 by its Taylor series: the square root has no derivative there."""
    near = square < 0.01
    value = jnp.polyval(jnp.asarray(series[::-1], square.dtype), jnp.where(near, square, 0))
    return jnp.where(near, value, closed(jnp.where(near, 0.25, square)))


# --- the unit sphere, at the points √p ------------------------------------------------------------------


def sphere_exponential(p: Float[Array, "*#batch k"], velocity: Float[Array, "*#batch k"]) -> Float[Array, "*batch k"]:
    """Follow the great circle from √p on which p starts with this velocity; return the squares of its end.

    With ρ the length of the velocity u of √p, the end is cos(ρ)·√p + sin(ρ)/ρ·u. A probability of 0 stays 0.
    """
    positive = p > 0
    root = jnp.sqrt(jnp.where(positive, p, 1))
    tangent = jnp.where(positive, velocity / (2 * root), 0)
    square = jnp.sum(jnp.square(tangent), axis=-1, keepdims=True)
    cosine = _smooth(square, _alternating(_COSH), lambda s: jnp.cos(jnp.sqrt(s)))
    sine = _smooth(square, _alternating(_SINH), lambda s: jnp.sin(jnp.sqrt(s)) / jnp.sqrt(s))
    end = jnp.square(cosine * jnp.where(positive, root, 0) + sine * tangent)
    return end / jnp.sum(end, axis=-1, keepdims=True)


def sphere_logarithm(p: Float[Array, "*#batch k"], q: Float[Array, "*#batch k"]) -> Float[Array, "*batch k"]:
    """Return the velocity of p on the great circle from √p to √q: 2√p·(√q − cos(ρ)·√p)·ρ/sin ρ."""
    chord, h, ratio = _chord(p, q)
    root = jnp.sqrt(p)
    return 2 * ratio[..., None] * root * (chord + 2 * h[..., None] * root)


def sphere_square(p: Float[Array, "*#batch k"], q: Float[Array, "*#batch k"]) -> Float[Array, "*batch"]:
    """Return ρ², the square of the angle between √p and √q."""
    _, h, ratio = _chord(p, q)
    return 4 * h * (1 - h) * jnp.square(ratio)


def _chord(p: Array, q: Array) -> tuple[Array, Array, Array]:
    """Return √q − √p, h = sin²(ρ/2) and ρ/sin ρ."""
    some = (p > 0) | (q > 0)
    chord = (q - p) / (jnp.sqrt(jnp.where(some, p, 1)) + jnp.sqrt(jnp.where(some, q, 1)))
    h = 0.25 * jnp.sum(jnp.square(chord), axis=-1)
    return chord, h, _smooth(h, _ARC, lambda h: jnp.arcsin(jnp.sqrt(h)) / jnp.sqrt(h * (1 - h)))


# --- the hyperbolic half-space of (μ/√2n, σ), √2n times as large ----------------------------------------


def half_space_exponential(
    mean: Float[Array, "*#batch n"],
    variance: Float[Array, "*#batch"],
    velocity: Float[Array, "*#batch n"],
    speed: Float[Array, "*#batch"],
) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch"]]:
    """Follow the geodesic from (μ, σ²), where they change with this velocity and speed; return them at its end.

    From (0, 1) with velocity (a, b), of length ρ, a geodesic comes to (m, y) with 1/y = cosh ρ − b·sinh(ρ)/ρ and
    m/y = a·sinh(ρ)/ρ. Away from ρ = 0 both are taken times e^−ρ, and the first as e^−ρ + (ρ − b)·sinh(ρ)/ρ, in which
    nothing cancels.
    """
    unit = _unit(mean, variance)
    a, b = velocity / unit, 0.5 * speed / variance
    across = jnp.sum(jnp.square(a), axis=-1)
    square = across + jnp.square(b)
    near = square < 0.01
    sine = _smooth(square, _SINH, lambda s: -jnp.expm1(-2 * jnp.sqrt(s)) / (2 * jnp.sqrt(s)))
    cosine = _smooth(square, _COSH, jnp.ones_like)
    rho = jnp.sqrt(jnp.where(near, 1, square))
    decay = jnp.where(near, 1, jnp.exp(-rho))
    slack = jnp.where(b > 0, across / (rho + jnp.abs(b)), rho - b)
    below = jnp.where(near, cosine - b * sine, jnp.square(decay) + slack * sine)
    return mean + unit * a * (sine / below)[..., None], variance * jnp.square(decay / below)


def half_space_logarithm(
    p_mean: Float[Array, "*#batch n"],
    p_variance: Float[Array, "*#batch"],
    q_mean: Float[Array, "*#batch n"],
    q_variance: Float[Array, "*#batch"],
) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch"]]:
    """Return the velocity of the mean and the speed of the variance on the geodesic from p to q.

    From (0, 1) to (m, y) it is ρ/sinh ρ times m/y and (|m|² + y² − 1)/2y.
    """
    m, y, excess, _, ratio = _gap(p_mean, p_variance, q_mean, q_variance)
    scale = ratio / y
    speed = scale * (jnp.sum(jnp.square(m), axis=-1) + excess)
    return _unit(p_mean, p_variance) * scale[..., None] * m, p_variance * speed


def half_space_square(
    p_mean: Float[Array, "*#batch n"],
    p_variance: Float[Array, "*#batch"],
    q_mean: Float[Array, "*#batch n"],
    q_variance: Float[Array, "*#batch"],
) -> Float[Array, "*batch"]:
    """Return the square of the distance, 2nρ²."""
    _, _, _, h, ratio = _gap(p_mean, p_variance, q_mean, q_variance)
    return 8 * p_mean.shape[-1] * h * (1 + h) * jnp.square(ratio)


def _unit(mean: Array, variance: Array) -> Array:
    return jnp.sqrt(2 * mean.shape[-1] * variance)[..., None]


def _gap(p_mean: Array, p_variance: Array, q_mean: Array, q_variance: Array) -> tuple[Array, ...]:
    """Return q as (m, y) when p is (0, 1), y² − 1, h = sinh²(ρ/2) = (|m|² + (y − 1)²)/4y and ρ/sinh ρ."""
    m, y = (q_mean - p_mean) / _unit(p_mean, p_variance), jnp.sqrt(q_variance / p_variance)
    excess = (q_variance - p_variance) / p_variance
    h = (jnp.sum(jnp.square(m), axis=-1) + jnp.square(excess / (1 + y))) / (4 * y)
    closed = lambda h: jnp.arcsinh(jnp.sqrt(h)) / (jnp.sqrt(h) * jnp.sqrt(1 + h))  # noqa: E731
    return m, y, excess, h, _smooth(h, _alternating(_ARC), closed)
