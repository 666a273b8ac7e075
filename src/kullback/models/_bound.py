"""A bound on the relative entropy of two mixtures, between that of their joints and that of their marginals."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import entr, logsumexp
from jaxtyping import Array, Float

from kullback.models._mixture import Mixture
from kullback.models._reduction import divergences
from kullback.runtime import jit


def variational_bound(p: Mixture, q: Mixture, steps: int = 100) -> Float[Array, ""]:
    """Return min over φ, ψ of Σ φ_ab (log φ_ab/ψ_ab + D(p_a, q_b)) with Σ_b φ_ab = ω_a(p) and Σ_a ψ_ab = ω_b(q).

    It is at least the relative entropy of the marginals p(v) and q(v), because both split into parts φ_ab p_a and
    ψ_ab q_b, and it is at most that of the joints, which has φ = ψ = diagonal. Labels may differ in number and order.

    >>> from kullback.families import Poisson
    >>> a = Mixture(weights=[0.5, 0.5], components=Poisson(rate=[1.0, 9.0]))
    >>> b = Mixture(weights=[0.5, 0.5], components=Poisson(rate=[9.0, 1.0]))
    >>> abs(round(float(variational_bound(a, b)), 6))
    0.0
    """
    return _bound(p.weights, q.weights, divergences(p.components, q.components), steps)


def _least(left: Any, right: Any, table: Any, steps: int) -> Array:
    log_left, log_right = jnp.log(left)[:, None], jnp.log(right)[None, :]

    def step(_: Any, log_phi: Array) -> Array:
        log_psi = log_right + log_phi - logsumexp(log_phi, axis=0, keepdims=True)
        log_psi = jnp.where(jnp.isnan(log_psi), -jnp.inf, log_psi)
        share = log_psi - table
        moved = log_left + share - logsumexp(share, axis=1, keepdims=True)
        return jnp.where(jnp.isnan(moved), -jnp.inf, moved)

    log_phi = jax.lax.fori_loop(0, steps, step, log_left + log_right)
    log_psi = log_right + log_phi - logsumexp(log_phi, axis=0, keepdims=True)
    phi = jnp.exp(log_phi)
    cost = jnp.where(phi > 0, phi * (jnp.where(phi > 0, table - log_psi, 0)), 0)
    return jnp.sum(cost - entr(phi))


_bound = jit(_least, static_argnames="steps")
