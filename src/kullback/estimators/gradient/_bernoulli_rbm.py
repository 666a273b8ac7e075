"""Restricted Boltzmann machines of binary columns: scikit-learn's class, with a likelihood."""

from numbers import Real
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from scipy.special import entr

from kullback.core import Batch
from kullback.estimators.constraints import Interval
from kullback.estimators.gradient._boltzmann_estimator import BOLTZMANN_CONSTRAINTS, BoltzmannEstimator, moments
from kullback.learning import adaptive_jit
from kullback.models import RestrictedBoltzmannMachine
from kullback.runtime import in_precision


class BernoulliRBM(BoltzmannEstimator):
    """A restricted Boltzmann machine for tables of 0 and 1: binary hidden units, each connected to every column.

    It is scikit-learn's class of the same name with other defaults, and with a likelihood: `score_samples` is log p(v)
    in nats, `learning_curve_` too. Chains persist (PCD), gradients are centered, visible biases begin at the log odds
    of the means, and the rate falls linearly to 0 over the second half of `fit`. What is kept is an average of the
    machines on the way, with weights that grow as steps⁴: about the last fifth of `fit`, of 1,000 steps of a stream.

    Parameters
    ----------
    n_components : int
        Hidden units.
    learning_rate : float
        The rate of the first half.
    batch_size : int
        Rows of a step.
    n_iter : int
        Epochs.
    n_chains : int
        Persistent chains.
    n_gibbs : int
        Gibbs steps of the chains for each step.
    persistent : bool
        Whether chains go on from step to step; otherwise they begin at the data, which is CD-k with k = `n_gibbs`.
    centered : bool
        Whether the gradient is taken with units seen from their means: it forgives a wrong rate.
    damping : float or None
        What is added to the metric of the natural gradient, by chains; None follows the gradient. 0.1 with a rate of
        0.02 to 0.05 takes fewer steps, each of which takes longer.
    binarize : float or None
        Entries above it are 1, others 0. None: entries in [0, 1] are taken as they are.
    dtype : "float32" or "float64"
        In which numbers it learns.
    warm_start, random_state, verbose
        As in scikit-learn.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The weights.
    intercept_hidden_, intercept_visible_ : ndarrays
        The biases.
    h_samples_ : ndarray of shape (n_chains, n_components)
        The hidden units of the chains.
    network_ : kullback.models.RestrictedBoltzmannMachine
        The machine.
    learning_curve_ : ndarray of shape (up to 512, 4)
        Steps, points seen, log-likelihood of a batch before it was learned from, in nats per row, and its points, of
        the machines on the way and not of their average. log Z is that of chains of its own; `path_log_partition_` has
        it at the end with its standard error.
    n_iter_, n_steps_, lower_bounds_
        As in all estimators that learn by gradients.

    Examples
    --------
    >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 100, axis=0)
    >>> machine = BernoulliRBM(n_components=2, batch_size=20, n_iter=100, random_state=0).fit(X)
    >>> bool(machine.score(X) > -1.2)  # the best is −log 2
    True
    >>> machine.impute([[1, np.nan, 0, np.nan]], method="mode").tolist()
    [[1.0, 1.0, 0.0, 0.0]]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BOLTZMANN_CONSTRAINTS,
        "damping": [Interval(Real, 0.0, None, closed="neither"), None],
        "binarize": [Interval(Real, None, None, closed="neither"), None],
    }
    _families = "bernoulli"

    def __init__(
        self,
        n_components: int = 256,
        *,
        learning_rate: float = 0.2,
        batch_size: int = 100,
        n_iter: int = 10,
        n_chains: int = 100,
        n_gibbs: int = 1,
        persistent: bool = True,
        centered: bool = True,
        damping: float | None = None,
        binarize: float | None = None,
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
        self.damping = damping
        self.binarize = binarize
        self.dtype = dtype
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _network(self, start: Batch, key: Any) -> RestrictedBoltzmannMachine:
        means, _ = moments(start, self.dtype)
        return RestrictedBoltzmannMachine.start(means, int(self.n_components), key, dtype=self.dtype)

    @property
    def _damping(self) -> float | None:
        return None if self.damping is None else float(self.damping)

    def _nats_of_columns(self, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        inside = np.clip(mean, 0, 1)  # that of a column of ones is rounded
        return -np.asarray(entr(inside) + entr(1 - inside))

    @in_precision(lambda self: 64)
    def pseudo_likelihood(self, X: Any) -> np.ndarray:
        """Return Σ_i log p(v_i | the rest of its row) of each row, in nats: no likelihood, but it needs no log Z.

        Entries between 0 and 1 count as the share of a 1.
        """
        return self._ask(X, _pseudo_likelihood)

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        if self.binarize is not None:
            return np.where(np.isnan(X), X, (float(self.binarize) < X).astype(X.dtype))
        bad = (X < 0) | (X > 1)
        if bad.any():
            value = X[bad][0]
            raise ValueError(
                f"X has entries such as {value:g}: they must be in [0, 1], so scale them (pixels by 1/255), or set "
                "binarize to a number above which they count as 1."
            )
        return X


@adaptive_jit
def _pseudo_likelihood(model: Any, batch: Batch) -> Any:
    found = model.surprises(batch)
    return -jnp.sum(found if batch.observed is None else jnp.where(batch.observed, found, 0), axis=1)
