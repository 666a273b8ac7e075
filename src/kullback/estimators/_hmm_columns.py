"""Hidden Markov models whose rows have as many columns as the emissions of a state have parameters of one kind."""

import abc
from typing import Any

import numpy as np

from kullback.estimators._count import checked_count
from kullback.estimators._hidden_markov import HiddenMarkovEstimator


class ColumnsHMM(HiddenMarkovEstimator):
    """A hidden Markov model with hmmlearn's `n_features`: it may be set before there are parameters."""

    @property
    @abc.abstractmethod
    def _by_column(self) -> str:
        """The attribute_ that has a row for each state, with an entry for each column."""

    @property
    def n_features(self) -> int:
        """The number of columns: that of the parameters, or what it was set to before there are any."""
        shape = np.shape(getattr(self, self._by_column, ()))
        if len(shape) == 2:
            return int(shape[1])
        if "_n_features" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'n_features' before it is fitted")
        return self._n_features

    @n_features.setter
    def n_features(self, number: Any) -> None:
        self._n_features = checked_count("n_features", number)

    def _check_columns(self, X: np.ndarray) -> None:
        """Raise unless X has as many columns as were asked for; hmmlearn's words."""
        expected = getattr(self, "_n_features", X.shape[1])
        if X.shape[1] != expected:
            raise ValueError(f"Unexpected number of dimensions, got {X.shape[1]} but expected {expected}")

    def _for_each_column(self) -> np.ndarray:
        """Return the parameters that have an entry for each state and column; hmmlearn's words where they do not."""
        name = self._by_column
        found = np.atleast_2d(np.asarray(getattr(self, name), dtype=np.float64))
        columns = getattr(self, "_n_features", found.shape[-1])
        if found.shape != (self.n_components, columns) or columns == 0:
            asked = f"it has {found.shape}, and there are {self.n_components} states and {columns} features"
            raise ValueError(f"{name} must have shape (n_components, n_features): {asked}")
        return found
