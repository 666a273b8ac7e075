"""Spare components of weight 0, so that small mixtures of 1 to 8 components share their compiled functions.

Choosing a number of components fits the same table once for each: compiling takes nearly all of the time then. A
component of weight 0 takes no row and keeps its place, so EM with spares is EM without them.
"""

from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np

from kullback.models import Mixture
from kullback.runtime import compilations_are_shared

Model = TypeVar("Model", bound=Any)

#: Numbers of components are rounded up to a multiple of this.
MULTIPLE = 8
#: Up to so many numbers, of the table and of all components, compiling takes the time, not computing.
FEW = 2**14
#: The same where mixtures of several sizes are compared: what is compiled for one then serves all of them.
FEW_WHEN_SHARED = 2**20


class Spares:
    """Adds spare components to small mixtures where the table X is small too, and takes them away again.

    Any other model stays as it is.
    """

    def __init__(self, X: np.ndarray | None):
        self._few = X is not None and X.size <= (FEW_WHEN_SHARED if compilations_are_shared() else FEW)
        self._count: int | None = None

    def added(self, model: Model) -> Model:
        """Return the model with spares, if it gets any."""
        self._count = None
        if type(model) is not Mixture or not self._few:
            return model
        k = len(model.weights)
        spares = -k % MULTIPLE
        numbers = sum(np.size(leaf) for leaf in jax.tree.leaves(model)) // k
        if not spares or (k + spares) * numbers > FEW:
            return model
        self._count = k
        weights = np.append(model.weights, np.zeros(spares))
        return eqx.tree_at(
            lambda mixture: mixture.weights, jax.tree.map(lambda leaf: _extended(leaf, spares), model), weights
        )

    def removed(self, model: Model) -> Model:
        """Return the model without the spares that were added last."""
        return model if self._count is None else jax.tree.map(lambda leaf: leaf[: self._count], model)


NO_SPARES = Spares(None)


def _extended(leaf: Any, spares: int) -> np.ndarray:
    """Return a parameter of all components with the first one again for each spare."""
    values = np.asarray(leaf)
    return np.concatenate([values, np.repeat(values[:1], spares, axis=0)])
