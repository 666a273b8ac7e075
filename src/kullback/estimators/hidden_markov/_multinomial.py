"""Hidden Markov models that emit counts of categories."""

import dataclasses
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from kullback.estimators.constraints import Interval
from kullback.estimators.data._sequences import Sequences
from kullback.estimators.hidden_markov._emission import (
    Emission,
    ModelDescription,
    check_rows_sum_to_1,
    emissions_of,
    normalize,
)
from kullback.estimators.hidden_markov._estimator import HMM_CONSTRAINTS, LAG
from kullback.estimators.hidden_markov._n_features import ColumnsHMM, column_parameters
from kullback.estimators.hidden_markov._starts import StateStart, emissions_from_shares
from kullback.families import is_count
from kullback.models import Counts
from kullback.runtime import as_numpy, in_float64


@dataclasses.dataclass(frozen=True)
class MultinomialEmission(Emission):
    """Counts of categories, of any total."""

    n_trials: Any
    _n_features: int | None = None

    families, integers = "multinomial", True

    def check(self, X: np.ndarray, holder: Any, first: bool) -> None:
        """Raise unless rows are counts, there or missing as a whole; hmmlearn's words."""
        with np.errstate(invalid="ignore"):
            if not (is_count(X) | np.isnan(X)).all():
                raise ValueError("Symbol counts should be nonnegative integers")
        absent = np.isnan(X)
        some = absent.any(axis=1) & ~absent.all(axis=1)
        if some.any():
            raise ValueError(f"X[{int(np.argmax(some))}] lacks some counts: a row is there or missing as a whole.")
        if first and self.n_trials is not None and not self._has_totals(X.sum(axis=1)):
            raise ValueError("Total count for each sample should add up to the number of trials")

    def _has_totals(self, totals: np.ndarray) -> bool:
        given = np.asarray(self.n_trials)
        return given.shape in ((), totals.shape) and bool((np.isnan(totals) | (totals == given)).all())

    def read(self, X: np.ndarray, holder: Any) -> dict[str, Any]:
        """Return the average total, for emissions that are set by hand."""
        if hasattr(holder, "totals_"):
            return {}
        totals = X.sum(axis=1)
        return {"totals_": np.full(self.n_components, totals[~np.isnan(totals)].mean())}

    def features(self, X: np.ndarray, holder: Any) -> np.ndarray:
        """Return shares of the total."""
        return X / np.maximum(X.sum(axis=1, keepdims=True), 1)

    def start(self, data: Sequences, start: StateStart, holder: Any) -> Any:
        """Return the counts of the shares of the rows."""
        if not self.starts("e", "emissionprob_", holder):
            return self.from_attributes(holder)
        k, n = self.n_components, data.X.shape[1]
        return emissions_from_shares(Counts(np.full((k, n), 1 / n)), data, start)

    @in_float64
    def from_attributes(self, holder: Any) -> Any:
        """Return the probabilities, with totals that were seen or are the number of trials."""
        found = column_parameters("emissionprob_", holder, self.n_components, self._n_features)
        check_rows_sum_to_1("emissionprob_", found)
        if self.n_trials is None and not hasattr(holder, "totals_"):
            raise ValueError("n_trials must be set")
        totals = holder.totals_ if hasattr(holder, "totals_") else np.full(len(found), np.mean(self.n_trials))
        return as_numpy(Counts(normalize(found), np.asarray(totals, dtype=np.float64)))

    def attributes(self, emissions: Any) -> dict[str, np.ndarray]:
        """Return probabilities and totals."""
        return {"emissionprob_": np.asarray(emissions.probabilities), "totals_": np.asarray(emissions.total)}

    def count_parameters(self, holder: Any) -> dict[str, int]:
        """Return the number of probabilities, but for one of each state."""
        return {"e": self.n_components * (np.shape(holder.emissionprob_)[1] - 1)}

    @classmethod
    def describe(cls, model: Any) -> ModelDescription:
        """Return what counts say."""
        found = emissions_of(model, (Counts,), "a MultinomialHMM needs Counts")
        columns = int(found.probabilities.shape[-1])
        return ModelDescription({"n_components": len(model.initial)}, {"n_features_in_": columns})


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

    _emission_type, _column_attribute = MultinomialEmission, "emissionprob_"

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
        self._set_chain(n_components, startprob_prior, transmat_prior, params, init_params)
        self._set_learning(algorithm, random_state, n_iter, tol, verbose, implementation, n_init, rate, lag)
        self.n_trials = n_trials

    def sample(
        self, n_samples: int = 1, random_state: Any = None, currstate: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw one sequence and its states; `currstate` is the state it begins in."""
        drawn = super().sample(n_samples, random_state, currstate)
        totals = getattr(self, "totals_", self.n_trials)
        if not np.allclose(totals, np.round(np.ravel(totals)[0]), rtol=1e-9):
            raise ValueError("For sampling, a single n_trials must be given")
        return drawn
