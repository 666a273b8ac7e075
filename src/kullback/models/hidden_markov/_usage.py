"""How often a hidden chain uses its states, by itself: no data is looked at."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from kullback.models.hidden_markov._chain import Chain


def usage(
    chain: Chain, first: Bool[Array, " rows"], before: Float[Array, " k"], weight: Float[Array, " rows"]
) -> tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, " k"]]:
    """Return the weight of each state: in rows that begin, in rows that another row follows, in all rows.

    p_t is π where a sequence begins and p_{t−1}A elsewhere. A transition has the weight of the row it leads to.
    """
    none = jnp.zeros_like(chain.initial)

    def step(carry: tuple[Array, Array, Array], row: tuple[Array, Array]) -> tuple[tuple[Array, Array, Array], None]:
        p, left, used = carry
        begins, w = row
        onward = jnp.where(begins, 0, w) * p
        p = jnp.where(begins, chain.initial, p @ chain.transitions)
        return (p, left + onward, used + w * p), None

    (_, left, used), _ = jax.lax.scan(step, (before, none, none), (first, weight.astype(none.dtype)))
    return jnp.sum(jnp.where(first, weight, 0)) * chain.initial, left, used


def usage_until_the_end(
    chain: Chain, first: Bool[Array, " rows"], before: Float[Array, " k"], weight: Float[Array, " rows"]
) -> tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, " k"]]:
    """Return the same for a chain that ends by itself: sequences are as long as it makes them.

    With the transient block Q = A the states of one sequence are used πᵀ(I − Q)⁻¹ times. A sequence that continues is
    known not to have ended yet.
    """
    a = chain.transitions
    begun = jnp.sum(jnp.where(first, weight, 0)) * chain.initial
    arrived = before @ a
    alive = jnp.sum(arrived)
    going_on = jnp.where(first[0] | (alive <= 0), 0, weight[0] / jnp.where(alive > 0, alive, 1))
    used = jnp.linalg.solve((jnp.eye(a.shape[0], dtype=a.dtype) - a).T, begun + going_on * arrived)
    return begun, used + going_on * before, used


def stationary(chain: Chain) -> Float[Array, " k"]:
    """Return the distribution over time that the chain reaches from π: the limit of the average of πA^t.

    It is π·M^∞ with the lazy chain M = (I + A)/2, which has the same limit and no periods, by repeated squaring.
    """
    a = chain.transitions

    def squared(_: int, m: Array) -> Array:
        m = m @ m
        return m / jnp.sum(m, axis=1, keepdims=True)

    lazy = (jnp.eye(a.shape[0], dtype=a.dtype) + a) / 2
    return chain.initial @ jax.lax.fori_loop(0, 60, squared, lazy)
