"""How far the log-partition lies above its tangent, without cancellation."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def potential_excess(kind: Any, at: Float[Array, "*batch d"], touch: Float[Array, "*batch d"]) -> Array:
    """Return ψ(at) − ψ(touch) − ⟨at − touch, ∇ψ(touch)⟩, the Bregman divergence of the log-partition of a kind.

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
