"""Gaussian mixtures behind scikit-learn's door."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from sklearn.utils import check_array

from kullback.estimators._check_fit import COLLAPSED, check_memory
from kullback.estimators._model_estimator import check_kind
from kullback.estimators.constraints import Interval, StrOptions
from kullback.estimators.data._fit_data import RowData
from kullback.estimators.data._rows import Rows
from kullback.estimators.mixtures._mixture_estimator import (
    MIXTURE_CONSTRAINTS,
    MixtureEstimator,
    check_free_weights,
    normalized,
)
from kullback.families import DiagonalGaussian, Gaussian, SphericalGaussian
from kullback.models import Mixture


class GaussianMixture(MixtureEstimator):
    """A mixture of Gaussians: scikit-learn's, fitted in batch or online, from any machine, and combinable.

    Parameters
    ----------
    n_components : int
        The number of components.
    covariance_type : {'full', 'tied', 'diag', 'spherical'}
        What the covariances may be: any, one for all, without correlations, one variance each.
    tol : float
        `fit` stops when the average log-likelihood gains less than this, in nats per point.
    reg_covar : float
        The variance of a data point itself. It is added to the covariance of the data, once, however long the stream.
        With 0, `fit` ends before an iteration in which a component collapses, and warns.
    max_iter : int
        The largest number of iterations of `fit`.
    n_init : int
        How many starts are tried; the best is kept.
    init_params : {'kmeans', 'k-means++', 'random', 'random_from_data'}
        What the start is. Of more than 65,536 rows it sees as many, drawn at random.
    weights_init, means_init, precisions_init : array-like or None
        Parts of the start that are given.
    random_state : int, RandomState or None
        Decides the start, and what is drawn.
    warm_start : bool
        Whether `fit` goes on from where the last one ended.
    verbose : int
        Whether to show progress.
    verbose_interval : int
        Accepted for scikit-learn's sake; progress is one line that moves.
    rate : float, callable or None
        The weight of a new batch in `partial_fit`. None lets it decay as t^−0.6, where t counts batches of this size;
        a constant follows drift; a function takes the number of batches before this one.
    temperature : float
        1 is the mixture, 0 gives each row to one component, as k-means does. A component that is left without rows
        keeps its place, with weight 0.

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_, converged_, n_iter_, lower_bound_, lower_bounds_
        As in scikit-learn.
    n_points_seen_, n_batches_seen_
        How much data is behind the fit.
    learning_curve_ : ndarray of shape (up to 512, 3)
        Of what `partial_fit` has learned from: points seen, the mean log-likelihood of the last of them before they
        were learned from, and how many it is the mean of. Batches share a row where there are too many.
    prequential_ : ndarray of shape (4,)
        Of batches that `partial_fit` has met after the first: how many, their points, the mean of −log p in nats per
        point before they were learned from, and the sum of its squared deviations over batches, weighted by points.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.concatenate([np.random.default_rng(0).normal(m, 1, (200, 2)) for m in (-5, 5)])
    >>> mixture = GaussianMixture(n_components=2, random_state=0).fit(X)
    >>> np.sort(mixture.means_[:, 0]).round().tolist()
    [-5.0, 5.0]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MIXTURE_CONSTRAINTS,
        "covariance_type": [StrOptions({"full", "tied", "diag", "spherical"})],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", None],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        rate: Any = None,
        temperature: float = 1.0,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.rate = rate
        self.temperature = temperature

    def to_model(self) -> Mixture:
        """Return the fitted model, with NumPy arrays."""
        self._check_fitted()
        covariances = getattr(self, "covariances_", None)
        if covariances is None:  # scikit-learn's users also set the other form by hand
            covariances = _covariances(np.asarray(self.precisions_cholesky_), self.covariance_type)
        return self._mixture(self.weights_, self.means_, covariances)

    def _mixture(self, weights: Any, means: Any, covariances: Any) -> Mixture:
        weights, means, covariances = (np.asarray(a, dtype=np.float64) for a in (weights, means, covariances))
        if not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
            raise ValueError(f"weights_ is {weights}: it must be 0 or more, and not 0 everywhere.")
        match self.covariance_type:
            case "full":
                components: Any = Gaussian(means, covariances)
            case "tied":
                components = Gaussian(means, np.broadcast_to(covariances, (len(means), *covariances.shape)))
            case "diag":
                components = DiagonalGaussian(means, covariances)
            case _:
                components = SphericalGaussian(means, covariances)
        return Mixture(normalized(weights), components, self.temperature, self._tied)

    @property
    def _tied(self) -> tuple[str, ...]:
        return ("covariance",) if self.covariance_type == "tied" else ()

    @property
    def _matrices(self) -> bool:
        return self.covariance_type in ("full", "tied")

    def _attributes(self, model: Mixture) -> dict[str, np.ndarray]:
        components = model.components
        covariances = np.asarray(components.covariance if self._matrices else components.variance)
        if self.covariance_type == "tied":
            covariances = covariances[0]
        return {"weights_": model.weights, "means_": components.mean, "covariances_": covariances}

    _derived: ClassVar[tuple[str, ...]] = ("precisions_", "precisions_cholesky_")

    def __getattr__(self, name: str) -> Any:
        if name not in self._derived or "covariances_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        factors = _precision_factors(np.asarray(self.covariances_), self.covariance_type)
        if name == "precisions_cholesky_":
            return factors
        return factors @ np.swapaxes(factors, -1, -2) if self._matrices else np.square(factors)

    @classmethod
    def _parameters_of(cls, model: Mixture) -> dict[str, Any]:
        check_kind(model, Mixture, cls)
        kinds = {Gaussian: "full", DiagonalGaussian: "diag", SphericalGaussian: "spherical"}
        kind = kinds.get(type(model.components))
        if kind is None:
            raise ValueError(f"model has components of {type(model.components).__name__}: they must be Gaussians.")
        if model.tied and kind != "full":
            raise ValueError(f"model shares the variance of {type(model.components).__name__}s: no type here does.")
        check_free_weights(model, cls)
        tied = "tied" if model.tied else kind
        return {"n_components": len(model.weights), "covariance_type": tied, "temperature": model.temperature}

    def _shape_of(self, model: Mixture) -> dict[str, Any]:
        return {"n_features_in_": model.components.mean.shape[-1]}

    def _n_parameters(self) -> int:
        k, n = np.shape(self.means_)
        spread = {"full": k * n * (n + 1) // 2, "tied": n * (n + 1) // 2, "diag": k * n, "spherical": k}
        return spread[self.covariance_type] + n * k + k - 1

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        self._check_rows(X, first)
        if first and self._matrices:
            k, n = self.n_components, X.shape[1]
            check_memory(k * n * n, f"{k} covariance matrices of {n:,} columns")
        return X

    @property
    def _point_variance(self) -> float:
        return self.reg_covar

    # --- the start --------------------------------------------------------------------------------------

    @property
    def _softness(self) -> float:
        return 0.0

    def _seen_by_kmeans(self, rows: Rows) -> Callable[[np.ndarray], np.ndarray]:
        return lambda values: values

    def _blank_mixture(self, rows: Rows) -> Mixture:
        k = self.n_components
        return Mixture(np.full(k, 1 / k), self._blank(rows), self.temperature)

    def _blank(self, rows: Rows) -> Any:
        """Return components that are all alike, at the scale of the data."""
        sample = rows.filled(np.unique(np.linspace(0, len(rows) - 1, min(len(rows), 10_000)).astype(int)))
        k, center = self.n_components, sample.mean(axis=0)
        means, variances = np.tile(center, (k, 1)), np.tile(sample.var(axis=0) + self.reg_covar, (k, 1))
        variances = np.where(variances > 0, variances, 1.0)
        match self.covariance_type:
            case "full" | "tied":
                return Gaussian(means, variances[:, :, None] * np.eye(len(center)))
            case "diag":
                return DiagonalGaussian(means, variances)
        return SphericalGaussian(means, variances.mean(axis=1))

    def _start(self, data: RowData, random: np.random.RandomState) -> Mixture:
        weights, means, covariances = self._given(self.n_features_in_)
        if weights is None or means is None or covariances is None:
            start = super()._start(data, random)
            found = start.components.covariance if self._matrices else start.components.variance
            if self._tied:
                found = np.tensordot(start.weights, found, axes=1)
            weights = start.weights if weights is None else weights
            means = start.components.mean if means is None else means
            covariances = found if covariances is None else covariances
        try:
            return eqx.tree_at(lambda m: m.weights, self._mixture(weights, means, covariances), np.asarray(weights))
        except ValueError as error:
            if _collapsed(np.asarray(covariances), self._matrices):
                raise ValueError(COLLAPSED) from error
            raise

    def _given(self, n: int) -> tuple[Any, Any, Any]:
        k = self.n_components
        shapes = {"full": (k, n, n), "tied": (n, n), "diag": (k, n), "spherical": (k,)}
        weights = _checked("weights", self.weights_init, (k,))
        means = _checked("means", self.means_init, (k, n))
        precisions = _checked(f"{self.covariance_type} precision", self.precisions_init, shapes[self.covariance_type])
        if weights is not None:
            if (weights < 0).any() or (weights > 1).any():
                low, high = f"{weights.min():.5f}", f"{weights.max():.5f}"
                raise ValueError(  # scikit-learn's words, which have the two the wrong way round; then the right way
                    "The parameter 'weights' should be in the range [0, 1], but got max value "
                    f"{low}, min value {high}: weights_init has entries from {low} to {high}."
                )
            if abs(1 - weights.sum()) > (1e-6 if np.asarray(self.weights_init).dtype == np.float32 else 1e-8):
                raise ValueError(
                    f"The parameter 'weights' should be normalized, but got sum(weights) = {weights.sum():.5f}"
                )
        if precisions is None:
            return weights, means, None
        if self._matrices:
            symmetric = np.allclose(precisions, np.swapaxes(precisions, -1, -2))
            if not symmetric or not (np.linalg.eigvalsh(precisions) > 0).all():
                raise ValueError(f"'{self.covariance_type} precision' should be symmetric, positive-definite")
            return weights, means, np.linalg.inv(precisions)
        if (precisions <= 0).any():
            raise ValueError(f"'{self.covariance_type} precision' should be positive")
        return weights, means, 1 / precisions


def _collapsed(covariances: np.ndarray, matrices: bool) -> bool:
    """Whether a covariance is not one of a density."""
    if not np.isfinite(covariances).all():
        return False
    variances = np.diagonal(covariances, axis1=-2, axis2=-1) if matrices else covariances
    if not (variances > 0).all():
        return True
    if not matrices:
        return False
    scale = np.sqrt(variances)
    correlations = covariances / (scale[..., :, None] * scale[..., None, :])
    return not (np.linalg.eigvalsh(correlations) > np.finfo(float).eps * scale.shape[-1]).all()


def _checked(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    if value is None:
        return None
    array = check_array(value, dtype=np.float64, ensure_2d=False, allow_nd=True)
    if array.shape != shape:
        raise ValueError(f"The parameter '{name}' should have the shape of {shape}, but got {array.shape}")
    return array


def _precision_factors(covariances: np.ndarray, kind: str) -> np.ndarray:
    """Return upper triangular L with LLᵀ = Σ⁻¹, or inverse standard deviations."""
    if kind in ("full", "tied"):
        low = np.linalg.cholesky(covariances)
        eye = np.broadcast_to(np.eye(low.shape[-1]), low.shape)
        return np.swapaxes(np.linalg.solve(low, eye), -1, -2)
    return 1 / np.sqrt(covariances)


def _covariances(factors: np.ndarray, kind: str) -> np.ndarray:
    if kind in ("full", "tied"):
        inverse = np.linalg.inv(factors)
        return np.swapaxes(inverse, -1, -2) @ inverse
    return 1 / np.square(factors)
