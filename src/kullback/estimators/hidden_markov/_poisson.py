"""Hidden Markov models that emit counts."""

import dataclasses
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from kullback.estimators.data._sequences import Sequences
from kullback.estimators.hidden_markov._emission import Emission, ModelDescription, broadcast_columns, emissions_of
from kullback.estimators.hidden_markov._estimator import HMM_CONSTRAINTS, LAG
from kullback.estimators.hidden_markov._n_features import ColumnsHMM, column_parameters
from kullback.estimators.hidden_markov._priors import PoissonPrior
from kullback.estimators.hidden_markov._starts import StateStart, emissions_from_shares
from kullback.families import Independent, Poisson


@dataclasses.dataclass(frozen=True)
class PoissonEmission(Emission):
    """A Poisson distribution of each column."""

    lambdas_prior: Any
    lambdas_weight: Any
    _n_features: int | None = None

    families, letters, integers, remedy = "poisson", "l", True, "lambdas_prior above 0"

    def features(self, X: np.ndarray, holder: Any) -> np.ndarray:
        """Return roots of counts: their variance depends little on the rate."""
        return np.sqrt(X)

    def start(self, data: Sequences, start: StateStart, holder: Any) -> Any:
        """Return the mean counts of the shares of the rows."""
        if not self.starts("l", "lambdas_", holder):
            return self.from_attributes(holder)
        blank = Independent(Poisson(np.ones((self.n_components, data.X.shape[1]))))
        return emissions_from_shares(blank, data, start)

    def from_attributes(self, holder: Any) -> Any:
        """Return the distributions of these rates."""
        found = column_parameters("lambdas_", holder, self.n_components, self._n_features)
        if not (np.isfinite(found) & (found >= 0)).all():
            raise ValueError(f"lambdas_ must be finite and not negative; its entries are {found.tolist()}")
        return Independent(Poisson(found))

    def attributes(self, emissions: Any) -> dict[str, np.ndarray]:
        """Return the rates."""
        return {"lambdas_": np.asarray(emissions.columns.rate)}

    def prior(self, emissions: Any, first: bool) -> PoissonPrior | None:
        """Return the gamma prior of the rates."""
        if not first:
            return None
        shape = emissions.columns.rate.shape
        return PoissonPrior(
            broadcast_columns("lambdas_prior", self.lambdas_prior, *shape),
            broadcast_columns("lambdas_weight", self.lambdas_weight, *shape),
        )

    def count_parameters(self, holder: Any) -> dict[str, int]:
        """Return the number of rates."""
        return {"l": int(np.size(holder.lambdas_))}

    @classmethod
    def describe(cls, model: Any) -> ModelDescription:
        """Return what Poisson columns say."""
        found = emissions_of(model, (Poisson,), "a PoissonHMM needs Poisson columns")
        if found.rate.ndim != 2:
            raise ValueError(
                "the model emits single numbers: a PoissonHMM needs Poisson columns, Independent(Poisson(…)) of shape "
                "(K, n)."
            )
        return ModelDescription({"n_components": len(model.initial)}, {"n_features_in_": int(found.rate.shape[-1])})


class PoissonHMM(ColumnsHMM):
    """A hidden Markov model whose states emit counts: hmmlearn's `PoissonHMM`, and more.

    Code written for hmmlearn's class runs unchanged when only the import changes. What is new on top of it is listed at
    `GaussianHMM`.

    Parameters
    ----------
    n_components : int
        The number of states.
    startprob_prior, transmat_prior : float or array
        Parameters of Dirichlet priors.
    lambdas_prior, lambdas_weight : float or array
        α and β of the gamma prior of the rates.
    params, init_params : str
        What is learned, and what is started: 's' for startprob, 't' for transmat, 'l' for lambdas.
    algorithm, random_state, n_iter, tol, verbose, implementation, n_init, rate, lag
        As in `GaussianHMM`; the start is chosen as in `CategoricalHMM`.

    Attributes
    ----------
    n_features : int
        The number of columns; it may be set before there are parameters.
    startprob_ : ndarray of shape (n_components,)
    transmat_ : ndarray of shape (n_components, n_components)
    lambdas_ : ndarray of shape (n_components, n_features)
    monitor_ : ConvergenceMonitor

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.poisson(rate, (100, 1)) for rate in (2, 20, 2, 20)])
    >>> hmm = PoissonHMM(n_components=2, random_state=0).fit(X)
    >>> np.sort(hmm.lambdas_.ravel()).round().tolist()
    [2.0, 20.0]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **HMM_CONSTRAINTS,
        "lambdas_prior": [Real, "array-like"],
        "lambdas_weight": [Real, "array-like"],
    }

    _emission_type, _column_attribute = PoissonEmission, "lambdas_"

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        lambdas_prior: Any = 0.0,
        lambdas_weight: Any = 0.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stl",
        init_params: str = "stl",
        implementation: str = "log",
        *,
        n_init: int = 1,
        rate: Any = None,
        lag: int = LAG,
    ):
        self._set_chain(n_components, startprob_prior, transmat_prior, params, init_params)
        self._set_learning(algorithm, random_state, n_iter, tol, verbose, implementation, n_init, rate, lag)
        self.lambdas_prior = lambdas_prior
        self.lambdas_weight = lambdas_weight
