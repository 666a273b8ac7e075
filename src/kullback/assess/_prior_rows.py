"""Rows that must be apart: those of a prior and of a bound, those of a fit and of its test."""

import hashlib
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def check_classes(name: str, X: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of finite numbers and classes 0, 1, …, or raise."""
    X, classes = np.asarray(X, np.float32), np.asarray(y)
    if X.ndim < 1 or len(X) < 1 or classes.shape != X.shape[:1]:
        raise ValueError(
            f"{name} has shape {X.shape} and y has shape {classes.shape}: there must be one class for each row."
        )
    if not np.isfinite(X).all():
        raise ValueError(f"{name} has entries that are not finite: fill them in, or leave their rows out.")
    whole = classes.astype(np.int32) if np.issubdtype(classes.dtype, np.number) or classes.dtype == bool else None
    if whole is None or not (np.equal(whole, classes) & (whole >= 0)).all():
        raise ValueError("y must hold classes 0, 1, …: number them before.")
    return X, whole


def check_apart(X: np.ndarray, y: np.ndarray, prior_X: np.ndarray, prior_y: np.ndarray) -> None:
    """Raise where more rows are on both sides than rows that happen to be alike would be."""
    if X.shape[1:] != prior_X.shape[1:]:
        raise ValueError(f"X has rows of shape {X.shape[1:]} and prior_rows of {prior_X.shape[1:]}: make them alike.")
    shared = _shared(_fingerprints(X, y), _fingerprints(prior_X, prior_y))
    if shared:
        raise ValueError(
            f"the prior has seen {shared} of the {len(X)} rows that the bound is of: then it does not hold; "
            "pass in prior_rows only rows that are not in X."
        )


def shared_rows(X: Any, held_out: Any) -> int:
    """Return how many rows of the second table are in the first too, 0 where rows that happen to be alike explain it.

    >>> shared_rows([[0.1], [0.2], [0.3]], [[0.3], [0.4]]), shared_rows([[0], [1]] * 50, [[0], [1]] * 9)
    (1, 0)
    """
    tables = [np.asarray(table) for table in (held_out, X)]
    if all(table.dtype.kind in "biuf" for table in tables):  # the same numbers, whatever type they have
        kind = np.float32 if any(table.dtype == np.float32 for table in tables) else np.float64
        tables = [table.astype(kind) for table in tables]
    return _shared(*([repr(row) for row in table.tolist()] for table in tables))


def _shared(rows: Sequence[Hashable], others: Sequence[Hashable]) -> int:
    """Return how many rows are among the others, 0 where twins among these explain it."""
    seen = Counter(others)
    shared = sum(row in seen for row in rows)
    twins = sum(count for count in seen.values() if count > 1) * len(rows) / len(others)
    return shared if shared > twins + 5 * math.sqrt(twins) else 0


def _fingerprints(X: np.ndarray, y: np.ndarray) -> Sequence[bytes]:
    """Return a few bytes for each row, the same for rows that are alike; −0 is 0."""
    X = X.reshape(len(X), -1) + np.float32(0)
    return [
        hashlib.blake2b(row.tobytes() + label.tobytes(), digest_size=16).digest()
        for row, label in zip(X, y, strict=True)
    ]
