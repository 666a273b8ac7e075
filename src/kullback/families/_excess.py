"""Small gaps without cancellation: how far a convex function lies above its tangent.

Relative entropies are such gaps. Close to the point of contact the plain formula subtracts nearly equal
numbers; these forms keep their relative accuracy down to a gap of zero.
"""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

if TYPE_CHECKING:
    from kullback.families._family import Kind

_NEAR = 1e-2
_TERMS = 9


def log_excess(t: Any) -> Array:
    """Return t − log(1+t), for t > −1."""
    t = jnp.asarray(t)
    near = jnp.abs(t) < _NEAR
    small = jnp.where(near, t, 0)
    series = jnp.zeros_like(small)
    for k in range(_TERMS, 1, -1):  # t²/2 − t³/3 + …
        series = small * series + (1 if k % 2 == 0 else -1) / k
    return jnp.where(near, small * small * series, t - jnp.log1p(jnp.where(near, 0, t)))


def entropy_excess(p: Any, q: Any) -> Array:
    """Return p·log(p/q) − p + q ≥ 0, for p, q ≥ 0: the relative entropy of unnormalized masses.

    It is 0 for p = q = 0 and infinite for p > q = 0.
    """
    p, q = jnp.broadcast_arrays(jnp.asarray(p), jnp.asarray(q))
    positive = (p > 0) & (q > 0)
    safe_p, safe_q = jnp.where(positive, p, 1), jnp.where(positive, q, 1)
    t = (safe_q - safe_p) / safe_p
    # p·log(p/q) − p + q = p·(t − log(1+t)) with q = p(1+t)
    gap = safe_p * log_excess(t)
    return jnp.where(positive, gap, jnp.where(p > 0, jnp.inf, q))


def determinant_excess(m: Float[Array, "*batch n n"]) -> Float[Array, "*batch"]:
    """Return tr M − log|I + M| ≥ 0, for symmetric M with I + M positive definite."""
    n = m.shape[-1]
    size = jnp.sqrt(jnp.sum(jnp.square(m), axis=(-2, -1)))
    near = size < _NEAR
    small = jnp.where(near[..., None, None], m, 0)
    power, series = small, jnp.zeros_like(size)
    for k in range(2, _TERMS + 1):
        power = power @ small
        series = series + (1 if k % 2 == 0 else -1) / k * jnp.trace(power, axis1=-2, axis2=-1)
    # |I + M| by Cholesky: the caller has made I + M symmetric positive definite
    factor = jnp.linalg.cholesky(jnp.eye(n, dtype=m.dtype) + jnp.where(near[..., None, None], 0, m))
    log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
    return jnp.where(near, series, jnp.trace(m, axis1=-2, axis2=-1) - log_det)


def potential_excess(kind: "Kind", at: Float[Array, "*batch d"], touch: Float[Array, "*batch d"]) -> Array:
    """Return ψ(at) − ψ(touch) − ⟨at − touch, ∇ψ(touch)⟩, the Bregman divergence of the log-partition.

    When the points are close it is taken as ∫₀¹ (1−t)·ΔᵀI(touch + tΔ)Δ dt by Gauss quadrature, which has no
    cancellation: the Fisher matrix enters through its product with Δ only.
    """
    step = at - touch

    def speed(t: Any) -> Array:  # ΔᵀI(touch + tΔ)Δ
        _, change = jax.jvp(lambda theta: kind.at("natural", theta).expectation, (touch + t * step,), (step,))
        return jnp.sum(step * change, axis=-1)

    nodes, weights = np.polynomial.legendre.leggauss(8)
    nodes, weights = (nodes + 1) / 2, weights / 2
    speeds = jax.vmap(speed)(jnp.asarray(nodes, step.dtype))
    close = jnp.tensordot(jnp.asarray(weights * (1 - nodes), step.dtype), speeds, axes=(0, 0))
    start = kind.at("natural", touch)
    far = kind.at("natural", at).log_partition - start.log_partition - jnp.sum(step * start.expectation, axis=-1)
    return jnp.where(jnp.max(speeds, axis=0) < 0.1, close, far)
