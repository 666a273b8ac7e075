"""What may stand in the file of an estimator: everything is looked at before it is used."""

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from kullback.core import MOST_CATEGORIES
from kullback.estimators._check_fit import check_magnitude
from kullback.estimators._learning_curve import check_curve
from kullback.estimators._prequential import check_prequential
from kullback.estimators.data._columns import Shape
from kullback.estimators.gradient._history import is_unfinished
from kullback.models import HiddenMarkovModel, Mixture


class Rule(NamedTuple):
    """Which values an attribute_ may have, and how that is said."""

    allows: Callable[[Any], bool]
    must_be: str


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and value == value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_amount(value: Any) -> bool:
    return _is_number(value) and 0 <= float(value) < np.inf


def _is_numbers(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiub"


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _is_categories(value: Any) -> bool:
    return _is_words(value) and all(value) and len(set(value)) == len(value)


def _is_schedule(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_whole, value)) and value[1] > 0


_WHOLE = Rule(_is_whole, "a whole number, 0 or more")
_AMOUNT = Rule(_is_amount, "a finite number, 0 or more")
_POSITIVE = Rule(lambda value: _is_amount(value) and value > 0, "a finite number above 0")
#: Attributes_ that are no parameters of the model.
_RULES: dict[str, Rule] = {
    "n_features_in_": _WHOLE,
    "n_batches_seen_": _WHOLE,
    "n_iter_": _WHOLE,
    "n_steps_": _WHOLE,
    "n_failures_": _WHOLE,
    "unfinished_": Rule(is_unfinished, "what a fit that was stopped needs to go on"),
    "seed_": _WHOLE,
    "n_trials_": _WHOLE,
    "n_points_seen_": _AMOUNT,
    "n_points_given_": _AMOUNT,
    "row_weight_": _POSITIVE,
    "n_sequences_seen_": _AMOUNT,
    "schedule_": Rule(_is_schedule, "the first step of a fit, and how many there are"),
    "gibbs_calls_": _WHOLE,
    "replica_rows_": _AMOUNT,
    "began_with_stream_": Rule(lambda value: isinstance(value, bool), "true or false"),
    "converged_": Rule(lambda value: isinstance(value, bool), "true or false"),
    "sees_missing_": Rule(lambda value: isinstance(value, bool), "true or false"),
    "lower_bound_": Rule(_is_number, "a number"),
    "lower_bounds_": Rule(lambda value: isinstance(value, list) and all(map(_is_number, value)), "a list of numbers"),
    "learning_curve_": Rule(_is_numbers, "an array of numbers"),
    "prequential_": Rule(_is_numbers, "an array of numbers"),
    "validation_curve_": Rule(_is_numbers, "an array of numbers"),
    "n_categories_": Rule(lambda value: _is_numbers(value) and value.dtype.kind == "i", "an array of whole numbers"),
    "feature_names_in_": Rule(
        lambda value: isinstance(value, np.ndarray) and value.dtype == object and _is_words(value.tolist()),
        "a list of words",
    ),
    "target_is_single_": Rule(lambda value: isinstance(value, bool), "true or false"),
    "n_targets_": _WHOLE,
    "n_members_": _WHOLE,
    "target_total_": _WHOLE,
    **{
        name: Rule(lambda value: _is_numbers(value) and value.dtype.kind == "i", "an array of whole numbers")
        for name in ("target_categories_", "input_categories_", "waiting_starts_")
    },
    "family_": Rule(
        lambda value: isinstance(value, str) or _is_words(value), "the name of a family, or a list of them"
    ),
    "categories_": Rule(
        lambda value: isinstance(value, dict) and all(map(_is_categories, value.values())),
        "lists of categories by the names of columns, each of them once",
    ),
    **{
        name: Rule(lambda value: _is_numbers(value) and value.dtype == np.float64, "an array of 64-bit numbers")
        for name in (
            *("waiting_", "waiting_inputs_", "totals_", "filtered_", "filtered_mean_", "filtered_covariance_"),
            *("center_", "scale_"),
        )
    },
}


def check_parameters(estimator: Any) -> None:
    """Raise unless the parameters are what the constructor takes, and lists are of numbers or of words."""
    estimator._validate_params()
    for name, value in estimator.get_params(deep=False).items():
        if name == "family":
            continue  # it was looked at when it was read
        if isinstance(value, dict):
            raise ValueError(f"{name} is a dictionary.")
        if isinstance(value, int) and abs(value) >= 2**63:
            raise ValueError(f"{name} is a whole number of more than 64 bits.")
        if isinstance(value, list) and not _is_words(value) and not _is_numbers(_array(value)):
            raise ValueError(f"{name} is a list of other things than numbers or words.")
        words = isinstance(value, list) and bool(value) and _is_words(value)
        if words and "array-like" in estimator._parameter_constraints[name]:
            raise ValueError(f"{name} is a list of words: it must be numbers.")


def _array(value: Any) -> Any:
    try:
        return np.asarray(value)
    except ValueError:  # rows of different lengths
        return None


def check_attribute(name: str, value: Any) -> None:
    """Raise unless an attribute_ is of the type that its name needs."""
    rule = _RULES.get(name)
    if rule is not None and not rule.allows(value):
        raise ValueError(f"{name} is {_describe(value)}: it must be {rule.must_be}.")


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return repr(value) if value is None or isinstance(value, Real | str) else f"a {type(value).__name__}"


def check_size(estimator: Any, numbers: int) -> None:
    """Raise where the header speaks of a model that is larger than the arrays of the file, before it is built."""
    # of networks it is known how large their trees are, and hidden numbers are not components
    counted = () if estimator._trees else ("n_components", "n_latents")
    sizes = [1, 1, *(getattr(estimator, name, None) or 1 for name in counted)]
    k, n = max(*sizes, len(np.ravel(getattr(estimator, "weights_", 1)))), int(getattr(estimator, "n_features_in_", 1))
    categories = np.ravel(getattr(estimator, "n_categories_", ()))
    if (categories < 0).any() or len(categories) not in (0, n):
        raise ValueError(f"n_categories_ is not one number, 0 or more, for each of {n} columns.")
    if Shape(n, categories, 0).numbers(estimator._families, k) > numbers:
        raise ValueError(
            f"{k} components of {n} columns have more parameters than the {numbers} numbers that it holds."
        )


def check_attributes(estimator: Any) -> None:
    """Raise unless the attributes_ are those of one model, of the shapes that the parameters say."""
    model = estimator.to_model()
    if not estimator._trees:  # those of networks are of any size that is finite
        check_magnitude(model)
    for name, expected in estimator._attributes(model).items():
        found = getattr(estimator, name)
        if not _is_numbers(found) or np.shape(found) != np.shape(expected):
            raise ValueError(f"{name} is {_describe(found)}: the model needs numbers of shape {np.shape(expected)}.")
    weights = np.asarray(getattr(estimator, "weights_", 1.0))
    if not ((weights >= 0).all() and weights.any()):
        raise ValueError("weights_ must be 0 or more, and not 0 everywhere.")
    shape = estimator._shape_of(model)
    columns = shape["n_features_in_"]
    if getattr(estimator, "n_features_in_", columns) != columns:
        raise ValueError(f"n_features_in_ is {estimator.n_features_in_!r}, and the model has {columns} columns.")
    found = _count_components(estimator, model)
    if found is not None and estimator.n_components not in (None, found):
        raise ValueError(f"n_components is {estimator.n_components}, and the model has {found} components.")
    _check_categories(estimator, shape)
    _check_names(estimator, columns)
    _check_known(estimator, columns)
    _check_waiting(estimator, columns)
    seen = [hasattr(estimator, name) for name in ("n_points_seen_", "n_batches_seen_")]
    if any(seen) != all(seen):
        raise ValueError("n_points_seen_ and n_batches_seen_ do not come together.")
    if all(seen) and not hasattr(estimator, "n_features_in_"):
        raise ValueError("n_features_in_ is missing, and the model has learned from data.")
    if hasattr(estimator, "learning_curve_"):
        check_curve(estimator.learning_curve_, getattr(estimator, "n_points_seen_", 0))
    if hasattr(estimator, "prequential_"):
        check_prequential(estimator.prequential_, getattr(estimator, "n_points_seen_", 0))


def _count_components(estimator: Any, model: Any) -> int | None:
    """Return how many components, states or factors a model has, where that is a parameter."""
    if isinstance(model, Mixture):
        return len(model.weights)
    if isinstance(model, HiddenMarkovModel):
        return len(model.initial)
    return type(estimator)._parameters_of(model).get("n_components")


def _check_categories(estimator: Any, shape: dict[str, Any]) -> None:
    """Raise unless the numbers of categories and trials are those of the model, or fewer in some columns."""
    if shape.get("n_trials_", 0) not in (0, getattr(estimator, "n_trials_", 0)):
        raise ValueError(f"n_trials_ is {estimator.n_trials_}, and the model has {shape['n_trials_']}.")
    if "n_categories_" not in shape:
        return
    most, found = shape["n_categories_"], estimator.n_categories_
    if found.shape != most.shape or ((found > most) | ((found < 2) & (most > 0))).any():
        raise ValueError("n_categories_ is not the numbers of categories that the model has in its columns.")
    known = Shape(len(most), most, 0).knowing(getattr(estimator, "n_categories", None))
    if (known.categories > np.maximum(most, MOST_CATEGORIES)).any():
        raise ValueError(f"n_categories is {estimator.n_categories!r}, and a column has {MOST_CATEGORIES:,} at most.")


def _check_names(estimator: Any, columns: int) -> None:
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and len(names) != columns:
        raise ValueError(f"feature_names_in_ has {len(names)} names for {columns} columns.")


def _check_known(estimator: Any, columns: int) -> None:
    """Raise unless categories that are known by name are of the columns, and no more than there is room for."""
    labels, room = estimator._labels(columns), estimator._category_room
    for label, known in getattr(estimator, "categories_", {}).items():
        if label not in labels:
            raise ValueError(f"categories_ has the column {label[:60]!r}, which is not one of the columns.")
        if room is None or len(known) > np.ravel(room)[labels.index(label)]:
            raise ValueError(f"categories_ has {len(known)} categories of {label[:60]!r}: the model has fewer.")


def _check_waiting(estimator: Any, columns: int) -> None:
    """Raise unless what a series goes on from belongs to this model."""
    k = getattr(estimator, "n_latents", getattr(estimator, "n_components", 1))
    shapes = {"totals_": (k,), "filtered_": (k,), "filtered_mean_": (k,), "filtered_covariance_": (k, k)}
    for name, shape in shapes.items():
        if np.shape(getattr(estimator, name, np.zeros(shape))) != shape:
            raise ValueError(f"{name} has shape {np.shape(getattr(estimator, name))}: the model needs {shape}.")
    if (getattr(estimator, "totals_", np.zeros(1)) < 0).any():
        raise ValueError("totals_ must be 0 or more.")
    filtered = getattr(estimator, "filtered_", np.ones(1))
    if (filtered < 0).any() or abs(filtered.sum() - 1) > 1e-6:
        raise ValueError("filtered_ is not a list of probabilities.")
    spread = getattr(estimator, "filtered_covariance_", np.eye(1))
    if np.abs(spread - spread.T).max(initial=0) > 1e-9 * np.abs(spread).max(initial=1) or (np.diag(spread) < 0).any():
        raise ValueError("filtered_covariance_ is not a covariance.")
    waiting, inputs = getattr(estimator, "waiting_", None), getattr(estimator, "waiting_inputs_", None)
    if waiting is not None and (waiting.ndim != 2 or waiting.shape[1] != columns or np.isinf(waiting).any()):
        raise ValueError(f"waiting_ has shape {waiting.shape}: it must be finite rows of {columns} columns.")
    if inputs is not None and (waiting is None or inputs.ndim != 2 or len(inputs) != len(waiting)):
        raise ValueError("waiting_inputs_ are not the inputs of the rows that wait.")
