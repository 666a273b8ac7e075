"""What it costs to learn online, with little memory, and to sense only a part: a ladder of relative entropies."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import entr, logsumexp

from kullback.assess._chain import check_symbols
from kullback.assess._limited_memory import least_memory_cost
from kullback.models import FiniteGenerative, FiniteProcess

#: Words of symbols are enumerated, up to so many numbers.
MOST_NUMBERS = 2**22


class Costs(NamedTuple):
    """The least relative entropy D(q(z, x), p(z, x)) that memories of four kinds reach, in nats.

    `free` memories see all symbols; `online` ones those before them, and all memories before them; those of limited
    `memory` the last memory and the last symbol; those of limited `sensing` the last memory and a part of the last
    symbol, where one is named. Each is at least the one before it, and the difference is its cost.
    """

    free: float
    online: float
    memory: float
    sensing: float | None = None


def costs(
    truth: FiniteProcess,
    generative: FiniteGenerative,
    steps: int,
    senses: Any = None,
    restarts: int = 8,
    seed: int = 0,
) -> Costs:
    """Return the costs of a given p over some steps of the truth, which begins stationary.

    `free` is D(q(x), p(x)) of the symbols. `online` has a closed form: with W_T = 0 it is W_0 of
    W_k(z, x₁…x_k) = −log Σ_{z'} exp(−E[log q(x' | x₁…x_k) − log p(z', x' | z, x_k) + W_{k+1}]). The others are not
    convex in q(z' | z, x), which may differ from step to step: each step of the memory is made best for the others,
    q(z' | z, o) ∝ exp(−E[cost to go | z, o, z']), in turn, from several starts.

    Parameters
    ----------
    truth : FiniteProcess
        What makes the symbols.
    generative : FiniteGenerative
        p(z₁, x₁) and p(z', x' | z, x).
    steps : int
        T, how many symbols there are.
    senses : array of whole numbers, one for each symbol, optional
        What a memory of limited sensing sees of each symbol.
    restarts : int
        How many starts the memories that are not convex are sought from.
    seed : int
        What the starts are drawn with.

    Examples
    --------
    >>> from kullback.models import even_process
    >>> fair = FiniteGenerative.independent(np.full((2, 2, 2), 0.5), np.full((2, 2, 2), 0.5))
    >>> found = costs(even_process(), fair, steps=3)
    >>> abs(found.memory - found.free) < 1e-12  # p has no use for a memory
    True

    """
    _check(truth, generative, steps, restarts)
    words = _Words.of(truth, steps)
    start, table = (np.asarray(leaf, np.float64) for leaf in (generative.start, generative.transition))
    seen = sense_groups(truth, senses)
    ladder = [
        least_memory_cost(truth, start, table, steps, group, restarts, seed) - words.entropy
        for group in (np.arange(truth.symbols), seen)
        if group is not None
    ]
    return Costs(_free(words, start, table), _online(words, start, table), *ladder)


class _Words(NamedTuple):
    """All words of up to T symbols: `law[k]` has those of k symbols with the hidden state, (words, states)."""

    law: list[Float[np.ndarray, "words u"]]
    symbols: int

    @classmethod
    def of(cls, truth: FiniteProcess, steps: int) -> "_Words":
        law = [truth.stationary[None]]
        for _ in range(steps):
            law.append(np.einsum("wu,uxv->wxv", law[-1], truth.transition).reshape(-1, truth.states))
        return cls(law, truth.symbols)

    @property
    def entropy(self) -> float:
        """The entropy of the longest words."""
        return float(entr(self.law[-1].sum(axis=1)).sum())

    def following(self, k: int) -> Float[np.ndarray, "words x"]:
        """Return q(x' | x₁…x_k); 0 after words that never come."""
        after, before = self.law[k + 1].sum(axis=1).reshape(-1, self.symbols), self.law[k].sum(axis=1)[:, None]
        return np.divide(after, before, out=np.zeros_like(after), where=before > 0)

    def last(self, k: int) -> Int[np.ndarray, " words"]:
        """Return the last symbol of each word of k symbols."""
        return np.arange(self.symbols**k) % self.symbols


def _free(words: _Words, start: Float[np.ndarray, "z x"], table: Float[np.ndarray, "z x w y"]) -> float:
    """Return D(q(x), p(x)) of words, with p's memories summed out."""
    law = np.ascontiguousarray(start.T)
    for k in range(1, len(words.law) - 1):
        step = np.moveaxis(table, 1, 0)[words.last(k)]
        law = np.einsum("nz,nzwy->nyw", law, step).reshape(-1, law.shape[1])
    q, p = words.law[-1].sum(axis=1), law.sum(axis=1)
    there = q > 0
    with np.errstate(divide="ignore"):
        return float(q[there] @ (np.log(q[there]) - np.log(p[there])))


def _online(words: _Words, start: Float[np.ndarray, "z x"], table: Float[np.ndarray, "z x w y"]) -> float:
    """Return W_0, from the last step back."""
    with np.errstate(divide="ignore"):
        log_start, log_table = np.log(start), np.log(table)
    ahead = np.zeros((len(words.law[-1]), len(start)))  # W_{k+1} of (word, memory)
    for k in range(len(words.law) - 2, 0, -1):
        log_p = np.moveaxis(log_table, 1, 0)[words.last(k)]  # (word, z, z', x')
        ahead = _soft_least(words.following(k), log_p, ahead)
    return float(_soft_least(words.following(0), log_start[None, None], ahead)[0, 0])


def _soft_least(
    following: Float[np.ndarray, "n x"], log_p: Float[np.ndarray, "n z w x"], ahead: Float[np.ndarray, "nx w"]
) -> Float[np.ndarray, "n z"]:
    """Return −log Σ_{z'} exp(−E[log q(x' | word) − log p(z', x' | z, x) + W(z', word x')])."""
    n, symbols = following.shape
    later = ahead.reshape(n, symbols, -1)
    there = following[:, None, None, :] > 0
    cost = np.where(there, np.moveaxis(later, 1, 2)[:, None] - np.where(there, log_p, 0), 0)
    total = np.einsum("nx,nzwx->nzw", following, cost) - entr(following).sum(axis=1)[:, None, None]
    found: Float[np.ndarray, "n z"] = -logsumexp(-total, axis=2)
    return found


def sense_groups(truth: FiniteProcess, senses: Any) -> Int[np.ndarray, " x"] | None:
    """Return what is sensed of each symbol as numbers 0, 1, …; None where nothing is said."""
    if senses is None:
        return None
    given = np.asarray(senses)
    if given.shape != (truth.symbols,):
        raise ValueError(
            f"senses has shape {given.shape}: say for each of {truth.symbols} symbols what is sensed of it."
        )
    return np.unique(given, return_inverse=True)[1]


def _check(truth: FiniteProcess, generative: FiniteGenerative, steps: int, restarts: int) -> None:
    check_symbols(truth, generative.symbols)
    if steps < 1 or restarts < 1:
        raise ValueError(f"steps is {steps} and restarts is {restarts}: both must be 1 at least.")
    numbers = float(truth.symbols) ** steps * generative.memories**2
    if numbers > MOST_NUMBERS:
        raise ValueError(f"{truth.symbols}^{steps} words are too many to enumerate: take fewer steps, or `cost_rates`.")
