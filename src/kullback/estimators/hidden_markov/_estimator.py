"""What every hidden Markov model behind hmmlearn's door does."""

import abc
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from kullback.estimators._fit_record import FitRecord
from kullback.estimators._model_estimator import all_or_nothing
from kullback.estimators.constraints import Interval, StrOptions
from kullback.estimators.data._families import has_discrete
from kullback.estimators.data._sequences import Sequences
from kullback.estimators.hidden_markov._emission import broadcast, check_rows_sum_to_1, normalize
from kullback.estimators.hidden_markov._monitor import ConvergenceMonitor, MonitorRule
from kullback.estimators.hidden_markov._notes import note_few, note_overwritten
from kullback.estimators.hidden_markov._priors import HiddenMarkovPrior
from kullback.estimators.hidden_markov._questions import HiddenMarkovQuestions
from kullback.estimators.hidden_markov._starts import (
    RANDOM_STARTS,
    ClusterStart,
    RandomStart,
    StateStart,
    trial_result,
    trial_rows,
)
from kullback.estimators.mixtures._support import raise_support
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
    """A hidden Markov model with hmmlearn's parameters, attributes_ and methods. Its `Emission` is what differs."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = HMM_CONSTRAINTS

    @abc.abstractmethod
    def __init__(self) -> None:
        """Set the parameters, each by its name: scikit-learn reads them off the constructor of the class itself."""

    def _set_chain(
        self, n_components: int, startprob_prior: Any, transmat_prior: Any, params: str, init_params: str
    ) -> None:
        """Set the parameters of the chain: every constructor has them."""
        self.n_components = n_components
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.params = params
        self.init_params = init_params

    def _set_learning(
        self,
        algorithm: str,
        random_state: Any,
        n_iter: int,
        tol: float,
        verbose: bool,
        implementation: str,
        n_init: int,
        rate: Any,
        lag: int,
    ) -> None:
        """Set the parameters of a fit, a stream and a path: every constructor has them."""
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.implementation = implementation
        self.n_init = n_init
        self.rate = rate
        self.lag = lag

    # --- learning ---------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, lengths: Any = None, sample_weight: Any = None) -> Self:
        """Fit to all sequences by batch EM.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of all sequences, one below the other, as an array or a frame. NaN entries are missing. Text in
            columns of categories becomes their numbers (`categories_`). Of Dask arrays and frames
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
        converged = not best.collapsed and len(history) > 1 and history[-1] - history[-2] < self.tol
        FitRecord.of(self)._replace(converged=converged).write(self)
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
        begun = FitRecord.of(self).n_batches_seen is not None or hasattr(self, "waiting_")
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
            record = FitRecord.of(self)
            if record.n_batches_seen == 1:  # a fit that was loaded, and how many rows it had
                for bound in record.lower_bounds or []:
                    self._own_monitor.report(bound * record.counts[1])
        return self._own_monitor

    @monitor_.setter
    def monitor_(self, monitor: Any) -> None:
        self._given_monitor = monitor

    # --- between attributes_ and models -------------------------------------------------------------------

    def to_model(self) -> HiddenMarkovModel:
        """Return the fitted model, with NumPy arrays."""
        self._check_is_fitted()
        startprob, transmat = np.asarray(self.startprob_), np.asarray(getattr(self, "transmat_", None))
        self._check_chain(startprob, transmat)
        return self._model(startprob, transmat, self._emission.from_attributes(self))

    def _model(self, startprob: np.ndarray, transmat: np.ndarray, emissions: Any) -> HiddenMarkovModel:
        emission = self._emission
        letters = {"initial": "s", "transitions": "t", "emissions": emission.letters}
        fixed = tuple(name for name, some in letters.items() if not set(some) & set(self.params))
        return HiddenMarkovModel(normalize(startprob), normalize(transmat), emissions, fixed=fixed, tied=emission.tied)

    def _check_chain(self, startprob: np.ndarray, transmat: np.ndarray) -> None:
        """Raise unless the probabilities are of the right number, and sum to 1; hmmlearn's words."""
        k = self.n_components
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
        allowed = "st" + self._emission.letters
        for name in ("params", "init_params"):
            strange = sorted(set(getattr(self, name)) - set(allowed))
            if strange:
                raise ValueError(f"{name} has the letter {strange[0]!r}: allowed letters are {allowed!r}.")

    def _attributes(self, model: HiddenMarkovModel) -> dict[str, np.ndarray]:
        chain = {"startprob_": np.asarray(model.initial), "transmat_": np.asarray(model.transitions)}
        return {**chain, **self._emission.attributes(model.emissions)}

    @classmethod
    def _parameters_of(cls, model: Any) -> dict[str, Any]:
        return cls._emission_type.describe(model).parameters

    def _shape_of(self, model: HiddenMarkovModel) -> dict[str, Any]:
        return self._emission.describe(model).shape

    def _prior(self, model: HiddenMarkovModel) -> HiddenMarkovPrior:
        k = self.n_components
        return HiddenMarkovPrior(
            broadcast("startprob_prior", self.startprob_prior, (k,)),
            broadcast("transmat_prior", self.transmat_prior, (k, k)),
            self._emission.prior(model.emissions, first=True),
        )

    def _later_prior(self, model: HiddenMarkovModel) -> HiddenMarkovPrior | None:
        prior = self._emission.prior(model.emissions, first=False)
        return None if prior is None else HiddenMarkovPrior(1.0, 1.0, prior)

    def _n_parameters(self) -> int:
        return sum(self._parameters_by_letter().values())

    def _parameters_by_letter(self) -> dict[str, int]:
        k = self.n_components
        return {"s": k - 1, "t": k * (k - 1), **self._emission.count_parameters(self)}

    @property
    def _families(self) -> Any:
        return self._emission.families

    @property
    def _point_variance(self) -> float:
        return self._emission.point_variance

    @property
    def _steps(self) -> int:
        return self.n_iter

    @property
    def _carry_names(self) -> tuple[str, ...]:
        return ("filtered_",)

    def _carry_from(self, known: tuple[Any, ...]) -> Any:
        return known[0]

    @property
    def _fitted_markers(self) -> tuple[str, ...]:
        return ("startprob_",)

    # --- data and the start -------------------------------------------------------------------------------

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        self._emission.check(X, self, first)
        return X

    def _check_some(self, data: Any) -> None:
        if data.absent.any():
            raise ValueError(f"column {int(np.argmax(data.absent))} of X has no entry that is not missing.")

    def _start(self, data: Sequences, turn: int, random: np.random.RandomState) -> HiddenMarkovModel:
        """Return the best of some starts; what `init_params` leaves out stays as it was set."""
        if turn == 0:
            note_overwritten(self, self._fitted_attributes)
        for name, value in self._emission.read(data.extremes, self).items():
            setattr(self, name, value)
        emission, k = self._emission, self.n_components

        def features(X: np.ndarray) -> np.ndarray:
            return emission.features(X, self)

        best = self._start_from(data, ClusterStart(data, k, features, emission.neighbors, random))
        made = set("t" + emission.letters) & set(self.init_params) or not hasattr(self, "transmat_")
        # states whose rows are discrete may look alike, and differ in what follows them: clusters do not see that
        if k == 1 or not made or not has_discrete(emission.families):
            return best
        seeds = random.randint(2**31, size=RANDOM_STARTS)
        starts = [best, *(self._start_from(data, RandomStart(data, k, features, int(seed))) for seed in seeds)]
        rows = trial_rows(data, k)
        rows.hand_over()
        return starts[int(np.argmax([trial_result(start, rows, self._prior(start)) for start in starts]))]

    def _start_from(self, data: Sequences, start: StateStart) -> HiddenMarkovModel:
        """Return the model with what `init_params` asks for from a start, and the rest as it was set."""
        emission = self._emission
        startprob = start.initial if emission.starts("s", "startprob_", self) else np.asarray(self.startprob_)
        transmat = start.transitions if emission.starts("t", "transmat_", self) else np.asarray(self.transmat_)
        emissions = emission.start(data, start, self)
        if set(emission.letters) & set(self.init_params) and data.in_part:
            emissions = raise_support(emissions)
        self._check_chain(startprob, transmat)
        return self._model(startprob, transmat, emissions)
