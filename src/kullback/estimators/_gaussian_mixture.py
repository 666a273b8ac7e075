"""Gaussian mixtures behind scikit-learn's door."""

from collections.abc import Callable
from typing import Any, Self

import jax
import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kullback.families import Batch, Gaussian
from kullback.learning import decaying_rate, em_step, online_em_step
from kullback.models import Mixture, MixtureStatistics


def _rows(size: int) -> int:
    """Pad to a power of two, so that batches of like sizes share one compiled function."""
    return 1 << max(size - 1, 15).bit_length()


class GaussianMixture(DensityMixin, BaseEstimator):
    """A mixture of Gaussians with full covariance matrices, fitted in batch or online, and combinable.

    Parameters
    ----------
    n_components : int
        The number of components.
    tol : float
        `fit` stops when the average log-likelihood gains less than this, in nats per point.
    reg_covar : float
        The variance of a data point itself. It is added to the covariance of the data, once.
    max_iter : int
        The largest number of iterations of `fit`.
    random_state : int, RandomState or None
        Decides the start.
    rate : float or None
        The weight of a new batch in `partial_fit`. None lets it decay as t^−0.6; a constant follows drift.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.concatenate([np.random.default_rng(0).normal(m, 1, (200, 2)) for m in (-5, 5)])
    >>> mixture = GaussianMixture(n_components=2, random_state=0).fit(X)
    >>> np.sort(mixture.means_[:, 0]).round().tolist()
    [-5.0, 5.0]

    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        random_state: Any = None,
        rate: float | None = None,
    ):
        self.n_components = n_components
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.random_state = random_state
        self.rate = rate

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to all rows of X by batch EM."""
        X = self._check(X, reset=True)
        with jax.enable_x64(True):
            model, batch = self._start(X), self._batch(X)
            history: list[float] = []
            self.converged_ = False
            while len(history) < self.max_iter and not self.converged_:
                model, seen = em_step(model, batch)
                history.append(float(seen.log_likelihood))
                self.converged_ = len(history) > 1 and abs(history[-1] - history[-2]) < self.tol
            self._keep(model)
        self.n_iter_ = len(history)
        self.lower_bound_ = history[-1]
        self.n_points_seen_ = float(len(X))
        self.n_batches_seen_ = 1
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Move towards the rows of X by one step of online EM. The first call starts from them."""
        first = not hasattr(self, "means_")
        X = self._check(X, reset=first)
        with jax.enable_x64(True):
            model = self._start(X) if first else self._jax_model()
            step = 0 if first else self.n_batches_seen_
            model, seen = online_em_step(model, self._batch(X), np.float64(self._schedule()(step)))
            self._keep(model)
        self.lower_bound_ = float(seen.log_likelihood)
        self.n_points_seen_ = len(X) + (0 if first else self.n_points_seen_)
        self.n_batches_seen_ = step + 1
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each row, in nats."""
        return self._read(X, lambda model, batch: model.log_likelihood(batch))

    def score(self, X: Any, y: Any = None) -> float:
        """Average log-likelihood of the rows, in nats."""
        return float(np.mean(self.score_samples(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each component given each row."""
        return self._read(X, lambda model, batch: model.posterior(batch))

    def predict(self, X: Any) -> np.ndarray:
        """Most probable component of each row."""
        return self.predict_proba(X).argmax(axis=1)

    def to_model(self) -> Mixture:
        """Return the fitted model, with NumPy arrays."""
        check_is_fitted(self)
        return Mixture(self.weights_, Gaussian(self.means_, self.covariances_))

    # --- inside -----------------------------------------------------------------------------------------

    def _check(self, X: Any, reset: bool) -> np.ndarray:
        if not (isinstance(self.n_components, (int, np.integer)) and self.n_components >= 1):
            raise ValueError(f"n_components is {self.n_components!r}: it must be a whole number, 1 or more.")
        if self.rate is not None and not 0 < self.rate <= 1:
            raise ValueError(f"rate is {self.rate!r}: it must be None or in (0, 1].")
        X = validate_data(self, X, reset=reset, dtype=np.float64, ensure_min_samples=1)
        if reset and len(X) < self.n_components:
            raise ValueError(f"X has {len(X)} rows: n_components={self.n_components} needs at least as many to start.")
        return X

    def _schedule(self) -> Callable[[int], float]:
        rate = self.rate
        return decaying_rate() if rate is None else lambda _: rate

    def _batch(self, X: np.ndarray) -> Batch:
        padded = np.zeros((_rows(len(X)), X.shape[1]))
        padded[: len(X)] = X
        weight = np.zeros(len(padded))
        weight[: len(X)] = 1
        return Batch(padded, weight, self.reg_covar)

    def _start(self, X: np.ndarray) -> Mixture:
        """Return the mixture of the clusters that k-means finds."""
        random = check_random_state(self.random_state)
        labels = KMeans(self.n_components, n_init=1, random_state=random).fit(X).labels_
        center = X.mean(axis=0)
        spread = np.diag(np.maximum(X.var(axis=0), 1e-300) + self.reg_covar)
        k = self.n_components
        blank = Mixture(np.full(k, 1 / k), Gaussian(np.tile(center, (k, 1)), np.tile(spread, (k, 1, 1))))
        batch = self._batch(X)
        weight = np.zeros((len(batch.weight), k))
        weight[np.arange(len(X)), labels] = 1
        return _assigned(blank, batch.weighted(weight))

    def _jax_model(self) -> Mixture:
        return jax.tree.map(jax.numpy.asarray, self.to_model())

    def _keep(self, model: Mixture) -> None:
        weights, means, covariances = (
            np.asarray(a) for a in (model.weights, model.components.mean, model.components.covariance)
        )
        if not all(np.isfinite(a).all() for a in (weights, means, covariances)):
            raise ValueError("The fit broke down: a covariance is no longer finite. Increase reg_covar or rescale X.")
        self.weights_, self.means_, self.covariances_ = weights, means, covariances

    def _read(self, X: Any, question: Callable[[Mixture, Batch], Any]) -> np.ndarray:
        check_is_fitted(self)
        X = self._check(X, reset=False)
        with jax.enable_x64(True):
            answer = _ask(question, self._jax_model(), self._batch(X))
            return np.asarray(answer)[: len(X)]


def _ask(question: Callable[[Mixture, Batch], Any], model: Mixture, batch: Batch) -> Any:
    return question(model, batch)


def _assigned(model: Mixture, batch: Batch) -> Mixture:
    inner, _ = model.components.expected_statistics(batch)
    return model.maximize(MixtureStatistics(inner.mass.sum(), jax.numpy.zeros(()), inner))
