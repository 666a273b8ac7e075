"""A step of online EM towards the rows of a table, with as little around it as there can be: batches are short."""

from typing import Any

import numpy as np

from kullback.estimators._rows import CHUNK, Rows, padded
from kullback.families import Batch
from kullback.learning import AT_ONCE, OnlineEM, gather_in_turn, move, step
from kullback.runtime import as_numpy


def moved(model: Any, rows: Rows, rate: float, prior: Any = None) -> tuple[Any, float]:
    """Return the model after one step, with NumPy arrays, and the log-likelihood before it; NaN where it broke down.

    Few rows go through one compiled function for all there is to do, in which the model tries the frame in which it
    expects the data itself. Where that would lose digits, the data decides which kernel takes the step.
    """
    weight = np.asarray(rate)
    if len(rows) <= CHUNK and not rows.missing:
        ((_, values, weights),) = rows.chunks()
        batch = Batch(*padded(values, weights), rows.width)
        found = step(OnlineEM(weight, prior, own_frame=True), model, None, None, (batch,), AT_ONCE)
        if found.sound:
            return as_numpy(found.model), _value(found.info)
    learner: OnlineEM[Any] = OnlineEM(weight, prior)
    batches = (batch for _, batch in rows.placed(rows.frame_for(model)))
    message, _ = gather_in_turn(batches, learner, model, None, None, AT_ONCE)
    after, _, info = move(model, message, learner, None, AT_ONCE)
    return as_numpy(after), _value(info)


def _value(info: Any) -> float:
    return float(info.value) if info.finite else np.nan
