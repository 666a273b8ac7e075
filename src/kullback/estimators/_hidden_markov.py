"""What every hidden Markov model behind hmmlearn's door does."""

import abc
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from kullback.estimators._hidden_markov_questions import HiddenMarkovQuestions
from kullback.estimators._hmm_notes import note_few, note_overwritten
from kullback.estimators._hmm_priors import HiddenMarkovPrior
from kullback.estimators._hmm_starts import ClusterStart, RandomStart, StateStart, trial_result, trial_rows
from kullback.estimators._model_estimator import all_or_nothing
from kullback.estimators._monitor import ConvergenceMonitor, MonitorRule
from kullback.estimators._sequences import Sequences
from kullback.estimators._support import supported
from kullback.estimators.constraints import Interval, StrOptions
from kullback.families import Independent
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


class HiddenMarkovEstimator(HiddenMarkovQuestions):
    """A hidden Markov model with hmmlearn's parameters, attributes_ and methods. A subclass says what is emitted."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = HMM_CONSTRAINTS

    # --- what a subclass says ---------------------------------------------------------------------------

    @abc.abstractmethod
    def _read_off(self, X: np.ndarray) -> None:
        """Keep what the first rows say besides numbers: how many symbols there are."""

    @abc.abstractmethod
    def _started_emissions(self, data: Sequences, start: StateStart) -> Any:
        """Return the emissions that states start with; those that are not in `init_params` as they are."""

    @abc.abstractmethod
    def _emission_attributes(self, emissions: Any) -> dict[str, np.ndarray]:
        """Return the attributes_ that hold emissions."""

    @abc.abstractmethod
    def _emission_prior(self, emissions: Any) -> Any:
        """Return the prior of the emissions, with what is not in `params` left as it is."""

    @abc.abstractmethod
    def _emission_held(self, emissions: Any) -> Any:
        """Return what leaves some parameters of the emissions as they are while others are learned, or None."""

    @abc.abstractmethod
    def _seen_by_kmeans(self, X: np.ndarray) -> np.ndarray:
        """Return what k-means sees of rows."""

    @abc.abstractmethod
    def _shown(self, X: np.ndarray) -> np.ndarray:
        """Return what a row by itself shows of its state, for random starts."""

    @property
    @abc.abstractmethod
    def _random_starts(self) -> int:
        """How many random starts compete with clusters: some where rows are discrete, for states may look alike."""

    @abc.abstractmethod
    def _emission_parameters(self) -> dict[str, int]:
        """Return the number of free parameters of the emissions of all states, by their letters."""

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
            The rows of all sequences, one below the other. NaN entries are missing. Of Dask arrays and frames
            statistics travel, and up to 65,536 rows if something is started from them; a sequence stays in one block.
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
        data = self._all_sequences(X, lengths, sample_weight)
        self.__dict__.pop("_own_monitor", None)  # it may have other limits than the parameters have by now
        best = self._fit_sequences(data)
        monitor, history = self.monitor_, [bound * data.mass for bound in self.lower_bounds_]
        monitor._reset()  # of several runs it tells of the best
        monitor.history.extend(history)
        monitor.iter = len(history)
        self.converged_ = not best.collapsed and len(history) > 1 and history[-1] - history[-2] < self.tol
        free = sum(many for letter, many in self._parameters_by_letter().items() if letter in self.params)
        note_few(free, len(data) * len(data.absent))
        return self

    def _rule(self, history: list[float], mass: float) -> MonitorRule:
        if not history:
            self.monitor_._reset()
        return MonitorRule(self.monitor_, mass, self.n_iter, len(history))

    @all_or_nothing
    def partial_fit(self, X: Any, lengths: Any = None, sample_weight: Any = None, continues: bool = False) -> Self:
        """Move towards the sequences of X by one step of online EM. The first call starts from them.

        A call that raises leaves the estimator as it was. Priors are what was seen before the stream: they enter with
        the first step only.

        Parameters
        ----------
        X, lengths, sample_weight
            As in `fit`.
        continues : bool
            Whether X goes on where the last call has ended, and the next call goes on from here. What is known of the
            hidden state is carried along, and the last `lag` rows wait until the next call has come. A step takes 50
            rows or more: of shorter pieces all rows wait until there are as many besides these. A call with False ends
            the series that was open, and counts the rows that wait; it may have no rows of its own.

        Returns
        -------
        self

        """
        self._validate_once()
        self._check_letters()
        if continues and sample_weight is not None:
            raise ValueError("sample_weight cannot be given with continues=True: a series that goes on has weight 1.")
        begun = hasattr(self, "n_batches_seen_") or hasattr(self, "waiting_")
        data = self._sequences(X, lengths, sample_weight, not begun)
        if len(data) == 0:
            if not continues:
                self.end_series()
            return self
        data, carry = self._with_waiting(data, continues)
        self._partial_fit(data, carry, continues)
        return self

    def _piece(self, X: Any, continues: bool) -> Any:
        return self.partial_fit(X, continues=continues)

    @property
    def monitor_(self) -> ConvergenceMonitor:
        """The log-likelihoods of all rows of the last fit; one that is set before a fit says when that ends."""
        if hasattr(self, "_given_monitor"):
            return self._given_monitor
        if not hasattr(self, "_own_monitor"):
            self._own_monitor = ConvergenceMonitor(self.tol, self.n_iter, False)
            if getattr(self, "n_batches_seen_", 0) == 1:  # a fit that was loaded, and how many rows it had
                for bound in getattr(self, "lower_bounds_", []):
                    self._own_monitor.report(bound * self.n_points_seen_)
        return self._own_monitor

    @monitor_.setter
    def monitor_(self, monitor: Any) -> None:
        self._given_monitor = monitor

    # --- between attributes_ and models -------------------------------------------------------------------

    def to_model(self) -> HiddenMarkovModel:
        """Return the fitted model, with NumPy arrays."""
        self._check_is_fitted()
        self._check_chain()
        return HiddenMarkovModel(
            summing_to_1(self.startprob_),
            summing_to_1(self.transmat_),
            self._emissions_now(),
            fixed=self._fixed,
            tied=self._tied,
        )

    @property
    def _fixed(self) -> tuple[str, ...]:
        letters = {"initial": "s", "transitions": "t", "emissions": self._emission_letters}
        return tuple(name for name, some in letters.items() if not set(some) & set(self.params))

    def _check_chain(self) -> None:
        """Raise unless the probabilities are of the right number, and sum to 1; hmmlearn's words."""
        k = self.n_components
        startprob, transmat = np.asarray(self.startprob_), np.asarray(getattr(self, "transmat_", None))
        if startprob.shape != (k,):
            raise ValueError("startprob_ must have length n_components")
        if not np.allclose(startprob.sum(), 1):
            raise ValueError(f"startprob_ must sum to 1 (got {startprob.sum():.4f})")
        if (startprob < 0).any():
            raise ValueError(f"startprob_ must not be negative; it is {startprob.tolist()}")
        if transmat.shape != (k, k):
            raise ValueError("transmat_ must have shape (n_components, n_components)")
        check_rows_sum_to_1("transmat_", transmat)

    def _check_letters(self) -> None:
        known = "st" + self._emission_letters
        for name in ("params", "init_params"):
            strange = sorted(set(getattr(self, name)) - set(known))
            if strange:
                raise ValueError(f"{name} has the letter {strange[0]!r}: allowed letters are {known!r}.")

    def _attributes(self, model: HiddenMarkovModel) -> dict[str, np.ndarray]:
        held = {"startprob_": np.asarray(model.initial), "transmat_": np.asarray(model.transitions)}
        return {**held, **self._emission_attributes(model.emissions)}

    def _prior(self, model: HiddenMarkovModel) -> HiddenMarkovPrior:
        k = self.n_components
        return HiddenMarkovPrior(
            broadcast("startprob_prior", self.startprob_prior, (k,)),
            broadcast("transmat_prior", self.transmat_prior, (k, k)),
            self._emission_prior(model.emissions),
        )

    def _held(self, model: HiddenMarkovModel) -> HiddenMarkovPrior | None:
        held = self._emission_held(model.emissions)
        return None if held is None else HiddenMarkovPrior(1.0, 1.0, held)

    def _n_parameters(self) -> int:
        return sum(self._parameters_by_letter().values())

    def _parameters_by_letter(self) -> dict[str, int]:
        k = self.n_components
        return {"s": k - 1, "t": k * (k - 1), **self._emission_parameters()}

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

    def _check_some(self, data: Any) -> None:
        if data.absent.any():
            raise ValueError(f"column {int(np.argmax(data.absent))} of X has no entry that is not missing.")

    def _start(self, data: Sequences, turn: int, random: np.random.RandomState) -> HiddenMarkovModel:
        """Return the best of some starts; what `init_params` leaves out stays as it was set."""
        if turn == 0:
            note_overwritten(self, self._made)
        self._read_off(data.extremes)
        before, k = dict(vars(self)), self.n_components
        best = self._started(data, ClusterStart(data, k, self._seen_by_kmeans, random))
        if k == 1 or not self._random_starts or not self._starts_states(before):
            return best
        seeds = random.randint(2**31, size=self._random_starts)
        rows, found = trial_rows(data), dict(vars(self))
        reached = trial_result(best, rows, self._prior(best))
        for seed in seeds:
            self.__dict__ = dict(before)
            model = self._started(data, RandomStart(data, k, self._shown, int(seed)))
            result = trial_result(model, rows, self._prior(model))
            if result > reached:
                best, reached, found = model, result, dict(vars(self))
        self.__dict__ = found
        return best

    def _starts_states(self, before: dict[str, Any]) -> bool:
        """Whether a start makes what tells states apart."""
        return bool(set("t" + self._emission_letters) & set(self.init_params)) or "transmat_" not in before

    def _started(self, data: Sequences, start: StateStart) -> HiddenMarkovModel:
        """Set what `init_params` asks for to a start, and return the model."""
        if self._starts("s", "startprob_"):
            self.startprob_ = start.initial
        if self._starts("t", "transmat_"):
            self.transmat_ = start.transitions
        emissions = self._started_emissions(data, start)
        if set(self._emission_letters) & set(self.init_params) and data.in_part:
            emissions = supported(emissions)
        for name, value in self._emission_attributes(emissions).items():
            setattr(self, name, value)
        return self.to_model()

    def _starts(self, letter: str, name: str) -> bool:
        """Whether a start makes this attribute_: it is asked for, or was never set."""
        return letter in self.init_params or not hasattr(self, name)


def shared(rows: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Return the mean of the rows of each label, or of all rows where a label has none."""
    return np.stack([(rows[labels == h] if (labels == h).any() else rows).mean(axis=0) for h in range(k)])


def broadcast(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return a parameter with one entry for each of a model's; one number stands for all of them."""
    array = np.asarray(value, dtype=np.float64)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"{name} has shape {array.shape}: it must be a number, or of shape {shape}.") from None


def for_states(name: str, value: Any, k: int, n: int) -> np.ndarray:
    """Return a parameter with one entry for each state and column.

    A list of numbers has one for each column, as hmmlearn takes it; where there is another number of states, it may
    have one for each of these, as hmmlearn says it.
    """
    array = np.asarray(value, dtype=np.float64)
    per_state = array.ndim == 1 and len(array) == k != n
    return broadcast(name, array[:, None] if per_state else array, (k, n))


def check_hidden_markov(model: Any) -> None:
    """Raise unless an estimator can hold a model of this kind."""
    if not isinstance(model, HiddenMarkovModel):
        raise ValueError(f"the model is a {type(model).__name__}: it must be a HiddenMarkovModel.")
    if model.ending is not None:
        raise ValueError("the model has an ending: the sequences of these estimators end when the data does.")


def hidden_markov(model: Any, emits: tuple[type, ...], needs: str) -> Any:
    """Return the emissions of a hidden Markov model, or their columns, if they are what an estimator can hold."""
    check_hidden_markov(model)
    found = model.emissions.columns if isinstance(model.emissions, Independent) else model.emissions
    if type(found) not in emits:
        raise ValueError(f"the model emits {type(found).__name__}: {needs}.")
    return found


def check_rows_sum_to_1(name: str, rows: np.ndarray) -> None:
    """Raise unless each row holds probabilities; hmmlearn's words where they do not sum to 1."""
    if not np.allclose(rows.sum(axis=1), 1):
        raise ValueError(f"{name} rows must sum to 1 (got row sums of {rows.sum(axis=1)})")
    if (rows < 0).any():
        raise ValueError(f"{name} must not be negative; its rows are {rows.tolist()}")


def summing_to_1(probabilities: Any) -> np.ndarray:
    """Return probabilities that sum to 1, of those that were typed with a few digits."""
    array = np.asarray(probabilities, dtype=np.float64)
    total = array.sum(axis=-1, keepdims=True)
    return array if (np.abs(total - 1) < 1e-9).all() else array / total
