"""What every mixture behind scikit-learn's door does."""

import abc
import functools
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import jax
import numpy as np
from sklearn.utils.validation import check_is_fitted

from kullback.core import Batch
from kullback.estimators._estimator import Estimator
from kullback.estimators.constraints import Interval, StrOptions
from kullback.estimators.data._fit_data import RowData
from kullback.estimators.data._rows import Rows
from kullback.estimators.mixtures._mixture_init import Labels, mixture_from_labels
from kullback.learning import adaptive_jit
from kullback.models import Mixture
from kullback.runtime import jit

MIXTURE_CONSTRAINTS: dict[str, list[Any]] = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0.0, None, closed="left")],
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "init_params": [StrOptions({"kmeans", "random", "random_from_data", "k-means++"})],
    "random_state": ["random_state"],
    "warm_start": ["boolean"],
    "verbose": ["verbose"],
    "rate": [Interval(Real, 0.0, 1.0, closed="right"), callable, None],
    "temperature": [Interval(Real, 0.0, None, closed="left")],
}


class MixtureEstimator(Estimator):
    """A mixture. A subclass says what its components are."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = MIXTURE_CONSTRAINTS

    @abc.abstractmethod
    def _blank_mixture(self, rows: Rows) -> Mixture:
        """Return a mixture whose components know nothing yet of what tells them apart."""

    @abc.abstractmethod
    def _seen_by_kmeans(self, rows: Rows) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function of rows: what k-means sees of them."""

    @property
    @abc.abstractmethod
    def _softness(self) -> float:
        """How much of each row all components share at the start: some families must not start at their boundary."""

    def _start(self, data: RowData, random: np.random.RandomState) -> Mixture:
        rows, k = data.to_start_from, self.n_components
        labels = Labels(rows, self._seen_by_kmeans(rows), k, self.init_params, self._softness, random)
        return mixture_from_labels(self._blank_mixture(rows), rows, labels)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, and return the most probable component of each row."""
        return self.fit(X, y, sample_weight).predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each component given each row."""
        return self._ask(X, _posterior)[:, : len(self.weights_)]

    def predict(self, X: Any) -> np.ndarray:
        """Most probable component of each row."""
        return self._ask(X, _label).astype(np.int64)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw points and the components they come from, one component after the other."""
        labels, points = self._draw(n_samples, _sample_joint)
        order = np.argsort(labels, kind="stable")
        return points[order], labels[order]

    @property
    def _least_rows(self) -> int:
        return self.n_components

    def _check_rows(self, X: np.ndarray, first: bool) -> None:
        if first and X.shape[0] < self.n_components:
            raise ValueError(
                "Expected n_samples >= n_components "
                f"but got n_components = {self.n_components}, n_samples = {X.shape[0]}"
            )
        if first and np.issubdtype(X.dtype, np.floating):
            empty = np.isnan(X).all(axis=0) if np.isnan(np.sum(X)) else np.zeros(1, bool)
            if empty.any():
                raise ValueError(
                    f"X has no value in column {np.argmax(empty)}: drop the column, or start from other rows."
                )

    def _check_fitted(self) -> None:
        check_is_fitted(self, "weights_")


def check_free_weights(model: Mixture, estimator: type) -> None:
    """Raise if the model keeps its weights: these estimators learn them."""
    if model.fixed_weights:
        raise ValueError(
            f"model has fixed_weights: {estimator.__name__} learns them; Mixture(equal_weights=True) leaves them alone."
        )


def normalized(weights: np.ndarray) -> np.ndarray:
    """Return weights that sum to 1; those that do so already keep every bit."""
    total = weights.sum()
    return weights if abs(total - 1) < 1e-12 else weights / total


@functools.partial(jit, static_argnums=2)
def _sample_joint(model: Any, key: Any, size: int) -> Any:
    return model.sample_joint(key, (size,))


@adaptive_jit
def _posterior(model: Any, batch: Batch) -> Any:
    return model.posterior(batch)


@adaptive_jit
def _label(model: Any, batch: Batch) -> Any:
    return jax.numpy.argmax(model.posterior(batch), axis=-1)
