"""All points of {−1, +1}ⁿ at which f was evaluated, so that none is evaluated twice."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kullback.search._objective import Objective


class Archive:
    """f, remembered by the bits of its points.

    `evaluations` counts the points that were asked for, each once. What was read from a file counts when it is asked
    for, but f is not called: so a run that begins again goes on from where it was, bit for bit.
    """

    def __init__(self, objective: Objective, n: int):
        self._objective, self._n = objective, n
        self._known: dict[bytes, float] = {}
        self._counted: dict[bytes, float] = {}

    @property
    def evaluations(self) -> int:
        """How many different points were asked for."""
        return len(self._counted)

    @property
    def failed(self) -> int:
        """At how many of them f has no value."""
        return int(np.isnan(list(self._counted.values())).sum())

    def is_complete(self) -> bool:
        """Say whether there is no other point."""
        return self._n < 63 and self.evaluations == 2**self._n

    def table(self, known: bool = False) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Return the points that were asked for, or all that are known, in order, and their values, NaN for none."""
        rows = self._known if known else self._counted
        bits = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, -(-self._n // 8))
        spins = 2 * np.unpackbits(bits, axis=1, count=self._n).astype(np.int8) - 1
        return spins, np.array(list(rows.values()), dtype=float)

    def new_rows(self, points: NDArray[np.float64]) -> list[int]:
        """Return the rows of points that were never asked for, each point once."""
        first = {name: row for row, name in reversed(list(enumerate(_names(points))))}
        return sorted(row for name, row in first.items() if name not in self._counted)

    def values(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a value for each point, NaN where there is none; f is called at those it was never called at."""
        names = _names(points)
        new = self.new_rows(points)
        unknown = [row for row in new if names[row] not in self._known]
        if unknown:
            self.remember(points[unknown], self._objective.values(points[unknown]))
        self._counted.update((names[row], self._known[names[row]]) for row in new)
        return np.array([self._known[name] for name in names])

    def remember(self, points: NDArray[Any], values: NDArray[np.float64]) -> None:
        """Take the values of points as known."""
        self._known.update(zip(_names(points), values.astype(float).tolist(), strict=True))


def _names(points: NDArray[Any]) -> list[bytes]:
    """Return the bits of each point."""
    bits = np.packbits(points > 0, axis=1)
    return [row.tobytes() for row in bits]
