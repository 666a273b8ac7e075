"""What was learned from how much: the head of the page."""

from typing import Any

import numpy as np

import kullback
from kullback.report._context import ReportContext
from kullback.report._text import number


def facts(context: ReportContext) -> list[tuple[str, str]]:
    """Return names and values, in the order in which they are read."""
    estimator = context.estimator
    size = [] if context.view.size is None else [context.view.size]
    found: list[tuple[str, Any]] = [("Model", context.kind), *size, ("Columns", len(context.names))]
    seen = getattr(estimator, "n_points_seen_", None)
    if seen:
        found.append(("Learned from", f"{number(seen, 9)} rows"))
        found.append(("Batches", f"{getattr(estimator, 'n_batches_seen_', 1):,}"))
    if getattr(estimator, "n_sequences_seen_", 0) > 1:
        found.append(("Sequences", number(estimator.n_sequences_seen_, 9)))
    found += _end(estimator)
    if context.X is not None:
        many = f" in {len(context.lengths):,} sequences" if len(context.lengths) > 1 else ""
        found.append(("Data shown here", f"{len(context.X):,} rows{many}"))
    each = context.log_likelihoods
    if each is not None:
        found.append(("Log-likelihood of the data", f"{number(each.mean())} nats per row"))
    elif _bound(context) is not None:
        found.append(("Log-likelihood at the last step", f"{number(_bound(context))} nats per row"))
    found.append(("kullback", kullback.__version__))
    return [(name, str(value)) for name, value in found]


def _end(estimator: Any) -> list[tuple[str, Any]]:
    """Tell how a fit has ended; learning from a stream has no end."""
    steps = getattr(estimator, "n_iter_", 0)
    if not steps or not hasattr(estimator, "converged_"):
        return []
    return [("Converged", f"{'yes' if estimator.converged_ else 'no'}, {steps:,} steps")]


def _bound(context: ReportContext) -> float | None:
    """Return the average log-likelihood at the last step, if it is known."""
    estimator = context.estimator
    bound = float(getattr(estimator, "lower_bound_", -np.inf))
    return bound if np.isfinite(bound) else None
