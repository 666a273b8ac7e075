"""What may stand in the file of a network that learns a stream."""

from typing import Any

import numpy as np

from kullback.core import MOST_CATEGORIES
from kullback.estimators.data._columns import check_table

#: So many windows in a row at most were not learned from.
_MOST_FAILURES = 4


def check_columns(estimator: Any) -> None:
    """Raise unless the file says of each column what it holds: before anything is built that is as large."""
    columns, families, categories = estimator.n_features_in_, estimator.family_, estimator.n_categories_
    if columns < 1 or not isinstance(families, list) or len(families) != columns or categories.shape != (columns,):
        raise ValueError(f"family_ and n_categories_ are not one for each of {columns} columns.")
    if estimator.n_trials_ != 0:
        raise ValueError(f"n_trials_ is {estimator.n_trials_}: rows of these families have no total.")
    given = np.asarray(0 if estimator.n_categories is None else estimator.n_categories)
    most = max(MOST_CATEGORIES, int(given.max(initial=0)))
    needed = np.array([family == "categorical" for family in families])
    if (categories < 0).any() or (categories > most).any() or (categories[needed] < 1).any():
        raise ValueError(f"n_categories_ is not a number from 1 to {most:,} for each column of categories.")


def check_standing(estimator: Any) -> None:
    """Raise unless numbers beside the networks are of the shapes that the parameters say."""
    columns, replicas = estimator.n_features_in_, estimator.n_init
    for name, shape in (("center_", (columns,)), ("scale_", (columns,)), ("replica_nats_", (replicas,))):
        if np.shape(getattr(estimator, name)) != shape:
            raise ValueError(f"{name} has shape {np.shape(getattr(estimator, name))}: the model needs {shape}.")
    if estimator.replica_nats_.dtype != np.float32 or np.abs(estimator.replica_nats_).max() > 1e30:
        raise ValueError("replica_nats_ is not an array of 32-bit numbers of moderate size.")
    if not ((estimator.scale_ > 1e-300) & (estimator.scale_ < 1e300) & (np.abs(estimator.center_) < 1e300)).all():
        raise ValueError("center_ and scale_ are not the center and the scale of columns.")
    if estimator.seed_ >= 2**31:
        raise ValueError(f"seed_ is {estimator.seed_}: it must be less than 2^31.")
    if not {"n_steps_", "replica_rows_", "n_batches_seen_"} <= vars(estimator).keys():
        raise ValueError("n_steps_, replica_rows_ or n_batches_seen_ is missing.")
    if vars(estimator).get("n_failures_", 0) > min(estimator.n_steps_, _MOST_FAILURES):
        raise ValueError(f"n_failures_ is {estimator.n_failures_}: a stream goes on after {_MOST_FAILURES} at most.")
    waiting, starts = vars(estimator).get("waiting_"), vars(estimator).get("waiting_starts_")
    if (waiting is None) != (starts is None):
        raise ValueError("waiting_ and waiting_starts_ do not come together.")
    if waiting is None or starts is None:
        return
    if waiting.ndim != 2 or starts.shape != (len(waiting),) or not np.isin(starts, (0, 1)).all():
        raise ValueError("waiting_starts_ must be 0 or 1 for each row that waits.")
    if len(waiting) >= estimator.window or np.isnan(waiting).any():
        raise ValueError("waiting_ must be fewer rows than a window, and none of them missing.")
    check_table(waiting, estimator.family_)
    if (waiting.max(axis=0, initial=0) >= np.where(estimator.n_categories_ > 0, estimator.n_categories_, np.inf)).any():
        raise ValueError("waiting_ has categories that the model does not know.")
