"""Hidden Markov models with Gaussian emissions: hmmlearn's, and more."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from kullback.estimators._hidden_markov import (
    HMM_CONSTRAINTS,
    LAG,
    broadcast,
    for_states,
    hidden_markov,
    shared,
)
from kullback.estimators._hmm_columns import ColumnsHMM
from kullback.estimators._hmm_priors import GaussianPrior, covariance_of
from kullback.estimators._hmm_starts import StateStart
from kullback.estimators._sequences import Sequences
from kullback.estimators.constraints import Interval, StrOptions
from kullback.families import DiagonalGaussian, Gaussian, SphericalGaussian
from kullback.models import HiddenMarkovModel


class GaussianHMM(ColumnsHMM):
    """A hidden Markov model whose states emit Gaussians: hmmlearn's `GaussianHMM`, and more.

    Code written for hmmlearn's class runs unchanged when only the import changes. New on top of it: `partial_fit`, also
    for a series that never ends; `sample_weight` for each sequence; NaN entries are missing; `filter`, `forecast`,
    `impute`, `save`, `load`, `to_model`, `from_model`, and `combine`.

    Parameters
    ----------
    n_components : int
        The number of states.
    covariance_type : {'spherical', 'diag', 'full', 'tied'}
        What covariances may be.
    min_covar : float
        What is added to the variances that a fit starts from.
    startprob_prior, transmat_prior : float or array
        Parameters of the Dirichlet priors of `startprob_` and of the rows of `transmat_`.
    means_prior, means_weight : float or array
        Mean and precision of the normal prior of `means_`.
    covars_prior, covars_weight : float or array
        Parameters of the inverse gamma or inverse Wishart prior of the covariances.
    algorithm : {'viterbi', 'map'}
        How `predict` finds a path.
    random_state : int, RandomState or None
        Where randomness comes from.
    n_iter : int
        How many steps of EM there are at most.
    tol : float
        EM ends when the log-likelihood of all the data gains less.
    verbose : bool
        Whether to show progress.
    params, init_params : str
        What is learned, and what is started: 's' for startprob, 't' for transmat, 'm' for means, 'c' for covars.
    implementation : {'log', 'scaling'}
        Accepted for hmmlearn's sake: there is one recursion here, as safe as the one and as quick as the other.
    n_init : int
        How many starts there are; the best is kept.
    rate : float, callable or None
        The weight of a batch in `partial_fit`: constant to follow drift, a function of the step, or a schedule.
    lag : int
        How many rows of a series that goes on wait for what comes after them.

    Attributes
    ----------
    n_features : int
        The number of columns; it may be set before there are parameters.
    startprob_ : ndarray of shape (n_components,)
    transmat_ : ndarray of shape (n_components, n_components)
    means_ : ndarray of shape (n_components, n_features)
    covars_ : ndarray of shape (n_components, n_features, n_features)
        Matrices whatever the type; it is set in the shape of the type, in which `covariances_` holds it.
    lower_bound_, lower_bounds_ : float and list of float
        The log-likelihood that the last step, or each step, of the fit has met, in nats per row.
    monitor_ : ConvergenceMonitor
        The log-likelihoods of the fit, each that of all rows, as in hmmlearn.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(m, 1, (100, 1)) for m in (0, 6, 0, 6)])
    >>> hmm = GaussianHMM(n_components=2, random_state=0).fit(X)
    >>> np.sort(np.abs(hmm.means_.ravel())).round().tolist()
    [0.0, 6.0]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **HMM_CONSTRAINTS,
        "covariance_type": [StrOptions({"spherical", "diag", "full", "tied"})],
        "min_covar": [Interval(Real, 0.0, None, closed="left")],
        "means_prior": [Real, "array-like"],
        "means_weight": [Real, "array-like"],
        "covars_prior": [Real, "array-like"],
        "covars_weight": [Real, "array-like"],
    }

    def __init__(
        self,
        n_components: int = 1,
        covariance_type: str = "diag",
        min_covar: float = 1e-3,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        means_prior: Any = 0,
        means_weight: Any = 0,
        covars_prior: Any = 1e-2,
        covars_weight: Any = 1,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stmc",
        init_params: str = "stmc",
        implementation: str = "log",
        *,
        n_init: int = 1,
        rate: Any = None,
        lag: int = LAG,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.min_covar = min_covar
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.params = params
        self.init_params = init_params
        self.implementation = implementation
        self.n_init = n_init
        self.rate = rate
        self.lag = lag

    @property
    def _by_column(self) -> str:
        return "means_"

    @property
    def covars_(self) -> np.ndarray:
        """The covariance matrix of each state."""
        covariances, k, n = self.covariances_, self.n_components, self.n_features
        match self.covariance_type:
            case "spherical":
                return covariances[:, None, None] * np.eye(n)
            case "diag":
                return covariances[:, None, :] * np.eye(n)
            case "tied":
                return np.tile(covariances, (k, 1, 1))
        return covariances

    @covars_.setter
    def covars_(self, covars: Any) -> None:
        self.covariances_ = _checked(np.array(covars, dtype=np.float64), self.covariance_type, self.n_components)

    # --- emissions ----------------------------------------------------------------------------------------

    def _emissions_now(self) -> Any:
        means, covariances = np.asarray(self.means_, dtype=np.float64), self.covariances_
        if means.ndim != 2 or len(means) != self.n_components:
            raise ValueError(f"means_ has shape {means.shape}: it must be ({self.n_components}, n_features).")
        if not np.isfinite(means).all():
            raise ValueError(f"means_ must be finite; its entries are {means.tolist()}")
        match self.covariance_type:
            case "spherical":
                return SphericalGaussian(means, covariances)
            case "diag":
                return DiagonalGaussian(means, covariances)
            case "tied":
                return Gaussian(means, np.tile(covariances, (self.n_components, 1, 1)))
        return Gaussian(means, covariances)

    def _emission_attributes(self, emissions: Any) -> dict[str, np.ndarray]:
        covariance = np.asarray(covariance_of(emissions))
        held = covariance[0] if self.covariance_type == "tied" else covariance
        return {"means_": np.asarray(emissions.mean), "covariances_": held}

    def _started_emissions(self, data: Sequences, start: StateStart) -> Any:
        n, k = len(data.absent), self.n_components
        if self._starts("m", "means_"):
            self.means_ = shared(data.rows.filled(), start.labels, k)
        if self._starts("c", "covariances_"):
            rows = data.rows.filled()
            away = rows - shared(rows, start.labels, k)[start.labels]
            within = away.T @ away / len(rows) + self.min_covar * np.eye(n)
            match self.covariance_type:
                case "spherical":
                    self.covariances_ = np.full(k, np.diagonal(within).mean())
                case "diag":
                    self.covariances_ = np.tile(np.diagonal(within), (k, 1))
                case "tied":
                    self.covariances_ = within
                case _:
                    self.covariances_ = np.tile(within, (k, 1, 1))
        if np.shape(self.means_)[1:] != (n,):
            raise ValueError(f"X has {n} features, and means_ has shape {np.shape(self.means_)}.")
        return self._emissions_now()

    def _emission_prior(self, emissions: Any) -> GaussianPrior:
        k, n = emissions.mean.shape
        covars, weight = self.covars_prior, self.covars_weight
        match self.covariance_type:
            case "spherical":
                covars = for_states("covars_prior", covars, k, n).mean(axis=1)
            case "diag":
                covars = for_states("covars_prior", covars, k, n)
            case "tied":
                covars = broadcast("covars_prior", covars, (n, n))
            case _:
                covars = broadcast("covars_prior", covars, (k, n, n))
        return GaussianPrior(
            for_states("means_prior", self.means_prior, k, n),
            for_states("means_weight", self.means_weight, k, n),
            covars,
            broadcast("covars_weight", weight, () if self.covariance_type == "tied" else (k,)),
            self.params,
            self.covariance_type == "tied",
        )

    def _emission_held(self, emissions: Any) -> GaussianPrior | None:
        if set("mc") <= set(self.params) or not set("mc") & set(self.params):
            return None
        tied = self.covariance_type == "tied"
        return GaussianPrior(0.0, 0.0, 0.0, 0.0, self.params, tied)

    def _emission_means(self, emissions: Any) -> np.ndarray:
        return np.asarray(emissions.mean)

    def _seen_by_kmeans(self, X: np.ndarray) -> np.ndarray:
        return X

    def _shown(self, X: np.ndarray) -> np.ndarray:
        return self._seen_by_kmeans(X)

    def _emission_parameters(self) -> dict[str, int]:
        k, n = self.n_components, self.n_features
        sizes = {"spherical": k, "diag": k * n, "full": k * n * (n + 1) // 2, "tied": n * (n + 1) // 2}
        return {"m": k * n, "c": sizes[self.covariance_type]}

    @property
    def _random_starts(self) -> int:
        return 0

    @property
    def _emission_remedy(self) -> None:
        return None

    @property
    def _tied(self) -> tuple[str, ...]:
        return ("covariance",) if self.covariance_type == "tied" else ()

    @property
    def _emission_letters(self) -> str:
        return "mc"

    # --- borders ------------------------------------------------------------------------------------------

    def _read_off(self, X: np.ndarray) -> None:
        """Keep nothing."""

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        if first:
            self._check_columns(X)
        return X

    @property
    def _width(self) -> float:
        return 0.0

    def _entries_of(self, values: np.ndarray) -> np.ndarray:
        return values

    def _shape_of(self, model: HiddenMarkovModel) -> dict[str, Any]:
        return {"n_features_in_": int(model.emissions.mean.shape[-1])}

    @classmethod
    def _parameters_of(cls, model: HiddenMarkovModel) -> dict[str, Any]:
        kinds = {SphericalGaussian: "spherical", DiagonalGaussian: "diag", Gaussian: "full"}
        found = hidden_markov(model, tuple(kinds), "a GaussianHMM needs Gaussians")
        kind = "tied" if "covariance" in model.tied else kinds[type(found)]
        return {"n_components": len(model.initial), "covariance_type": kind}


#: How many axes covariances of each type have.
_DIMENSIONS = {"spherical": 1, "diag": 2, "tied": 2, "full": 3}


def _checked(covars: np.ndarray, kind: str, k: int) -> np.ndarray:
    """Return covariances of the shape of their type; hmmlearn's words where they are not."""
    if kind not in _DIMENSIONS:
        raise ValueError(f"covariance_type must be one of {', '.join(map(repr, _DIMENSIONS))}; it is {kind!r}.")
    if kind == "spherical":
        covars = covars.reshape(len(covars), -1).mean(axis=1)
    if kind != "tied" and len(covars) != k:
        raise ValueError(f"{kind!r} covars have length n_components: it is {len(covars)}, and there are {k} states.")
    dimensions = _DIMENSIONS[kind]
    if covars.ndim != dimensions or (kind in ("tied", "full") and covars.shape[-1] != covars.shape[-2]):
        raise ValueError(f"{kind!r} covars have shape {covars.shape}, which is not one of matrices or variances.")
    if kind in ("spherical", "diag"):
        good = bool((covars > 0).all())
    else:
        good = np.allclose(covars, np.swapaxes(covars, -1, -2)) and bool((np.linalg.eigvalsh(covars) > 0).all())
    if not good:
        raise ValueError(f"{kind!r} covars must be {'positive' if dimensions < 2 else 'symmetric, positive-definite'}")
    return covars
