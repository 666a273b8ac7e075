"""Hamiltonian dynamics: points that roll over the energy, by blackjax."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.numerics import Numeric

#: The share of accepted proposals that the size of steps follows, and steps of a proposal.
ACCEPTANCE, LENGTH = 0.8, 10


def hamiltonian(
    energy: Callable[[Float[Array, " d"]], Float[Array, ""]],
    start: Float[Numeric, "chains d"],
    key: Array,
    proposals: int,
    step: float = 0.1,
) -> Float[Array, "chains d"]:
    """Return where chains of the law exp(−energy) have come after so many proposals of 10 leapfrog steps each.

    In the first half log ε follows the acceptance towards 0.8 in steps that shrink as t^−0.6; then it stays, so that
    the law is exact. Lengths of steps are drawn up to a quarter shorter or longer, for none is a period of the energy.

    >>> found = hamiltonian(lambda x: 0.5 * x @ x, jnp.zeros((2000, 2)), jax.random.key(0), 40)
    >>> bool(abs(found.var() - 1) < 0.1)
    True
    """
    try:
        import blackjax  # here, for it takes long to import and few need it
    except ImportError as error:
        raise ImportError("Hamiltonian chains need blackjax: pip install 'kullback[sampling]'.") from error

    kernel, first = blackjax.hmc.build_kernel(), jnp.asarray(start)
    metric = jnp.ones(first.shape[-1], first.dtype)

    def log_density(x: Float[Array, " d"]) -> Float[Array, ""]:
        return -energy(x)

    def turn(number: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        state, log_step = carry
        draw, stretch = jax.random.split(jax.random.fold_in(key, number))
        size = jnp.exp(log_step) * jax.random.uniform(stretch, (), first.dtype, 0.75, 1.25)

        def move(key: Array, state: Array) -> tuple[Array, Array]:
            after, info = kernel(key, state, log_density, size, metric, LENGTH)
            return after, info.acceptance_rate

        state, rates = jax.vmap(move)(jax.random.split(draw, len(first)), state)
        gain = jnp.where(number < proposals // 2, (number + 1.0) ** -0.6, 0).astype(first.dtype)
        share = jnp.mean(jnp.where(jnp.isfinite(rates), rates, 0)).astype(first.dtype)
        return state, log_step + gain * (share - ACCEPTANCE)

    begun = jax.vmap(lambda x: blackjax.hmc.init(x, log_density))(first)
    state, _ = jax.lax.fori_loop(0, proposals, turn, (begun, jnp.log(jnp.asarray(step, first.dtype))))
    found: Float[Array, "chains d"] = state.position
    return found
