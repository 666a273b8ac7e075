"""hmmlearn's `n_features`, where it is the number of columns."""

from typing import Any, ClassVar

import numpy as np

from kullback.estimators._count import check_count
from kullback.estimators.hidden_markov._estimator import HiddenMarkovEstimator


class ColumnsHMM(HiddenMarkovEstimator):
    """A hidden Markov model with hmmlearn's `n_features`: it may be set before there are parameters."""

    #: The attribute_ that has a row for each state, with an entry for each column.
    _column_attribute: ClassVar[str]

    @property
    def n_features(self) -> int:
        """The number of columns: that of the parameters, or what it was set to before there are any."""
        shape = np.shape(getattr(self, self._column_attribute, ()))
        if len(shape) == 2:
            return int(shape[1])
        if "_n_features" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'n_features' before it is fitted")
        return self._n_features

    @n_features.setter
    def n_features(self, number: Any) -> None:
        self._n_features = check_count("n_features", number)

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        expected = getattr(self, "_n_features", X.shape[1])
        if first and X.shape[1] != expected:
            raise ValueError(f"Unexpected number of dimensions, got {X.shape[1]} but expected {expected}")
        return super()._check_values(X, first)


def column_parameters(name: str, holder: Any, k: int, columns: int | None) -> np.ndarray:
    """Return an attribute_ that has an entry for each state and column; hmmlearn's words where it does not."""
    found = np.atleast_2d(np.asarray(getattr(holder, name), dtype=np.float64))
    columns = found.shape[-1] if columns is None else columns
    if found.shape != (k, columns) or columns == 0:
        shape = f"it has {found.shape}, and there are {k} states and {columns} features"
        raise ValueError(f"{name} must have shape (n_components, n_features): {shape}")
    return found
