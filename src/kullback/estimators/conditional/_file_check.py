"""What may stand in the file of a regressor or classifier: everything is looked at before it is used."""

from typing import Any

import numpy as np

from kullback.core import MOST_CATEGORIES
from kullback.estimators._learning_curve import check_curve
from kullback.estimators._prequential import check_prequential

#: Columns of a design, and free coordinates, at most.
_MOST = 1 << 24
_MOST_BATCHES = 1 << 53


def check_conditional(estimator: Any) -> None:
    """Raise unless the attributes_ of an estimator are those of one model."""
    _check_seed(getattr(estimator, "seed_", None))
    width = estimator.n_features_in_
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and len(names) != width:
        raise ValueError(f"feature_names_in_ has {len(names)} names for {width} columns.")
    _check_design(estimator, width)
    _check_targets(estimator)
    for name in estimator._method.arrays:
        found = getattr(estimator, name)
        if not isinstance(found, np.ndarray) or found.dtype.kind not in "fib":
            raise ValueError(f"{name} is not an array of numbers.")
    estimator.to_model()
    _check_information(getattr(estimator, "information_", np.zeros((0, 0))))
    seen = [hasattr(estimator, name) for name in ("n_points_seen_", "n_batches_seen_")]
    if any(seen) != all(seen):
        raise ValueError("n_points_seen_ and n_batches_seen_ do not come together.")
    if getattr(estimator, "n_batches_seen_", 0) > _MOST_BATCHES:
        raise ValueError("n_batches_seen_ is more than can be counted.")
    if hasattr(estimator, "learning_curve_"):
        check_curve(estimator.learning_curve_, getattr(estimator, "n_points_seen_", 0))
    if hasattr(estimator, "prequential_"):
        check_prequential(estimator.prequential_, getattr(estimator, "n_points_seen_", 0))
    levels = getattr(estimator, "calibration_levels_", np.zeros(1))
    if np.ndim(levels) != 1 or len(levels) == 0 or not ((levels >= 0) & (levels <= 1)).all():
        raise ValueError("calibration_levels_ are not probabilities.")


def _check_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 1 << 31:
        raise ValueError("seed_ is not a whole number, 0 or more and less than 2^31.")


def _check_information(information: np.ndarray) -> None:
    size = np.abs(information).max(initial=0)
    if np.abs(information - information.T).max(initial=0) > 1e-8 * size or (np.diagonal(information) < 0).any():
        raise ValueError("information_ is not symmetric with a diagonal of 0 or more.")


def _check_design(estimator: Any, width: int) -> None:
    categories, indicators, center, scale = (getattr(estimator, name) for name in estimator._design_attributes)
    if categories.shape != (width,) or ((categories < 0) | (categories > MOST_CATEGORIES)).any():
        raise ValueError(f"input_categories_ is not one number, 0 or more, for each of {width} columns.")
    if indicators.shape != (width,) or indicators.dtype != bool:
        raise ValueError(f"input_indicators_ is not true or false for each of {width} columns.")
    columns = int(np.where(categories > 0, categories - 1, 1).sum() + indicators.sum())
    for name, values in (("input_center_", center), ("input_scale_", scale)):
        if values.shape != (columns,) or values.dtype.kind != "f":
            raise ValueError(f"{name} has shape {values.shape}: the design has {columns} columns.")
    if not (scale > 0).all():
        raise ValueError("input_scale_ must be positive.")
    labels, known = estimator._labels(width), getattr(estimator, "categories_", {})
    for label, entries in known.items():
        if label not in labels:
            raise ValueError(f"categories_ has the column {label[:60]!r}, which is not one of the columns.")
        if len(entries) != categories[labels.index(label)]:
            raise ValueError(f"categories_ has {len(entries)} categories of {label[:60]!r}: the design has others.")


def _check_targets(estimator: Any) -> None:
    categories = estimator.target_categories_
    if categories.ndim != 1 or not 1 <= len(categories) <= _MOST or ((categories < 0) | (categories > _MOST)).any():
        raise ValueError("target_categories_ is not a number, 0 or more, for each target.")
    if estimator._kind.size > _MOST:
        raise ValueError("its targets have more coordinates than it holds numbers.")
