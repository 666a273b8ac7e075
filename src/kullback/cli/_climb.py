"""Batch EM on everything, which can be stopped after any iteration and gone on with."""

import copy
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kullback.cli._checkpoint import Checkpoint
from kullback.cli._column_kinds import suit
from kullback.cli._input import Input
from kullback.cli._learn import Outcome
from kullback.cli._place import Digest, Place
from kullback.cli._stop import Stop
from kullback.estimators._watch import Watch


def fit_at_once(estimator: Any, data: Input, place: Place, kept: Checkpoint | None, quiet: bool) -> Outcome:
    """Read everything, then fit by batch EM from a place on, and keep checkpoints; a signal ends it."""
    data.check(place.data)
    if place.done:
        return Outcome(place, 0)
    with Stop(data.end if data.piped else None) as stop:
        source = stop.waited(functools.partial(data.opened, 0, None))
        if source is not None:
            suit(estimator, *data.kinds(source))
        tables = [] if source is None else list(stop.until(source))
        if source is None or stop.asked:
            return Outcome(Place(), 0, stop.code)
        if not tables:
            raise ValueError(f"there are no rows to fit {type(estimator).__name__} to.")
        piece, digest = data.piece(source, np.concatenate(tables)), Digest()
        for table in tables if kept is not None else ():
            digest.add(table)
        estimator.source_ = data.told_of(source, tables[0].shape[1])
        here = Place(rows=len(piece.X), data=source.fingerprint, digest=digest.of(source))
        check_rows(data, place, here)
        here = climb(estimator, lambda: estimator.fit(piece.X, **piece.known), here, kept, stop, quiet)
    return Outcome(here, source.bad_rows, stop.code)


def check_rows(data: Input, before: Place, here: Place) -> None:
    """Raise unless the rows that were read are those of a fit that is gone on with."""
    if before.digest is not None and (before.digest, before.rows) != (here.digest, here.rows):
        raise ValueError(
            f"{data} is not what was read before: its rows are others; go on with the same data, or begin anew."
        )


def climb(
    estimator: Any, fit: Callable[[], Any], place: Place, kept: Checkpoint | None, stop: Stop, quiet: bool
) -> Place:
    """Fit by batch EM with an eye on signals and checkpoints; return how far it came, which is kept."""
    watch = Lookout(estimator, place, kept, stop)
    verbose, estimator.verbose = estimator.verbose, int(sys.stderr.isatty() and not quiet)
    estimator._watch = watch
    try:
        fit()
    finally:
        estimator.verbose = verbose
        del estimator._watch
    place = place._replace(turn=len(getattr(estimator, "lower_bounds_", ())), done=not watch.ended)
    if kept is not None:
        kept.write(estimator, place)
    return place


class Lookout(Watch):
    """Ends a fit when a signal has come, and writes checkpoints of it."""

    def __init__(self, estimator: Any, place: Place, kept: Checkpoint | None, stop: Stop):
        self._estimator, self._place, self._kept, self._stop = estimator, place, kept, stop
        if getattr(estimator, "lower_bounds_", None):  # it comes from a checkpoint
            self.begun = estimator.to_model(), list(estimator.lower_bounds_)

    def step(self, model: Any, history: list[float]) -> bool:
        """Look at the model after an iteration, and say whether to end here."""
        if self._kept is not None and self._kept.due:
            so_far = copy.copy(self._estimator)
            so_far._keep(model)
            so_far.lower_bounds_, so_far.lower_bound_, so_far.n_iter_ = list(history), history[-1], len(history)
            so_far.n_points_seen_, so_far.n_batches_seen_, so_far.converged_ = float(self._place.rows), 1, False
            self._kept.write(so_far, self._place._replace(turn=len(history)))
        self.ended = self._stop.asked
        return self.ended
