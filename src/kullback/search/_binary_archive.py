"""All points of {−1, +1}ⁿ at which f was asked, so that none is asked for twice."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kullback.search._checkpoint import Arrays, check_arrays, read_run, write_run
from kullback.search._objective import Objective


class Archive:
    """f, remembered by the bits of its points.

    `evaluations` counts the points that were asked for, each once. What was read from a file counts when it is asked
    for, but f is not called: so a run that begins again goes on from where it was, bit for bit.
    """

    def __init__(self, objective: Objective, n: int):
        self._objective, self._n = objective, n
        self._known: dict[bytes, float] = {}
        self._asked: set[bytes] = set()
        self._points: list[NDArray[np.int8]] = []
        self._values: list[float] = []

    @property
    def evaluations(self) -> int:
        """How many different points were asked for."""
        return len(self._values)

    @property
    def failed(self) -> int:
        """At how many of them f has no value."""
        return int(np.isnan(self._values).sum())

    @property
    def last_failure(self) -> str:
        """Why f had no value, the last time."""
        return self._objective.last_failure

    @property
    def complete(self) -> bool:
        """Whether there is no other point."""
        return self._n < 63 and self.evaluations == 2**self._n

    @property
    def points(self) -> NDArray[np.float64]:
        """The points, in the order in which they were asked for."""
        return np.array(self._points, dtype=float).reshape(-1, self._n)

    @property
    def values(self) -> NDArray[np.float64]:
        """Their values, NaN where f has none."""
        return np.array(self._values)

    def new(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the rows of points that were never asked for, each point once."""
        seen: set[bytes] = set()
        rows = []
        for row, name in enumerate(_names(points)):
            if name not in self._asked and name not in seen:
                seen.add(name)
                rows.append(row)
        return np.array(rows, dtype=np.int64)

    def ask(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a value for each point, NaN where there is none; f is called at those it was never called at."""
        names = _names(points)
        fresh = self.new(points)
        unknown = [row for row in fresh if names[row] not in self._known]
        if unknown:
            answers = self._objective.values(points[unknown])
            self._known.update(zip((names[row] for row in unknown), answers.tolist(), strict=True))
        for row in fresh:
            self._asked.add(names[row])
            self._points.append(points[row].astype(np.int8))
            self._values.append(self._known[names[row]])
        return np.array([self._known[name] for name in names])

    def another_value(self, x: NDArray[np.float64], value: float) -> float | None:
        """Return what f is at x, where a map has said something else."""
        return self._objective.another_value(x, value)

    def write(self, path: Path, settings: dict[str, Any]) -> None:
        """Write all points and values, with what was asked for."""
        arrays: Arrays = {"points": np.array(self._points, dtype=np.int8).reshape(-1, self._n), "values": self.values}
        write_run(path, {"settings": settings}, arrays)

    def read(self, path: Path, settings: dict[str, Any]) -> None:
        """Read what is known of f; raise at the file of another run."""
        header, arrays = read_run(path)
        theirs = header.get("settings")
        if not isinstance(theirs, dict):
            raise ValueError(f"{path} is not a saved run: it does not say which.")
        for name, value in settings.items():
            if theirs.get(name) != value:
                raise ValueError(
                    f"{path} holds a run with another {name}: call minimize_binary as that run was called."
                )
        check_arrays(path, arrays, {"points": ((None, self._n), "i"), "values": ((None,), "f")})
        points, values = arrays["points"], arrays["values"]
        if len(points) != len(values) or not np.isin(points, (-1, 1)).all():
            raise ValueError(f"{path} is damaged: its points are not those of a run.")
        self._known.update(zip(_names(points), values.astype(float).tolist(), strict=True))


def _names(points: NDArray[Any]) -> list[bytes]:
    """Return the bits of each point."""
    bits = np.packbits(points > 0, axis=1)
    return [row.tobytes() for row in bits]
