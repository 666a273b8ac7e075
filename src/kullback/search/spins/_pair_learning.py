"""Interactions that are learned on the way: when to look for them, and how a search goes on with others."""

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from kullback.search.spins._archive import Archive
from kullback.search.spins._find_pairs import find_pairs
from kullback.search.spins._markov import MarkovSpins, MarkovState

#: The first look is after so many points for each spin; each other after half as many again as the one before.
FIRST, FACTOR = 3, 1.5
#: The most points that are looked at.
MOST = 3_000


class PairLearning:
    """The pairs found so far. They stay: the first points, which are spread widely, tell most of them."""

    def __init__(self, n: int):
        self._n = n
        self._found: set[tuple[int, int]] = set()
        self._next = max(FIRST * n, 20)

    @property
    def pairs(self) -> NDArray[np.int64]:
        """The pairs, and others that stand for none, so that there are 8, 16, 32 … of them: few sizes to compile."""
        size = 8
        while size < len(self._found):
            size *= 2
        return np.array([*sorted(self._found), *[(self._n, self._n)] * (size - len(self._found))], dtype=np.int64)

    def is_due(self, archive: Archive) -> bool:
        """Say whether there are enough new points to look again."""
        return archive.evaluations >= self._next

    def learn(self, archive: Archive) -> None:
        """Look for pairs that matter."""
        self._next = int(FACTOR * archive.evaluations)
        points, values = archive.table()
        sample = np.unique(np.linspace(0, len(values) - 1, MOST).astype(int))
        found = find_pairs(points[sample].astype(float), values[sample], self._found)
        self._found = {(i, j) for i, j in found.tolist()}


def carry_over(old: MarkovSpins, state: MarkovState, new: MarkovSpins) -> MarkovState:
    """Return the state of a search with other pairs: couplings of pairs that stay are kept."""
    n = old.n
    place = {tuple(pair): n + k for k, pair in enumerate(old.pairs.tolist())}
    source = np.array([*range(n), *(place.get((i, j), -1) if i < n else -1 for i, j in new.pairs.tolist())])
    kept = min(old.window, new.window)
    return state._replace(
        natural=jnp.where(source >= 0, state.natural[source], 0),
        slopes=jnp.where(source >= 0, state.slopes[source], 0),
        points=jnp.zeros((new.window, n)).at[:kept].set(state.points[:kept]),
        values=jnp.zeros(new.window).at[:kept].set(state.values[:kept]),
        filled=jnp.minimum(state.filled, kept).astype(jnp.int32),
    )
