"""Names of classes, and their places among all of them: models see places."""

from typing import Any

import numpy as np


def places_of(classes: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Return the place of each name among classes, which are in order; a name that is not there is refused."""
    places = np.minimum(np.searchsorted(classes, names), len(classes) - 1)
    strange = classes[places] != names
    if np.any(strange):
        raise ValueError(
            f"y has the class {names.tolist()[np.argmax(strange)]!r}, which the fit does not know: it has "
            f"{classes.tolist()}. Pass all classes to the first call of partial_fit."
        )
    return places


def split_missing(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return which names are there, and those that are."""
    names = list(y)
    there = np.array([is_there(name) for name in names], dtype=bool)
    return there, np.array([name for name, known in zip(names, there, strict=True) if known])


def is_there(name: Any) -> bool:
    """Whether it is a name: None is none, NaN is not itself, and of NA in pandas no one knows."""
    same = name == name
    return name is not None and isinstance(same, bool | np.bool_) and bool(same)
