"""Losses on rows that a fit has not seen: cross-validation, and for one long series the future only."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from kullback.assess._estimators import WithModel, row_scores
from kullback.assess._row_losses import RowLosses
from kullback.core import Batch, TimeIndex
from kullback.runtime import in_float64


def cross_validate(estimator: Any, X: Any, *, lengths: Any = None, folds: int = 5, seed: int = 0) -> RowLosses:
    """Return the plug-in loss of each row under fits that have not seen it.

    Parameters
    ----------
    estimator : object
        With `fit` and `score_samples`; for sequences with `fit(X, lengths)` and `to_model`. It is cloned.
    X : array
        The rows.
    lengths : array, optional
        Lengths of sequences: the unit is then a sequence.
    folds : int
        How many parts, drawn at random.
    seed : int
        Where chance begins.

    """
    from sklearn.base import clone

    X = np.asarray(X)
    units = len(X) if lengths is None else len(lengths)
    if lengths is not None and units == 1:
        raise ValueError("there is one sequence: cross-validation needs several, so ask leave_future_out.")
    if lengths is not None:
        _check_series(estimator)
    if not 2 <= folds <= units:
        raise ValueError(f"folds is {folds}: it must be 2 or more, and at most the {units} rows or sequences.")
    losses = np.empty(units)
    for held_out in np.array_split(np.random.default_rng(seed).permutation(units), folds):
        inside = np.ones(units, bool)
        inside[held_out] = False
        if lengths is None:
            losses[~inside] = -row_scores(clone(estimator).fit(X[inside]), X[~inside], None)
        else:
            losses[~inside] = _sequence_losses(clone(estimator), X, np.asarray(lengths), inside)
    return RowLosses(_finite(losses, "row" if lengths is None else "sequence"), np.ones(units))


def _check_series(estimator: Any) -> None:
    """Raise where an estimator has rows that do not follow each other."""
    if not isinstance(estimator, WithModel):
        return
    try:
        inspect.signature(estimator.to_batch).bind(None, None)
    except TypeError:
        raise TypeError(
            f"{type(estimator).__name__} is a model of independent rows, not of a series: ask cross_validate without "
            "lengths."
        ) from None


def _sequence_losses(estimator: Any, X: Any, lengths: Any, inside: Any) -> Float[np.ndarray, " held_out"]:
    of_rows = np.repeat(inside, lengths)
    rows = _one_step_losses(estimator.fit(X[of_rows], lengths[inside]), X[~of_rows], lengths[~inside])
    starts = np.cumsum(lengths[~inside]) - lengths[~inside]
    return np.add.reduceat(rows, starts)


@in_float64
def _one_step_losses(fitted: Any, X: Any, lengths: Any) -> Float[np.ndarray, " rows"]:
    """Return the loss of each row given those before it in its sequence; an estimator knows what is missing in them."""
    seen = isinstance(fitted, WithModel)
    batch = fitted.to_batch(X, lengths) if seen else Batch(X, time=TimeIndex.of_lengths(lengths))
    return -np.asarray(fitted.to_model().log_likelihood(batch), np.float64)


def _finite(losses: Float[np.ndarray, " units"], unit: str, first: int = 0) -> Float[np.ndarray, " units"]:
    """Return losses; raise where one is no number, or infinite: then their mean says nothing."""
    bad = np.flatnonzero(~np.isfinite(losses))
    if bad.size:
        raise ValueError(
            f"{unit} {first + bad[0] + 1:,} has the loss {losses[bad[0]]} under a fit that has not seen it: leave it "
            "out, or fit with a prior."
        )
    return losses


def leave_future_out(estimator: Any, X: Any, *, first: int | None = None, blocks: int = 5) -> RowLosses:
    """Return one-step losses of one long series, under fits to what came before the block that a row is in.

    Parameters
    ----------
    estimator : object
        A model of one series, with `fit` and `to_model`. It is cloned for each block.
    X : array
        The series, a row for each step.
    first : int, optional
        Rows that are only learned from; by default half of them.
    blocks : int
        How many fits: one before each block of the rest.

    """
    from sklearn.base import clone

    def learn(past: Any, fresh: Any, before: Any) -> Any:
        return clone(estimator).fit(past)

    _check_series(estimator)
    return _future_losses(learn, X, first, blocks)


def prequential_loss(estimator: Any, X: Any, *, first: int | None = None, blocks: int = 20) -> RowLosses:
    """Return one-step losses of one long series, under a fit that learns each block after it has foretold it.

    As `leave_future_out`, with one estimator that goes on by `partial_fit` in place of fits from the beginning.
    """
    from sklearn.base import clone

    def learn(past: Any, fresh: Any, before: Any) -> Any:
        return (clone(estimator) if before is None else before).partial_fit(fresh)

    _check_series(estimator)
    return _future_losses(learn, X, first, blocks)


def _future_losses(learn: Callable[[Any, Any, Any], Any], X: Any, first: int | None, blocks: int) -> RowLosses:
    X = np.asarray(X)
    first = len(X) // 2 if first is None else first
    if not 2 <= first < len(X):
        raise ValueError(f"first is {first}: it must be 2 or more, and less than the {len(X)} rows.")
    if not 1 <= blocks <= len(X) - first:
        raise ValueError(
            f"blocks is {blocks}: it must be 1 or more, and at most the {len(X) - first} rows after first."
        )
    losses, fitted, seen = [], None, 0
    for start, stop in _cuts(first, len(X), blocks):
        fitted = learn(X[:start], X[seen:start], fitted)
        losses.append(_one_step_losses(fitted, X[:stop], [stop])[start:])
        seen = start
    rows = _finite(np.concatenate(losses), "row", first)
    return RowLosses(rows, np.ones(rows.shape))


def _cuts(first: int, total: int, blocks: int) -> Iterator[tuple[int, int]]:
    edges = np.linspace(first, total, blocks + 1).astype(int)
    return zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
