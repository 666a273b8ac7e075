"""A Gaussian prior of coefficients around 0."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from kullback.models.conditional._linear import LinearConditional
from kullback.numerics import Numeric, check_values
from kullback.runtime import in_given_precision


class Ridge(eqx.Module):
    """A prior N(0, 1/precision) of each coefficient: the information of data that was never seen, that says 0.

    One number is the precision of every coefficient of an input; intercepts, and coordinates that do not depend on
    inputs, are left free. A table like the coefficients has a precision for each. `coupling` is a matrix between the
    coordinates, the identity without one: that of classes takes out what all of them have in common, so that it does
    not matter which one the others are compared with.

    >>> from kullback.families import Poisson
    >>> Ridge(2.0).precision_of(LinearConditional([[0.5, 1.0, 3.0]], Poisson(1.0))).tolist()
    [0.0, 2.0, 2.0]
    """

    precision: Float[Numeric, "..."]
    coupling: Float[Numeric, "size size"] | None

    def __init__(self, precision: Any, coupling: Any = None):
        self.coupling = None if coupling is None else np.asarray(coupling, float)
        self.precision = np.asarray(precision, float) if np.isscalar(precision) else precision
        check_values("precision", self.precision, lambda p: (p >= 0) & np.isfinite(p), "0 or more, and finite")

    @in_given_precision
    def precision_of(self, model: LinearConditional) -> Float[Numeric, " p"]:
        """Return the precision of each parameter of a model."""
        table = jnp.asarray(self.precision)
        if table.ndim == 0:
            inputs = jnp.arange(np.shape(model.coefficients)[1]) > 0
            table = jnp.where(inputs, table, 0) * jnp.ones((model.kind.size, 1), table.dtype)
        elif table.shape != np.shape(model.coefficients):
            raise ValueError(
                f"precision has shape {table.shape}: it must be a number, or a table like the coefficients, of shape "
                f"{np.shape(model.coefficients)}."
            )
        return model.pack(table)

    @in_given_precision
    def matrix_of(self, model: LinearConditional) -> Float[Numeric, "p p"]:
        """Return the precision matrix of the parameters of a model."""
        precision = jnp.asarray(self.precision_of(model))
        if self.coupling is None:
            return jnp.diag(precision)
        row, column = np.nonzero(model.is_parameter)
        root = jnp.sqrt(precision)
        alike = column[:, None] == column[None, :]
        return jnp.where(alike, jnp.asarray(self.coupling)[row[:, None], row[None, :]] * root[:, None] * root, 0)
