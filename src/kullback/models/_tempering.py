"""Members of a mixture or of a chain at another temperature, and how much of p^(1/T) each has."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float


def tempered_members(members: Any, temperature: float) -> tuple[Any, Float[Array, " k"]]:
    """Return the members p_T with p^(1/T) = C·p_T, and log C of each, up to a constant that all share.

    log C = log p(x)/T − log p_T(x), whatever x is: it is asked at the mode.
    """
    cold = members.tempered(temperature)
    mode = members.mode
    log_scale = cold.energy(mode) - members.energy(mode) / temperature
    return cold, log_scale - jnp.max(log_scale)
