"""Few hidden factors behind many columns: probabilistic PCA and factor analysis."""

import abc
from numbers import Integral, Real
from typing import Any, ClassVar

import jax
import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kullback import models
from kullback.core import Batch
from kullback.estimators._estimator import Estimator
from kullback.estimators._model_estimator import check_kind
from kullback.estimators.constraints import Interval
from kullback.estimators.data._fit_data import RowData
from kullback.learning import adaptive_jit
from kullback.runtime import computing, in_float64

FACTOR_CONSTRAINTS: dict[str, list[Any]] = {
    "n_components": [Interval(Integral, 1, None, closed="left"), None],
    "tol": [Interval(Real, 0.0, None, closed="left")],
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "rate": [Interval(Real, 0.0, 1.0, closed="right"), callable, None],
}


class FactorEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """v = W h + mean + noise with few hidden factors h. A subclass says what the noise is."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = FACTOR_CONSTRAINTS

    def transform(self, X: Any) -> np.ndarray:
        """Return the expected factors of each row, given what is observed of it."""
        return self._ask(X, _factors)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, and return the expected factors of each row."""
        return self.fit(X, y, sample_weight).transform(X)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the expected rows of given factors."""
        check_is_fitted(self)
        model = self.to_model()
        return np.asarray(X) @ np.asarray(model.loadings).T + np.asarray(model.mean)

    @in_float64
    def get_covariance(self) -> np.ndarray:
        """Return the covariance of the columns: W Wᵀ and the noise."""
        return np.asarray(self.to_model().covariance)

    def get_precision(self) -> np.ndarray:
        """Return the inverse of the covariance."""
        return np.linalg.inv(self.get_covariance())

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    #: The kind of model that it holds.
    _kind: ClassVar[type]

    @abc.abstractmethod
    def _from_moments(self, mean: np.ndarray, covariance: np.ndarray, q: int) -> Any:
        """Return the model to start from."""

    def _start(self, data: RowData, random: np.random.RandomState) -> Any:
        n, q = self.n_features_in_, self.n_components
        if q is not None and q >= n:
            raise ValueError(
                f"n_components is {q}: X has {n} feature(s), and there must be fewer factors than features."
            )
        mean, covariance = data.moments()
        if q is None:  # as many as leave something for the noise
            q = max(int(np.linalg.matrix_rank(covariance, hermitian=True)) - 1, 1)
        return jax.tree.map(np.asarray, self._from_moments(mean, covariance, q))

    @property
    def _least_rows(self) -> int:
        return 2

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        if first and X.shape[1] < 2:
            raise ValueError(f"X has {X.shape[1]} feature(s): a minimum of 2 is required, fewer factors than features.")
        if first and np.isnan(X).all(axis=0).any():
            place = int(np.argmax(np.isnan(X).all(axis=0)))
            raise ValueError(f"X has no value in column {place}: drop the column, or start from other rows.")
        return X

    def _shape_of(self, model: Any) -> dict[str, Any]:
        return {"n_features_in_": model.mean.shape[-1]}

    def _check_shapes(self) -> None:
        """Raise unless the attributes_ are those of one model: broadcasting would make a large one of them."""
        q, n = np.shape(self.components_) if np.ndim(self.components_) == 2 else (0, 0)
        noise = () if self._kind is models.ProbabilisticPCA else (n,)
        wanted = {"components_": (q, n), "mean_": (n,), "noise_variance_": noise, "explained_variance_": (q,)}
        for name, shape in wanted.items():
            found = np.shape(getattr(self, name, np.zeros(shape)))
            if found != shape:
                raise ValueError(f"{name} has shape {found}: with components_ of shape {(q, n)} it must be {shape}.")

    @classmethod
    def _parameters_of(cls, model: Any) -> dict[str, Any]:
        check_kind(model, cls._kind, cls)
        return {"n_components": model.loadings.shape[-1]}


class ProbabilisticPCA(FactorEstimator):
    """Principal components as a density: W Wᵀ + σ²I.

    Parameters
    ----------
    n_components : int or None
        The number of factors, less than the number of columns. None is one less than the covariance's rank.
    tol, max_iter, random_state, verbose, rate
        As in `GaussianMixture`. Without missing entries the start is the best fit in closed form.

    Attributes
    ----------
    mean_, components_, explained_variance_, noise_variance_
        As in scikit-learn's PCA, by maximum likelihood (variances divide by n, not n − 1).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> pca = ProbabilisticPCA(n_components=2).fit(load_iris().data)
    >>> pca.transform(load_iris().data).shape
    (150, 2)

    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
        rate: Any = None,
    ):
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.rate = rate

    _kind = models.ProbabilisticPCA

    def to_model(self) -> models.ProbabilisticPCA:
        """Return the fitted model, with NumPy arrays."""
        check_is_fitted(self, "components_")
        self._check_shapes()
        noise = np.float64(self.noise_variance_)
        lengths = np.sqrt(np.maximum(np.asarray(self.explained_variance_, dtype=np.float64) - noise, 0))
        loadings = np.asarray(self.components_, dtype=np.float64).T * lengths
        return models.ProbabilisticPCA(np.asarray(self.mean_, dtype=np.float64), loadings, noise)

    def _attributes(self, model: models.ProbabilisticPCA) -> dict[str, Any]:
        with computing():
            model = jax.tree.map(np.asarray, model.principal_axes())
        lengths = np.linalg.norm(model.loadings, axis=0)
        axes = np.asarray(model.loadings) / np.where(lengths > 0, lengths, 1)
        noise = np.asarray(model.noise)
        return {
            "mean_": model.mean,
            "components_": axes.T,
            "explained_variance_": np.square(lengths) + noise,
            "noise_variance_": noise,
        }

    def _from_moments(self, mean: np.ndarray, covariance: np.ndarray, q: int) -> models.ProbabilisticPCA:
        return models.ProbabilisticPCA.from_moments(mean, covariance, q)

    def _n_parameters(self) -> int:
        q, n = np.shape(self.components_)
        return n + n * q - q * (q - 1) // 2 + 1


class FactorAnalysis(FactorEstimator):
    """Few factors, and noise of its own in each column: W Wᵀ + Ψ.

    Parameters
    ----------
    n_components : int or None
        The number of factors, less than the number of columns. None is one less than the covariance's rank.
    tol, max_iter, random_state, verbose, rate
        As in `GaussianMixture`. The likelihood of factors climbs slowly: a smaller `tol` goes farther.

    Attributes
    ----------
    mean_, components_, noise_variance_
        As in scikit-learn's FactorAnalysis; the rows of `components_` are orthogonal, and fall in length.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> FactorAnalysis(n_components=2).fit(load_iris().data).components_.shape
    (2, 4)

    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
        rate: Any = None,
    ):
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.rate = rate

    _kind = models.FactorAnalysis

    def to_model(self) -> models.FactorAnalysis:
        """Return the fitted model, with NumPy arrays."""
        check_is_fitted(self, "components_")
        self._check_shapes()
        mean, loadings, noise = (
            np.asarray(a, dtype=np.float64) for a in (self.mean_, self.components_.T, self.noise_variance_)
        )
        return models.FactorAnalysis(mean, loadings, noise)

    def _attributes(self, model: models.FactorAnalysis) -> dict[str, Any]:
        with computing():
            model = jax.tree.map(np.asarray, model.principal_axes())
        return {"mean_": model.mean, "components_": np.asarray(model.loadings).T, "noise_variance_": model.noise}

    def _from_moments(self, mean: np.ndarray, covariance: np.ndarray, q: int) -> models.FactorAnalysis:
        return models.FactorAnalysis.from_moments(mean, covariance, q)

    def _n_parameters(self) -> int:
        q, n = np.shape(self.components_)
        return n + n * q - q * (q - 1) // 2 + n


@adaptive_jit
def _factors(model: Any, batch: Batch) -> Any:
    return model.posterior(batch).mean
