"""Numbers of components side by side: what each loses on rows it has not seen, and by every criterion."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from kullback.assess._criteria import Criteria, criteria
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
from kullback.assess._paired import Mean, choose_simplest, gap, mean_of
from kullback.assess._select import check_counts
from kullback.runtime import sharing_compilations

#: Criteria that have a part for each row, and those of which the least value counts.
_BY_ROW, _WHOLE = ("held_out", "waic", "loo"), ("bic", "wbic")


def criteria_table(
    estimator: Any,
    X: Any,
    *,
    n_components: Iterable[int] = range(1, 9),
    folds: int = 5,
    draws: int = 3000,
    seed: int = 0,
    verbose: bool = False,
) -> dict[str, Any]:
    """Compare numbers of components by all criteria at once.

    Parameters
    ----------
    estimator : estimator with n_components, fit and score_samples
        It is copied, and stays as it is.
    X : array-like of shape (n_rows, n_columns)
        Independent rows.
    n_components : iterable of int
        The numbers to compare.
    folds : int
        Parts of the rows for what is held out.
    draws : int
        Of each of four chains; 0 leaves out what needs draws from the posterior.
    seed : int
        Of folds and chains.
    verbose : bool
        One line that says how far it has come.

    Returns
    -------
    dict
        Plain numbers, lists and texts, as JSON holds them. `candidates` has for each number of components `parameters`,
        `coefficient` (λ̂ with its standard error), and of each criterion in nats per row the `value`, how far it is
        `behind` the best, and the standard `error` of that, paired by row (None where there are no parts of rows).
        `held_out` and `bic` are of the plug-in, `waic`, `loo` and `wbic` of the Bayes predictive. `chosen` has the
        least number within one standard error of the best (of bic and wbic the best) by each criterion; `n_components`
        is that of `held_out`.

    Examples
    --------
    >>> from sklearn.mixture import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-4, 1, (100, 1)), rng.normal(4, 1, (100, 1))])
    >>> found = criteria_table(GaussianMixture(random_state=0), X, n_components=range(1, 4), draws=0)
    >>> found["n_components"], found["chosen"]["bic"], round(found["candidates"][0]["held_out"]["behind"], 2)
    (2, 2, 0.7)

    """
    from tqdm.auto import tqdm

    check_density(estimator)
    rows, seed = row_count(X, None, least=2), check_seed(seed)
    counts, plan = check_counts(estimator, n_components), make_folds(rows, folds, seed)
    found = []
    for count in tqdm(counts, unit=" candidates", disable=not verbose):
        with sharing_compilations():
            found.append(_Candidate(estimator, count, X, plan, draws, seed))
    if all(each.failed for each in found):
        raise ValueError(f"All {len(counts)} candidates failed; the last one because: {found[-1].note}")
    table = [each.facts for each in found]
    chosen = {name: _compare(found, table, name) for name in (*_BY_ROW, *_WHOLE)}
    return {
        "kind": type(estimator).__name__,
        "rows": rows,
        "folds": int(folds),
        "n_components": chosen["held_out"],
        "chosen": chosen,
        "prior": next((each.prior for each in found if each.prior), None),
        "candidates": table,
    }


class _Candidate:
    """One number of components: facts about it, and of each criterion the parts of rows, or the value."""

    def __init__(self, estimator: Any, count: int, X: Any, folds: Folds, draws: int, seed: int):
        from sklearn.base import clone

        self.failed, self.note = False, ""
        self.prior: str | None = None
        self.parts: dict[str, Any] = dict.fromkeys((*_BY_ROW, *_WHOLE))
        self.facts: dict[str, Any] = {"n_components": count, "parameters": None, "coefficient": None}
        one = clone(estimator).set_params(n_components=count)
        try:
            held = score_held_out(one, X, None, folds)
            fitted, self.note = fit_quietly(clone(one), X, None)
            self.parts["held_out"] = held.scores
            self.facts["parameters"] = parameter_count(fitted, X)
            problem = self._add_bic(fitted, X)
            problem = (self._draw(fitted, X, draws, seed) if draws else None) or problem
        except Exception as error:  # as more components than rows
            if is_of_calls(error):
                raise
            self.failed, problem = True, str(error)
        self.facts["note"] = self.note = " ".join((problem or self.note).split())

    def _add_bic(self, fitted: Any, X: Any) -> str | None:
        """Add BIC per row; return a sentence where it says nothing."""
        if not isinstance(fitted, WithCriteria):
            return None
        try:
            self.parts["bic"] = bic_of(fitted, X) / (2 * len(X))
        except ValueError as error:
            return str(error)
        return None

    def _draw(self, fitted: Any, X: Any, draws: int, seed: int) -> str | None:
        """Add what draws from the posterior say; return a sentence where they say nothing."""
        if not isinstance(fitted, WithModel):
            return None
        batch = fitted.to_batch(X)
        try:
            found: Criteria = criteria(fitted.to_model(), batch, draws=draws, seed=seed)
        except ValueError as error:
            return str(error)
        self.prior, coefficient = found.prior, found.coefficient
        if coefficient.value is not None:
            self.facts["coefficient"] = {"value": coefficient.value, "standard_error": coefficient.standard_error}
            self.parts["wbic"] = found.wbic
        if found.waic is not None and found.loo is not None:
            self.parts["waic"], self.parts["loo"] = -found.waic.rows, -found.loo.rows
            self.facts["high_pareto_k"] = found.loo.high_pareto_k
        return found.problem


def _compare(found: list[_Candidate], table: list[dict[str, Any]], name: str) -> int | None:
    """Write what a criterion says into the table; return the number of components that it chooses."""
    known = [each for each in found if each.parts[name] is not None]
    for facts in table:
        facts[name] = None
    if not known:
        return None
    by_row = name in _BY_ROW
    values = [-float(np.mean(each.parts[name])) if by_row else each.parts[name] for each in known]
    best = known[int(np.argmin(values))].parts[name]
    gaps = [gap(best, each.parts[name]) if by_row else Mean(each.parts[name] - best, 0.0) for each in known]
    for each, value, behind in zip(known, values, gaps, strict=True):
        own = mean_of(-each.parts[name]).standard_error if by_row else None
        each.facts[name] = {
            "value": _finite(value),
            "standard_error": _finite(own),
            "behind": _finite(behind.value),
            "error": _finite(behind.standard_error) if by_row else None,
        }
    return int(known[choose_simplest(gaps, [each.facts["n_components"] for each in known])].facts["n_components"])


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
