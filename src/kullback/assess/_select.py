"""Choosing a number of components: one fit for each, and a criterion that says which of them to believe."""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kullback.assess._criteria import criteria
from kullback.assess._estimators import (
    WithCriteria,
    WithModel,
    bic_of,
    check_density,
    fit_quietly,
    is_of_calls,
    parameter_count,
    row_count,
)
from kullback.assess._held_out import Folds, check_seed, make_folds, score_held_out
from kullback.assess._paired import Mean, choose_simplest, gap
from kullback.assess._text_table import text_table
from kullback.runtime import sharing_compilations


class Evaluation(NamedTuple):
    """What a criterion says of one candidate: the smaller the better."""

    value: float
    #: The part of each row, of which the value is the mean; None where it has no parts that could be paired.
    rows: NDArray[np.float64] | None = None


class Criterion(NamedTuple):
    """A criterion: a function of a fitted estimator and its rows, and what its numbers are."""

    evaluate: Callable[[Any, Any, Any, Folds], Evaluation]
    unit: str


def _bic(fitted: Any, X: Any, y: Any, folds: Folds) -> Evaluation:
    """Return −2·log-likelihood + d·log n."""
    if not isinstance(fitted, WithCriteria):
        raise TypeError(f"{type(fitted).__name__} has no bic: choose by criterion='held-out'.")
    return Evaluation(bic_of(fitted, X))


def _held_out(fitted: Any, X: Any, y: Any, folds: Folds) -> Evaluation:
    """Return the mean loss −log p of rows that a fit has not seen."""
    losses = -score_held_out(fitted, X, y, folds).scores
    return Evaluation(float(np.mean(losses)), losses)


def _model_of(fitted: Any, X: Any) -> tuple[Any, Any]:
    """Return the model of a fitted estimator, and the rows as it sees them."""
    if not isinstance(fitted, WithModel):
        raise TypeError(
            f"{type(fitted).__name__} has no to_model and to_batch, which draws from the posterior need: choose by "
            "criterion='bic' or 'held-out'."
        )
    return fitted.to_model(), fitted.to_batch(X)


def _waic(fitted: Any, X: Any, y: Any, folds: Folds) -> Evaluation:
    """Return the widely applicable information criterion: what the Bayes predictive would lose on new rows."""
    found = criteria(*_model_of(fitted, X))
    if found.waic is None:
        raise ValueError(found.problem)
    return Evaluation(found.waic.mean, found.waic.rows)


def _wbic(fitted: Any, X: Any, y: Any, folds: Folds) -> Evaluation:
    """Return E[−log-likelihood] at β = 1/log n, about −log of the evidence."""
    found = criteria(*_model_of(fitted, X)).coefficient
    if found.wbic is None:
        raise ValueError(found.problem)
    return Evaluation(found.wbic)


#: All criteria, by name. `evaluate(fitted, X, y, folds)` is given an estimator that was fitted to all rows; it must not
#: change it. Criteria of the posterior stand here too.
CRITERIA: dict[str, Criterion] = {
    "bic": Criterion(_bic, "−2·log-likelihood + d·log n"),
    "held-out": Criterion(_held_out, "nats per row that the fit has not seen"),
    "waic": Criterion(_waic, "nats per row that the Bayes predictive would lose"),
    "wbic": Criterion(_wbic, "E[−log-likelihood] at β = 1/log n, in nats"),
}


class Selection:
    """How many components to take.

    Attributes
    ----------
    n_components : int
        The number that was chosen. Where a criterion has a part for each row, it is the least one within a standard
        error of the best; otherwise the best.
    estimator : estimator
        Fitted with it to all rows.
    rows : list of dict
        A line for each candidate: `n_components`, `parameters` (how many there are, where the estimator says so),
        `value` of the criterion, the smaller the better, `behind` (how far it is behind the best), `error` (the
        standard error of that, row by row; None where there is none), `chosen` and `note`.

    """

    def __init__(self, rows: list[dict[str, Any]], estimators: list[Any], criterion: str, heading: str):
        chosen = next(place for place, row in enumerate(rows) if row["chosen"])
        self.rows, self.criterion, self.estimator = rows, criterion, estimators[chosen]
        self.n_components: int = rows[chosen]["n_components"]
        self._heading = heading

    def __repr__(self) -> str:
        known = [name for name in ("parameters", "note") if any(row[name] for row in self.rows)]
        paired = any(row["error"] is not None for row in self.rows)
        columns = ["n_components", *known[:1], "value", "behind", *(["error"] * paired), *known[1:]]
        table = text_table(self.rows, columns, [row["chosen"] for row in self.rows])
        why = "the least within one standard error of the best, row by row" if paired else "the least value"
        return f"{self._heading}\n{table}\nChosen (*): n_components={self.n_components}, {why}."


def select(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    n_components: Iterable[int] = range(1, 9),
    criterion: str = "bic",
    folds: int = 5,
    seed: int = 0,
    verbose: bool = False,
) -> Selection:
    """Choose a number of components: fit each of them to the rows, and compare.

    Parameters
    ----------
    estimator : estimator with n_components, fit and score_samples
        It is copied, and stays as it is. Mixtures of 1 to 8 components share all that is compiled for them.
    X : array-like of shape (n_rows, n_columns)
        Rows.
    y : array-like of shape (n_rows,), optional
        Targets, where the estimator has some.
    n_components : iterable of int
        The numbers to compare.
    criterion : "bic", "held-out", "waic" or "wbic"
        The Bayesian information criterion, or the log-likelihood of rows in folds that took no part in the fit: then
        candidates are compared row by row, and the least number within one standard error of the best is chosen.
        "waic", by row too, and "wbic" draw from the posterior of each candidate (the extra kullback[sampling]); one
        whose chains disagree has a note in place of a number.
    folds : int
        How many folds there are for "held-out".
    seed : int
        Of the folds.
    verbose : bool
        One line that says how far it has come.

    Returns
    -------
    Selection
        `n_components`, `estimator`, `rows`; in print a table. What was chosen by a number is better by this number than
        it is: `tune` has a test besides.

    Examples
    --------
    >>> from sklearn.mixture import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-4, 1, (100, 1)), rng.normal(4, 1, (100, 1))])
    >>> found = select(GaussianMixture(random_state=0), X, n_components=range(1, 4))
    >>> found.n_components, [round(row["behind"], 1) for row in found.rows]
    (2, [283.1, 0.0, 13.6])

    """
    from tqdm.auto import tqdm

    check_density(estimator)
    rows, seed = row_count(X, y, least=2), check_seed(seed)
    if criterion not in CRITERIA:
        raise ValueError(f"criterion is {criterion!r}: it must be one of {', '.join(map(repr, CRITERIA))}.")
    counts = check_counts(estimator, n_components)
    plan = _folds(estimator, rows, y, folds, seed) if criterion == "held-out" else Folds([])
    candidates = []
    for count in tqdm(counts, unit=" candidates", disable=not verbose):
        with sharing_compilations():
            candidates.append(_evaluate(estimator, count, X, y, CRITERIA[criterion], plan))
    if not any(math.isfinite(each.evaluation.value) for each in candidates):
        raise ValueError(f"All {len(counts)} candidates failed; the last one because: {candidates[-1].note}")
    heading = f"{type(estimator).__name__} on {rows} rows by {criterion}: {CRITERIA[criterion].unit}."
    return Selection(_compare(candidates), [each.fitted for each in candidates], criterion, heading)


class _Candidate(NamedTuple):
    components: int
    fitted: Any
    parameters: int | None
    evaluation: Evaluation
    note: str


def check_counts(estimator: Any, n_components: Any) -> list[int]:
    """Return numbers of components in order; raise where they are none, or where the estimator has no such number."""
    if "n_components" not in estimator.get_params(deep=False):
        raise ValueError(f"{type(estimator).__name__} has no n_components to choose.")
    counts = list(n_components) if isinstance(n_components, Iterable) else []
    if not counts or any(isinstance(each, bool) or not isinstance(each, (int, np.integer)) for each in counts):
        raise ValueError(f"n_components is {n_components!r}: it must be numbers of components, as range(1, 9).")
    if min(counts) < 1 or len(set(counts)) < len(counts):
        raise ValueError(f"n_components is {n_components!r}: it must be different numbers from 1 on.")
    return sorted(int(each) for each in counts)


def _folds(estimator: Any, rows: int, y: Any, folds: Any, seed: int) -> Folds:
    from sklearn.base import is_classifier

    return make_folds(rows, folds, seed, y, y is not None and is_classifier(estimator))


def _evaluate(estimator: Any, count: int, X: Any, y: Any, criterion: Criterion, folds: Folds) -> _Candidate:
    """Return a candidate; one whose fit fails is noted and counts as the worst, what cannot be asked raises."""
    from sklearn.base import clone

    try:
        fitted, note = fit_quietly(clone(estimator).set_params(n_components=count), X, y)
        evaluation = criterion.evaluate(fitted, X, y, folds)
        return _Candidate(count, fitted, parameter_count(fitted, X), evaluation, note)
    except Exception as error:  # as more components than rows
        if is_of_calls(error):
            raise
        return _Candidate(count, None, None, Evaluation(math.inf), str(error))


def _compare(candidates: list[_Candidate]) -> list[dict[str, Any]]:
    """Return the lines of the table: differences to the best, paired by rows where there are parts of rows."""
    best = min(candidates, key=lambda each: each.evaluation.value).evaluation
    gaps = [_behind(best, each.evaluation) for each in candidates]
    chosen = choose_simplest(gaps, [each.components for each in candidates])
    return [
        {
            "n_components": each.components,
            "parameters": each.parameters,
            "value": each.evaluation.value,
            "behind": behind.value,
            "error": None if best.rows is None else behind.standard_error,
            "chosen": place == chosen,
            "note": each.note,
        }
        for place, (each, behind) in enumerate(zip(candidates, gaps, strict=True))
    ]


def _behind(best: Evaluation, other: Evaluation) -> Mean:
    if best.rows is None or other.rows is None:
        return Mean(other.value - best.value, 0.0)
    return gap(-best.rows, -other.rows)
