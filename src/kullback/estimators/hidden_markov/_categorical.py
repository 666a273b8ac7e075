"""Hidden Markov models that emit symbols."""

import dataclasses
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from kullback.estimators.constraints import Interval
from kullback.estimators.data._columns import count_categories
from kullback.estimators.data._sequences import Sequences
from kullback.estimators.hidden_markov._emission import (
    Emission,
    ModelDescription,
    broadcast,
    check_rows_sum_to_1,
    emissions_of,
    normalize,
)
from kullback.estimators.hidden_markov._estimator import HMM_CONSTRAINTS, LAG, HiddenMarkovEstimator
from kullback.estimators.hidden_markov._priors import CategoricalPrior
from kullback.estimators.hidden_markov._starts import StateStart, emissions_from_shares
from kullback.families import Categorical, Independent, is_whole
from kullback.models import HiddenMarkovModel


@dataclasses.dataclass(frozen=True)
class CategoricalEmission(Emission):
    """One column of symbols."""

    emissionprob_prior: Any
    n_features: int | None

    families, integers, remedy = "categorical", True, "emissionprob_prior above 1"
    neighbors = 5  # a single symbol says little of the state

    def check(self, X: np.ndarray, holder: Any, first: bool) -> None:
        """Raise unless X is one column of symbols that are known; hmmlearn's words."""
        if X.shape[1] != 1:
            raise ValueError(f"X has {X.shape[1]} columns: a CategoricalHMM takes one column of symbols.")
        with np.errstate(invalid="ignore"):
            if (X < 0).any():
                raise ValueError("Symbols should be nonnegative")
            if not (is_whole(X) | np.isnan(X)).all():
                raise ValueError("Symbols should be integers")
        many = self.n_features
        if many is None and not first and hasattr(holder, "emissionprob_"):
            many = self.from_attributes(holder).columns.probabilities.shape[-1]
        if many is None:
            _count_symbols(X)
        elif X.size and np.nanmax(X, initial=0) >= many:
            raise ValueError(f"Largest symbol is {np.nanmax(X):.0f} but the model only emits symbols up to {many - 1}")

    def read(self, X: np.ndarray, holder: Any) -> dict[str, Any]:
        """Return the number of symbols; as in hmmlearn, it becomes the parameter."""
        if self.n_features is not None:
            return {}
        known = 0 if self.starts("e", "emissionprob_", holder) else np.shape(holder.emissionprob_)[-1]
        return {"n_features": max(_count_symbols(X), known, *holder.known_categories)}

    def features(self, X: np.ndarray, holder: Any) -> np.ndarray:
        """Return an indicator of each symbol."""
        assert self.n_features is not None  # it was read
        return Categorical.cluster_view(X[:, 0], self.n_features)

    def start(self, data: Sequences, start: StateStart, holder: Any) -> Any:
        """Return the frequencies of symbols in the shares of the rows."""
        if not self.starts("e", "emissionprob_", holder):
            return self.from_attributes(holder)
        assert self.n_features is not None  # it was read
        blank = Independent(Categorical(np.full((self.n_components, 1, self.n_features), 1 / self.n_features)))
        return emissions_from_shares(blank, data, start)

    def from_attributes(self, holder: Any) -> Any:
        """Return the distributions of the one column."""
        found = np.atleast_2d(np.asarray(holder.emissionprob_, dtype=np.float64))
        many = found.shape[-1] if self.n_features is None else self.n_features
        if found.shape != (self.n_components, many) or many == 0:
            raise ValueError(f"emissionprob_ must have shape ({self.n_components}, {many}); it has {found.shape}")
        check_rows_sum_to_1("emissionprob_", found)
        return Independent(Categorical(normalize(found)[:, None, :]))

    def attributes(self, emissions: Any) -> dict[str, np.ndarray]:
        """Return the probabilities of the one column."""
        return {"emissionprob_": self.means(emissions)}

    def prior(self, emissions: Any, first: bool) -> CategoricalPrior | None:
        """Return the Dirichlet prior of the probabilities."""
        shape = self.means(emissions).shape
        return CategoricalPrior(broadcast("emissionprob_prior", self.emissionprob_prior, shape)) if first else None

    def means(self, emissions: Any) -> np.ndarray:
        """Return the probability of each symbol."""
        return np.asarray(emissions.columns.probabilities)[:, 0, :]

    def count_parameters(self, holder: Any) -> dict[str, int]:
        """Return the number of probabilities, but for one of each state."""
        return {"e": self.n_components * (np.shape(holder.emissionprob_)[1] - 1)}

    @classmethod
    def describe(cls, model: Any) -> ModelDescription:
        """Return what one categorical column says."""
        found = emissions_of(model, (Categorical,), "a CategoricalHMM needs one categorical column").probabilities
        if found.ndim != 3 or found.shape[1] != 1:
            raise ValueError(
                f"the model emits probabilities of shape {found.shape}: a CategoricalHMM needs one "
                "categorical column, Independent(Categorical(…)) of shape (K, 1, n)."
            )
        return ModelDescription(
            {"n_components": len(model.initial), "n_features": found.shape[-1]}, {"n_features_in_": 1}
        )


def _count_symbols(X: np.ndarray) -> int:
    return max(count_categories(X, "X"), 1)


class CategoricalHMM(HiddenMarkovEstimator):
    """A hidden Markov model whose states emit symbols: hmmlearn's `CategoricalHMM`, and more.

    X has one column of symbols, as text or 0, 1, 2, … Code written for hmmlearn's class runs unchanged when only the
    import changes. What is new on top of it is listed at `GaussianHMM`.

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
        eight at random, compared after five steps on all rows, or on 4,096 of many: where states look alike, clusters
        mislead.
    algorithm, random_state, n_iter, tol, verbose, implementation, rate, lag
        As in `GaussianHMM`.

    Attributes
    ----------
    startprob_ : ndarray of shape (n_components,)
    transmat_ : ndarray of shape (n_components, n_components)
    emissionprob_ : ndarray of shape (n_components, n_features)
    categories_ : dict
        Where symbols are text: these, by the name of the column, in the order of their numbers.
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

    _emission_type = CategoricalEmission

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
        self._set_chain(n_components, startprob_prior, transmat_prior, params, init_params)
        self._set_learning(algorithm, random_state, n_iter, tol, verbose, implementation, n_init, rate, lag)
        self.emissionprob_prior = emissionprob_prior
        self.n_features = n_features

    @property
    def _category_room(self) -> Any:
        return [self.n_features]

    @property
    def _category_limit(self) -> Any:
        return self.n_features

    def to_model(self) -> HiddenMarkovModel:
        """Return the fitted model, with NumPy arrays."""
        model = super().to_model()
        self.n_features = np.shape(model.emissions.columns.probabilities)[-1]  # as in hmmlearn
        return model
