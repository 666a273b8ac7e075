"""Posteriors to draw from: of a model of the library with its rows, or of any JAX function."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from kullback.assess._prior import ColumnScale, ModelPrior
from kullback.assess._tempered import Posterior
from kullback.core import Batch, Model
from kullback.models import FreeCoordinates, free_coordinates
from kullback.numerics import Numeric, counted


class ModelData(eqx.Module):
    """A model's chart, its prior, its rows, and which sequence each row belongs to."""

    chart: FreeCoordinates
    prior: ModelPrior
    batch: Batch
    unit: Int[Numeric, " rows"] | None
    units: int = eqx.field(static=True)


def model_log_likelihoods(vector: Float[Array, " d"], data: ModelData) -> Float[Array, " units"]:
    """Return the log-likelihood of each row, or of each sequence."""
    rows = data.chart.at(vector).log_likelihood(data.batch)
    return rows if data.unit is None else jax.ops.segment_sum(rows, data.unit, data.units)


def model_log_prior(vector: Float[Array, " d"], data: ModelData) -> Float[Array, ""]:
    """Return the log density of the default prior."""
    return data.prior.log_density(data.chart, vector)


class ModelLogPrior(eqx.Module):
    """A log prior that is given as a function of the model, as a function of its free coordinates."""

    log_prior: Callable[[Any], Any] = eqx.field(static=True)

    def __call__(self, vector: Float[Array, " d"], data: ModelData) -> Float[Array, ""]:
        """Return its density in free coordinates."""
        return self.log_prior(data.chart.at(vector)) + data.chart.log_volume(vector)


def number_of_sequences(batch: Batch) -> int | None:
    """Return how many sequences a batch has, None where its rows are independent."""
    return None if batch.time is None else int(np.sum(_starts(batch)))


def _starts(batch: Batch) -> Any:
    assert batch.time is not None
    starts = np.array(batch.time.starts, bool)
    starts[0] = True
    return starts


def model_posterior(model: Model, data: Any, log_prior: Callable[[Any], Any] | None = None) -> Posterior:
    """Return the posterior of a model's free coordinates.

    Parameters
    ----------
    model : Model
        A fitted model with free coordinates: chains begin around it.
    data : Batch or array
        The rows. Entries of an array that are NaN are missing. Where the batch has a time index, the unit is a
        sequence; where that is one sequence, units are its rows, each given those before it.
    log_prior : callable, optional
        A log density of the model's parameters, as a function of the model. By default Dirichlet(1) for probabilities
        and weak conjugate ones from the data's scale.

    """
    batch = as_batch(data)
    chart = free_coordinates(model)
    _check_columns(model, batch)
    start = np.asarray(chart.vector(model), np.float64)
    weight = np.asarray(batch.weight, np.float64)
    if weight.ndim != 1:
        raise ValueError(f"weight has shape {weight.shape}: rows need one weight each.")
    unit, units = None, len(weight)
    sequences = number_of_sequences(batch)
    if sequences is not None and sequences > 1:
        unit, units = np.cumsum(_starts(batch)) - 1, sequences
        weight = np.asarray(jax.ops.segment_max(jnp.asarray(weight), unit, units))
    prior = (
        ModelPrior.of(chart, batch)
        if log_prior is None
        else ModelPrior(ColumnScale(np.zeros(0), np.zeros(0)), (), "given")
    )
    density = model_log_prior if log_prior is None else ModelLogPrior(log_prior)
    if np.sum(np.asarray(batch.weight)) < chart.size:
        raise ValueError(
            f"the data has {np.sum(np.asarray(batch.weight)):g} rows and the model {chart.size} parameters: give more "
            "rows, or a smaller model."
        )
    posterior = Posterior(
        model_log_likelihoods, density, start, ModelData(chart, prior, batch, unit, units), weight, prior.text
    )
    return _checked(posterior)


def as_batch(data: Any) -> Batch:
    """Return rows as a batch; NaN is a missing entry."""
    if isinstance(data, Batch):
        return data
    values = np.asarray(data)
    if values.ndim == 0 or values.dtype.kind not in "iufb":
        raise ValueError(f"data has shape {values.shape} and type {values.dtype}: give a Batch or a table of numbers.")
    if np.isinf(values).any():
        place = tuple(int(i) for i in np.argwhere(np.isinf(values))[0])
        raise ValueError(f"data[{', '.join(map(str, place))}] is {values[place]}: entries must be finite, or missing.")
    if values.dtype.kind == "f" and np.isnan(values).any():
        return Batch(values, observed=~np.isnan(values))
    return Batch(values)


def _check_columns(model: Any, batch: Batch) -> None:
    """Raise where rows have another number of columns than points of the model: numbers would be stretched unseen."""
    drawn = jax.eval_shape(lambda key: model.sample(key, (2,)), jax.random.key(0))
    points, rows = math.prod(drawn.shape[1:]), math.prod(np.shape(batch.values)[1:])
    if points != rows:
        raise ValueError(f"the data has {counted(rows, 'column')} and the model {points}: give the columns of the fit.")


class FlatFunction(eqx.Module):
    """A function of a tree of parameters, as one of a flat vector and data."""

    function: Callable[..., Any] = eqx.field(static=True)
    takes_data: bool = eqx.field(static=True)
    structure: Any = eqx.field(static=True)
    shapes: tuple[tuple[tuple[int, ...], str], ...] = eqx.field(static=True)

    def __call__(self, vector: Float[Array, " d"], data: Any) -> Any:
        """Return what the function says of the parameters."""
        pieces, start = [], 0
        for shape, dtype in self.shapes:
            size = int(np.prod(shape))
            pieces.append(vector[start : start + size].reshape(shape).astype(dtype))
            start += size
        parameters = jax.tree.unflatten(self.structure, pieces)
        return self.function(parameters, data) if self.takes_data else self.function(parameters)


def function_posterior(
    log_likelihoods: Callable[..., Any],
    parameters: Any,
    log_prior: Callable[..., Any] | None,
    *,
    data: Any = None,
    weight: Any = None,
    total: Callable[..., Any] | None = None,
    prior: str = "given",
) -> Posterior:
    """Return the posterior of any JAX log-likelihood.

    Parameters
    ----------
    log_likelihoods : callable
        Of the parameters, and of `data` where that is given: the log-likelihood of each row.
    parameters : array or tree of arrays
        Where chains begin: a good fit.
    log_prior : callable
        The log density of the prior, a function of the parameters.
    data : tree of arrays, optional
        What log_likelihoods is given besides. Data of the same shapes then share what is compiled.
    weight : array, optional
        How often each row counts.
    total : callable, optional
        The sum of all log-likelihoods, by weight, where that is cheaper than to add them up.
    prior : str
        What the prior is, in words.

    """
    if log_prior is None:
        raise ValueError("log_prior is missing: a learning coefficient depends on the prior, so give its log density.")
    tree = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), parameters)
    leaves, structure = jax.tree.flatten(tree)
    if not leaves or sum(leaf.size for leaf in leaves) == 0:
        raise ValueError("parameters is empty: give where the chains begin, an array or a tree of arrays.")
    shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)

    def flat(function: Callable[..., Any], takes_data: bool) -> FlatFunction:
        return FlatFunction(function, takes_data, structure, shapes)

    start = np.asarray(ravel_pytree(tree)[0])
    likelihood = flat(log_likelihoods, data is not None)
    rows = np.shape(likelihood(jnp.asarray(start), data))
    if len(rows) != 1:
        raise ValueError(f"log_likelihoods gives shape {rows}: it must give one number for each row.")
    given = np.ones(rows) if weight is None else np.asarray(weight, np.float64)
    if given.shape != rows:
        raise ValueError(f"weight has shape {given.shape}: log_likelihoods gives {rows[0]} rows, and each needs one.")
    posterior = Posterior(likelihood, flat(log_prior, False), start, data, given, prior)
    if total is None:
        return _checked(posterior)
    return _checked(posterior._replace(total=flat(total, data is not None)))


def as_posterior(
    subject: Any,
    given: Any,
    *,
    log_prior: Callable[..., Any] | None = None,
    data: Any = None,
    weight: Any = None,
    total: Callable[..., Any] | None = None,
    prior: str = "given",
) -> Posterior:
    """Return the posterior of a model with rows, or of a log-likelihood with parameters."""
    if isinstance(subject, Model):
        if data is not None or weight is not None or total is not None:
            raise ValueError("data, weight and total are for functions: give the rows of a model as a Batch.")
        return model_posterior(subject, given, log_prior)
    if not callable(subject):
        raise TypeError(
            f"the first argument is a {type(subject).__name__}: give a model of the library, as `to_model()` of a "
            "fitted estimator returns it, or a function that gives the log-likelihood of each row."
        )
    return function_posterior(subject, given, log_prior, data=data, weight=weight, total=total, prior=prior)


def _checked(posterior: Posterior) -> Posterior:
    """Return the posterior, or raise where chains could not begin."""
    weight = np.asarray(posterior.weight)
    if not np.all(np.isfinite(weight) & (weight >= 0)):
        raise ValueError("weight has entries that are negative or not finite: rows count 0 times or more.")
    if not np.all(np.isfinite(posterior.start)):
        raise ValueError("parameters are not all finite: begin from a fit.")
    start = jnp.asarray(posterior.start)
    rows = np.asarray(posterior.log_likelihoods(start, posterior.data))
    bad = np.flatnonzero(~np.isfinite(rows))  # those without weight too: gradients are of all rows
    if bad.size:
        raise ValueError(
            f"row {bad[0]} has log-likelihood {rows[bad[0]]} under the model: leave out rows that are not finite or "
            "that the model cannot have, or begin from a better fit."
        )
    if np.sum(weight > 0) <= 1:
        raise ValueError(f"the data has {counted(int(np.sum(weight > 0)), 'row')}: an estimate needs two or more.")
    if not np.isfinite(posterior.log_prior(start, posterior.data)):
        raise ValueError("log_prior is not finite where the chains begin: begin inside its support.")
    if posterior.total is not None:
        known, found = (
            float(np.sum(np.where(weight > 0, weight * rows, 0))),
            float(posterior.total(start, posterior.data)),
        )
        if not np.isclose(known, found, rtol=1e-6, atol=1e-6):
            raise ValueError(
                f"total gives {found:.6g}, and the log-likelihoods add up to {known:.6g}: it must be their sum."
            )
    return posterior
