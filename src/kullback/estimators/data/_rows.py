"""Tables of numbers as batches: chunk by chunk, in 64 bits, padded to a few sizes."""

import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kullback.core import Batch, Model, Standardization, missing_bound
from kullback.estimators.data._start_rows import sample_rows
from kullback.learning import Clock, Learner, gather_in_turn

#: Rows that are handed over at once: enough to be quick, few enough to need little memory beyond the data.
CHUNK = 32_768


def padded_size(rows: int) -> int:
    """Round up to a power of two, so that batches of like sizes share one compiled function."""
    return min(1 << max(rows - 1, 15).bit_length(), CHUNK)


def padded(values: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return values and weights with rows of weight 0 up to that size."""
    rows, size = len(values), padded_size(len(values))
    full, weights = np.empty((size, *values.shape[1:]), values.dtype), np.zeros(size)
    full[:rows], full[rows:] = values, values[:1]
    weights[:rows] = 1 if weight is None else weight
    return full, weights


class Rows:
    """A table X with weights. Entries that are NaN are missing.

    It never copies the whole table: chunks become 64-bit batches one at a time. `point_variance` is the variance of a
    point; `in_part` says that these are some rows of more.
    """

    def __init__(
        self, X: np.ndarray, weight: np.ndarray | None = None, point_variance: float = 0.0, in_part: bool = False
    ):
        self.X, self.weight, self.point_variance, self.in_part = X, weight, float(point_variance), in_part
        self._only: Batch | None = None
        # most tables lack nothing: their sum says so without a table of answers
        with np.errstate(over="ignore", invalid="ignore"):
            self.missing = bool(np.issubdtype(X.dtype, np.floating) and np.isnan(np.sum(X)) and _any_nan(X))

    def __len__(self) -> int:
        return len(self.X)

    @property
    def mass(self) -> float:
        """The total weight."""
        return float(len(self.X) if self.weight is None else self.weight.sum())

    def chunks(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray | None]]:
        """Yield places, 64-bit values and weights."""
        for start in range(0, len(self.X), CHUNK):
            here = slice(start, min(start + CHUNK, len(self.X)))
            values = np.ascontiguousarray(self.X[here], dtype=np.float64)
            yield here, values, None if self.weight is None else self.weight[here]

    def batches(self, standardization: Standardization | None = None) -> Iterator[Batch]:
        """Yield padded batches. A table of one chunk is handed over once, for all iterations; call it in 64 bits."""
        if len(self.X) > CHUNK:
            for _, batch in self.batches_with_places(standardization):
                yield batch
            return
        if self._only is None:
            self._only = jax.tree.map(jnp.asarray, next(iter(self.batches_with_places()))[1])
        yield self._only.scaled(standardization)

    def batches_with_places(self, standardization: Standardization | None = None) -> Iterator[tuple[slice, Batch]]:
        """Yield the places of padded batches, and the batches."""
        for here, values, weight in self.chunks():
            values, weight = padded(values, weight)
            observed = ~np.isnan(values) if self.missing else None
            most = self.most_missing if self.missing else None
            yield here, Batch(values, weight, self.point_variance, observed, standardization, most_missing=most)

    @functools.cached_property
    def most_missing(self) -> int:
        """How many entries a row lacks at most, rounded up."""
        return max((missing_bound(~np.isnan(values)) for _, values, _ in self.chunks()), default=0)

    @functools.cached_property
    def standardization(self) -> tuple[Standardization, float]:
        """Where the data lies, and how far from its center it reaches in units of its scale."""
        count, total, square = 0.0, 0.0, 0.0
        pivot = np.asarray(self.X[0], dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # a radius that is not finite says that it is too far
            for _, values, _ in self.chunks():
                away = values - pivot
                count, total, square = count + len(away), total + away.sum(axis=0), square + np.square(away).sum(axis=0)
            mean = total / count
            spread = np.sqrt(np.maximum(square / count - np.square(mean), 0))
            standardization = Standardization(pivot + mean, np.where(spread > 0, spread, 1.0))
            return standardization, self._radius(standardization)

    def _radius(self, standardization: Standardization) -> float:
        farthest = 0.0
        for _, values, _ in self.chunks():
            away = (values - standardization.center) / standardization.scale
            farthest = max(farthest, float(np.einsum("ij,ij->i", away, away).max()))
        return float(np.sqrt(farthest))

    def standardization_for(self, model: Model) -> Standardization | None:
        """Return the standardization of the data if the members of the model can use it."""
        members = model.featured
        if self.missing or members is None or not members.feature_kernel_is_faster:
            return None
        with np.errstate(over="ignore", invalid="ignore"):  # members may be far away: then features do not pay
            standardization, radius = self.standardization
            accurate = np.isfinite(radius) and members.feature_kernel_is_accurate(standardization, radius)
            return standardization if accurate else None

    # --- as the loop asks for it ------------------------------------------------------------------------

    whole, sites = True, 1

    def start(self) -> Batch:
        """Return the first rows."""
        return next(self.batches_with_places())[1]

    def gather(
        self, learner: Learner[Any, Any, Any, Any], model: Any, state: Any, memories: tuple[Any, ...], clock: Clock
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return one message of all rows, chunk by chunk."""
        batches = self.batches(self.standardization_for(model))
        message, memory = gather_in_turn(batches, learner, model, state, memories[0], clock.at_site(0))
        return message, (memory,)

    def filled(self, rows: np.ndarray | slice | None = None) -> np.ndarray:
        """Return the table, or some rows of it, with column means for what is missing: for a start, not for a fit."""
        X = np.asarray(self.X if rows is None else self.X[rows], dtype=np.float64)
        return np.where(np.isnan(X), self._means, X) if self.missing else X

    @functools.cached_property
    def to_start_from(self) -> "Rows":
        """What a start looks at: all rows, or some of them."""
        places = sample_rows(len(self))
        return self if places is None else self.take(places, in_part=True)

    def take(self, places: np.ndarray, in_part: bool = False) -> "Rows":
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[places]
        return Rows(self.X[places], weight, self.point_variance, in_part)

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance, chunk by chunk; missing entries count as the mean of their column."""
        n = self.X.shape[1]
        mass, total, square = 0.0, np.zeros(n), np.zeros((n, n))
        pivot = self.filled(np.arange(min(len(self), 1000))).mean(axis=0)
        for here, values, weight in self.chunks():
            away = (self.filled(np.arange(here.start, here.stop)) if self.missing else values) - pivot
            w = np.ones(len(away)) if weight is None else weight
            mass, total, square = mass + w.sum(), total + w @ away, square + (away * w[:, None]).T @ away
        mean = total / mass
        return pivot + mean, square / mass - np.outer(mean, mean)

    @functools.cached_property
    def _means(self) -> np.ndarray:
        """The mean of what is there, column by column."""
        count, total = np.zeros(self.X.shape[1]), np.zeros(self.X.shape[1])
        for _, values, weight in self.chunks():
            there = ~np.isnan(values) * (1.0 if weight is None else weight[:, None])
            count, total = count + there.sum(axis=0), total + np.sum(there * np.nan_to_num(values), axis=0)
        return total / np.where(count > 0, count, 1)


def _any_nan(X: np.ndarray) -> bool:
    return any(np.isnan(X[start : start + CHUNK]).any() for start in range(0, len(X), CHUNK))
