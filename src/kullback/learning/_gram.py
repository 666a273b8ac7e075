"""The natural gradient of a machine of pairs, through the Gram matrix of few draws: no Fisher matrix is formed."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class PairGradient(NamedTuple):
    """A gradient in the coordinates of v hᵀ, v and h."""

    weights: Float[Array, "visible hidden"]
    visible: Float[Array, " visible"]
    hidden: Float[Array, " hidden"]


def gram_natural_gradient(
    gradient: PairGradient,
    v: Float[Array, "draws visible"],
    h: Float[Array, "draws hidden"],
    damping: float | Float[Array, ""],
) -> PairGradient:
    """Return (F + αI)⁻¹g, with F the covariance of the statistics (v hᵀ, v, h) over draws of the model.

    With S the centered statistics, a row for each of M draws, F = SᵀS/M and (F + αI)⁻¹ = (I − Sᵀ(SSᵀ/M + αI)⁻¹S/M)/α.
    The Gram matrix of the statistics is (VVᵀ + 1)∘(HHᵀ + 1) − 1, centered from both sides; Sg takes one product with
    the matrix of weights, and Sᵀx another: O(M²(visible + hidden) + M³/3 + M·visible·hidden).
    """
    count = len(v)
    gram = _centered(_centered((v @ v.T + 1) * (h @ h.T + 1) - 1).T)
    seen = jnp.sum((v @ gradient.weights) * h, axis=1) + v @ gradient.visible + h @ gradient.hidden
    damped = gram / count + damping * jnp.eye(count, dtype=gram.dtype)
    x = _centered(jax.scipy.linalg.solve(damped, _centered(seen), assume_a="pos")) / count
    back = PairGradient(v.T @ (x[:, None] * h), x @ v, x @ h)
    return PairGradient(*((g - b) / damping for g, b in zip(gradient, back, strict=True)))


def _centered(rows: Float[Array, "draws *_"]) -> Float[Array, "draws *_"]:
    return rows - jnp.mean(rows, axis=0)
