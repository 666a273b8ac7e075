"""Spare components of weight 0, so that small mixtures of 1 to 8 components share their compiled functions.

Choosing a number of components fits the same table once for each: compiling takes nearly all of the time then. A
component of weight 0 takes no row and keeps its place, so EM with spares is EM without them.
"""

from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np

from kullback.models import Mixture

Model = TypeVar("Model", bound=Any)

#: Numbers of components are rounded up to a multiple of this.
MULTIPLE = 8
#: Up to so many numbers, of the table and of all components, compiling takes the time, not computing.
FEW = 2**14


def with_spares(model: Model, X: np.ndarray) -> Model:
    """Return a small mixture with spare components where the table X is small too, and any other model as it is."""
    if type(model) is not Mixture or X.size > FEW:
        return model
    k = len(model.weights)
    spares = -k % MULTIPLE
    numbers = sum(np.size(leaf) for leaf in jax.tree.leaves(model)) // k
    if not spares or (k + spares) * numbers > FEW:
        return model
    weights = np.append(model.weights, np.zeros(spares))
    return eqx.tree_at(
        lambda mixture: mixture.weights, jax.tree.map(lambda leaf: _extended(leaf, spares), model), weights
    )


def without_spares(model: Model, like: Any) -> Model:
    """Return a model with the components that another one has."""
    if type(model) is not Mixture:
        return model
    return jax.tree.map(lambda leaf: leaf[: len(like.weights)], model)


def _extended(leaf: Any, spares: int) -> np.ndarray:
    """Return a parameter of all components with the first one again for each spare."""
    values = np.asarray(leaf)
    return np.concatenate([values, np.repeat(values[:1], spares, axis=0)])
