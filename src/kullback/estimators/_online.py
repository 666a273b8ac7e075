"""A step of online EM towards the rows of a table, with as little around it as there can be: batches are short."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from kullback.core import Batch
from kullback.estimators.data._rows import CHUNK, Rows, padded
from kullback.learning import AT_ONCE, OnlineEM, StepInfo, gather_in_turn, move, step_once
from kullback.runtime import as_numpy, jit


def online_step(model: Any, rows: Rows, rate: float, prior: Any = None) -> tuple[Any, float]:
    """Return the model after one step, with NumPy arrays, and the log-likelihood before it; NaN where it broke down.

    Few rows go through one compiled function for all there is to do, in which the model tries the standardization in
    which it expects the data itself. Where that would lose digits, the data decides which kernel takes the step.
    """
    if len(rows) <= CHUNK and not rows.missing:
        ((_, values, weight),) = rows.chunks()
        after, value, sound = _standardized_step(model, *padded(values, weight), rows.point_variance, rate, prior)
        if sound:
            return as_numpy(after), float(value)
    learner: OnlineEM[Any] = OnlineEM(np.asarray(rate), prior)
    batches = (batch for _, batch in rows.batches_with_places(rows.standardization_for(model)))
    message, _ = gather_in_turn(batches, learner, model, None, None, AT_ONCE)
    after, _, info = move(model, message, learner, None, AT_ONCE)
    return as_numpy(after), float(_value(info))


@jit
def _standardized_step(
    model: Any, values: Any, weight: Any, point_variance: Any, rate: Any, prior: Any
) -> tuple[Any, Any, Any]:
    """Return the model after the step, the log-likelihood before it, and whether both kept their digits."""
    learner: OnlineEM[Any] = OnlineEM(rate, prior, standardize=True)
    found = step_once(learner, model, None, None, [Batch(values, weight, point_variance)], AT_ONCE)
    return found.model, _value(found.info), found.sound


def _value(info: StepInfo) -> Any:
    return jnp.where(info.finite, info.value, jnp.nan)
