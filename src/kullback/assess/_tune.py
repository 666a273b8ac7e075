"""Tuning an estimator: settings compared row by row on held-out rows, and a test on rows that took no part."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kullback.assess._estimators import check_density, is_of_calls, parameter_count, row_count, row_scores, take_rows
from kullback.assess._held_out import Folds, check_seed, make_folds, score_held_out, split_off_test
from kullback.assess._paired import Mean, choose_simplest, gap, mean_of
from kullback.assess._space import Setting
from kullback.assess._text_table import cell_text, text_table
from kullback.assess._tuner import Tuner
from kullback.numerics import counted
from kullback.runtime import sharing_compilations

#: Lines of a table in print.
_LINES = 10


class Trial(NamedTuple):
    """A setting, the held-out log-likelihood of each row with it, and what else is known of it."""

    setting: Setting
    scores: NDArray[np.float64] | None  # None: it failed
    complexity: float | None
    note: str  # what its fits warned of, or why it failed

    @property
    def mean(self) -> float:
        """The mean of the scores; −inf where it failed."""
        return -math.inf if self.scores is None else float(np.mean(self.scores))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """What tuning has found.

    Attributes
    ----------
    setting : dict
        The simplest setting within one standard error of the best.
    estimator : estimator
        Fitted with it to all rows but those of the test.
    test : Mean
        Its mean log-likelihood on the rows of the test in nats per row, and the standard error. These rows took no part
        in learning or choosing.
    test_scores : array of shape (n_test_rows,)
        The same row by row, and `test_rows` which rows they are.
    rows : list of dict
        A line for each setting that was tried, best first: its values (`param_…`), `held_out` (the mean log-likelihood
        of held-out rows, by which it was compared: of the chosen setting it is too good), `behind` and `error` (how far
        it is behind the best, row by row, and the standard error of that), `complexity`, `chosen` and `note`.

    """

    setting: Setting
    estimator: Any
    test_scores: NDArray[np.float64]
    test_rows: NDArray[np.int_]
    rows: list[dict[str, Any]]
    _heading: str

    @property
    def test(self) -> Mean:
        """The mean log-likelihood of the rows of the test, in nats per row."""
        return mean_of(self.test_scores)

    def __repr__(self) -> str:
        known = [name for name in ("complexity", "note") if any(row[name] for row in self.rows)]
        shown = [row for place, row in enumerate(self.rows) if place < _LINES or row["chosen"]]
        columns = [*(f"param_{name}" for name in self.setting), "held_out", "behind", "error", *known]
        more = len(self.rows) - len(shown)
        values = ", ".join(f"{name}={cell_text(value)}" for name, value in self.setting.items())
        level = counted(sum(row["behind"] <= row["error"] < math.inf for row in self.rows), "setting")
        why = "simplest" if "complexity" in known else "best (nothing says how simple they are)"
        return "\n".join(
            [
                self._heading,
                text_table(shown, columns, [row["chosen"] for row in shown]),
                *([f"    … and {more} more"] if more else []),
                f"Chosen (*): {values}; the {why} of {level} within one standard error of the best, row by row.",
                f"Test: {self.test} nats per row, on {len(self.test_rows)} rows that took no part. "
                "Held-out numbers were used for choosing: those of what was chosen are too good.",
            ]
        )


def tune(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    space: Any,
    budget: int = 30,
    method: str = "expected-improvement",
    folds: int = 5,
    test: float = 0.2,
    complexity: Callable[[Any], float] | None = None,
    seed: int = 0,
    verbose: bool = False,
) -> Tuning:
    """Find parameters with which an estimator is likely to fit new rows, and test it on rows that it has not met.

    A share of the rows is put aside for the test. The others are dealt to folds, the same ones for all settings: each
    row is scored by a fit that has not seen it, and settings are compared by the differences of these scores row by
    row. Of all that are within one standard error of the best, the simplest is chosen, fitted to all rows but those of
    the test, and tested on them once.

    Parameters
    ----------
    estimator : estimator with fit and score_samples
        Of this library or another, with the conventions of scikit-learn. It is copied, and stays as it is.
    X : array-like of shape (n_rows, n_columns)
        Independent rows.
    y : array-like of shape (n_rows,), optional
        Targets, for a `Regressor` or a `Classifier`: then log-likelihoods are those of y given X.
    space : dict
        What to tune: parameters of the estimator by name, as for `Tuner`.
    budget : int
        How many settings to try, each by as many fits as there are folds.
    method : "expected-improvement", "cross-entropy" or "random"
        How to propose settings, see `Tuner`.
    folds : int
        How many folds.
    test : float
        The share of the rows that is put aside.
    complexity : function of a fitted estimator, optional
        What is simple: the less, the simpler. By default the number of parameters, of estimators with `bic` and `aic`;
        without them the best setting is chosen.
    seed : int
        Of the split, the folds and the proposals. The estimator's own chance is in its `random_state`.
    verbose : bool
        One line that says how far it has come.

    Returns
    -------
    Tuning
        `setting`, `estimator`, `test`, `rows`; in print a table. A setting with which a fit fails has a note, and
        counts as the worst.

    Examples
    --------
    >>> from sklearn.mixture import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-4, 1, (100, 1)), rng.normal(4, 1, (100, 1))])
    >>> found = tune(GaussianMixture(random_state=0), X, space={"n_components": range(1, 5)})
    >>> found.setting, len(found.rows), len(found.test_rows)
    ({'n_components': 2}, 4, 40)

    """
    from sklearn.base import clone, is_classifier
    from tqdm.auto import tqdm

    check_density(estimator)
    rows, seed = row_count(X, y, least=10), check_seed(seed)
    if isinstance(budget, bool) or not isinstance(budget, (int, np.integer)) or budget < 1:
        raise ValueError(f"budget is {budget!r}: it must be a whole number of settings, 1 or more.")
    tuner = Tuner(space, method, seed=seed)
    known = estimator.get_params()
    for name in tuner.space.names:
        if name not in known:
            raise ValueError(
                f"space has {name!r}, which is no parameter of {type(estimator).__name__}: its parameters are "
                f"{', '.join(sorted(known))}."
            )
    classes = y is not None and is_classifier(estimator)
    others, apart = split_off_test(rows, test, seed, y, classes)
    X_others, y_others = take_rows(X, others), take_rows(y, others)
    plan = make_folds(len(others), folds, seed, y_others, classes)
    trials: list[Trial] = []
    with tqdm(total=budget, unit=" settings", disable=not verbose) as bar:
        while len(trials) < budget and not tuner.exhausted:
            setting = tuner.ask()
            candidate = clone(estimator).set_params(**setting)
            with sharing_compilations():
                trials.append(_try(candidate, setting, X_others, y_others, plan, complexity))
            tuner.tell(setting, -trials[-1].mean)
            bar.set_postfix_str(f"{max(trial.mean for trial in trials):.4f} nats per row", refresh=False)
            bar.update()
    if all(trial.scores is None for trial in trials):
        raise ValueError(f"All {len(trials)} settings failed; the last one because: {trials[-1].note}")
    heading = (
        f"{len(trials)} settings of {type(estimator).__name__} by {method}: {plan.scored} rows in {folds} folds to "
        f"choose by, {len(apart)} rows for the test."
    )
    setting, lines = _choose(trials)
    final = clone(estimator).set_params(**setting)
    final.fit(X_others) if y is None else final.fit(X_others, y_others)
    scores = row_scores(final, take_rows(X, apart), take_rows(y, apart))
    return Tuning(setting, final, scores, apart, lines, heading)


def _choose(trials: list[Trial]) -> tuple[Setting, list[dict[str, Any]]]:
    """Return the simplest setting within one standard error of the best, and the lines of the table."""
    ordered = sorted(trials, key=lambda trial: trial.mean, reverse=True)
    best = next(trial.scores for trial in ordered if trial.scores is not None)
    gaps = [Mean(math.inf, math.inf) if trial.scores is None else gap(best, trial.scores) for trial in ordered]
    chosen = choose_simplest(gaps, [trial.complexity for trial in ordered])
    return ordered[chosen].setting, [
        {
            **{f"param_{name}": value for name, value in trial.setting.items()},
            "held_out": trial.mean,
            "behind": behind.value,
            "error": behind.standard_error,
            "complexity": trial.complexity,
            "chosen": place == chosen,
            "note": trial.note,
        }
        for place, (trial, behind) in enumerate(zip(ordered, gaps, strict=True))
    ]


def _try(
    estimator: Any, setting: Setting, X: Any, y: Any, plan: Folds, complexity: Callable[[Any], float] | None
) -> Trial:
    """Return what one setting comes to; a fit that fails is noted, an estimator that cannot be asked raises."""
    try:
        scores, fitted, note = score_held_out(estimator, X, y, plan)
        simple = parameter_count(fitted, X) if complexity is None else float(complexity(fitted))
        if simple is not None and math.isnan(simple):
            raise ValueError("complexity is NaN: it must be a number, the less the simpler.")
    except Exception as error:  # a setting may be as bad as it likes
        if is_of_calls(error):
            raise
        return Trial(setting, None, None, str(error))
    return Trial(setting, scores, simple, note)
