"""The states of a chain that are visited for ever, and how often."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int


def closed_class(name: str, matrix: Float[np.ndarray, "n n"]) -> Int[np.ndarray, " kept"]:
    """Return the states of the only closed class of a chain; several are refused, for then there are several laws."""
    from scipy.sparse import csr_array  # here: imports of scipy change the filters of warnings
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(csr_array(matrix > 0), connection="strong")
    leaves = np.zeros(count, bool)
    before, after = np.nonzero(matrix > 0)
    leaves[labels[before[labels[before] != labels[after]]]] = True
    closed = np.flatnonzero(~leaves)
    if len(closed) != 1:
        raise ValueError(
            f"{name} has {len(closed)} sets of states that are never left, so there is no one stationary law: keep the "
            "states of one of them."
        )
    return np.flatnonzero(labels == closed[0])


def stationary_law(matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, " n"]:
    """Return π with πP = π of a chain whose states are all visited for ever: π(I − P + 11ᵀ/n) = 1ᵀ/n."""
    n = len(matrix)
    system: Any = np.eye(n) - matrix + 1 / n
    law = np.linalg.solve(system.T, np.full(n, 1 / n))
    law = np.maximum(law, 0)
    return law / law.sum()
