"""Rows that are kept apart: some for the test, and the rest in turns for choosing."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kullback.assess._estimators import fit_quietly, row_scores, take_rows


class Folds(NamedTuple):
    """Rows to learn from and rows to score, by their places, several times; each row is scored at most once."""

    pairs: list[tuple[NDArray[np.int_], NDArray[np.int_]]]

    @property
    def scored(self) -> int:
        """How many rows are scored."""
        return sum(len(held) for _, held in self.pairs)


class HeldOut(NamedTuple):
    """Log-likelihoods of rows in nats, each by a fit that has not seen it, one of the fits, and their first warning."""

    scores: NDArray[np.float64]
    fitted: Any
    note: str


def check_seed(seed: Any) -> int:
    """Return a seed; raise where it is none."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed!r}: it must be a whole number from 0 to 2³² − 1.")
    return int(seed)


def split_off_test(
    rows: int, share: Any, seed: int, y: Any = None, classes: bool = False
) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return places of rows to work with, and of rows for the test alone."""
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
        raise ValueError(f"test is {share!r}: it must be a share of the rows between 0 and 1; there always is a test.")
    from sklearn.model_selection import train_test_split

    if not 0 < math.ceil(share * rows) < rows:
        raise ValueError(f"test is {share!r}: of {rows} rows it leaves none to work with.")
    places, groups = np.arange(rows), np.asarray(y) if classes else None
    others, apart = train_test_split(places, test_size=share, random_state=seed, stratify=groups)
    return np.sort(others), np.sort(apart)


def make_folds(rows: int, folds: Any, seed: int, y: Any = None, classes: bool = False) -> Folds:
    """Return so many folds of shuffled rows; of classes each has its share in every fold."""
    if isinstance(folds, bool) or not isinstance(folds, (int, np.integer)) or not 2 <= folds <= rows:
        raise ValueError(f"folds is {folds!r}: it must be a whole number from 2 to the {rows} rows there are.")
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if classes else KFold
    split = kind(int(folds), shuffle=True, random_state=seed).split(np.zeros(rows), np.asarray(y) if classes else None)
    return Folds([(learn, held) for learn, held in split])


def score_held_out(estimator: Any, X: Any, y: Any, folds: Folds) -> HeldOut:
    """Fit copies of an estimator to all folds but one, and score that one, in turn."""
    from sklearn.base import clone

    scores, notes, fitted = np.empty(folds.scored), [], None
    for learn, held in folds.pairs:
        fitted, note = fit_quietly(clone(estimator), take_rows(X, learn), take_rows(y, learn))
        scores[held] = row_scores(fitted, take_rows(X, held), take_rows(y, held))
        notes.append(note)
    return HeldOut(scores, fitted, next(filter(None, notes), ""))
