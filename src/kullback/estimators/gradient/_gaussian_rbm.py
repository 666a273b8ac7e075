"""Restricted Boltzmann machines of columns of real numbers."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from kullback.core import Batch
from kullback.estimators.gradient._boltzmann_estimator import BOLTZMANN_CONSTRAINTS, BoltzmannEstimator, moments
from kullback.estimators.gradient._check import check_columns
from kullback.models import RestrictedBoltzmannMachine


class GaussianRBM(BoltzmannEstimator):
    """A restricted Boltzmann machine for tables of numbers: given its binary hidden units, columns are independent.

    Given h, v is N(b + Wh, σ²), with a σ for each column, which is learned: a mixture of 2^n_components Gaussians that
    share their parts. Steps are in units of σ, so columns may have any units. Otherwise it is as `BernoulliRBM`.

    Parameters
    ----------
    n_components : int
        Hidden units.
    learning_rate, batch_size, n_iter, n_chains, n_gibbs, persistent, centered, dtype
        As in `BernoulliRBM`.
    warm_start, random_state, verbose
        As in scikit-learn.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The weights, in the units of the columns.
    intercept_hidden_, intercept_visible_ : ndarrays
        The biases; those of visible units are means of v with all hidden units at 0.
    scale_ : ndarray of shape (n_features,)
        The standard deviations of columns given what is hidden.
    h_samples_, network_, learning_curve_, path_log_partition_
        As in `BernoulliRBM`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-3.0, 3.0], (500, 1)) + rng.normal(size=(500, 2))  # two clusters
    >>> machine = GaussianRBM(n_components=2, n_iter=200, random_state=0).fit(X)
    >>> bool(machine.score(X) > -4.6)  # two Gaussian columns without anything hidden have −5.1
    True

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BOLTZMANN_CONSTRAINTS

    def __init__(
        self,
        n_components: int = 256,
        *,
        learning_rate: float = 0.05,
        batch_size: int = 100,
        n_iter: int = 10,
        n_chains: int = 100,
        n_gibbs: int = 1,
        persistent: bool = True,
        centered: bool = True,
        dtype: str = "float32",
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_iter = n_iter
        self.n_chains = n_chains
        self.n_gibbs = n_gibbs
        self.persistent = persistent
        self.centered = centered
        self.dtype = dtype
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _network(self, start: Batch, key: Any) -> RestrictedBoltzmannMachine:
        means, scale = moments(start, self.dtype)
        scale = jnp.where(scale > 0, scale, 1)
        return RestrictedBoltzmannMachine.start(means, int(self.n_components), key, scale, self.dtype)

    @property
    def _damping(self) -> None:
        return None

    def _nats_of_columns(self, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        return np.asarray(-0.5 * (1 + np.log(2 * np.pi * np.where(variance > 0, variance, 1))))

    @property
    def scale_(self) -> np.ndarray:
        """The standard deviations of columns given what is hidden."""
        return np.exp(np.asarray(self._held().log_scale))

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        if first:
            check_columns(X, self.dtype)
        return X
