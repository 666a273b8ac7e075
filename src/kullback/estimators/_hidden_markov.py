"""What every hidden Markov model behind hmmlearn's door does."""

import abc
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import jax
import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from kullback.estimators._hmm_priors import HiddenMarkovPrior
from kullback.estimators._model_estimator import all_or_nothing
from kullback.estimators._monitor import ConvergenceMonitor
from kullback.estimators._sequence_estimator import SequenceEstimator
from kullback.estimators._sequences import Sequences, padded_steps
from kullback.families import Batch
from kullback.learning import sized_jit
from kullback.models import HiddenMarkovModel

HMM_CONSTRAINTS: dict[str, list[Any]] = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "startprob_prior": [Real, "array-like"],
    "transmat_prior": [Real, "array-like"],
    "algorithm": [StrOptions({"viterbi", "map"})],
    "random_state": ["random_state"],
    "n_iter": [Interval(Integral, 0, None, closed="left")],
    "tol": [Real],
    "verbose": ["verbose"],
    "params": [str],
    "init_params": [str],
    "implementation": [StrOptions({"log", "scaling"})],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "rate": [Interval(Real, 0.0, 1.0, closed="right"), callable, None],
    "lag": [Interval(Integral, 0, None, closed="left")],
}
#: Steps that a piece of a series waits for what comes after it.
LAG = 20


class StateForecast(NamedTuple):
    """What is expected after the end of a series, step by step."""

    states: np.ndarray
    mean: np.ndarray


class HiddenMarkovEstimator(SequenceEstimator):
    """A hidden Markov model with hmmlearn's parameters, attributes_ and methods. A subclass says what is emitted."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = HMM_CONSTRAINTS

    # --- what a subclass says ---------------------------------------------------------------------------

    @abc.abstractmethod
    def _started_emissions(self, data: Sequences, labels: np.ndarray) -> Any:
        """Return emissions of each state from rows with labels; those that are not in `init_params` as they are."""

    @abc.abstractmethod
    def _emissions_now(self) -> Any:
        """Return the emissions of the attributes_."""

    @abc.abstractmethod
    def _emission_attributes(self, emissions: Any) -> dict[str, np.ndarray]:
        """Return the attributes_ that hold emissions."""

    @abc.abstractmethod
    def _emission_prior(self, emissions: Any) -> Any:
        """Return the prior of the emissions, with what is not in `params` left as it is."""

    @abc.abstractmethod
    def _emission_means(self, emissions: Any) -> np.ndarray:
        """Return what each state emits on average."""

    @abc.abstractmethod
    def _seen_by_kmeans(self, X: np.ndarray) -> np.ndarray:
        """Return what k-means sees of rows."""

    @abc.abstractmethod
    def _emission_parameters(self) -> int:
        """Return the number of free parameters of all emissions."""

    @property
    @abc.abstractmethod
    def _tied(self) -> tuple[str, ...]:
        """The parameters that all states share."""

    @property
    @abc.abstractmethod
    def _emission_letters(self) -> str:
        """The letters of `params` that stand for emissions."""

    # --- learning ---------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, lengths: Any = None, sample_weight: Any = None) -> Self:
        """Fit to all sequences by batch EM.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of all sequences, one below the other. NaN entries are missing.
        lengths : array-like of int or None
            The number of rows of each sequence; None is one sequence.
        sample_weight : array-like of shape (n_sequences,) or None
            How often each sequence counts.

        Returns
        -------
        self

        """
        self._validate_params()
        self._check_letters()
        monitor = self.monitor_
        data = self._sequences(X, lengths, sample_weight, first=True)
        self._fit(data)
        monitor._reset()
        for log_prob in self.lower_bounds_:
            monitor.history.append(log_prob)
        monitor.iter = len(self.lower_bounds_)
        self.converged_ = monitor.iter > 1 and bool(monitor.history[-1] - monitor.history[-2] < self.tol)
        return self

    def _ended(self, history: list[float], mass: float) -> bool:
        monitor = self.monitor_
        if len(history) == 1:
            monitor._reset()
        monitor.report(history[-1])
        return bool(monitor.converged)

    @all_or_nothing
    def partial_fit(self, X: Any, lengths: Any = None, sample_weight: Any = None, continues: bool = False) -> Self:
        """Move towards the sequences of X by one step of online EM. The first call starts from them.

        A call that raises leaves the estimator as it was. Priors are what was seen before the stream: they enter with
        the first call only.

        Parameters
        ----------
        X, lengths, sample_weight
            As in `fit`.
        continues : bool
            Whether X goes on where the last call has ended, and the next call goes on from here. What is known of the
            hidden state is carried along, and the last `lag` rows wait until the next call has come.

        Returns
        -------
        self

        """
        self._validate_once()
        self._check_letters()
        if continues and sample_weight is not None:
            raise ValueError("sample_weight cannot be given with continues=True: a series that goes on has weight 1.")
        data = self._sequences(X, lengths, sample_weight, not hasattr(self, "n_batches_seen_"))
        if len(data) == 0:
            return self
        data, carry = self._with_waiting(data, continues)
        self._partial_fit(data, carry, continues)
        return self

    def _piece(self, X: Any, continues: bool) -> Any:
        return self.partial_fit(X, continues=continues)

    @property
    def monitor_(self) -> ConvergenceMonitor:
        """The log-likelihoods of the last fit; another monitor may be set before a fit."""
        if not hasattr(self, "_monitor"):
            self._monitor = ConvergenceMonitor(self.tol, self.n_iter, False)
        return self._monitor

    @monitor_.setter
    def monitor_(self, monitor: Any) -> None:
        self._monitor = monitor

    # --- questions --------------------------------------------------------------------------------------

    def score(self, X: Any, lengths: Any = None) -> float:
        """Log-likelihood of all sequences together, in nats."""
        return float(np.sum(self._answer(X, lengths, _log_likelihood)))

    def score_samples(self, X: Any, lengths: Any = None) -> tuple[float, np.ndarray]:
        """Log-likelihood of all sequences together, and the probability of each state at each row."""
        each, posterior = self._answer(X, lengths, _both)
        return float(np.sum(each)), posterior

    def predict_proba(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Probability of each state at each row, given the whole sequence."""
        return self._answer(X, lengths, _posterior)

    def decode(self, X: Any, lengths: Any = None, algorithm: str | None = None) -> tuple[float, np.ndarray]:
        """Return the most probable path of states (`viterbi`), or the path of most probable states (`map`).

        The number before it is the log-probability of path and data together, or for `map` the sum of the states'
        probabilities.
        """
        algorithm = algorithm or self.algorithm
        if algorithm not in ("viterbi", "map"):
            raise ValueError(f"Unknown decoder {algorithm!r}: it must be 'viterbi' or 'map'.")
        if algorithm == "map":
            posterior = self.predict_proba(X, lengths)
            return float(posterior.max(axis=1).sum()), posterior.argmax(axis=1)
        states, each = self._answer(X, lengths, _viterbi)
        return float(np.sum(each)), states.astype(np.int64)

    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Return the path of states that `decode` finds."""
        return self.decode(X, lengths)[1]

    def filter(self, X: Any, lengths: Any = None, state: Any = None) -> np.ndarray:
        """Probability of each state at each row, given the rows up to it and no later ones.

        `state` is the last row of an earlier answer that X goes on from, for series that are met row by row.
        """
        data, model = self._asked(X, lengths)
        if state is not None:
            state = np.asarray(state, dtype=np.float64)
            if state.shape != (len(self.startprob_),):
                raise ValueError(f"state has shape {state.shape}: it must be ({len(self.startprob_)},), one row.")
            data.first[0] = False
        with jax.enable_x64(True):
            found = _filter(model, data.batch(self._emissions(model)), state)
            return np.asarray(found)[: len(data)]

    def forecast(self, X: Any, steps: int = 1) -> StateForecast:
        """Return what is expected of each of the next steps after the series X.

        `states` has the probability of each state, `mean` what is emitted on average: for symbols, their probabilities.
        """
        if steps < 1:
            raise ValueError(f"steps is {steps}: it must be 1 or more.")
        last = self.filter(X)[-1]
        transitions, states = np.asarray(self.transmat_, dtype=np.float64), []
        for _ in range(steps):
            last = last @ transitions
            states.append(last)
        found = np.stack(states)
        return StateForecast(found, found @ self._emission_means(self._emissions_now()))

    def impute(self, X: Any, lengths: Any = None, random_state: Any = None) -> np.ndarray:
        """Draw the missing entries of X given all the rest; what is there stays as it is."""
        data, model = self._asked(X, lengths)
        result = np.array(data.X)
        if not data.rows.missing:
            return result
        random = check_random_state(self.random_state if random_state is None else random_state)
        with jax.enable_x64(True):
            drawn = np.asarray(_impute(model, data.batch(), jax.random.key(random.randint(2**31))))[: len(data)]
        return np.where(np.isnan(result), drawn.reshape(result.shape), result)

    def sample(
        self, n_samples: int = 1, random_state: Any = None, currstate: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw one sequence and its states; `currstate` is the state it begins in."""
        self._check_is_fitted()
        if n_samples < 1:
            raise ValueError(f"n_samples is {n_samples}: it must be 1 or more.")
        random = check_random_state(self.random_state if random_state is None else random_state)
        model = self.to_model()
        if currstate is not None:
            only = np.eye(len(self.startprob_))[currstate]
            model = HiddenMarkovModel(only, model.transitions, model.emissions)
        with jax.enable_x64(True):
            key = jax.random.key(random.randint(2**31))
            states, values = _draw(model, key, padded_steps(n_samples))
        values = np.asarray(values)[:n_samples].reshape(n_samples, -1)
        return self._entries_of(values), np.asarray(states)[:n_samples].astype(np.int64)

    @abc.abstractmethod
    def _entries_of(self, values: np.ndarray) -> np.ndarray:
        """Return drawn values as X has them."""

    def get_stationary_distribution(self) -> np.ndarray:
        """Return the distribution of states that the transitions leave as it is."""
        self._check_is_fitted()
        with jax.enable_x64(True):
            return np.asarray(self.to_model().stationary)

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Akaike information criterion; the lower the better."""
        return -2 * self.score(X, lengths) + 2 * self._n_parameters()

    def bic(self, X: Any, lengths: Any = None) -> float:
        """Bayesian information criterion; the lower the better."""
        return -2 * self.score(X, lengths) + self._n_parameters() * np.log(len(X))

    # --- between attributes_ and models -------------------------------------------------------------------

    def to_model(self) -> HiddenMarkovModel:
        """Return the fitted model, with NumPy arrays."""
        self._check_is_fitted()
        self._check()
        return HiddenMarkovModel(
            np.asarray(self.startprob_, dtype=np.float64),
            np.asarray(self.transmat_, dtype=np.float64),
            self._emissions_now(),
            fixed=self._fixed,
            tied=self._tied,
        )

    @property
    def _fixed(self) -> tuple[str, ...]:
        letters = {"initial": "s", "transitions": "t", "emissions": self._emission_letters}
        return tuple(name for name, some in letters.items() if not set(some) & set(self.params))

    def _check(self) -> None:
        """Raise unless the probabilities are of the right number, and sum to 1; hmmlearn's words."""
        k = self.n_components
        startprob, transmat = np.asarray(self.startprob_), np.asarray(getattr(self, "transmat_", None))
        if startprob.shape != (k,):
            raise ValueError("startprob_ must have length n_components")
        if not np.allclose(startprob.sum(), 1):
            raise ValueError(f"startprob_ must sum to 1 (got {startprob.sum():.4f})")
        if transmat.shape != (k, k):
            raise ValueError("transmat_ must have shape (n_components, n_components)")
        if not np.allclose(transmat.sum(axis=1), 1):
            raise ValueError(f"transmat_ rows must sum to 1 (got row sums of {transmat.sum(axis=1)})")

    def _check_letters(self) -> None:
        known = "st" + self._emission_letters
        for name in ("params", "init_params"):
            strange = sorted(set(getattr(self, name)) - set(known))
            if strange:
                raise ValueError(f"{name} has the letter {strange[0]!r}: it may have those of {known!r}.")

    def _attributes(self, model: HiddenMarkovModel) -> dict[str, np.ndarray]:
        held = {"startprob_": np.asarray(model.initial), "transmat_": np.asarray(model.transitions)}
        return {**held, **self._emission_attributes(model.emissions)}

    def _emissions(self, model: HiddenMarkovModel) -> Any:
        return model.emissions

    def _prior(self, model: HiddenMarkovModel) -> HiddenMarkovPrior:
        k = self.n_components
        return HiddenMarkovPrior(
            np.broadcast_to(np.asarray(self.startprob_prior, dtype=np.float64), (k,)),
            np.broadcast_to(np.asarray(self.transmat_prior, dtype=np.float64), (k, k)),
            self._emission_prior(model.emissions),
        )

    def _n_parameters(self) -> int:
        k = self.n_components
        return k - 1 + k * (k - 1) + self._emission_parameters()

    @property
    def _steps(self) -> int:
        return self.n_iter

    @property
    def _carry_names(self) -> tuple[str, ...]:
        return ("filtered_",)

    def _joined(self, known: tuple[Any, ...]) -> Any:
        return known[0]

    @property
    def _marks(self) -> tuple[str, ...]:
        return ("startprob_",)

    # --- the start ----------------------------------------------------------------------------------------

    def _start(self, data: Sequences, turn: int, random: np.random.RandomState) -> HiddenMarkovModel:
        """Return the chain of clusters that k-means finds; what `init_params` leaves out stays as it was set."""
        labels = self._labels(data, random)
        k = self.n_components
        initial, transitions = np.full(k, 1.0), np.full((k, k), 1.0)
        np.add.at(initial, labels[data.first], 1.0)
        inside = ~data.first[1:]
        np.add.at(transitions, (labels[:-1][inside], labels[1:][inside]), 1.0)
        if self._starts("s", "startprob_"):
            self.startprob_ = initial / initial.sum()
        if self._starts("t", "transmat_"):
            self.transmat_ = transitions / transitions.sum(axis=1, keepdims=True)
        emissions = self._started_emissions(data, labels)
        for name, value in self._emission_attributes(emissions).items():
            setattr(self, name, value)
        return self.to_model()

    def _labels(self, data: Sequences, random: np.random.RandomState) -> np.ndarray:
        k = self.n_components
        if k == 1:
            return np.zeros(len(data), dtype=np.int64)
        seen = self._seen_by_kmeans(data.rows.filled())
        if len(np.unique(seen, axis=0)) < k:
            return random.randint(k, size=len(data))
        return KMeans(k, n_init=1, random_state=random).fit(seen).labels_.astype(np.int64)

    def _starts(self, letter: str, name: str) -> bool:
        """Whether a start makes this attribute_: it is asked for, or was never set."""
        return letter in self.init_params or not hasattr(self, name)


def shared(rows: np.ndarray, labels: np.ndarray, k: int, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return what a function makes of the rows of each label, or of all rows where a label has none."""
    return np.stack([of(rows[labels == h] if (labels == h).any() else rows) for h in range(k)])


def for_states(value: Any) -> np.ndarray:
    """Return a number for all states, or one for each state as a column."""
    array = np.asarray(value, dtype=np.float64)
    return array[:, None] if array.ndim == 1 else array


@sized_jit
def _log_likelihood(model: Any, batch: Batch) -> Any:
    return model.log_likelihood(batch)


@sized_jit
def _posterior(model: Any, batch: Batch) -> Any:
    return model.posterior(batch)


@sized_jit
def _both(model: Any, batch: Batch) -> Any:
    return model.log_likelihood(batch), model.posterior(batch)


@sized_jit
def _viterbi(model: Any, batch: Batch) -> Any:
    return model.viterbi(batch)


@sized_jit
def _filter(model: Any, batch: Batch, state: Any) -> Any:
    return model.filter(batch, state)[0]


@sized_jit
def _impute(model: Any, batch: Batch, key: Any) -> Any:
    return model.impute(batch, key)


def _drawn(model: Any, key: Any, length: int) -> Any:
    return model.sample_sequence(key, length)


_draw = jax.jit(_drawn, static_argnums=2)
