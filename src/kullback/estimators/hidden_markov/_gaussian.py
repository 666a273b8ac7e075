"""Hidden Markov models with Gaussian emissions: hmmlearn's, and more."""

import dataclasses
import types
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from kullback.estimators.constraints import Interval, StrOptions
from kullback.estimators.data._sequences import Sequences
from kullback.estimators.hidden_markov._emission import (
    Emission,
    ModelDescription,
    broadcast,
    broadcast_columns,
    emissions_of,
)
from kullback.estimators.hidden_markov._estimator import HMM_CONSTRAINTS, LAG
from kullback.estimators.hidden_markov._n_features import ColumnsHMM
from kullback.estimators.hidden_markov._priors import GaussianPrior, covariance_of
from kullback.estimators.hidden_markov._starts import StateStart, mean_by_label
from kullback.families import DiagonalGaussian, Gaussian, SphericalGaussian

#: The family of each type of covariances.
_FAMILIES: dict[str, Any] = {
    "spherical": SphericalGaussian,
    "diag": DiagonalGaussian,
    "tied": Gaussian,
    "full": Gaussian,
}


@dataclasses.dataclass(frozen=True)
class GaussianEmission(Emission):
    """Gaussians with covariances of one type."""

    covariance_type: str
    min_covar: float
    means_prior: Any
    means_weight: Any
    covars_prior: Any
    covars_weight: Any

    families, letters = "diagonal_gaussian", "mc"

    @property
    def tied(self) -> tuple[str, ...]:
        """The covariance, if all states have one."""
        return ("covariance",) if self.covariance_type == "tied" else ()

    def start(self, data: Sequences, start: StateStart, holder: Any) -> Any:
        """Return the means of clusters, all with the covariance within clusters."""
        n, k, found = len(data.absent), self.n_components, types.SimpleNamespace(**vars(holder))
        means, covariances = self.starts("m", "means_", holder), self.starts("c", "covariances_", holder)
        if means or covariances:
            rows, labels = data.rows.filled(), start.shares.argmax(axis=1)
            centers = mean_by_label(rows, labels, k)
        if means:
            found.means_ = centers
        if covariances:
            away = rows - centers[labels]
            within = away.T @ away / len(rows) + self.min_covar * np.eye(n)
            variances = np.diagonal(within)
            found.covariances_ = {
                "spherical": np.full(k, variances.mean()),
                "diag": np.tile(variances, (k, 1)),
                "tied": within,
                "full": np.tile(within, (k, 1, 1)),
            }[self.covariance_type]
        if np.shape(found.means_)[1:] != (n,):
            raise ValueError(f"X has {n} features, and means_ has shape {np.shape(found.means_)}.")
        return self.from_attributes(found)

    def from_attributes(self, holder: Any) -> Any:
        """Return the Gaussians of these means and covariances."""
        means, covariances = np.asarray(holder.means_, dtype=np.float64), holder.covariances_
        if means.ndim != 2 or len(means) != self.n_components:
            raise ValueError(f"means_ has shape {means.shape}: it must be ({self.n_components}, n_features).")
        if not np.isfinite(means).all():
            raise ValueError(f"means_ must be finite; its entries are {means.tolist()}")
        if self.covariance_type == "tied":
            covariances = np.tile(covariances, (self.n_components, 1, 1))
        return _FAMILIES[self.covariance_type](means, covariances)

    def attributes(self, emissions: Any) -> dict[str, np.ndarray]:
        """Return means, and covariances in the shape of their type."""
        covariances = np.asarray(covariance_of(emissions))
        return {"means_": np.asarray(emissions.mean), "covariances_": covariances[0] if self.tied else covariances}

    def prior(self, emissions: Any, first: bool) -> GaussianPrior | None:
        """Return the priors of means and covariances; later, if one of them is not learned, what keeps it."""
        if not first:
            one = len(set("mc") & set(self.params)) == 1
            return GaussianPrior(0.0, 0.0, 0.0, 0.0, self.params, bool(self.tied)) if one else None
        k, n = emissions.mean.shape
        if self.covariance_type in ("spherical", "diag"):
            covars = broadcast_columns("covars_prior", self.covars_prior, k, n)
            covars = covars if self.covariance_type == "diag" else covars.mean(axis=1)
        else:
            covars = broadcast("covars_prior", self.covars_prior, (n, n) if self.tied else (k, n, n))
        return GaussianPrior(
            broadcast_columns("means_prior", self.means_prior, k, n),
            broadcast_columns("means_weight", self.means_weight, k, n),
            covars,
            broadcast("covars_weight", self.covars_weight, () if self.tied else (k,)),
            self.params,
            bool(self.tied),
        )

    def count_parameters(self, holder: Any) -> dict[str, int]:
        """Return the numbers of means and of covariances."""
        k, n = np.shape(holder.means_)
        sizes = {"spherical": k, "diag": k * n, "full": k * n * (n + 1) // 2, "tied": n * (n + 1) // 2}
        return {"m": k * n, "c": sizes[self.covariance_type]}

    @classmethod
    def describe(cls, model: Any) -> ModelDescription:
        """Return what Gaussians say."""
        kinds = {SphericalGaussian: "spherical", DiagonalGaussian: "diag", Gaussian: "full"}
        found = emissions_of(model, tuple(kinds), "a GaussianHMM needs Gaussians")
        kind = "tied" if "covariance" in model.tied else kinds[type(found)]
        return ModelDescription(
            {"n_components": len(model.initial), "covariance_type": kind},
            {"n_features_in_": int(found.mean.shape[-1])},
        )


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

    _emission_type, _column_attribute = GaussianEmission, "means_"

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
        self._set_chain(n_components, startprob_prior, transmat_prior, params, init_params)
        self._set_learning(algorithm, random_state, n_iter, tol, verbose, implementation, n_init, rate, lag)
        self.covariance_type = covariance_type
        self.min_covar = min_covar
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight

    @property
    def covars_(self) -> np.ndarray:
        """The covariance matrix of each state."""
        covariances = self.covariances_
        if self.covariance_type in ("spherical", "diag"):
            return covariances.reshape(len(covariances), 1, -1) * np.eye(self.n_features)
        return np.tile(covariances, (self.n_components, 1, 1)) if self.covariance_type == "tied" else covariances

    @covars_.setter
    def covars_(self, covars: Any) -> None:
        self.covariances_ = _check_covariances(
            np.array(covars, dtype=np.float64), self.covariance_type, self.n_components
        )


#: How many axes covariances of each type have.
_DIMENSIONS = {"spherical": 1, "diag": 2, "tied": 2, "full": 3}


def _check_covariances(covars: np.ndarray, kind: str, k: int) -> np.ndarray:
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
