"""Which states of two hidden Markov models mean the same."""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

#: So many states or fewer: all orders are looked at.
_FEW = 6
#: Probabilities below this are taken for it, so that a transition that one model forbids costs much and not all.
_LEAST = 1e-10


def match_states(emissions: Matrix, reference: tuple[Matrix, Matrix], other: tuple[Matrix, Matrix]) -> NDArray[np.intp]:
    """Return the order of the other's states that is nearest to the reference.

    The cost of an order σ is Σ_k u_k·[J(k, σ(k)) + J(a_k, ã_σ(k)σ)] with J the divergence in both directions of the
    emissions, and of the rows of the transitions, and u the usage of both. `reference` and `other` are transitions,
    with a column for the end if there is one, and usages. Beyond a few states it is the best assignment of the
    emissions, improved by swaps until none helps.
    """
    from scipy.optimize import linear_sum_assignment  # half a second, for aligning only

    (a, u), (b, w) = reference, other
    k = len(u)
    log_a, log_b = np.log(np.maximum(a, _LEAST)), np.log(np.maximum(b, _LEAST))
    weight = (u[:, None] + w[None, :]) / 2 + _LEAST
    emissions = np.nan_to_num(emissions, posinf=1e100)
    outside = np.arange(k, a.shape[1])  # the end keeps its place

    def cost(order: NDArray[np.intp]) -> float:
        columns = np.concatenate([order, outside])
        rows = np.ix_(order, columns)
        apart = np.sum((a - b[rows]) * (log_a - log_b[rows]), axis=1)
        own = np.arange(k)
        return float(np.sum(weight[own, order] * (emissions[own, order] + apart)))

    if k <= _FEW:
        return min((np.array(order, dtype=np.intp) for order in itertools.permutations(range(k))), key=cost)
    _, order = linear_sum_assignment(emissions)
    least, better = cost(order), True
    while better:
        better = False
        for i, j in itertools.combinations(range(k), 2):
            swapped = order.copy()
            swapped[[i, j]] = swapped[[j, i]]
            found = cost(swapped)
            if found < least:
                order, least, better = swapped, found, True
    return np.asarray(order, dtype=np.intp)


def as_matrices(*values: Any) -> tuple[Matrix, ...]:
    """Return 64-bit NumPy arrays."""
    return tuple(np.asarray(value, np.float64) for value in values)
