"""The basis of hidden states that move linearly: which one makes two systems look alike."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.numerics import Numeric, is_concrete, whitener


def observability(transition: Numeric, observation: Numeric, noise: Numeric) -> Float[Array, "k q"]:
    """Return [C; CA; CA²; …], as many blocks as there are states, outputs in units of the noise."""
    block, rows = whitener(jnp.asarray(noise)) @ jnp.asarray(observation), []
    for _ in range(transition.shape[0]):
        rows.append(block)
        block = block @ jnp.asarray(transition)
    return jnp.concatenate(rows)


def basis_towards(shown: Float[Array, "k q"], target: Float[Array, "k q"]) -> Float[Array, "q q"]:
    """Return the T for which target·T is nearest to what is shown; what the target does not show, it leaves."""
    q = shown.shape[1]
    basis = jnp.eye(q, dtype=shown.dtype) + jnp.linalg.pinv(target) @ (shown - target)
    if is_concrete(basis) and np.linalg.matrix_rank(np.asarray(basis)) < q:
        raise ValueError("the outputs of this system do not show its states: they cannot be lined up.")
    return basis
