"""Hidden Markov models that emit counts of categories."""

from numbers import Integral
from typing import Any, ClassVar

import jax
import numpy as np

from kullback.estimators._hidden_markov import (
    HMM_CONSTRAINTS,
    LAG,
    check_rows_sum_to_1,
    hidden_markov,
    summing_to_1,
)
from kullback.estimators._hmm_columns import ColumnsHMM
from kullback.estimators._hmm_starts import RANDOM_STARTS, StateStart
from kullback.estimators._labeled import labeled
from kullback.estimators._sequences import Sequences
from kullback.estimators.constraints import Interval
from kullback.families import is_count
from kullback.models import Counts, HiddenMarkovModel
from kullback.runtime import computing


class MultinomialHMM(ColumnsHMM):
    """A hidden Markov model whose states emit counts of categories: hmmlearn's `MultinomialHMM`, and more.

    A row of X has the count of each category. Code written for hmmlearn's class runs unchanged when only the import
    changes. What is new on top of it is listed at `GaussianHMM`.

    Parameters
    ----------
    n_components : int
        The number of states.
    n_trials : int, array of int or None
        What the rows sum to, all alike or row by row; a fit to rows that do not is refused. None takes rows of all
        totals.
    startprob_prior, transmat_prior : float or array
        Parameters of Dirichlet priors.
    params, init_params : str
        What is learned, and what is started: 's' for startprob, 't' for transmat, 'e' for emissionprob.
    algorithm, random_state, n_iter, tol, verbose, implementation, n_init, rate, lag
        As in `GaussianHMM`; the start is chosen as in `CategoricalHMM`.

    Attributes
    ----------
    n_features : int
        The number of columns; it may be set before there are parameters.
    startprob_ : ndarray of shape (n_components,)
    transmat_ : ndarray of shape (n_components, n_components)
    emissionprob_ : ndarray of shape (n_components, n_features)
    totals_ : ndarray of shape (n_components,)
        The average total of the rows of each state.
    monitor_ : ConvergenceMonitor

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.multinomial(9, p, 100) for p in ([0.8, 0.1, 0.1], [0.1, 0.1, 0.8]) * 2])
    >>> hmm = MultinomialHMM(n_components=2, random_state=0).fit(X)
    >>> hmm.emissionprob_.max(axis=1).round(1).tolist()
    [0.8, 0.8]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **HMM_CONSTRAINTS,
        "n_trials": [Interval(Integral, 1, None, closed="left"), "array-like", None],
    }

    _families = "multinomial"

    def __init__(
        self,
        n_components: int = 1,
        n_trials: Any = None,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
        implementation: str = "log",
        *,
        n_init: int = 1,
        rate: Any = None,
        lag: int = LAG,
    ):
        self.n_components = n_components
        self.n_trials = n_trials
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
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
        return "emissionprob_"

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        if first:
            self._check_columns(X)
        with np.errstate(invalid="ignore"):
            if not (is_count(X) | np.isnan(X)).all():
                raise ValueError("Symbol counts should be nonnegative integers")
        absent = np.isnan(X)
        some = absent.any(axis=1) & ~absent.all(axis=1)
        if some.any():
            raise ValueError(f"X[{int(np.argmax(some))}] lacks some counts: a row is there or missing as a whole.")
        if first and self.n_trials is not None and not self._has_totals(X.sum(axis=1)):
            raise ValueError("Total count for each sample should add up to the number of trials")
        return X

    def _has_totals(self, totals: np.ndarray) -> bool:
        given = np.asarray(self.n_trials)
        return given.shape in ((), totals.shape) and bool((np.isnan(totals) | (totals == given)).all())

    def _read_off(self, X: np.ndarray) -> None:
        """Keep the average total, where emissions are set by hand."""
        if not hasattr(self, "totals_"):
            totals = X.sum(axis=1)
            self.totals_ = np.full(self.n_components, totals[~np.isnan(totals)].mean())

    def _emissions_now(self) -> Any:
        found = self._for_each_column()
        check_rows_sum_to_1("emissionprob_", found)
        if self.n_trials is None and not hasattr(self, "totals_"):
            raise ValueError("n_trials must be set")
        totals = self.totals_ if hasattr(self, "totals_") else np.full(len(found), np.mean(self.n_trials))
        with computing():
            counts = Counts(summing_to_1(found), np.asarray(totals, dtype=np.float64))
            return jax.tree.map(np.asarray, counts)

    def _emission_attributes(self, emissions: Any) -> dict[str, np.ndarray]:
        return {"emissionprob_": np.asarray(emissions.probabilities), "totals_": np.asarray(emissions.total)}

    def _started_emissions(self, data: Sequences, start: StateStart) -> Any:
        if not self._starts("e", "emissionprob_"):
            return self._emissions_now()
        k, n = self.n_components, data.X.shape[1]
        return labeled(Counts(np.full((k, n), 1 / n)), data, start.shares)

    def _emission_prior(self, emissions: Any) -> None:
        """Return nothing: hmmlearn has no prior of these."""

    def _emission_held(self, emissions: Any) -> None:
        """Return nothing: they are learned or not as a whole."""

    def _emission_means(self, emissions: Any) -> np.ndarray:
        return np.asarray(emissions.total)[:, None] * np.asarray(emissions.probabilities)

    def _seen_by_kmeans(self, X: np.ndarray) -> np.ndarray:
        return X / np.maximum(X.sum(axis=1, keepdims=True), 1)

    def _shown(self, X: np.ndarray) -> np.ndarray:
        return self._seen_by_kmeans(X)

    def _emission_parameters(self) -> dict[str, int]:
        return {"e": self.n_components * (np.shape(self.emissionprob_)[1] - 1)}

    @property
    def _random_starts(self) -> int:
        return RANDOM_STARTS

    @property
    def _emission_remedy(self) -> None:
        return None

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
        totals = getattr(self, "totals_", self.n_trials)
        if not np.allclose(totals, np.round(np.ravel(totals)[0]), rtol=1e-9):
            raise ValueError("For sampling, a single n_trials must be given")
        return values.astype(np.int64)

    def _shape_of(self, model: HiddenMarkovModel) -> dict[str, Any]:
        return {"n_features_in_": int(model.emissions.probabilities.shape[-1])}

    @classmethod
    def _parameters_of(cls, model: HiddenMarkovModel) -> dict[str, Any]:
        hidden_markov(model, (Counts,), "a MultinomialHMM needs Counts")
        return {"n_components": len(model.initial)}
