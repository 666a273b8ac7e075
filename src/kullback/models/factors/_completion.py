"""What is missing of rows under a linear Gaussian model: factors, entries, or both."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from kullback.core import Batch, Completion, Want
from kullback.models.factors._rows import Member, infer, joint_energy
from kullback.numerics import apply


def complete_rows(
    member: Member, values: Float[Array, "rows n"], batch: Batch, want: Want, temperature: float, key: Any
) -> Completion:
    """Return factors and entries of least energy, or drawn: all of them are jointly Gaussian.

    So the mode is the mean, and a draw from p^(1/T) is √T times as far from it as one from p.
    """
    observed = None if batch.observed is None else jnp.asarray(batch.observed)
    found = infer(member, values, observed)
    h, v = found.mean, _with_missing(member, values, observed, found.mean)
    if temperature != 0:
        first, second = jax.random.split(key)
        factor = jnp.linalg.cholesky(found.covariance)
        away = apply(factor, jax.random.normal(first, h.shape, h.dtype))
        noise = jnp.sqrt(member.noise) * jax.random.normal(second, v.shape, v.dtype)
        moved = apply(member.loadings, away) + noise
        h, scale = h + jnp.sqrt(temperature) * away, jnp.sqrt(temperature)
        v = v if observed is None else jnp.where(observed, v, v + scale * moved)
    if want == ("v",):
        return Completion(v, None, -infer(member, v, None).log_likelihood, True)
    if want == ("h",):
        return Completion(None, h, joint_energy(member, values, observed, h), True)
    return Completion(v, h, joint_energy(member, v, None, h), True)


def _with_missing(
    member: Member, values: Float[Array, "rows n"], observed: Bool[Array, "rows n"] | None, h: Float[Array, "rows q"]
) -> Float[Array, "rows n"]:
    """Return the rows with μ + W h for what is missing."""
    return values if observed is None else jnp.where(observed, values, member.mean + apply(member.loadings, h))
