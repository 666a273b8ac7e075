"""Hidden Markov models that emit counts."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from kullback.estimators._columns import check_entries
from kullback.estimators._hidden_markov import (
    HMM_CONSTRAINTS,
    LAG,
    for_states,
    hidden_markov,
)
from kullback.estimators._hmm_columns import ColumnsHMM
from kullback.estimators._hmm_priors import PoissonPrior
from kullback.estimators._hmm_starts import RANDOM_STARTS, StateStart
from kullback.estimators._labeled import labeled
from kullback.estimators._sequences import Sequences
from kullback.families import Independent, Poisson
from kullback.models import HiddenMarkovModel


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

    _families = "poisson"

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
        self.n_components = n_components
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.lambdas_prior = lambdas_prior
        self.lambdas_weight = lambdas_weight
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
        return "lambdas_"

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        if first:
            self._check_columns(X)
        check_entries(X, "poisson")
        return X

    def _read_off(self, X: np.ndarray) -> None:
        """Keep nothing."""

    def _emissions_now(self) -> Any:
        found = self._for_each_column()
        if not (np.isfinite(found) & (found >= 0)).all():
            raise ValueError(f"lambdas_ must be finite and not negative; its entries are {found.tolist()}")
        return Independent(Poisson(found))

    def _emission_attributes(self, emissions: Any) -> dict[str, np.ndarray]:
        return {"lambdas_": np.asarray(emissions.columns.rate)}

    def _started_emissions(self, data: Sequences, start: StateStart) -> Any:
        if not self._starts("l", "lambdas_"):
            return self._emissions_now()
        blank = Independent(Poisson(np.ones((self.n_components, data.X.shape[1]))))
        return labeled(blank, data, start.shares)

    def _emission_prior(self, emissions: Any) -> PoissonPrior:
        shape = emissions.columns.rate.shape
        return PoissonPrior(
            for_states("lambdas_prior", self.lambdas_prior, *shape),
            for_states("lambdas_weight", self.lambdas_weight, *shape),
        )

    def _emission_held(self, emissions: Any) -> None:
        """Return nothing: they are learned or not as a whole."""

    def _emission_means(self, emissions: Any) -> np.ndarray:
        return np.asarray(emissions.columns.rate)

    def _seen_by_kmeans(self, X: np.ndarray) -> np.ndarray:
        return np.sqrt(X)

    def _shown(self, X: np.ndarray) -> np.ndarray:
        return self._seen_by_kmeans(X)

    def _emission_parameters(self) -> dict[str, int]:
        return {"l": int(np.size(self.lambdas_))}

    @property
    def _random_starts(self) -> int:
        return RANDOM_STARTS

    @property
    def _emission_remedy(self) -> str:
        return "lambdas_prior above 0"

    @property
    def _tied(self) -> tuple[str, ...]:
        return ()

    @property
    def _emission_letters(self) -> str:
        return "l"

    @property
    def _width(self) -> float:
        return 0.0

    def _entries_of(self, values: np.ndarray) -> np.ndarray:
        return values.astype(np.int64)

    def _shape_of(self, model: HiddenMarkovModel) -> dict[str, Any]:
        return {"n_features_in_": int(model.emissions.columns.rate.shape[-1])}

    @classmethod
    def _parameters_of(cls, model: HiddenMarkovModel) -> dict[str, Any]:
        found = hidden_markov(model, (Poisson,), "a PoissonHMM needs Poisson columns")
        if found.rate.ndim != 2:
            raise ValueError(
                "the model emits single numbers: a PoissonHMM needs Poisson columns, Independent(Poisson(…)) of shape "
                "(K, n)."
            )
        return {"n_components": len(model.initial)}
