"""The head of the page: what was learned from how much, and where it comes from."""

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np

import kullback
from kullback.report._context import ReportContext
from kullback.report._text import clean, number, short

#: Targets whose names are facts.
_NAMED = 4


def facts(context: ReportContext, title: str = "") -> list[tuple[str, str]]:
    """Return names and values, in the order in which they are read, below a title that may name the model already."""
    estimator = context.estimator
    size = [] if context.view.size is None else [context.view.size]
    named = [] if title == context.kind else [("Model", context.kind)]
    found: list[tuple[str, Any]] = [*named, *context.view.facts, *size, *_counts(context)]
    seen = getattr(estimator, "n_points_seen_", None)
    if context.view.network:
        found += _steps(estimator)
    elif seen:
        found.append(("Learned from", f"{number(seen, 9)} rows"))
        found.append(("Batches", f"{getattr(estimator, 'n_batches_seen_', 1):,}"))
    if getattr(estimator, "n_sequences_seen_", 0) > 1:
        found.append(("Sequences", number(estimator.n_sequences_seen_, 9)))
    found += [] if context.view.network else _end(estimator)
    if context.X is not None:
        many = f" in {len(context.lengths):,} sequences" if len(context.lengths) > 1 else ""
        found.append(("Rows shown", f"{len(context.X):,}{many}"))
    each = context.log_likelihoods
    if each is not None:
        found.append(("Log-likelihood of these rows", f"{number(np.nanmean(each))} nats per row"))
    elif _bound(context) is not None:
        found.append(("Log-likelihood at the end of the fit", f"{number(_bound(context))} nats per row"))
    return [(name, str(value)) for name, value in found]


def _counts(context: ReportContext) -> list[tuple[str, Any]]:
    """Return how many columns there are; of targets, which, and how many inputs they are given."""
    if not context.view.targets:
        return [("Columns", f"{len(context.names):,}")]
    names, classes = context.target_names, getattr(context.estimator, "classes_", ())
    shown = ", ".join(short(name, 40) for name in names) if len(names) <= _NAMED else f"{len(names):,}"
    found: list[tuple[str, Any]] = [("Target" if len(names) == 1 else "Targets", shown)]
    found += [("Classes", f"{len(classes):,}")] if len(classes) else []
    return [*found, ("Inputs", f"{len(context.names):,}")]


def origin(given: Mapping[str, Any], date: datetime.datetime | None) -> list[tuple[str, str]]:
    """Return where the model and the data come from, and when the page was written, by which version."""
    now = datetime.datetime.now().astimezone() if date is None else date
    written = f"{now:%Y-%m-%d %H:%M} {now:%Z}".strip()
    return [
        *((clean(name), clean(value)) for name, value in given.items()),
        ("Page written", f"{written}, kullback {kullback.__version__}"),
    ]


def _end(estimator: Any) -> list[tuple[str, Any]]:
    """Return how a fit has ended; learning from a stream has no end."""
    steps = getattr(estimator, "n_iter_", 0)
    if not steps or not hasattr(estimator, "converged_"):
        return []
    plural = "" if steps == 1 else "s"
    return [("Converged", f"{'yes' if estimator.converged_ else 'no'}, {steps:,} iteration{plural}")]


def _steps(estimator: Any) -> list[tuple[str, Any]]:
    """Return how long a network has learned, and how well it did on what it has not seen."""
    found: list[tuple[str, Any]] = [("Steps", f"{estimator.n_steps_:,} of {estimator.batch_size:,} rows")]
    epochs, held = getattr(estimator, "n_iter_", 0), getattr(estimator, "validation_scores_", ())
    if epochs:
        found.append(("Epochs", f"{epochs:,}, {'converged' if estimator.converged_ else 'not converged'}"))
    if len(held):
        best = int(np.argmax(held))
        error = estimator.validation_errors_[best]
        found.append(("Log-likelihood of rows held out", f"{number(held[best])} ± {number(error, 2)} nats per row"))
    excess = getattr(estimator, "combination_excess_", None)
    if excess is not None:
        nats = f"{number(excess[0], 3)} ± {number(excess[1], 2)} nats per row"
        found.append(("Distance from the mixture of what was combined", nats))
    return found


def _bound(context: ReportContext) -> float | None:
    """Return the average log-likelihood at the last step, if it is known."""
    estimator = context.estimator
    bound = float(getattr(estimator, "lower_bound_", -np.inf))
    return bound if np.isfinite(bound) else None
