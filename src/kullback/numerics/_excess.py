"""Small gaps without cancellation: how far a convex function lies above its tangent.

Relative entropies are such gaps. Close to the point of contact the plain formula subtracts nearly equal
numbers; these forms keep their relative accuracy down to a gap of zero.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

_NEAR = 0.05
_TERMS = 14


def ratio_excess(a: Any, b: Any) -> Array:
    """Return a/b − 1 − log(a/b) ≥ 0, for a, b > 0."""
    a, b = jnp.asarray(a), jnp.asarray(b)
    t = (a - b) / b
    near = jnp.abs(t) < _NEAR
    small = jnp.where(near, t, 0)
    series = jnp.zeros_like(small)
    for k in range(_TERMS, 1, -1):  # t − log(1+t) = t²/2 − t³/3 + …
        series = small * series + (1 if k % 2 == 0 else -1) / k
    ratio = jnp.where(near, 2, a / b)
    return jnp.where(near, small * small * series, ratio - 1 - jnp.log(ratio))


def exponential_excess(u: Any) -> Array:
    """Return e^u − 1 − u ≥ 0."""
    u = jnp.asarray(u)
    near = jnp.abs(u) < _NEAR
    small = jnp.where(near, u, 0)
    series = jnp.zeros_like(small)
    for k in range(9, 1, -1):  # u²/2 + u³/6 + …
        series = (small * series + 1) / k
    far = jnp.where(near, 1, u)
    return jnp.where(near, small * small * series, jnp.expm1(far) - far)


def entropy_excess(p: Any, q: Any) -> Array:
    """Return p·log(p/q) − p + q ≥ 0, for p, q ≥ 0: the relative entropy of unnormalized masses.

    It is 0 for p = q = 0 and infinite for p > q = 0.
    """
    p, q = jnp.broadcast_arrays(jnp.asarray(p), jnp.asarray(q))
    positive = (p > 0) & (q > 0)
    safe_p, safe_q = jnp.where(positive, p, 1), jnp.where(positive, q, 1)
    gap = safe_p * ratio_excess(safe_q, safe_p)
    return jnp.where(positive, gap, jnp.where(p > 0, jnp.inf, q))


def determinant_excess(
    ratio: Float[Array, "*batch n n"], apart: Float[Array, "*batch n n"], log_ratio: Float[Array, "*batch"]
) -> Float[Array, "*batch"]:
    """Return tr(R − I) − log|R| ≥ 0 for a positive definite R, given R, R − I and log|R|.

    All three are asked for because each has its digits where the others have lost theirs.
    """
    size = jnp.sqrt(jnp.sum(jnp.square(apart), axis=(-2, -1)))
    near = size < _NEAR
    small = jnp.where(near[..., None, None], apart, 0)
    power, series = small, jnp.zeros_like(size)
    for k in range(2, _TERMS + 1):
        power = power @ small
        series = series + (1 if k % 2 == 0 else -1) / k * jnp.trace(power, axis1=-2, axis2=-1)
    return jnp.where(near, series, jnp.trace(ratio, axis1=-2, axis2=-1) - ratio.shape[-1] - log_ratio)
