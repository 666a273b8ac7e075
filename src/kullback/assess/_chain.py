"""The chain of a truth and a memory together: hidden state, symbol and memory, s = (u, x, z)."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from kullback.models import FinitePair, FiniteProcess, MutableProcess, closed_class, stationary_law
from kullback.runtime import computing

#: Chains of up to so many states are solved for.
MOST_STATES = 4096


class Tables(NamedTuple):
    """q(z' | z, x) and p(z', x' | z, x) as arrays of NumPy."""

    memory: Float[np.ndarray, "z x w"]
    generative: Float[np.ndarray, "z x w y"]

    @property
    def is_independent(self) -> bool:
        """Whether the next memory and the next symbol are independent under p."""
        product = self.generative.sum(axis=3)[..., None] * self.generative.sum(axis=2)[:, :, None, :]
        return bool(np.abs(self.generative - product).max() <= 1e-10)


def tables_of(process: FinitePair | MutableProcess) -> Tables:
    """Return the tables of a finite process in 64 bits."""
    if not isinstance(process, (FinitePair, MutableProcess)):
        raise TypeError(
            f"process is a {type(process).__name__}: it must be a MutableProcess, or a FinitePair of tables."
        )
    with computing():
        pair = process if isinstance(process, FinitePair) else process.pair()
        return Tables(*(np.asarray(leaf, np.float64) for leaf in (pair.memory, pair.generative.transition)))


class Chain(NamedTuple):
    """The chain of s = (u, x, z) that a truth and a memory make, in its stationary law.

    `states` has the states that are visited for ever, as (u, x, z); `law` is π, `moves` is P(s' | s).
    """

    states: Int[np.ndarray, "n 3"]
    law: Float[np.ndarray, " n"]
    moves: Float[np.ndarray, "n n"]

    @classmethod
    def of(cls, truth: FiniteProcess, memory: Float[np.ndarray, "z x w"]) -> "Chain":
        """Return the chain P(s' | s) = T[u, x', u']·q(z' | z, x), without the states that are left for ever."""
        check_symbols(truth, memory.shape[1])
        u, x = np.nonzero(truth.transition.sum(axis=0).T > 0)  # hidden states, with the symbols that lead to them
        n = len(u) * len(memory)
        if n > MOST_STATES:
            raise ValueError(f"truth and memory together have {n} states, and up to {MOST_STATES} are solved for.")
        z = np.tile(np.arange(len(memory)), len(u))
        u, x = np.repeat(u, len(memory)), np.repeat(x, len(memory))
        moves = truth.transition[u][:, x, u] * memory[z, x][:, z]
        kept = closed_class("the memory, together with the truth,", moves)
        moves = moves[np.ix_(kept, kept)]
        return cls(np.stack([u, x, z], axis=1)[kept], stationary_law(moves), moves)

    @property
    def before(self) -> tuple[Any, Any]:
        """Memory and symbol of s, as columns."""
        return self.states[:, None, 2], self.states[:, None, 1]

    @property
    def after(self) -> tuple[Any, Any]:
        """Memory and symbol of s', as rows."""
        return self.states[None, :, 2], self.states[None, :, 1]

    @property
    def flow(self) -> Float[np.ndarray, "n n"]:
        """π(s)·P(s' | s)."""
        return self.law[:, None] * self.moves

    def resolvent(self, cost: Float[np.ndarray, " n"], discount: float) -> Float[np.ndarray, " n"]:
        """Return h_ρ = (I − ρ(P − 1π))⁻¹ c of a cost whose mean is 0: Σ_k ρ^k P^k c, for every ρ in [0, 1]."""
        system = np.eye(len(self.law)) - discount * (self.moves - self.law[None, :])
        found: Float[np.ndarray, " n"] = np.linalg.solve(system, cost)
        return found

    def advantage(self, cost: Float[np.ndarray, "n n"], discount: float) -> Float[np.ndarray, "n n"]:
        """Return π(s)P(s' | s)·(γ − J + ρ h_ρ(s')): what a score ∇log q of a move is multiplied by, on average."""
        flow = self.flow
        mean = (flow * cost).sum()
        ahead = self.resolvent((self.moves * cost).sum(axis=1) - mean, discount)
        return flow * (cost - mean + discount * ahead[None, :])

    def by_memory_move(self, weight: Float[np.ndarray, "n n"], shape: tuple[int, int]) -> Float[np.ndarray, "z x w"]:
        """Add up weights of moves s → s' by (z, x, z')."""
        found = np.zeros((*shape, shape[0]))
        np.add.at(found, (*self.before, self.after[0]), weight)
        return found

    def by_move(self, weight: Float[np.ndarray, "n n"], shape: tuple[int, int]) -> Float[np.ndarray, "z x w y"]:
        """Add up weights of moves s → s' by (z, x, z', x')."""
        found = np.zeros(shape * 2)
        np.add.at(found, (*self.before, *self.after), weight)
        return found


def check_symbols(truth: FiniteProcess, symbols: int) -> None:
    """Refuse a truth of other symbols than the process."""
    if not isinstance(truth, FiniteProcess):
        raise TypeError(f"truth is a {type(truth).__name__}: it must be a FiniteProcess.")
    if truth.symbols != symbols:
        raise ValueError(f"truth has {truth.symbols} symbols and the process {symbols}: they must be as many.")


def check_discount(discount: float) -> None:
    """Refuse a discount that is none."""
    if not 0 <= discount <= 1:
        raise ValueError(f"discount is {discount}: it must be in [0, 1].")
