"""The smallest sets that hold a target with some probability: possibly several pieces."""

import functools
from typing import Any, NamedTuple

import jax
import numpy as np

from kullback.estimators.conditional._predicted import PredictedDistribution
from kullback.estimators.data._rows import padded_size
from kullback.families import VonMises
from kullback.geometry import (
    Pieces,
    density_grid,
    highest_density_level,
    highest_density_threshold,
    highest_mass_set,
    pieces_above,
    whole_pieces,
)
from kullback.runtime import computing, jit

#: Draws of each row that say how much a set holds, and rows that are worked on at once.
_DRAWS, _ROWS = 1024, 256
#: Counts outside of these probabilities are left out, and so many different ones are looked at, at most.
_TAIL, _OUTCOMES = 1e-7, 1 << 16


class TargetRange(NamedTuple):
    """What one target can be: between which ends it lies, and whether it is a whole number, or a category."""

    low: float
    high: float
    discrete: bool
    codes: bool

    @classmethod
    def of(cls, family: Any) -> "TargetRange":
        """Return that of a family of single numbers."""
        support = family.support
        if family is VonMises:
            return cls(-np.pi, np.pi, False, False)
        below, above = (bool(support.contains(np.array(x))) for x in (-1.5, 1.5))
        return cls(-np.inf if below else 0.0, np.inf if above else 1.0, support.discrete, support.codes)


class CredibleSets:
    """A set for each row: the targets whose density is above a threshold.

    `contains(y)` says whether targets lie in them. Of one number it has `pieces`: their ends `lower` and `upper`, of
    shape (rows, most pieces) with NaN where a row has fewer, and `counts`, how many there are. Of a category `members`
    says which belong to the set, of shape (rows, categories), in the order of `classes_`.
    """

    def __init__(
        self, predicted: PredictedDistribution, threshold: np.ndarray, pieces: Pieces | None, members: np.ndarray | None
    ):
        self._predicted, self.threshold, self._pieces, self._members = predicted, threshold, pieces, members

    def __len__(self) -> int:
        return len(self.threshold)

    def __repr__(self) -> str:
        return f"CredibleSets of {len(self)} rows"

    def contains(self, y: Any) -> np.ndarray:
        """Return whether the targets of each row lie in its set."""
        return self._predicted.log_prob(y) >= self.threshold

    @property
    def pieces(self) -> Pieces:
        """The intervals of each row, for one target that is a number."""
        if self._pieces is None:
            raise AttributeError("Only sets of one number have pieces: see contains, or members of categories.")
        return self._pieces

    @property
    def lower(self) -> np.ndarray:
        """The lower ends of the pieces."""
        return self.pieces.lower

    @property
    def upper(self) -> np.ndarray:
        """The upper ends of the pieces."""
        return self.pieces.upper

    @property
    def counts(self) -> np.ndarray:
        """How many pieces each set has."""
        return self.pieces.counts

    @property
    def members(self) -> np.ndarray:
        """Which categories belong to each set."""
        if self._members is None:
            raise AttributeError("Only sets of categories have members: see pieces, or contains.")
        return self._members


def find_sets(predicted: PredictedDistribution, level: float, target: TargetRange | None, seed: int) -> CredibleSets:
    """Return the smallest sets that hold this much of each distribution; `target` is what a single one can be."""
    by_place, count = predicted.by_place, len(predicted)
    found = [_find_block(by_place[rows], level, target, seed + at) for at, rows in enumerate(_blocks(count))]
    threshold = np.concatenate([each[0] for each in found])[:count] if found else np.zeros(0)
    members = np.concatenate([each[2] for each in found])[:count] if found and found[0][2] is not None else None
    pieces = _join([each[1] for each in found], count) if found and found[0][1] is not None else None
    return CredibleSets(predicted, threshold, pieces, members)


def levels_of(predicted: PredictedDistribution, targets: np.ndarray, seed: int) -> np.ndarray:
    """Return how much the smallest set holds that has the target of each row in it; classes are by their places."""
    found = []
    for place, rows in enumerate(_blocks(len(predicted))):
        block = predicted[rows]
        own = log_prob_of(block, _draws(block, seed + place))
        found.append(highest_density_level(block.log_prob(targets[rows]), own))
    return np.concatenate(found)[: len(predicted)]


def _blocks(count: int) -> list[np.ndarray]:
    """Return the places of rows in blocks of one size, the last filled up with its first row: so little is compiled."""
    size = min(padded_size(count), _ROWS)
    return [np.where(rows < count, rows, at) for at in range(0, count, size) for rows in [np.arange(at, at + size)]]


def _find_block(
    predicted: PredictedDistribution, level: float, target: TargetRange | None, seed: int
) -> tuple[np.ndarray, Pieces | None, np.ndarray | None]:
    if target is not None and target.discrete:
        return _discrete_block(predicted, level, target)
    draws = _draws(predicted, seed)
    threshold = highest_density_threshold(log_prob_of(predicted, draws), level)
    if target is None:
        return threshold, None, None

    def density(points: np.ndarray) -> np.ndarray:
        return log_prob_of(predicted, points[..., None])

    pieces = pieces_above(density, threshold, density_grid(draws[..., 0]), (target.low, target.high))
    return threshold, pieces, None


def _discrete_block(
    predicted: PredictedDistribution, level: float, target: TargetRange
) -> tuple[np.ndarray, Pieces | None, np.ndarray | None]:
    """Return sets of categories or counts: all that are probable enough are looked at."""
    if target.codes:
        outcomes = np.arange(predicted.probabilities.shape[1], dtype=np.float64)
    else:
        low, high = predicted.quantile(_TAIL).min(), predicted.quantile(1 - _TAIL).max()
        if high - low >= _OUTCOMES:
            raise ValueError(f"Counts from {low:.6g} to {high:.6g} are probable: too many to list. See interval.")
        outcomes = np.arange(low, high + 1)
    points = np.broadcast_to(outcomes[:, None, None], (len(outcomes), len(predicted), 1))
    logs = log_prob_of(predicted, points).T
    inside = highest_mass_set(logs, level)
    threshold = np.min(np.where(inside, logs, np.inf), axis=1)
    if target.codes:
        return threshold, None, inside
    return threshold, whole_pieces(inside, int(outcomes[0])), None


def _draws(predicted: PredictedDistribution, seed: int) -> np.ndarray:
    drawn = np.asarray(predicted.sample(_DRAWS, seed), dtype=np.float64)
    return drawn.reshape(_DRAWS, len(predicted), -1)


def log_prob_of(predicted: PredictedDistribution, points: np.ndarray) -> np.ndarray:
    """Return the log density of each row at several points of its own, of shape (points, rows, columns)."""
    with computing():
        kind: Any = predicted.kind
        return np.asarray(_compiled(kind)(predicted.free, points))


@functools.lru_cache(64)
def _compiled(kind: Any) -> Any:
    return jit(lambda free, points: jax.vmap(lambda x: kind.log_prob_at("free", free, x))(points))


def _join(several: list[Any], count: int) -> Pieces:
    """Return the pieces of the first rows of several blocks."""
    most = max(each.lower.shape[1] for each in several)

    def wide(ends: np.ndarray) -> np.ndarray:
        return np.pad(ends, ((0, 0), (0, most - ends.shape[1])), constant_values=np.nan)

    lower, upper = (np.concatenate([wide(getattr(each, name)) for each in several]) for name in ("lower", "upper"))
    return Pieces(lower[:count], upper[:count], np.concatenate([each.counts for each in several])[:count])
