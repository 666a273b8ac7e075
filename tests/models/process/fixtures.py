"""Truths and tables with numbers that are known to 8 digits."""

import numpy as np
from scipy.special import softmax

from kullback.models import (
    FiniteGenerative,
    FiniteProcess,
    TabularMemory,
    even_process,
    golden_mean,
    nonunifilar,
    second_order,
)

#: A chain of order 2.
SECOND = second_order([0.9, 0.15, 0.25, 0.8])
TRUTHS = {"second": SECOND, "even": even_process(), "golden": golden_mean(), "nonunifilar": nonunifilar(0.5, 0.5)}
ENTROPY_RATES = {"second": 0.45523215, "even": 0.46209812, "golden": 0.46209812, "nonunifilar": 0.46986173}


def series(shape, function):
    """Return a function of the flat index, in C order."""
    return function(np.arange(np.prod(shape), dtype=float)).reshape(shape)


def tabular(k=2, symbols=2):
    """Return λ = sin(1 + i), a = cos(i / 2), b = sin(2i + 1) as logits."""
    return TabularMemory(
        series((k, symbols, k), lambda i: np.sin(1 + i)),
        series((k, symbols, k), lambda i: np.cos(0.5 * i)),
        series((k, symbols, symbols), lambda i: np.sin(2 * i + 1)),
    )


def fixture_p(k=2, symbols=2):
    """Return a p whose next memory and next symbol are independent."""
    expected = softmax(series((k, symbols, k), lambda i: np.cos(0.5 * i)), axis=-1)
    prediction = softmax(series((k, symbols, symbols), lambda i: np.sin(2 * i + 1)), axis=-1)
    return FiniteGenerative.independent(expected, prediction)


def entangled_p(k=2, symbols=2):
    """Return a p whose next symbol depends on the next memory."""
    emitted = softmax(series((k, symbols), lambda i: 2 * np.sin(2 * i + 1)), axis=-1)
    moves = softmax(series((k, symbols, k), lambda i: 2 * np.cos(0.5 * i)), axis=-1)
    return FiniteGenerative(emitted / k, moves[..., None] * emitted)


def with_unsensed(generative, unsensed=2):
    """Return p over symbols 2v + u, where u is even and independent of everything."""
    v = np.arange(generative.symbols * unsensed) // unsensed
    start = np.asarray(generative.start)[:, v] / unsensed
    return FiniteGenerative(start, np.asarray(generative.transition)[:, v][:, :, :, v] / unsensed)


def markov_pair(stay, chances):
    """Return the chain of (v, u): u' stays with a probability, v' is 1 with a chance that depends on u."""
    table = np.zeros((4, 4, 4))
    for before in range(4):
        u = before % 2
        for v_after in range(2):
            for u_after in range(2):
                after = 2 * v_after + u_after
                chance = chances[u] if v_after else 1 - chances[u]
                table[before, after, after] = chance * (stay if u_after == u else 1 - stay)
    return FiniteProcess(table)


def hidden_pair(stay, sees, tells):
    """Return (v, u) that are both noisy views of a hidden w that stays with a probability."""
    table = np.zeros((2, 4, 2))
    for w in range(2):
        for after in range(2):
            for symbol in range(4):
                v, u = symbol // 2, symbol % 2
                chance = (sees if v == after else 1 - sees) * (tells if u == after else 1 - tells)
                table[w, symbol, after] = chance * (stay if after == w else 1 - stay)
    return FiniteProcess(table)
