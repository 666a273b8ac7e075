"""Rows of data under many Gaussians at once: the kernels in which learning spends its time.

There are two orders of the same products. *Features*: seen in a scaling in which the data is near 0, T(u) makes the
log-likelihoods one matrix product with the natural coordinates, and the statistics one with the responsibilities.
*Whitened*: rows minus a center are whitened by each member. With the center of the data that is one matrix product for
all members; with a center for each member it keeps its digits however far clusters are apart.

Inside, rows are the last axis: sums over members or columns are then sums of whole rows, which processors do at once.
"""

import itertools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Standardization, expand
from kullback.numerics import outer

LOG_TWO_PI = math.log(2 * math.pi)

#: The error that features may add: distance² × ε.
_DIGITS = 1e-9


def whitened_squares(
    values: Float[Array, "rows n"], mean: Float[Array, "k n"], w: Float[Array, "k n n"]
) -> Float[Array, "rows k"]:
    """Return |W_k(x − μ_k)|² for each row and member, one member at a time."""
    turned = values.T

    def one(member: tuple[Array, Array]) -> Array:
        m, factor = member
        away = turned - m[:, None]
        return sum(jnp.sum(jnp.square(factor[a:b, :b] @ away[:b]), axis=0) for a, b in _parts(len(m)))  # type: ignore[return-value]

    return jax.lax.map(one, (mean, w)).T


def spreads(
    values: Float[Array, "rows n"], weight: Float[Array, "rows k"], mean: Float[Array, "k n"]
) -> Float[Array, "k n n"]:
    """Return Σ w_k (x − μ_k)(x − μ_k)ᵀ, one member at a time: rows × n numbers, not rows × n²."""
    turned = values.T

    def one(member: tuple[Array, Array]) -> Array:
        w, m = member
        return _lower_product((turned - m[:, None]) * w, values - m)

    return _symmetric(jax.lax.map(one, (weight.T, mean)))


def centered_squares(
    away: Float[Array, "rows n"], shift: Float[Array, "k n"], w: Float[Array, "k n n"]
) -> Float[Array, "rows k"]:
    """Return |W_k y − s_k|² of rows around one center, s_k = W_k μ_k: W_k y of all members is one matrix product."""
    k, n = shift.shape
    square: Any = 0
    for a, b in _parts(n):
        product = jax.lax.dot_general(w[:, a:b, :b].reshape(-1, b), away[:, :b], (((1,), (1,)), ((), ())))
        square += jnp.sum(jnp.square(product.reshape(k, b - a, -1) - shift[:, a:b, None]), axis=1)
    turned: Array = square.T
    return turned


def centered_moments(
    away: Float[Array, "rows n"], weight: Float[Array, "rows k"]
) -> tuple[Array, Float[Array, "k n"], Float[Array, "k n n"]]:
    """Return mass, mean and covariance of the rows by members, from their moments around one center."""
    turned = away.T
    mass = jnp.sum(weight, axis=0)
    some = jnp.where(mass > 0, mass, 1)
    mean = (weight.T @ away) / expand(some, 1)
    square = jax.lax.map(lambda w: _lower_product(turned * w, away), weight.T)
    return mass, mean, _symmetric(square / expand(some, 2) - outer(mean))


def _parts(n: int) -> list[tuple[int, int]]:
    """Return where the rows of a triangular matrix are cut, so that products leave out most of what is 0."""
    count = min(max(n // 16, 1), 4)
    edges = [n * part // count for part in range(count + 1)]
    return list(itertools.pairwise(edges))


def _lower_product(one: Float[Array, "n rows"], other: Float[Array, "rows n"]) -> Float[Array, "n n"]:
    """Return the product of two matrices, with no matter what above the diagonal."""
    n = len(one)
    parts = [jnp.pad(one[a:b] @ other[:, :b], ((0, 0), (0, n - b))) for a, b in _parts(n)]
    return jnp.concatenate(parts)


def _symmetric(lower: Float[Array, "k n n"]) -> Float[Array, "k n n"]:
    """Return symmetric matrices of which the lower triangles are given."""
    return jnp.where(np.tri(lower.shape[-1], dtype=bool), lower, jnp.swapaxes(lower, -1, -2))


def diagonal_spreads(
    values: Float[Array, "rows n"], weight: Float[Array, "rows k"], mean: Float[Array, "k n"]
) -> Float[Array, "k n"]:
    """Return Σ w_k (x − μ_k)², one member at a time."""
    return jax.lax.map(lambda member: member[0] @ jnp.square(values - member[1]), (weight.T, mean))


# --- features ----------------------------------------------------------------------------------------------


class FeatureScorer(NamedTuple):
    """⟨θ, T(u)⟩ − ψ(θ) of flat members seen in a scaling: one matrix product."""

    family: Any
    scaling: Standardization
    natural: Float[Array, "k d"]
    constant: Float[Array, " k"]

    @classmethod
    def of(cls, family: Any, scaling: Standardization) -> "FeatureScorer":
        """Work out what no row enters."""
        seen = family.standardize(scaling)
        natural, log_partition = seen.natural_form()
        return cls(seen, scaling, natural, -log_partition - jnp.sum(jnp.log(scaling.scale)))

    def __call__(self, values: Float[Array, "rows n"]) -> Float[Array, "rows k"]:
        """Return the log density of each row under each member."""
        return (self.natural @ _features(self.family, values, self.scaling) + self.constant[:, None]).T


def features_moments(
    family: Any, values: Float[Array, "rows n"], weight: Float[Array, "rows k"], scaling: Standardization
) -> tuple[Array, Float[Array, "k d"]]:
    """Return the mass of each member and its average of T(u): one matrix product."""
    mass = jnp.sum(weight, axis=0)
    total = jax.lax.dot_general(weight.T, _features(family, values, scaling), (((1,), (1,)), ((), ())))
    return mass, total / expand(jnp.where(mass > 0, mass, 1), 1)


def _features(family: Any, values: Float[Array, "rows n"], scaling: Standardization) -> Float[Array, "d rows"]:
    turned = ((values - scaling.center) / scaling.scale).T
    features: Array = family.turned_statistics(turned)
    return features


def near_enough(mean: Any, precision: Any, radius: Any) -> Any:
    """Whether T(u) keeps its digits: means and a bound on the precision of each member, seen in that scaling."""
    xp: Any = np if isinstance(mean, np.ndarray) else jnp
    farthest = xp.linalg.norm(mean, axis=-1) + radius
    return xp.max(xp.square(farthest) * precision) * np.finfo(float).eps < _DIGITS
