"""How sure a fitted estimator can be of what it says: one object for the command, the report and Python."""

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kullback.assess import (
    Criteria,
    EstimatedCoefficient,
    RowLosses,
    check_sampling,
    criteria,
    estimate_learning_coefficient,
    generalization_gap,
    leave_future_out,
    shared_rows,
)
from kullback.estimators._registry import REGISTRY, Capabilities, estimator_class
from kullback.estimators._stability import Refits, refit
from kullback.numerics import counted

#: Standard errors of an interval of 95 %, to each side.
_REACH = 1.96
#: Mean lengths of sequences that are so many standard errors apart differ by more than chance.
_FAR = 3.0

Facts = dict[str, Any]


class Assessment(NamedTuple):
    """What is known of a fit: `facts` are plain numbers, lists and texts, as JSON holds them.

    `models` are the refits, lined up with the fit, for pictures.
    """

    facts: Facts
    models: list[Any]


class Units(NamedTuple):
    """Rows, or sequences where there are several: a loss in nats for each of them, and how many rows it has."""

    losses: np.ndarray
    lengths: np.ndarray
    name: str

    @property
    def rows(self) -> int:
        """The rows of all of them."""
        return int(self.lengths.sum())


def assess_estimator(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    held_out: Any = None,
    lengths: Any = None,
    inputs: Any = None,
    draws: int = 3000,
    refits: int = 50,
    seed: int = 0,
) -> Assessment:
    """Say how far a fitted estimator may be from the truth, and how sure that is.

    Parameters
    ----------
    estimator : estimator
        Any fitted estimator of `kullback`.
    X, y : table, array-like
        The rows it was fitted to, and their targets for regressors and classifiers.
    held_out : dict or table, optional
        Rows that it has not seen: a table like X, or a dict with `X`, and `y`, `lengths`, `inputs` where there are any.
    lengths, inputs : array-like, optional
        For models with time, the number of rows of each sequence, and the inputs of each row.
    draws : int
        Of each of four chains; 0 leaves out what needs draws from the posterior.
    refits : int
        Fits to resampled rows, for the loss out of bag and the stability of components; 0 leaves both out.
    seed : int
        Of chains and resamples.

    Returns
    -------
    Assessment
        Losses and criteria are in nats per unit: a row, or a sequence where there are several. What cannot be said has
        a sentence in `notes`. There is no gap between sequences of other lengths.

    Examples
    --------
    >>> from kullback import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-4, 1, (60, 1)), rng.normal(4, 1, (60, 1))])
    >>> found = assess_estimator(GaussianMixture(2, random_state=0).fit(X), X, draws=0, refits=0)
    >>> found.facts["parameters"], round(found.facts["loss"]["data"]["value"], 2)
    (5, 2.06)

    """
    can = _capabilities(estimator)
    check_is_fitted(estimator)
    _check_settings(draws, refits, seed)
    notes: list[str] = []
    call = _as_call(estimator, can, "data", {"X": X, "y": y, "lengths": lengths, "inputs": inputs}, notes)
    X, data = call["X"], _measure(estimator, can, "data", **call)
    parameters = int(estimator._n_parameters()) if _counts_parameters(estimator, can) else None
    if parameters is not None and data.rows < parameters:
        raise ValueError(
            f"the data has {data.rows} rows and the model {parameters} parameters: give more rows, or a smaller model."
        )
    apart = None
    if held_out is not None:
        given = held_out if isinstance(held_out, dict) else {"X": held_out}
        other = _as_call(estimator, can, "held-out data", given, notes)
        apart = _measure(estimator, can, "held-out data", **other)
        _check_units(data, apart)
        if shared := shared_rows(X, other["X"]):
            many = f"Of the {apart.rows:,} held-out rows {shared:,}"
            notes.append(f"{many} are in the data too: they are no test of the model.")
    found = _refit(estimator, can, X, lengths, refits, seed, notes)
    drawn = _draw(estimator, can, X, lengths, inputs, draws, seed, notes) if draws else None
    if (coefficient := _coefficient_of(drawn)) is not None and coefficient.remark is not None:
        notes.append(coefficient.remark)
    one_series = can.data == "sequences" and data.name == "row" and not _is_network(can)
    facts = {
        "kind": type(estimator).__name__,
        "unit": data.name,
        "rows": data.rows,
        "units": len(data.losses),
        "parameters": parameters,
        "loss": {
            "data": _interval(data.losses),
            "held_out": None if apart is None else _interval(apart.losses),
            "gap": None if apart is None else compare(data, apart, notes),
            "out_of_bag": None if found is None or found.losses is None else _interval(found.losses.held_out),
            "future": _future(estimator, X, inputs, notes) if one_series and refits else None,
        },
        **_criteria_facts(data, parameters, drawn),
        "stability": None if found is None else found.stability(estimator.to_model()),
        "notes": notes,
    }
    return Assessment(facts, [] if found is None else found.models)


def _capabilities(estimator: Any) -> Capabilities:
    """Return what an estimator can be asked; refuse one that is not of this library."""
    kind = type(estimator)
    if isinstance(estimator, type):
        raise TypeError(f"estimator is the class {estimator.__name__}: give an instance, fitted.")
    if kind.__name__ not in REGISTRY or kind is not estimator_class(kind.__name__):
        raise TypeError(f"estimator is a {kind.__name__} of {kind.__module__}: give a fitted estimator of kullback.")
    return REGISTRY[kind.__name__].capabilities


def _check_settings(draws: Any, refits: Any, seed: Any) -> None:
    """Raise where a number makes no sense."""
    for name, value, least in (("draws", draws, 4), ("refits", refits, 2), ("seed", seed, 0)):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or (value < least and value != 0):
            none = ", or 0 to leave them out" if least else ""
            raise ValueError(f"{name} is {value!r}: it must be a whole number, {least} or more{none}.")


def _check_units(data: Units, held_out: Units) -> None:
    """Raise where one loss is of rows and the other of sequences."""
    if data.name != held_out.name:
        one, several = "data", "held-out data"
        if data.name == "sequence":
            one, several = several, one
        raise ValueError(
            f"the {one} is one series and the {several} has several sequences: their losses are per row and per "
            "sequence, so give one series of both, or several sequences."
        )


def _is_network(can: Capabilities) -> bool:
    return can.has_epochs or can.streams_only


def _counts_parameters(estimator: Any, can: Capabilities) -> bool:
    """Whether a model is so regular that its number of parameters says something: networks and trees are not."""
    return not _is_network(can) and (can.data != "pairs" or estimator.method == "linear")


def _as_call(estimator: Any, can: Capabilities, name: str, given: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return what the model is asked about, without rows that have nothing to foretell; refuse what it takes not."""
    kind = type(estimator).__name__
    call = {part: value for part, value in given.items() if value is not None}
    known = {"rows": {"X"}, "pairs": {"X", "y"}, "sequences": {"X", "lengths", "inputs"}}[can.data]
    if extra := sorted(set(map(str, call)) - known):
        raise ValueError(
            f"the {name} has {', '.join(extra)}, and a {kind} takes {', '.join(sorted(known))}: leave the rest out."
        )
    for part in ("X", "y") if can.data == "pairs" else ("X",):
        if part not in call or np.ndim(call[part]) == 0:
            raise ValueError(
                f"the {name} has no {part}: a {kind} is assessed by tables of {' and '.join(sorted(known))}."
            )
    if can.data == "sequences":
        return call
    there = _foretold(call["y" if can.data == "pairs" else "X"])
    missing, what = int(np.sum(~there)), "their target" if can.data == "pairs" else "every entry"
    if missing == 0 or len(there) != len(call["X"]):
        return call
    if missing == len(there):
        raise ValueError(f"of the {name} all rows lack {what}: there is nothing to assess.")
    notes.append(f"{missing:,} of the {len(there):,} rows of the {name} lack {what}, and are left out.")
    return {
        part: table.loc[there] if hasattr(table, "loc") else np.asarray(table)[there] for part, table in call.items()
    }


def _foretold(table: Any) -> np.ndarray:
    """Return which rows have an entry; of tables with texts all."""
    try:
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        return np.ones(len(table), bool)
    return np.asarray(~np.isnan(values).all(axis=tuple(range(1, values.ndim))))


def _measure(
    estimator: Any, can: Capabilities, name: str, X: Any, y: Any = None, lengths: Any = None, inputs: Any = None
) -> Units:
    """Return the loss of each unit; refuse tables that are not those of the model, by their name."""
    rows, width = len(X), np.shape(X)[1] if np.ndim(X) == 2 else 1
    if width != estimator.n_features_in_:
        raise ValueError(
            f"the {name} has {counted(width, 'column')} and the model {estimator.n_features_in_}: give the columns of "
            "the fit."
        )
    if rows < 2:
        raise ValueError(f"the {name} has {counted(rows, 'row')}: an interval needs two or more.")
    if can.data == "pairs":
        scores = estimator.score_samples(X, y)
    elif can.data == "sequences":
        scores = estimator.score_next(X, lengths=lengths, inputs=inputs).log_likelihood
    else:
        scores = estimator.score_samples(X)
    losses = -np.asarray(scores, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(losses))
    if bad.size:
        raise ValueError(
            f"row {bad[0] + 1:,} of the {name} is impossible under the model: its loss is infinite, so leave it out or "
            "fit with a prior."
        )
    if can.data == "sequences" and lengths is not None and len(lengths) > 1:
        starts = np.cumsum(lengths) - np.asarray(lengths)
        return Units(np.add.reduceat(losses, starts), np.asarray(lengths), "sequence")
    return Units(losses, np.ones(rows, int), "row")


def _interval(losses: np.ndarray) -> Facts:
    """Return a mean with its standard error and an interval of about 95 %."""
    found = RowLosses(losses, np.ones(len(losses)))
    reach = _REACH * found.standard_error
    return {
        "value": found.mean,
        "standard_error": found.standard_error,
        "lower": found.mean - reach,
        "upper": found.mean + reach,
        "units": len(losses),
    }


def compare(data: Units, held_out: Units, notes: list[str]) -> Facts | None:
    """Return the loss on the data less that held out, with an interval; below 0 where the fit has overfitted.

    Where lengths of sequences differ by more than chance there is none, and a note that says why.
    """
    parts = data.lengths, held_out.lengths
    mean, other = (float(np.mean(each)) for each in parts)
    if abs(mean - other) > _FAR * np.hypot(*(np.std(each, ddof=1) / np.sqrt(len(each)) for each in parts)):
        notes.append(
            f"There is no gap: the loss of a sequence grows with its length, and those of the data have {mean:.4g} "
            f"rows on average, those held out {other:.4g}."
        )
        return None
    found = generalization_gap(data.losses, held_out.losses)
    value = float(data.losses.mean() - held_out.losses.mean())
    return {"value": value, "lower": found.lower, "upper": found.upper}


def _refit(
    estimator: Any, can: Capabilities, X: Any, lengths: Any, refits: int, seed: int, notes: list[str]
) -> Refits | None:
    """Return refits to resampled rows, or say why there are none."""
    if not refits:
        return None
    if can.data != "rows" or _is_network(can):
        of = "targets" if can.data == "pairs" else can.data
        what = "networks, whose refits take long" if _is_network(can) else f"models of {of}"
        notes.append(f"There are no refits to resampled rows of {what}.")
        return None
    try:
        found = refit(estimator, X, refits, seed)
    except ValueError as error:
        notes.append(f"There are no refits to resampled rows: {error}")
        return None
    if found.problem is not None:
        notes.append(f"There is no loss out of bag: {found.problem}")
    return found


def _draw(
    estimator: Any, can: Capabilities, X: Any, lengths: Any, inputs: Any, draws: int, seed: int, notes: list[str]
) -> Criteria | EstimatedCoefficient | None:
    """Return what draws from the posterior say; a sentence goes to the notes where they say nothing."""
    if _is_network(can) or can.data == "pairs":
        notes.append(f"There are no draws from the posterior of a {type(estimator).__name__}.")
        return None
    try:
        check_sampling()
        model = estimator.to_model()
        if can.data == "rows":
            return criteria(model, estimator.to_batch(X), draws=draws, seed=seed)
        batch = estimator.to_batch(X, lengths, inputs)
        if lengths is not None and len(lengths) > 1:
            return criteria(model, batch, draws=draws, seed=seed)
        notes.append("WAIC and LOO are not for one series: a row that is left out is foretold by those after it.")
        return estimate_learning_coefficient(model, batch, draws=draws, seed=seed)
    except (ImportError, TypeError, ValueError) as error:
        text = str(error)
        notes.append(text[:1].upper() + text[1:])
        return None


def _criteria_facts(data: Units, parameters: int | None, drawn: Criteria | EstimatedCoefficient | None) -> Facts:
    """Return the learning coefficient and the criteria, None for what is not known."""
    units = len(data.losses)
    bic = None if parameters is None else float(data.losses.mean()) + parameters * math.log(units) / (2 * units)
    whole = drawn if isinstance(drawn, Criteria) else None
    coefficient = _coefficient_of(drawn)
    waic, loo = (None, None) if whole is None else (whole.waic, whole.loo)
    problem = whole.problem if whole is not None else None if coefficient is None else coefficient.problem
    wbic = None if coefficient is None else coefficient.wbic
    return {
        "coefficient": None if coefficient is None or coefficient.value is None else _coefficient(coefficient),
        "criteria": {
            "bic": bic,
            "wbic": None if wbic is None else wbic / units,
            "waic": None if waic is None else _criterion(waic),
            "loo": None if loo is None else {**_criterion(loo), "high_pareto_k": loo.high_pareto_k},
        },
        "pareto_k": None if loo is None else [round(float(each), 4) for each in loo.pareto_k],
        "prior": None if coefficient is None else coefficient.prior,
        "problem": problem,
    }


def _coefficient_of(drawn: Criteria | EstimatedCoefficient | None) -> EstimatedCoefficient | None:
    return drawn.coefficient if isinstance(drawn, Criteria) else drawn


def _coefficient(found: EstimatedCoefficient) -> Facts:
    return {
        "value": found.value,
        "standard_error": found.standard_error,
        "anchored": found.anchored,
        "inverse_temperature": found.inverse_temperature,
        "rhat": found.rhat,
        "effective_draws": found.effective_draws,
    }


def _criterion(found: RowLosses) -> Facts:
    return {
        "value": found.mean,
        "standard_error": found.standard_error,
        "effective_parameters": found.effective_parameters,
    }


def _future(estimator: Any, X: Any, inputs: Any, notes: list[str]) -> Facts | None:
    """Return the loss of one series on its second half, under fits to what came before."""
    if inputs is not None:
        return None
    try:
        return _interval(leave_future_out(estimator, X).rows)
    except ValueError as error:
        notes.append(f"The future could not be left out: {error}")
        return None
