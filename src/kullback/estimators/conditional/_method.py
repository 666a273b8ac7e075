"""How a distribution given inputs is learned: what the front door asks of each method."""

from typing import Any, ClassVar, Protocol

import numpy as np

from kullback._loading import load_name
from kullback.core import Model
from kullback.estimators.data._pairs import Pairs


class Method(Protocol):
    """A way of learning. It has no state: attributes_ of the estimator are all there is."""

    #: Attributes_ of the estimator that it sets: arrays, and trees of arrays.
    arrays: ClassVar[tuple[str, ...]]
    trees: ClassVar[tuple[str, ...]]
    #: Parameters, besides the family, that decide what the model is.
    settings: ClassVar[tuple[str, ...]]

    def check(self, estimator: Any) -> None:
        """Raise where parameters do not go with this method."""

    def fit(self, estimator: Any, pairs: Pairs) -> None:
        """Learn from all rows."""

    def partial_fit(self, estimator: Any, pairs: Pairs, first: bool) -> None:
        """Learn from some more rows, once."""

    def to_model(self, estimator: Any) -> Model:
        """Return the fitted model, with NumPy arrays; its inputs are rows of the design."""

    def free(self, model: Any, matrix: np.ndarray) -> np.ndarray:
        """Return the free coordinates of rows of the design."""

    def tree_shapes(self, estimator: Any) -> dict[str, Any]:
        """Return the trees that the parameters describe, with shapes in the place of arrays."""

    def n_parameters(self, estimator: Any) -> int:
        """Return the number of free parameters."""


_WHERE = {"linear": "_linear", "network": "_network", "trees": "_trees"}


def method_named(name: str) -> Method:
    """Return the method with this name; what it needs is imported when it is used."""
    found: Method = load_name(f"kullback.estimators.conditional.{_WHERE[name]}", "METHOD")
    return found
