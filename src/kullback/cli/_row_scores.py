"""The log-likelihood of each row, and which columns make a row unlikely."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kullback.cli._column_roles import Chunk
from kullback.cli._output_columns import Values
from kullback.cli._pairs import known_targets
from kullback.cli._saved_model import SavedModel
from kullback.estimators import Anomalies


class RowScores(NamedTuple):
    """Log-likelihoods in nats, and the most probable component or state of each row, where there is one.

    `responsibilities` are the probabilities of all components or states, where they are asked for. `given` is what a
    row is scored by besides itself: where sequences begin, inputs, and what is known of the rows before.
    """

    log_likelihood: np.ndarray
    component: np.ndarray | None
    responsibilities: np.ndarray | None
    given: dict[str, Any]


def row_scorer(saved: SavedModel, responsibilities: bool = False) -> Callable[[Chunk], RowScores]:
    """Return what scores the rows of one chunk after the other."""
    if saved.has_targets:
        if not saved.roles.targets:
            raise ValueError("this model does not know which column its target is: it was not fitted by this command.")
        return functools.partial(_score_targets, saved)
    if saved.has_time:
        return SeriesScorer(saved, responsibilities)
    return functools.partial(_score_table, saved, responsibilities)


def name_responsibilities(found: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return a column for each component or state."""
    return {} if found is None else {f"responsibility_{k}": found[:, k] for k in range(found.shape[1])}


def _score_table(saved: SavedModel, responsibilities: bool, chunk: Chunk) -> RowScores:
    component = saved.estimator.predict(chunk.X) if saved.capabilities.predicts else None
    shares = saved.estimator.predict_proba(chunk.X) if responsibilities else None
    return RowScores(saved.estimator.score_samples(chunk.X), component, shares, {})


def _score_targets(saved: SavedModel, chunk: Chunk) -> RowScores:
    """Return the log density of targets given inputs; NaN where there is none."""
    assert chunk.targets is not None
    there = ~np.isnan(chunk.targets).all(axis=1)
    found = np.full(len(there), np.nan)
    if there.any():
        known = vars(saved.estimator).get("classes_")
        truth = known is not None and known.dtype == bool
        targets = known_targets(saved.estimator, saved.codes, saved.roles.targets, chunk.targets[there], truth)
        found[there] = saved.estimator.score_samples(chunk.X[there], targets)
    return RowScores(found, None, None, {})


class SeriesScorer:
    """Scores of rows given those before them: log p(v_t | v_1 … v_{t−1}), from chunk to chunk."""

    def __init__(self, saved: SavedModel, responsibilities: bool = False):
        self._estimator, self._predicts = saved.estimator, saved.capabilities.predicts
        self._shares = responsibilities
        self._carry: Any = None
        self._last: Any = None

    def __call__(self, chunk: Chunk) -> RowScores:
        """Score the next rows."""
        goes_on = chunk.sequence is None or chunk.sequence[0] == self._last
        self._last = None if chunk.sequence is None else chunk.sequence[-1]
        carry = self._carry if goes_on else None
        given = {"lengths": chunk.lengths, "inputs": chunk.inputs, "carry": carry}
        found = self._estimator.score_next(chunk.X, **given)
        self._carry = found.carry
        component = found.states.argmax(axis=1) if self._predicts else None
        return RowScores(found.log_likelihood, component, found.states if self._shares else None, given)


class NoveltyScorer:
    """Scores of rows given those before them, by a model that learns from each of them afterwards."""

    def __init__(self, saved: SavedModel):
        self._estimator, self._last = saved.estimator, None
        self._estimator.end_series()  # that of the fit: these rows are another

    def __call__(self, chunk: Chunk) -> RowScores:
        """Score the next rows, and learn from them."""
        new_series = chunk.sequence is not None and chunk.sequence[0] != self._last
        self._last = None if chunk.sequence is None else chunk.sequence[-1]
        if new_series:
            self._estimator.end_series()
        return RowScores(-self._estimator.novelty(chunk.X, chunk.lengths), None, None, {})


def explain(
    anomalies: Anomalies, chunk: Chunk, scores: RowScores, unlikely: np.ndarray, names: list[str], whole: bool
) -> dict[str, Any]:
    """Return the column that contributes most to each anomaly, and, as a `whole`, the contributions of all columns."""
    found = np.zeros(chunk.X.shape)
    if whole or unlikely.any():
        chosen = slice(None) if whole or scores.given else unlikely  # a row of a series needs those before it
        found[chosen] = anomalies.contributions(chunk.X[chosen], **scores.given)
    which = Values(np.where(unlikely, found.argmax(axis=1), np.nan), words=names)
    every = {f"contribution_{name}": found[:, place] for place, name in enumerate(names)} if whole else {}
    return {"unlikely_column": which, **every}
