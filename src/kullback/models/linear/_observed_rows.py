"""Rows of v = C h + ε, ε ~ N(0, R), some entries missing, brought to outputs of independent unit noise.

With W Rₒₒ Wᵀ = I over what is observed of a row, W vₒ = W Cₒ h + N(0, I): the outputs can then be learned from one at a
time.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from kullback.numerics import LOG_TWO_PI, apply, gram, log_determinant, whitener


class Outputs(NamedTuple):
    """Outputs y = design·h + N(0, I) of each row, and what the log-likelihood owes to having come here.

    The design has no axis of rows where it is the same for all of them.
    """

    design: Float[Array, "... n q"]
    values: Float[Array, "rows n"]
    log_scale: Float[Array, " rows"]


def independent_outputs(
    observation: Float[Array, "n q"],
    noise: Float[Array, "n n"],
    values: Float[Array, "rows n"],
    observed: Bool[Array, "rows n"] | None,
) -> Outputs:
    """Return outputs of unit noise that say the same; a missing entry becomes an output that says nothing."""
    n = observation.shape[0]
    factor = whitener(noise if observed is None else _observed_noise(noise, observed))
    design = factor @ (observation if observed is None else observed[..., None] * observation)
    values = apply(factor, values if observed is None else jnp.where(observed, values, 0))
    seen = n if observed is None else jnp.sum(observed, axis=-1)
    log_scale = -0.5 * (log_determinant(factor) + LOG_TWO_PI * seen)
    log_scale = jnp.broadcast_to(log_scale, values.shape[:1]).astype(values.dtype)
    return Outputs(design, values, log_scale)


def _observed_noise(noise: Float[Array, "n n"], observed: Bool[Array, "rows n"]) -> Float[Array, "rows n n"]:
    """Return R over the observed entries of each row, and the identity over the others."""
    both = observed[:, :, None] & observed[:, None, :]
    return jnp.where(both, noise, jnp.eye(noise.shape[-1], dtype=noise.dtype))


class Missing(NamedTuple):
    """What is missing of a row given h and the rest: N(from_values·v + from_state·h, noise), 0 where it is observed."""

    from_values: Float[Array, "rows n n"]
    from_state: Float[Array, "rows n q"]
    noise: Float[Array, "rows n n"]


def missing_given_rest(
    observation: Float[Array, "n q"], noise: Float[Array, "n n"], observed: Bool[Array, "rows n"]
) -> Missing:
    """Return the regression of the missing entries on the observed: Rₘₒ Rₒₒ⁻¹, and the noise Rₘₘ − Rₘₒ Rₒₒ⁻¹ Rₒₘ."""
    there, absent = observed.astype(noise.dtype), 1 - observed.astype(noise.dtype)
    precision = gram(whitener(_observed_noise(noise, observed))) * there[:, :, None] * there[:, None, :]
    weights = absent[:, :, None] * (noise @ precision)
    from_state = absent[:, :, None] * observation - weights @ observation
    rest = (noise - weights @ noise) * absent[:, :, None] * absent[:, None, :]
    return Missing(weights, from_state, rest)
