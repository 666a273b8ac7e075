"""What was learned from how much: the head of the page."""

from typing import Any

import numpy as np

import kullback
from kullback.report._subject import Subject
from kullback.report._text import number


def facts(subject: Subject) -> list[tuple[str, str]]:
    """Return names and values, in the order in which they are read."""
    estimator = subject.estimator
    found: list[tuple[str, Any]] = [("Model", subject.kind), *_size(subject), ("Columns", len(subject.names))]
    seen = getattr(estimator, "n_points_seen_", None)
    if seen:
        found.append(("Learned from", f"{number(seen, 9)} rows"))
        found.append(("Batches", f"{getattr(estimator, 'n_batches_seen_', 1):,}"))
    if getattr(estimator, "n_sequences_seen_", 0) > 1:
        found.append(("Sequences", number(estimator.n_sequences_seen_, 9)))
    found += _end(estimator)
    if subject.X is not None:
        many = f" in {len(subject.lengths):,} sequences" if len(subject.lengths) > 1 else ""
        found.append(("Data shown here", f"{len(subject.X):,} rows{many}"))
    each = subject.log_likelihoods
    if each is not None:
        found.append(("Log-likelihood of the data", f"{number(each.mean())} nats per row"))
    elif _bound(subject) is not None:
        found.append(("Log-likelihood at the last step", f"{number(_bound(subject))} nats per row"))
    found.append(("kullback", kullback.__version__))
    return [(name, str(value)) for name, value in found]


def _size(subject: Subject) -> list[tuple[str, Any]]:
    if subject.is_mixture:
        return [("Components", len(subject.weights))]
    if subject.is_hidden_markov:
        return [("States", len(subject.weights))]
    if subject.is_linear_system:
        return [("Hidden states", len(subject.model.transition))]
    if subject.is_factors:
        return [("Factors", np.shape(subject.model.loadings)[-1])]
    return []


def _end(estimator: Any) -> list[tuple[str, Any]]:
    """Tell how a fit has ended; learning from a stream has no end."""
    steps = getattr(estimator, "n_iter_", 0)
    if not steps or not hasattr(estimator, "converged_"):
        return []
    return [("Converged", f"{'yes' if estimator.converged_ else 'no'}, {steps:,} steps")]


def _bound(subject: Subject) -> float | None:
    """Return the average log-likelihood at the last step, if it is known."""
    estimator = subject.estimator
    bound = float(getattr(estimator, "lower_bound_", -np.inf))
    return bound if np.isfinite(bound) else None
