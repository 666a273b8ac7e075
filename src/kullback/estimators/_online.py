"""A step of online EM towards the rows of a table, with as little around it as there can be: batches are short."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kullback.estimators._rows import CHUNK, Rows, has_features, padded
from kullback.families import Batch, Frame
from kullback.learning import online_em_step
from kullback.runtime import jit


def moved(model: Any, rows: Rows, rate: float, prior: Any = None) -> tuple[Any, float]:
    """Return the model after one step, with NumPy arrays, and the log-likelihood of the rows before it.

    A mixture of Gaussians tries the frame in which it expects the data itself: this is one compiled function for all
    there is to do. Where that would lose digits, the data decides which kernel takes the step.
    """
    components = getattr(model, "components", model)
    if components is not model and has_features(components) and len(rows) <= CHUNK and not rows.missing:
        ((_, values, weight),) = rows.chunks()
        found, seen, good = _in_own_frame(model, *padded(values, weight), rows.width, rate, prior)
        if good:
            return jax.tree.map(np.asarray, found), float(seen)
    batches = [batch for _, batch in rows.placed(rows.frame_for(components))]
    found, _, report = online_em_step(model, batches, rate, prior)
    return jax.tree.map(np.asarray, found), float(report.log_likelihood)


@jit
def _in_own_frame(model: Any, values: Any, weight: Any, width: Any, rate: Any, prior: Any) -> tuple[Any, Any, Any]:
    """Return the model after the step, the log-likelihood before it, and whether both kept their digits."""
    frame = _frame_of(model)
    away = (values - frame.center) / frame.scale
    reach = jnp.sqrt(jnp.max(jnp.sum(jnp.square(away), axis=-1)))
    found, _, report = online_em_step(model, Batch(values, weight, width, None, frame), rate, prior)
    return found, report.log_likelihood, model.components.features_pay(frame, reach)


def _frame_of(model: Any) -> Frame:
    """Return the mean of a mixture of Gaussians, and the standard deviation of each column."""
    components = model.components
    if hasattr(components, "covariance"):
        variance = jnp.diagonal(components.covariance, axis1=-2, axis2=-1)
    else:
        variance = components.variance.reshape(len(model.weights), -1)
    center = model.weights @ components.mean
    return Frame(center, jnp.sqrt(model.weights @ (variance + jnp.square(components.mean - center))))
