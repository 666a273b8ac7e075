"""Fisher–Rao geometry: the exponential map, the logarithm and the distance of the Fisher metric.

Each family here is a known space in other clothes:

- Categorical, Bernoulli: p ↦ 2√p goes to the sphere of radius 2; Multinomial: √trials times that
- Poisson: λ ↦ 2√λ and Exponential: r ↦ log r go to the line
- SphericalGaussian on Rⁿ: (μ/√2n, σ) goes to the hyperbolic half-space, √2n times as large
- DiagonalGaussian: each (μᵢ/√2, σᵢ) goes to a hyperbolic half-plane, √2 times as large
- Gaussian: see `_gaussian_geodesic`; between equal means it is the space of positive definite matrices, with
  d² = ½ Σ log² λᵢ for the eigenvalues λᵢ of Σ_p⁻¹Σ_q
- Product and Independent: the product of the spaces of the parts or columns

All others, such as Gamma, Beta, Dirichlet, VonMises and Ising, go the numerical way of `_numerical_geodesic`, to about
nine digits in 64 bits, or are refused.

Velocities are flat vectors in the order of the source coordinates.
"""

import functools
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from kullback.families import (
    Bernoulli,
    Categorical,
    DiagonalGaussian,
    Exponential,
    ExponentialFamily,
    Gaussian,
    Independent,
    Multinomial,
    Poisson,
    Product,
    SphericalGaussian,
    VonMises,
)
from kullback.geometry._constant_curvature import (
    half_space_exponential,
    half_space_logarithm,
    half_space_square,
    sphere_exponential,
    sphere_logarithm,
    sphere_square,
)
from kullback.geometry._divergence import check_same_kind
from kullback.geometry._gaussian_geodesic import gaussian_exponential, gaussian_logarithm, gaussian_square
from kullback.geometry._numerical_geodesic import connect, shoot, square_distance
from kullback.numerics import check_values, counted, is_concrete, pack, unpack
from kullback.runtime import in_given_precision

Family = TypeVar("Family", bound=ExponentialFamily)

_INSIDE = "inside the family, for on its boundary the Fisher metric is infinite"
_UNKNOWN = (
    "p and q are too far apart for the geodesic between them to be known in {dtype}. "
    'Compute in 64 bits if these are fewer, or take a geodesic of kind="e" or kind="m".'
)
_LOST = (
    "The geodesic from p with this velocity leaves the family, or its digits are lost, before t = 1 in {dtype}. "
    "Take a shorter velocity."
)


@in_given_precision
def exponential_map(p: Family, velocity: Any) -> Family:
    """Return where the geodesic from p with this velocity is at t = 1.

    Where a geodesic of probabilities, or of the rate of a Poisson, reaches the boundary it comes back from it: √p
    changes its sign, and p is its square. From there on it is not the shortest way any more.

    >>> p = exponential_map(Exponential(rate=2.0), [2.0])
    >>> round(float(p.rate), 3)  # 2·e
    5.437
    """
    return _exponential(p, check_velocity(p, velocity))


@in_given_precision
def logarithm_map(p: Family, q: Family) -> Float[Array, "*batch d"]:
    """Return the velocity at p of the shortest geodesic that is at q at t = 1.

    >>> logarithm_map(Poisson(rate=1.0), Poisson(rate=4.0)).tolist()  # √λ goes from 1 to 2
    [2.0]
    """
    check_same_kind(p, q)
    return _logarithm(p, q)


@in_given_precision
def fisher_rao_distance(p: Family, q: Family) -> Float[Array, "*batch"]:
    """Return the length √(vᵀI(p)v) of the shortest geodesic from p to q, with v its velocity at p.

    Between close members it is √(2·D(p, q)).

    >>> round(float(fisher_rao_distance(Bernoulli(probability=0.0), Bernoulli(probability=1.0))), 4)  # π
    3.1416
    """
    check_same_kind(p, q)
    square = _square_distance(p, q)
    apart = square > 0
    return jnp.where(apart, jnp.sqrt(jnp.where(apart, square, 1)), 0)


def check_velocity(p: ExponentialFamily, velocity: Any) -> Num[Array, "... d"]:
    """Return the velocity as an array, or raise unless it has one entry for each source coordinate of p."""
    velocity = jnp.asarray(velocity)
    if velocity.ndim < 1 or velocity.shape[-1] != p.size:
        raise ValueError(
            f"velocity has shape {velocity.shape}: p has {counted(p.size, 'coordinate')}, so its last axis must too."
        )
    return velocity


@functools.singledispatch
def _exponential(p: ExponentialFamily, velocity: Array) -> Any:
    _check_interior(p, "p")
    _, speed = jax.jvp(
        lambda source: p.kind.at("source", source).natural, (p.source,), (velocity.astype(p.source.dtype),)
    )
    shot = shoot(p, speed)
    return p.kind.at("natural", _if_found(shot.end, shot.found, _LOST))


@functools.singledispatch
def _logarithm(p: ExponentialFamily, q: ExponentialFamily) -> Any:
    _check_interior(p, "p")
    _check_interior(q, "q")
    line, kind = connect(p, q), p.kind
    _, velocity = jax.jvp(lambda theta: kind.at("natural", theta).source, (p.natural,), (line.first,))
    # where source coordinates have no digits of a direction, as a von Mises of no concentration, it is lost
    _, back = jax.jvp(lambda source: kind.at("source", source).natural, (p.source,), (velocity,))
    slack = 1e3 * np.finfo(back.dtype).eps * jnp.max(jnp.abs(line.first), axis=-1)
    kept = jnp.max(jnp.abs(back - line.first), axis=-1) <= slack
    return _if_found(velocity, line.found & kept)


@functools.singledispatch
def _square_distance(p: ExponentialFamily, q: ExponentialFamily) -> Any:
    _check_interior(p, "p")
    _check_interior(q, "q")
    return _if_found(*square_distance(p.kind, p.natural, q.natural))


def _check_interior(p: ExponentialFamily, name: str) -> None:
    if isinstance(p, VonMises):
        must = "positive, for where it is 0 no direction is known"
        check_values(f"the concentration of {name}", p.concentration, lambda v: v > 0, must)
    if is_concrete(*jax.tree.leaves(p)) and not np.all(p.interior):
        raise ValueError(f"{name} is on the boundary of {type(p).__name__}: it must be {_INSIDE}.")


# --- probabilities: the sphere of radius 2 -------------------------------------------------------------


def _probabilities(p: Any) -> Array:
    if isinstance(p, Bernoulli):
        chance = jnp.asarray(p.probability)
        return jnp.stack([chance, 1 - chance], axis=-1)
    return jnp.asarray(p.probabilities)


def _check_inside(p: Any) -> None:
    """Raise on the boundary: the Fisher metric is infinite there, and no geodesic has a velocity."""
    if isinstance(p, Bernoulli):
        check_values("the probability of p", p.probability, lambda v: (v > 0) & (v < 1), _INSIDE)
    elif isinstance(p, Poisson):
        check_values("the rate of p", p.rate, lambda v: v > 0, _INSIDE)
    else:
        check_values("p.probabilities", p.probabilities, lambda v: v > 0, _INSIDE)


def _follow_circle(p: Any, velocity: Array) -> Array:
    _check_inside(p)
    last = -jnp.sum(velocity, axis=-1, keepdims=True)  # probabilities sum to one, their velocities to zero
    return sphere_exponential(_probabilities(p), jnp.concatenate([velocity, last], axis=-1))


@_exponential.register(Bernoulli)
def _(p: Bernoulli, velocity: Array) -> Bernoulli:
    return Bernoulli(_follow_circle(p, velocity)[..., 0])


@_exponential.register(Categorical)
@_exponential.register(Multinomial)
def _(p: Any, velocity: Array) -> Any:
    return eqx.tree_at(lambda member: member.probabilities, p, _follow_circle(p, velocity))


@_logarithm.register(Bernoulli)
@_logarithm.register(Categorical)
@_logarithm.register(Multinomial)
def _(p: Any, q: Any) -> Array:
    _check_inside(p)
    return sphere_logarithm(_probabilities(p), _probabilities(q))[..., :-1]


@_square_distance.register(Bernoulli)
@_square_distance.register(Categorical)
def _(p: Any, q: Any) -> Array:
    return 4 * sphere_square(_probabilities(p), _probabilities(q))


@_square_distance.register(Multinomial)
def _(p: Multinomial, q: Multinomial) -> Array:
    return 4 * p.trials * sphere_square(_probabilities(p), _probabilities(q))


# --- rates: the line ------------------------------------------------------------------------------------


@_exponential.register(Poisson)
def _(p: Poisson, velocity: Array) -> Poisson:
    _check_inside(p)
    rate, v = jnp.asarray(p.rate), velocity[..., 0]
    return Poisson(rate * jnp.square(1 + v / (2 * rate)))  # (√λ + v/2√λ)²


@_logarithm.register(Poisson)
def _(p: Poisson, q: Poisson) -> Array:
    _check_inside(p)
    return jnp.sqrt(p.rate)[..., None] * _root_difference(p, q)[..., None]


@_square_distance.register(Poisson)
def _(p: Poisson, q: Poisson) -> Array:
    return jnp.square(_root_difference(p, q))


def _root_difference(p: Poisson, q: Poisson) -> Array:
    """Return 2√λ_q − 2√λ_p, accurate for close rates."""
    a, b = jnp.asarray(p.rate), jnp.asarray(q.rate)
    some = (a > 0) | (b > 0)
    return 2 * (b - a) / (jnp.sqrt(jnp.where(some, a, 1)) + jnp.sqrt(jnp.where(some, b, 1)))


@_exponential.register(Exponential)
def _(p: Exponential, velocity: Array) -> Exponential:
    rate = jnp.asarray(p.rate)
    return Exponential(rate * jnp.exp(velocity[..., 0] / rate))


@_logarithm.register(Exponential)
def _(p: Exponential, q: Exponential) -> Array:
    return (jnp.asarray(p.rate) * _log_quotient(p, q))[..., None]


@_square_distance.register(Exponential)
def _(p: Exponential, q: Exponential) -> Array:
    return jnp.square(_log_quotient(p, q))


def _log_quotient(p: Exponential, q: Exponential) -> Array:
    """Return log r_q/r_p, accurate for close rates."""
    a, b = jnp.asarray(p.rate), jnp.asarray(q.rate)
    away = (b - a) / a
    near = jnp.abs(away) < 0.5
    return jnp.where(near, jnp.log1p(jnp.where(near, away, 0)), jnp.log(b) - jnp.log(a))


# --- means with one variance: the hyperbolic half-space, √2n times as large -----------------------------


def _half_space(p: Any) -> tuple[Array, Array]:
    """Return means and variances; one half-plane for each coordinate where each has its own variance."""
    mean, variance = jnp.asarray(p.mean), jnp.asarray(p.variance)
    return (mean, variance) if isinstance(p, SphericalGaussian) else (mean[..., None], variance)


@_exponential.register(SphericalGaussian)
def _(p: SphericalGaussian, velocity: Array) -> SphericalGaussian:
    return SphericalGaussian(*half_space_exponential(*_half_space(p), velocity[..., :-1], velocity[..., -1]))


@_logarithm.register(SphericalGaussian)
def _(p: SphericalGaussian, q: SphericalGaussian) -> Array:
    velocity, speed = half_space_logarithm(*_half_space(p), *_half_space(q))
    return jnp.concatenate([velocity, speed[..., None]], axis=-1)


@_square_distance.register(SphericalGaussian)
def _(p: SphericalGaussian, q: SphericalGaussian) -> Array:
    return half_space_square(*_half_space(p), *_half_space(q))


@_exponential.register(DiagonalGaussian)
def _(p: DiagonalGaussian, velocity: Array) -> DiagonalGaussian:
    first, speed = jnp.split(velocity, 2, axis=-1)
    mean, variance = half_space_exponential(*_half_space(p), first[..., None], speed)
    return DiagonalGaussian(mean[..., 0], variance)


@_logarithm.register(DiagonalGaussian)
def _(p: DiagonalGaussian, q: DiagonalGaussian) -> Array:
    velocity, speed = half_space_logarithm(*_half_space(p), *_half_space(q))
    return jnp.concatenate([velocity[..., 0], speed], axis=-1)


@_square_distance.register(DiagonalGaussian)
def _(p: DiagonalGaussian, q: DiagonalGaussian) -> Array:
    return jnp.sum(half_space_square(*_half_space(p), *_half_space(q)), axis=-1)


# --- Gaussians ------------------------------------------------------------------------------------------


def _line(p: Gaussian) -> DiagonalGaussian:
    """Return a Gaussian on the line by its variance."""
    return DiagonalGaussian(p.mean, p.covariance[..., 0])


@_exponential.register(Gaussian)
def _(p: Gaussian, velocity: Array) -> Gaussian:
    if p.mean.shape[-1] == 1:
        end = _exponential(_line(p), velocity)
        return Gaussian(end.mean, end.variance[..., None])
    return Gaussian(*gaussian_exponential(p.mean, p.covariance, *unpack(velocity)))


@_logarithm.register(Gaussian)
def _(p: Gaussian, q: Gaussian) -> Array:
    if p.mean.shape[-1] == 1:
        return _logarithm(_line(p), _line(q))
    velocity, speed, found = gaussian_logarithm(p.mean, p.covariance, q.mean, q.covariance)
    return _if_found(pack(velocity, speed), found)


@_square_distance.register(Gaussian)
def _(p: Gaussian, q: Gaussian) -> Array:
    if p.mean.shape[-1] == 1:
        return _square_distance(_line(p), _line(q))
    return _if_found(*gaussian_square(p.mean, p.covariance, q.mean, q.covariance))


def _if_found(value: Array, found: Array, lost: str = _UNKNOWN) -> Array:
    """Return the value, or fail when it is not one: at once, or as soon as a compiled function runs."""
    message = lost.format(dtype=value.dtype)
    if not is_concrete(found):
        return eqx.error_if(value, ~found, message)
    if not np.all(found):
        raise ValueError(message)
    return value


# --- products -------------------------------------------------------------------------------------------


@_exponential.register(Product)
def _(p: Product, velocity: Array) -> Product:
    cuts = np.cumsum([part.size for part in p.parts])[:-1]
    pieces = zip(p.parts, jnp.split(velocity, cuts, axis=-1), strict=True)
    return Product([_exponential(part, piece) for part, piece in pieces])


@_logarithm.register(Product)
def _(p: Product, q: Product) -> Array:
    return jnp.concatenate([_logarithm(a, b) for a, b in zip(p.parts, q.parts, strict=True)], axis=-1)


@_square_distance.register(Product)
def _(p: Product, q: Product) -> Array:
    return functools.reduce(jnp.add, [_square_distance(a, b) for a, b in zip(p.parts, q.parts, strict=True)])


@_exponential.register(Independent)
def _(p: Independent, velocity: Array) -> Independent:
    return Independent(_exponential(p.columns, velocity.reshape(*velocity.shape[:-1], *p.event_shape, -1)))


@_logarithm.register(Independent)
def _(p: Independent, q: Independent) -> Array:
    velocity = _logarithm(p.columns, q.columns)
    return velocity.reshape(*velocity.shape[:-2], -1)


@_square_distance.register(Independent)
def _(p: Independent, q: Independent) -> Array:
    return jnp.sum(_square_distance(p.columns, q.columns), axis=-1)
