"""The coefficients of linear fits, with their standard errors."""

from typing import Any

import numpy as np

from kullback.estimators import coordinate_names
from kullback.models import LinearConditional
from kullback.report._context import ReportContext
from kullback.report._parts import MOST_ROWS, Table, table
from kullback.report._text import clean, number

#: Free coordinates that have a table each, at most.
_TABLES = 4


def standard_errors(model: LinearConditional, estimator: Any) -> np.ndarray | None:
    """Return the standard errors of `free_coefficients_`, in the units of the inputs; NaN for what is no parameter.

    The covariance is the inverse of the Fisher information of all points, plus that of the penalty, which is a Gaussian
    prior. None where the number of points is not known, where old ones were forgotten, or where the information is
    singular.
    """
    points = float(getattr(estimator, "n_points_seen_", 0.0))
    if not points or estimator.rate is not None:
        return None
    size, width = np.shape(model.coefficients)
    center, scale = estimator.input_center_, estimator.input_scale_
    penalty = np.zeros((size, width))
    penalty[:, 1:] = estimator.alpha / np.square(scale)
    kept = np.repeat(np.array(model.varies)[:, None], width, axis=1)
    kept[:, 0] = True
    precision = points * np.asarray(model.information) + np.diag(penalty[kept])
    try:
        covariance = np.linalg.inv(precision)
    except np.linalg.LinAlgError:
        return None
    if np.linalg.cond(precision) > 1e12:
        return None
    whole = np.zeros((size * width, size * width))
    whole[np.ix_(kept.ravel(), kept.ravel())] = covariance
    to_units = np.diag(np.append(1.0, 1 / scale))
    to_units[0, 1:] = -center / scale
    found = np.empty((size, width))
    for row in range(size):
        block = whole[row * width : (row + 1) * width, row * width : (row + 1) * width]
        found[row] = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", to_units, block, to_units), 0.0))
    return np.where(kept, found, np.nan)


def coefficient_tables(context: ReportContext) -> list[Table]:
    """Return a table of the coefficients of each free coordinate that follows the inputs; nothing of other methods."""
    model, estimator = context.model, context.estimator
    if not isinstance(model, LinearConditional):
        return []
    values, errors = estimator.free_coefficients_, standard_errors(model, estimator)
    names, signs = _coordinates(context, model)
    inputs = ["intercept", *(clean(name) for name in _design_names(context))]
    places = np.flatnonzero(model.varies)
    note = _note(estimator, errors)
    constants = [
        f"{names[place]} is {number(values[place, 0])}"
        + (f" ± {number(errors[place, 0], 2)}" if errors is not None else "")
        + " everywhere."
        for place in range(len(names))
        if not model.varies[place]
    ]
    found = []
    for place in places[:_TABLES]:
        own = signs[place] * values[place]
        rows = [_row(inputs, own, None if errors is None else errors[place], at) for at in range(len(inputs))]
        order = np.arange(len(rows))
        sentences = [note, *constants] if place == places[0] else []
        if len(rows) > MOST_ROWS and errors is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                strength = np.nan_to_num(np.abs(own / errors[place]), nan=0.0)
            order = np.argsort(-strength, kind="stable")
            sentences.append("Those furthest from 0 come first.")
        headers = ["input", "coefficient"] + (["standard error", "coefficient / error"] if errors is not None else [])
        title = f"Coefficients of {names[place]}"
        found.append(
            table(
                f"coefficients-{place}", title, headers, [rows[at] for at in order], " ".join(filter(None, sentences))
            )
        )
    if len(places) > _TABLES and found:
        more = f" The first {_TABLES} of {len(places)} coordinates."
        found[0] = found[0]._replace(note=(found[0].note + more).strip())
    return found


def _row(inputs: list[str], values: np.ndarray, errors: np.ndarray | None, place: int) -> list[str]:
    row = [inputs[place], number(values[place])]
    if errors is None:
        return row
    error = errors[place]
    return [*row, number(error, 3), number(values[place] / error, 3) if error > 0 else "–"]


def _design_names(context: ReportContext) -> list[str]:
    """Return names of the columns of the design by those of the page."""
    categories = context.estimator.input_categories_
    found: list[str] = []
    for name, count, words in zip(context.names, categories, context.categories, strict=True):
        known = words if words and len(words) >= count else [str(code) for code in range(int(count))]
        found += [f"{name}: {known[code]}" for code in range(1, int(count))] if count else [name]
    lacking = zip(context.names, context.estimator.input_indicators_, strict=True)
    return found + [f"{name} is missing" for name, is_one in lacking if is_one]


def _coordinates(context: ReportContext, model: LinearConditional) -> tuple[list[str], np.ndarray]:
    """Return what each free coordinate is called, and the sign with which it is shown."""
    size = len(model.varies)
    classes = getattr(context.estimator, "classes_", None)
    if classes is not None:
        if size == 1:
            return [f"the log odds of {clean(classes[1])}"], np.array([-1.0])
        last = clean(classes[-1])
        return [f"the log odds of {clean(name)} against {last}" for name in classes[:-1]], np.ones(size)
    targets = context.target_names if context.view.targets > 1 else [""]
    return coordinate_names(model.kind, targets), np.ones(size)


def _note(estimator: Any, errors: np.ndarray | None) -> str:
    units = "In the units of the inputs."
    if any(estimator.input_categories_):
        units += " Categories are compared with the first of their column, which has no row."
    if errors is None:
        why = (
            "a fit with a rate forgets, and does not know how many points it stands for"
            if estimator.rate is not None
            else "the inputs do not determine all coefficients"
        )
        return f"{units} There are no standard errors: {why}."
    if estimator.alpha:
        return f"{units} Standard errors take the penalty alpha = {number(estimator.alpha)} as a prior."
    return units
