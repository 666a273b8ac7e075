"""Exact EM over the blocks of a Dask collection: one sum of statistics in each iteration, and only they travel."""

import copy
import dataclasses
import sys
from typing import Any

import dask
import jax
import numpy as np

from kullback._limits import MOST_CATEGORIES
from kullback.distributed._parts import counted, parts_of, rows_of
from kullback.distributed._survey import Survey, merge_surveys, surveyed
from kullback.distributed._tree import reduced, shared
from kullback.estimators._drawn import drawn_rows
from kullback.estimators._rows import Rows, has_features
from kullback.estimators._support import with_support
from kullback.families import Frame, Gaussian
from kullback.learning import Report, expected, merged, nearest
from kullback.runtime import computing


class Blocks:
    """The rows of a Dask array or frame, as an estimator learns from them where they are.

    A block is read again in each iteration unless it was persisted: the memory of a worker, or the time to read, is for
    the caller to choose. Sums are taken in the order of the blocks, so the number of workers makes no difference, and
    blocks that were lost with a worker are made again from their graph.

    A start is made from rows that come here: all of them, in order, or 65,536 drawn at random where there are more,
    the same that are drawn from a table here. A fit that goes on (`warm_start`) needs none. Factor models start
    from the moments of all rows.
    """

    def __init__(self, estimator: Any, data: Any, sample_weight: Any, first: bool):
        self._estimator, self._parts = estimator, parts_of(data, sample_weight)
        look = dask.delayed(surveyed, pure=False)
        self._survey: Survey = reduced([part.asked(look) for part in self._parts], merge_surveys)
        if self._survey.mass <= 0:
            raise ValueError("X has no row that counts: there is nothing to learn from.")
        if not np.isfinite(self._survey.mass):
            raise ValueError("sample_weight is so large that its sum is not finite: divide it by a large number.")
        self._sample: Rows | None = None
        if first:
            self._sample = self._learn_shape()
        self._frame, self._reach = self._survey.frame, self._survey.reach

    @property
    def mass(self) -> float:
        """The total weight."""
        return self._survey.mass

    def start(self, random: np.random.RandomState) -> Any:
        """Return the model to begin with. Call it in 64 bits."""
        assert self._sample is not None
        if len(self._sample) == self._count:
            return self._estimator._start(self._sample, random)
        if self._estimator._starts_from_all:
            return self._estimator._start(_with_moments(*self._moments()), random)
        return with_support(self._estimator._start(self._sample, random))

    def em_step(self, model: Any, prior: Any = None) -> tuple[Any, Report]:
        """Return the model nearest to all rows, each taken with its posterior under the old model."""
        components = getattr(model, "components", model)
        pays = has_features(components) and np.isfinite(self._reach)
        with np.errstate(over="ignore", invalid="ignore"):
            frame = self._frame if pays and components.features_pay(self._frame, self._reach) else None
        return nearest(model, self._gathered(_Question(copy.copy(self._estimator), model, frame)), prior)

    # --- inside -----------------------------------------------------------------------------------------

    def _gathered(self, question: "_Question") -> Any:
        ask, asked = dask.delayed(_said, pure=False), shared(question)
        return reduced([part.asked(ask, asked, place) for place, part in enumerate(self._parts)], summed)

    @property
    def _count(self) -> int:
        return sum(self._survey.rows)

    def _learn_shape(self) -> Rows:
        """Let the estimator see rows to start from: columns, their names, categories. Return them."""
        table, weight = self._drawn()
        try:
            rows = self._estimator._rows(table, weight, first=True, least=2)
        except ValueError as error:
            if len(table) == self._count:
                raise
            raise ValueError(f"In {len(table):,} rows that were drawn from X: {error}") from error
        known = getattr(self._estimator, "n_categories_", None)
        if known is not None and self._estimator._known_categories is None:  # the rarest may not be in the sample
            many = (known > 0) & (self._survey.high >= MOST_CATEGORIES)
            if many.any():
                raise ValueError(
                    f"Column {np.argmax(many)} of X holds {self._survey.high[np.argmax(many)]:.6g}: categories are "
                    f"0, 1, 2, … and not more than {MOST_CATEGORIES:,}; number them so, or use another family."
                )
            highest = np.where(np.isfinite(self._survey.high), self._survey.high, 0).astype(np.int64) + 1
            self._estimator.n_categories_ = np.where(known > 0, np.maximum(known, highest), known)
        return rows

    def _drawn(self) -> tuple[Any, np.ndarray | None]:
        """Return the rows that a start looks at, and their weights."""
        counts = np.array(self._survey.rows)
        ends, places = np.cumsum(counts), drawn_rows(self._count)
        parts = _split(np.arange(self._count) if places is None else places, ends)
        pick = dask.delayed(_picked, pure=False)
        asked = [
            part.asked(pick, here - end + count)
            for part, here, end, count in zip(self._parts, parts, ends, counts, strict=True)
        ]
        tables, weights = zip(*dask.compute(*asked), strict=True)
        return below_each_other(tables), None if weights[0] is None else np.concatenate(weights)

    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance of all rows; what is missing counts as the mean of its column."""
        center, scale = np.asarray(self._frame.center), np.asarray(self._frame.scale)
        around = Gaussian(center, np.diag(np.square(scale)))
        statistics = self._gathered(_Question(copy.copy(self._estimator), around, None, center))
        return np.asarray(statistics.mean), np.asarray(statistics.spread)


@dataclasses.dataclass
class _Question:
    """What every block is asked: what its rows say to a model. `fill` takes the place of what is missing."""

    estimator: Any
    model: Any
    frame: Frame | None
    fill: np.ndarray | None = None


def _said(question: _Question, place: int, table: Any, weight: Any) -> Any:
    """E-step of one block: its statistics, with NumPy arrays; None where no row counts."""
    table, weight = counted(table, weight)
    if len(table) == 0:
        return None
    try:
        rows = question.estimator._rows(table, weight, first=False, least=0)
    except ValueError as error:
        raise ValueError(f"In block {place} of X: {error}") from error
    if question.fill is not None and rows.missing:
        rows = Rows(np.where(np.isnan(rows.X), question.fill, rows.X), rows.weight, rows.width)
    total: Any = None
    for _, batch in rows.placed(None if rows.missing else question.frame):
        with computing():
            found = expected(question.model, batch)
            total = jax.block_until_ready(found if total is None else merged(total, found))
    return jax.tree.map(np.asarray, total)


def summed(one: Any, other: Any) -> Any:
    """Return the statistics of both, with NumPy arrays."""
    with computing():
        return jax.tree.map(np.asarray, merged(one, other))


def _picked(places: np.ndarray, table: Any, weight: Any) -> tuple[Any, np.ndarray | None]:
    """Return some of the rows that count."""
    table, weight = counted(table, weight)
    return rows_of(table, places), None if weight is None else weight[places]


def _split(drawn: np.ndarray, ends: np.ndarray) -> list[np.ndarray]:
    return np.split(drawn, np.searchsorted(drawn, ends[:-1]))


def below_each_other(tables: tuple[Any, ...]) -> Any:
    """Return arrays, or frames, as one."""
    if not hasattr(tables[0], "iloc"):
        return np.concatenate(tables)
    return sys.modules[type(tables[0]).__module__.partition(".")[0]].concat(list(tables))


def _with_moments(mean: np.ndarray, covariance: np.ndarray) -> Rows:
    """Return the smallest table that has this mean and this covariance: two points on each axis."""
    lengths, axes = np.linalg.eigh(covariance)
    away = axes * np.sqrt(len(mean) * np.maximum(lengths, 0))
    return Rows(mean + np.concatenate([away.T, -away.T]))
