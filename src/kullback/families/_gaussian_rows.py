"""Rows of data under many Gaussians at once: the kernels in which learning spends its time.

There are two orders of the same products. *Features*: seen in a scaling in which the data is near 0, T(u) makes the
log-likelihoods one matrix product with the natural coordinates, and the statistics one with the responsibilities.
*Whitened*: each member centers and whitens the rows for itself. It keeps its digits however far clusters are apart,
and it is the quicker one when members are few and columns many.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Standardization, expand

LOG_TWO_PI = math.log(2 * math.pi)

#: The error that features may add: distance² × ε.
_DIGITS = 1e-9


def whitened_squares(
    values: Float[Array, "rows n"], mean: Float[Array, "k n"], w: Float[Array, "k n n"]
) -> Float[Array, "rows k"]:
    """Return |W_k(x − μ_k)|² for each row and member."""

    def one(member: tuple[Array, Array]) -> Array:
        m, factor = member
        return jnp.sum(jnp.square((values - m) @ factor.T), axis=-1)

    return jax.lax.map(one, (mean, w)).T


def spreads(
    values: Float[Array, "rows n"], weight: Float[Array, "rows k"], mean: Float[Array, "k n"]
) -> Float[Array, "k n n"]:
    """Return Σ w_k (x − μ_k)(x − μ_k)ᵀ, one member at a time: rows × n numbers, not rows × n²."""
    turned = values.T

    def one(member: tuple[Array, Array]) -> Array:
        w, m = member
        return ((turned - m[:, None]) * w) @ (values - m)

    return jax.lax.map(one, (weight.T, mean))


def diagonal_spreads(
    values: Float[Array, "rows n"], weight: Float[Array, "rows k"], mean: Float[Array, "k n"]
) -> Float[Array, "k n"]:
    """Return Σ w_k (x − μ_k)², one member at a time."""
    return jax.lax.map(lambda member: member[0] @ jnp.square(values - member[1]), (weight.T, mean))


# --- features ----------------------------------------------------------------------------------------------


def features_log_likelihood(
    family: Any, values: Float[Array, "rows n"], scaling: Standardization
) -> Float[Array, "rows k"]:
    """Return ⟨θ, T(u)⟩ − ψ(θ) of flat members seen in that scaling: one matrix product."""
    seen = family.standardize(scaling)
    product = _features(seen, values, scaling) @ seen.natural.T
    return product - seen.log_partition - jnp.sum(jnp.log(scaling.scale))


def features_moments(
    family: Any, values: Float[Array, "rows n"], weight: Float[Array, "rows k"], scaling: Standardization
) -> tuple[Array, Float[Array, "k d"]]:
    """Return the mass of each member and its average of T(u): one matrix product."""
    mass = jnp.sum(weight, axis=0)
    total = weight.T @ _features(family, values, scaling)
    return mass, total / expand(jnp.where(mass > 0, mass, 1), 1)


def _features(family: Any, values: Float[Array, "rows n"], scaling: Standardization) -> Float[Array, "rows d"]:
    features: Array = family.statistics((values - scaling.center) / scaling.scale)
    return features


def near_enough(mean: Any, precision: Any, radius: Any) -> Any:
    """Whether T(u) keeps its digits: means and a bound on the precision of each member, seen in that scaling."""
    xp: Any = np if isinstance(mean, np.ndarray) else jnp
    farthest = xp.linalg.norm(mean, axis=-1) + radius
    return xp.max(xp.square(farthest) * precision) * np.finfo(float).eps < _DIGITS
