"""The file of reference values: written once by the code before a change, and read by all that comes after it."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from reference.cases import CASES, Arrays

PATH = Path(__file__).parent / "values.safetensors"
#: The largest deviation, relative to the scale of an array or to 1.
TOLERANCE = 1e-12


def write(path: Path = PATH) -> None:
    """Compute all cases, and keep what they return."""
    save_file({f"{case}/{name}": np.array(a, order="C") for case in CASES for name, a in CASES[case]().items()}, path)


def read(path: Path = PATH) -> dict[str, Arrays]:
    """Return the arrays of each case."""
    found: dict[str, Arrays] = {}
    for key, array in load_file(path).items():
        case, _, name = key.rpartition("/")
        found.setdefault(case, {})[name] = array
    return found


def deviations(found: Arrays, kept: Arrays, known: Iterable[str]) -> dict[str, float]:
    """Return how far each array is from the one that was kept, infinite where one of the two is missing.

    An attribute_ whose name no case has kept is new to all of the library, and is not compared.
    """
    names = kept.keys() | (found.keys() & set(known))
    return {name: _deviation(found.get(name), kept.get(name)) for name in sorted(names)}


def _deviation(found: np.ndarray | None, kept: np.ndarray | None) -> float:
    if found is None or kept is None or found.shape != kept.shape:
        return np.inf
    a, b = found.astype(np.float64), kept.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return np.inf
    return float(np.max(np.abs(a[finite] - b[finite]), initial=0) / max(1.0, np.max(np.abs(b[finite]), initial=0)))
