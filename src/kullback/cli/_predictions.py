"""What a regressor or a classifier predicts, as columns of an answer."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kullback.cli._column_roles import Chunk
from kullback.cli._data_errors import naming_rows
from kullback.cli._output_columns import Values
from kullback.cli._pairs import is_classifier, known_targets
from kullback.cli._saved_model import SavedModel

#: The probability of an interval, where none is given.
LEVEL = 0.9

Answers = dict[str, Any]


def predictor(saved: SavedModel, level: float | None, quantiles: str | None) -> Callable[[np.ndarray], Answers]:
    """Return what predicts rows of inputs; options that mean nothing to the model are refused."""
    if is_classifier(saved.estimator):
        if level is not None or quantiles is not None:
            option = "level" if level is not None else "quantiles"
            raise ValueError(f"--{option} is for regressors: a classifier gives the probability of each class.")
        return lambda X: _predict_classes(saved, X)
    wanted = LEVEL if level is None else level
    if not 0 < wanted < 1:
        raise ValueError(f"--level is {wanted}: it must be above 0 and below 1.")
    levels = _parse_levels(quantiles)
    return lambda X: _predict_numbers(saved, X, wanted, levels)


def target_names(saved: SavedModel) -> list[str]:
    """Return the names of the targets, or their places where a model does not know any."""
    own = [label if isinstance(label, str) else f"x{label}" for label in saved.roles.targets]
    return own or [f"y{place}" for place in range(len(saved.estimator.target_categories_))]


def targets_of(saved: SavedModel, chunk: Chunk) -> dict[str, Any]:
    """Return the targets of rows as a page takes them, with their names; nothing where there are none."""
    if chunk.targets is None or not saved.roles.targets:
        return {}
    estimator, named = saved.estimator, {"target_names": target_names(saved)}
    if not is_classifier(estimator):
        return {"y": chunk.targets[:, 0] if chunk.targets.shape[1] == 1 else chunk.targets, **named}
    there = ~np.isnan(chunk.targets[:, 0])
    labels = np.full(len(there), None, dtype=object)
    truth = estimator.classes_.dtype == bool
    labels[there] = known_targets(estimator, saved.codes, saved.roles.targets, chunk.targets[there], truth)
    return {"y": labels, **named}


def target_columns(saved: SavedModel, targets: np.ndarray) -> dict[str, Values]:
    """Return drawn targets as columns, by their names."""
    names, estimator = target_names(saved), saved.estimator
    if is_classifier(estimator):
        return {names[0]: _classes(estimator.classes_, targets.reshape(-1))}
    table = targets.reshape(len(targets), -1)
    return {name: Values(table[:, place], whole=True) for place, name in enumerate(names)}


def draw_targets(saved: SavedModel, data: str, n: int) -> Iterator[dict[str, Any]]:
    """Yield drawn targets with the numbers of their rows: n for each row, those of a row beside each other."""
    asked = saved.of_inputs
    source = asked.open(data, keep=[])
    for chunk in asked.chunks(source):
        rows = source.kept.rows
        labels = [str(label) for label in source.names or range(chunk.X.shape[1])]
        with naming_rows(data, rows.tolist(), labels):
            predicted = saved.estimator.predict_distribution(chunk.X)
            drawn = predicted.by_place.sample(n, saved.estimator.random_state)
        targets = np.swapaxes(np.asarray(drawn, dtype=np.float64).reshape(n, len(rows), -1), 0, 1)
        yield {"row": np.repeat(rows, n), **target_columns(saved, targets.reshape(len(rows) * n, -1))}


def _predict_classes(saved: SavedModel, X: np.ndarray) -> Answers:
    estimator = saved.estimator
    shares = estimator.predict_proba(X)
    named = [str(each).lower() if isinstance(each, bool) else str(each) for each in estimator.classes_.tolist()]
    answers: Answers = {"class": _classes(estimator.classes_, shares.argmax(axis=1))}
    return answers | {f"probability_{name}": shares[:, place] for place, name in enumerate(named)}


def _classes(classes: np.ndarray, codes: np.ndarray) -> Values:
    """Return classes by their numbers, as they were in the data."""
    if classes.dtype.kind == "U":
        return Values(codes.astype(np.float64), words=classes.tolist())
    found = classes[codes.astype(np.int64)]
    return Values(found.astype(np.float64), truth=True) if classes.dtype == bool else Values(found)


def _predict_numbers(saved: SavedModel, X: np.ndarray, level: float, levels: list[float]) -> Answers:
    found, names = saved.estimator.predict_distribution(X), target_names(saved)
    answers: Answers = {}
    for place, (name, target) in enumerate(zip(names, found.laws, strict=True)):
        prefix = "" if len(names) == 1 else f"{name}_"
        if not target.ordered:
            answers[f"{prefix}mode"] = Values(found.mode.reshape(len(X), -1)[:, place], whole=True)
            continue
        ends = {"lower": (1 - level) / 2, "upper": (1 + level) / 2} | {f"quantile_{at:g}": at for at in levels}
        answers[f"{prefix}mean"] = target.mean
        answers |= {prefix + end: target.quantile(at) for end, at in ends.items()}
    return answers


def _parse_levels(text: str | None) -> list[float]:
    try:
        levels = [] if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        levels = [np.nan]
    if not all(0 < level < 1 for level in levels):
        raise ValueError(f"--quantiles is {text!r}: it must be numbers above 0 and below 1, with commas.")
    return list(dict.fromkeys(levels))
