"""A step of online EM towards the rows of a table, with as little around it as there can be: batches are short."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from kullback.estimators._rows import CHUNK, Rows, padded
from kullback.families import Batch
from kullback.learning import AT_ONCE, OnlineEM, StepInfo, gather_in_turn, move, step_once
from kullback.runtime import as_numpy, jit


def moved(model: Any, rows: Rows, rate: float, prior: Any = None) -> tuple[Any, float]:
    """Return the model after one step, with NumPy arrays, and the log-likelihood before it; NaN where it broke down.

    Few rows go through one compiled function for all there is to do, in which the model tries the frame in which it
    expects the data itself. Where that would lose digits, the data decides which kernel takes the step.
    """
    if len(rows) <= CHUNK and not rows.missing:
        ((_, values, weight),) = rows.chunks()
        after, value, sound = _in_own_frame(model, *padded(values, weight), rows.width, rate, prior)
        if sound:
            return as_numpy(after), float(value)
    learner: OnlineEM[Any] = OnlineEM(np.asarray(rate), prior)
    batches = (batch for _, batch in rows.placed(rows.frame_for(model)))
    message, _ = gather_in_turn(batches, learner, model, None, None, AT_ONCE)
    after, _, info = move(model, message, learner, None, AT_ONCE)
    return as_numpy(after), float(_value(info))


@jit
def _in_own_frame(model: Any, values: Any, weight: Any, width: Any, rate: Any, prior: Any) -> tuple[Any, Any, Any]:
    """Return the model after the step, the log-likelihood before it, and whether both kept their digits."""
    learner: OnlineEM[Any] = OnlineEM(rate, prior, own_frame=True)
    found = step_once(learner, model, None, None, [Batch(values, weight, width)], AT_ONCE)
    return found.model, _value(found.info), found.sound


def _value(info: StepInfo) -> Any:
    return jnp.where(info.finite, info.value, jnp.nan)
