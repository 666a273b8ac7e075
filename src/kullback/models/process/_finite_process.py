"""True processes with finitely many hidden states and symbols, of which everything is known."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from kullback.core import Key, as_key
from kullback.models.process._closed_class import closed_class, stationary_law
from kullback.models.process._entropy_rate import entropy_rate
from kullback.numerics import check_probabilities


class FiniteProcess(eqx.Module):
    """A stationary process of symbols: hidden state u moves to u' and emits x' with probability T[u, x', u'].

    States that are left for ever are taken out, so that all that remain are visited again and again.

    Parameters
    ----------
    transition : array of shape (states, symbols, states)
        T[u, x', u'] = P(x', u' | u). All of it sums to 1 for each u.

    Examples
    --------
    >>> coin = FiniteProcess([[[0.5], [0.5]]])
    >>> round(coin.entropy_rate, 4)  # log 2
    0.6931

    """

    transition: NDArray[Any]

    def __init__(self, transition: Any):
        table = np.asarray(transition, dtype=np.float64)
        if table.ndim != 3 or table.shape[0] != table.shape[2] or 0 in table.shape:
            raise ValueError(
                f"transition has shape {table.shape}: it must be (states, symbols, states), with T[u, x', u'] the "
                "probability to emit x' on the way from u to u'."
            )
        check_probabilities("transition", table.reshape(len(table), -1))
        kept = closed_class("transition", table.sum(axis=1))
        table = table[np.ix_(kept, np.arange(table.shape[1]), kept)]
        self.transition = table / table.sum(axis=(1, 2), keepdims=True)

    @property
    def states(self) -> int:
        """How many hidden states there are."""
        return len(self.transition)

    @property
    def symbols(self) -> int:
        """How many symbols there are."""
        return self.transition.shape[1]

    @property
    def stationary(self) -> Float[np.ndarray, " states"]:
        """The stationary law of the hidden state."""
        return stationary_law(self.transition.sum(axis=1))

    @property
    def entropy_rate(self) -> float:
        """The entropy h of the next symbol given all before it, in nats.

        Where symbols and the old state tell the new one it is Σ π(u) H(x' | u). Elsewhere it lies between the entropy
        of the next symbol given n symbols, and given those and the state before them; n grows until both agree to
        1e-9.
        """
        return entropy_rate(self.transition.tobytes(), self.symbols)

    def sample(self, key: Key, length: int) -> Int[Array, " length"]:
        """Draw symbols that follow each other, from the stationary law on."""
        return self.sample_joint(key, length)[1]

    def sample_joint(self, key: Key, length: int) -> tuple[Int[Array, " length"], Int[Array, " length"]]:
        """Draw hidden states and the symbols that were emitted on the way to them."""
        if length < 1:
            raise ValueError(f"length is {length}: draw one symbol at least.")
        first, second = jax.random.split(as_key(key))
        flat = np.cumsum(self.transition.reshape(self.states, -1), axis=1)
        begin = jnp.searchsorted(jnp.asarray(np.cumsum(self.stationary)), jax.random.uniform(first), side="right")
        return _walk(jnp.asarray(flat), jnp.clip(begin, 0, self.states - 1), jax.random.uniform(second, (length,)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.states} states, {self.symbols} symbols)"

    @classmethod
    def of_edges(cls, states: int, symbols: int, edges: Any) -> Self:
        """Return the process with edges (u, x', u', probability)."""
        table = np.zeros((states, symbols, states))
        for before, symbol, after, probability in edges:
            table[before, symbol, after] += probability
        return cls(table)


@jax.jit
def _walk(
    cumulative: Float[Array, "states moves"], begin: Int[Array, ""], noise: Float[Array, " length"]
) -> tuple[Int[Array, " length"], Int[Array, " length"]]:
    states = len(cumulative)

    def step(state: Array, u: Array) -> tuple[Array, tuple[Array, Array]]:
        move = jnp.sum(u * cumulative[state, -1] >= cumulative[state]).astype(jnp.int32)
        after, symbol = move % states, move // states
        return after, (after, symbol)

    return jax.lax.scan(step, begin.astype(jnp.int32), noise)[1]


def even_process() -> FiniteProcess:
    """Return the even process: blocks of ones have even length. No finite past tells where one stands."""
    return FiniteProcess.of_edges(2, 2, [(0, 0, 0, 0.5), (0, 1, 1, 0.5), (1, 1, 0, 1.0)])


def golden_mean() -> FiniteProcess:
    """Return the golden mean process: a 0 is followed by a 1. The last symbol tells all."""
    return FiniteProcess.of_edges(2, 2, [(0, 0, 1, 0.5), (0, 1, 0, 0.5), (1, 1, 0, 1.0)])


def second_order(probabilities: Any) -> FiniteProcess:
    """Return the binary chain in which P(x' = 1) depends on the last two symbols, 00, 01, 10 and 11 in this order."""
    p = np.asarray(probabilities, dtype=np.float64)
    if p.shape != (4,) or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(
            f"probabilities is {probabilities}: it must be four numbers in [0, 1], those of a 1 after 00, 01, 10, 11."
        )
    ways = [(u, x, 2 * (u % 2) + x, p[u] if x else 1 - p[u]) for u in range(4) for x in range(2)]
    return FiniteProcess.of_edges(4, 2, ways)


def nonunifilar(a: float = 0.5, b: float = 0.5) -> FiniteProcess:
    """Return the simple nonunifilar source: a 0 is emitted on A→A, A→B and B→B, a 1 on B→A.

    `a` is the probability of A→B, and `b` that of B→A. Symbols and the old state do not tell the new one.
    """
    if not (0 < a <= 1 and 0 < b <= 1):
        raise ValueError(f"a is {a} and b is {b}: both must be in (0, 1], or one state is never left.")
    return FiniteProcess.of_edges(2, 2, [(0, 0, 0, 1 - a), (0, 0, 1, a), (1, 0, 1, 1 - b), (1, 1, 0, b)])
