"""Searches that have a Gaussian by a root of its covariance, Σ = AAᵀ.

A is a matrix, the entries of a diagonal one, or one number for all: the methods are written once for the three.
"""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.families import DiagonalGaussian, Gaussian, SphericalGaussian
from kullback.search.methods._method import Method, check_evaluations
from kullback.search.methods._steps import clip_scale, shortening

Covariance = Literal["full", "diagonal", "spherical"]


class RootState(NamedTuple):
    """N(mean, AAᵀ), with A the root."""

    key: Array
    mean: Float[Array, " n"]
    root: Float[Array, "..."]


class RootMethod(Method):
    """A search whose state is a mean and a root: all but how they move."""

    covariance: eqx.AbstractVar[Covariance]

    def init(self, key: Array) -> RootState:
        """Return N(mean, diag(scale²))."""
        lengths = jnp.asarray(self.scale)
        root = jnp.diag(lengths) if self.covariance == "full" else lengths
        return RootState(key, jnp.asarray(self.mean), root[0] if self.covariance == "spherical" else root)

    def ask(self, state: RootState) -> tuple[Float[Array, "population n"], RootState]:
        """Draw x = μ + A·z with z ~ N(0, I)."""
        key, draw = jax.random.split(state.key)
        z = jax.random.normal(draw, (self.population, len(state.mean)), state.mean.dtype)
        return state.mean + apply_root(state.root, z), state._replace(key=key)

    def distribution(self, state: RootState) -> Gaussian | DiagonalGaussian | SphericalGaussian:
        """Return N(μ, AAᵀ)."""
        match state.root.ndim:
            case 2:
                return Gaussian(state.mean, state.root @ state.root.T)
            case 1:
                return DiagonalGaussian(state.mean, jnp.square(state.root))
        return SphericalGaussian(state.mean, jnp.square(state.root))

    def spread(self, state: RootState) -> Float[Array, " n"]:
        """Return the roots of the diagonal of AAᵀ."""
        if state.root.ndim == 2:
            return jnp.sqrt(jnp.sum(jnp.square(state.root), axis=1))
        return jnp.broadcast_to(state.root, state.mean.shape)

    def condition(self, state: RootState) -> Float[Array, ""]:
        """Return the condition number of AAᵀ."""
        lengths = jnp.linalg.svd(state.root, compute_uv=False) if state.root.ndim == 2 else state.root
        return jnp.square(jnp.max(lengths) / jnp.min(lengths))


def check_covariance(covariance: Any, scale: Any, known: tuple[str, ...]) -> Any:
    """Return which covariance is meant; raise where it is not known or cannot have these scales."""
    if covariance not in known:
        raise ValueError(f"covariance is {covariance!r}: it must be {' or '.join(repr(name) for name in known)}.")
    if covariance == "spherical" and np.min(scale) != np.max(scale):
        raise ValueError(f"scale goes from {np.min(scale)} to {np.max(scale)}: a sphere has one for all coordinates.")
    return covariance


def whiten(state: RootState, points: Any, values: Any) -> tuple[Float[Array, "m n"], Float[Array, " m"]]:
    """Return z = A⁻¹(x − μ), no longer than one that is drawn can be, and the values."""
    points, values = check_evaluations(points, values, state.mean)
    y, root = points - state.mean, state.root
    z = jnp.linalg.solve(root, y.T).T if root.ndim == 2 else y / root
    return z * shortening(z)[:, None], values


def move(state: RootState, shift: Float[Array, " n"], factor: Float[Array, "..."]) -> RootState:
    """Return N(μ + A·shift, A·factor·factorᵀ·Aᵀ)."""
    root = state.root @ factor if state.root.ndim == 2 else state.root * factor
    size = jnp.max(jnp.abs(root))
    root = root * (clip_scale(size) / size) if root.ndim == 2 else clip_scale(root)
    return RootState(state.key, state.mean + apply_root(state.root, shift), root)


def apply_root(root: Float[Array, "..."], z: Float[Array, "... n"]) -> Float[Array, "... n"]:
    """Return A·z."""
    return z @ root.T if root.ndim == 2 else z * root
