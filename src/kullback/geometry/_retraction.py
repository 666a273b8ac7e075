"""Cheap steps that never leave the family."""

import functools
from typing import Any, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from kullback.families import (
    Bernoulli,
    Beta,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    Exponential,
    ExponentialFamily,
    Gamma,
    Gaussian,
    Independent,
    Ising,
    Multinomial,
    Poisson,
    Product,
    SphericalGaussian,
    VonMises,
)
from kullback.geometry._fisher_rao import check_velocity
from kullback.numerics import unpack, whitener
from kullback.runtime import in_given_precision

Family = TypeVar("Family", bound=ExponentialFamily)


@in_given_precision
def retraction(p: Family, velocity: Any) -> Family:
    """Return a member near p in the direction of a velocity in source coordinates.

    It agrees with the geodesic from p to first order and, unlike p.source + velocity, always is in the family:

    - what is positive, x, becomes x·(1 + a + a²/2) with a = v/x, which is never less than x/2
    - probabilities become that too, divided by their sum
    - a covariance Σ, with velocity V, becomes Σ + V + ½VΣ⁻¹V, which is never less than Σ/2
    - what can be anything, such as a mean, becomes x + v; of a von Mises that is true of κ(cos μ, sin μ)

    >>> retraction(Exponential(rate=2.0), [-6.0]).rate.tolist()  # 2·(1 − 3 + 9/2)
    5.0
    """
    return _retract(p, check_velocity(p, velocity))


@functools.singledispatch
def _retract(p: ExponentialFamily, velocity: Array) -> Any:
    raise TypeError(f"A retraction for {type(p).__name__} is not written yet.")


def _positive(x: Any, velocity: Array) -> Array:
    return x * 0.5 * (1 + jnp.square(1 + velocity / x))


@_retract.register(Exponential)
@_retract.register(Poisson)
@_retract.register(Gamma)
@_retract.register(Beta)
@_retract.register(Dirichlet)
def _(p: ExponentialFamily, velocity: Array) -> ExponentialFamily:
    return p.kind.at("source", _positive(p.source, velocity))


def _simplex(p: Array, velocity: Array) -> Array:
    velocity = jnp.concatenate([velocity, -jnp.sum(velocity, axis=-1, keepdims=True)], axis=-1)
    a = jnp.where(p > 0, velocity / jnp.where(p > 0, p, 1), 0)
    scale = 1 / (1 + jnp.max(jnp.abs(a), axis=-1, keepdims=True))  # a common factor, so that no square overflows
    grown = p * (jnp.square(scale) + jnp.square(scale + scale * a))
    return grown / jnp.sum(grown, axis=-1, keepdims=True)


@_retract.register(Bernoulli)
def _(p: Bernoulli, velocity: Array) -> Bernoulli:
    chance = jnp.asarray(p.probability)
    return Bernoulli(_simplex(jnp.stack([chance, 1 - chance], axis=-1), velocity)[..., 0])


@_retract.register(Categorical)
@_retract.register(Multinomial)
def _(p: Any, velocity: Array) -> Any:
    return eqx.tree_at(lambda c: c.probabilities, p, _simplex(jnp.asarray(p.probabilities), velocity))


@_retract.register(Ising)
def _(p: Ising, velocity: Array) -> ExponentialFamily:
    return p.kind.at("source", p.source + velocity)


@_retract.register(VonMises)
def _(p: VonMises, velocity: Array) -> VonMises:
    along, across = p.concentration + velocity[..., 1], p.concentration * velocity[..., 0]
    return VonMises(p.mean + jnp.arctan2(across, along), jnp.hypot(along, across))


@_retract.register(SphericalGaussian)
def _(p: SphericalGaussian, velocity: Array) -> SphericalGaussian:
    return SphericalGaussian(p.mean + velocity[..., :-1], _positive(p.variance, velocity[..., -1]))


@_retract.register(DiagonalGaussian)
def _(p: DiagonalGaussian, velocity: Array) -> DiagonalGaussian:
    first, second = jnp.split(velocity, 2, axis=-1)
    return DiagonalGaussian(p.mean + first, _positive(p.variance, second))


@_retract.register(Gaussian)
def _(p: Gaussian, velocity: Array) -> Gaussian:
    first, second = unpack(velocity)
    return Gaussian(p.mean + first, _covariance(jnp.asarray(p.covariance), second))


def _covariance(covariance: Array, velocity: Array) -> Array:
    """Return Σ + V + ½VΣ⁻¹V as ½(Σ + YYᵀ) with Y = L + VL⁻ᵀ, Σ = LLᵀ.

    A matrix that is long in one direction only would lose the others to rounding. So V is first scaled down, by
    √(1 + s²/c²) with s the size of L⁻¹VL⁻ᵀ and c larger than any sensible step: it changes the third order.
    """
    w = whitener(covariance)
    back = jnp.swapaxes(w, -1, -2)
    reach = jnp.sum(jnp.square(w @ velocity @ back), axis=(-2, -1), keepdims=True)
    reach = jnp.sqrt(1 + reach * jnp.sqrt(np.finfo(reach.dtype).eps))
    y = jnp.linalg.cholesky(covariance) + (velocity / reach) @ back
    return 0.5 * (covariance + y @ jnp.swapaxes(y, -1, -2))


@_retract.register(Product)
def _(p: Product, velocity: Array) -> Product:
    cuts = np.cumsum([part.size for part in p.parts])[:-1]
    pieces = zip(p.parts, jnp.split(velocity, cuts, axis=-1), strict=True)
    return Product([_retract(part, piece) for part, piece in pieces])


@_retract.register(Independent)
def _(p: Independent, velocity: Array) -> Independent:
    return Independent(_retract(p.columns, velocity.reshape(*velocity.shape[:-1], *p.event_shape, -1)))
