"""Hidden Markov models that emit symbols."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from kullback.estimators._columns import count_categories
from kullback.estimators._hidden_markov import (
    HMM_CONSTRAINTS,
    LAG,
    HiddenMarkovEstimator,
    broadcast,
    check_rows_sum_to_1,
    hidden_markov,
    summing_to_1,
)
from kullback.estimators._hmm_priors import CategoricalPrior
from kullback.estimators._hmm_starts import RANDOM_STARTS, StateStart
from kullback.estimators._labeled import labeled
from kullback.estimators._sequences import Sequences
from kullback.estimators.constraints import Interval
from kullback.families import Categorical, Independent, is_whole
from kullback.models import HiddenMarkovModel


class CategoricalHMM(HiddenMarkovEstimator):
    """A hidden Markov model whose states emit symbols: hmmlearn's `CategoricalHMM`, and more.

    X has one column of symbols 0, 1, 2, … Code written for hmmlearn's class runs unchanged when only the import
    changes. What is new on top of it is listed at `GaussianHMM`.

    Parameters
    ----------
    n_components : int
        The number of states.
    startprob_prior, transmat_prior, emissionprob_prior : float or array
        Parameters of Dirichlet priors. A symbol that was never seen has probability 0, and data with it the
        log-likelihood −inf, unless `emissionprob_prior` is above 1.
    n_features : int or None
        The number of symbols; None reads it off the first X. A stream whose first piece may lack symbols needs it.
    params, init_params : str
        What is learned, and what is started: 's' for startprob, 't' for transmat, 'e' for emissionprob.
    n_init : int
        How many runs of EM there are; the best is kept. Each begins with the best of nine starts, clusters of rows and
        eight at random, compared after five steps on up to 4,096 rows: where states look alike, clusters mislead.
    algorithm, random_state, n_iter, tol, verbose, implementation, rate, lag
        As in `GaussianHMM`.

    Attributes
    ----------
    startprob_ : ndarray of shape (n_components,)
    transmat_ : ndarray of shape (n_components, n_components)
    emissionprob_ : ndarray of shape (n_components, n_features)
    monitor_ : ConvergenceMonitor

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.choice(3, (200, 1), p=p) for p in ([0.8, 0.1, 0.1], [0.1, 0.1, 0.8]) * 2])
    >>> hmm = CategoricalHMM(n_components=2, random_state=0, n_iter=50).fit(X)
    >>> hmm.emissionprob_.max(axis=1).round(1).tolist()
    [0.8, 0.8]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **HMM_CONSTRAINTS,
        "emissionprob_prior": [Real, "array-like"],
        "n_features": [Interval(Integral, 1, None, closed="left"), None],
    }

    _families = "categorical"

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        *,
        emissionprob_prior: Any = 1.0,
        n_features: Any = None,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
        implementation: str = "log",
        n_init: int = 1,
        rate: Any = None,
        lag: int = LAG,
    ):
        self.n_components = n_components
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.emissionprob_prior = emissionprob_prior
        self.n_features = n_features
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

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        if X.shape[1] != 1:
            raise ValueError(f"X has {X.shape[1]} columns: a CategoricalHMM takes one column of symbols.")
        with np.errstate(invalid="ignore"):
            if (X < 0).any():
                raise ValueError("Symbols should be nonnegative")
            if not (is_whole(X) | np.isnan(X)).all():
                raise ValueError("Symbols should be integers")
        many = self.n_features
        if many is None and not first and hasattr(self, "emissionprob_"):
            many = self._emissions_now().columns.probabilities.shape[-1]
        if many is None:
            _symbols(X)
        elif X.size and np.nanmax(X, initial=0) >= many:
            raise ValueError(f"Largest symbol is {np.nanmax(X):.0f} but the model only emits symbols up to {many - 1}")
        return X

    def _read_off(self, X: np.ndarray) -> None:
        """Keep the number of symbols; as in hmmlearn, it becomes the parameter."""
        if self.n_features is None:
            kept = 0 if self._starts("e", "emissionprob_") else np.shape(self.emissionprob_)[-1]
            self.n_features = max(_symbols(X), kept)

    def _emissions_now(self) -> Any:
        found = np.atleast_2d(np.asarray(self.emissionprob_, dtype=np.float64))
        many = found.shape[-1] if self.n_features is None else self.n_features
        if found.shape != (self.n_components, many) or many == 0:
            raise ValueError(f"emissionprob_ must have shape ({self.n_components}, {many}); it has {found.shape}")
        check_rows_sum_to_1("emissionprob_", found)
        self.n_features = many  # as in hmmlearn
        return Independent(Categorical(summing_to_1(found)[:, None, :]))

    def _emission_attributes(self, emissions: Any) -> dict[str, np.ndarray]:
        return {"emissionprob_": np.asarray(emissions.columns.probabilities)[:, 0, :]}

    def _started_emissions(self, data: Sequences, start: StateStart) -> Any:
        k, n = self.n_components, self.n_features
        if not self._starts("e", "emissionprob_"):
            return self._emissions_now()
        blank = Independent(Categorical(np.full((k, 1, n), 1 / n)))
        return labeled(blank, data, start.shares)

    def _emission_prior(self, emissions: Any) -> CategoricalPrior:
        shape = (self.n_components, self.n_features)
        return CategoricalPrior(broadcast("emissionprob_prior", self.emissionprob_prior, shape))

    def _emission_held(self, emissions: Any) -> None:
        """Return nothing: they are learned or not as a whole."""

    def _emission_means(self, emissions: Any) -> np.ndarray:
        return np.asarray(emissions.columns.probabilities)[:, 0, :]

    def _seen_by_kmeans(self, X: np.ndarray) -> np.ndarray:
        return _neighborhood(self._shown(X))

    def _shown(self, X: np.ndarray) -> np.ndarray:
        return Categorical.cluster_view(X[:, 0], self.n_features)

    def _emission_parameters(self) -> dict[str, int]:
        return {"e": self.n_components * (np.shape(self.emissionprob_)[1] - 1)}

    @property
    def _random_starts(self) -> int:
        return RANDOM_STARTS

    @property
    def _emission_remedy(self) -> str:
        return "emissionprob_prior above 1"

    @property
    def _tied(self) -> tuple[str, ...]:
        return ()

    @property
    def _emission_letters(self) -> str:
        return "e"

    @property
    def _width(self) -> float:
        return 0.0

    def _entries_of(self, values: np.ndarray) -> np.ndarray:
        return values.astype(np.int64)

    def _shape_of(self, model: HiddenMarkovModel) -> dict[str, Any]:
        return {"n_features_in_": 1}

    @classmethod
    def _parameters_of(cls, model: HiddenMarkovModel) -> dict[str, Any]:
        found = hidden_markov(model, (Categorical,), "a CategoricalHMM needs one categorical column")
        if found.probabilities.ndim != 3 or found.probabilities.shape[1] != 1:
            raise ValueError(
                f"the model emits probabilities of shape {found.probabilities.shape}: a CategoricalHMM needs one "
                "categorical column, Independent(Categorical(…)) of shape (K, 1, n)."
            )
        return {"n_components": len(model.initial), "n_features": found.probabilities.shape[-1]}


def _symbols(X: np.ndarray) -> int:
    """Return one more than the largest symbol."""
    return max(count_categories(X, "X"), 1)


def _neighborhood(indicators: np.ndarray, reach: int = 5) -> np.ndarray:
    """Return how often each symbol occurs near each row: a single symbol says little of the state."""
    window = np.ones(2 * min(reach, (len(indicators) - 1) // 2) + 1)
    count = np.convolve(np.ones(len(indicators)), window, mode="same")
    return np.stack([np.convolve(column, window, mode="same") for column in indicators.T], axis=1) / count[:, None]
