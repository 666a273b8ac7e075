"""Linear dynamical systems behind an estimator's door: the Kalman filter, its smoother, and learning."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from kullback.estimators._check_fit import Breakdown
from kullback.estimators._model_estimator import all_or_nothing
from kullback.estimators.constraints import Interval
from kullback.estimators.data._sequences import Sequences
from kullback.estimators.linear._linear_init import initial_system
from kullback.estimators.linear._questions import LinearDynamicalQuestions
from kullback.learning import GainBelow
from kullback.models import LINEAR_PARAMETERS, States
from kullback.models import LinearDynamicalSystem as Model


class LinearDynamicalSystem(LinearDynamicalQuestions):
    """A hidden state that moves linearly, seen through linear outputs, all with Gaussian noise.

    h₁ ~ N(π, V),  h_t = A h_{t−1} + B u_t + N(0, Q),  v_t = C h_t + D u_t + d + N(0, R), with inputs u that are known.

    Parameters
    ----------
    n_latents : int
        The number of hidden states.
    offset : bool
        Whether the outputs have a mean d of their own.
    fixed : tuple of str
        The parameters that are not learned, such as ("transition", "observation"). Set their attributes_ before `fit`.
    tol : float
        EM ends when the average log-likelihood gains less, in nats per step.
    max_iter : int
        How many steps of EM there are at most.
    n_init : int
        How many starts there are; the best is kept. The first comes from subspace identification, the others from it
        with noise.
    warm_start : bool
        Whether `fit` begins with the attributes_ as they are, from the last fit or set by hand.
    random_state : int, RandomState or None
        Where randomness comes from.
    verbose : int
        Whether to show progress.
    rate : float, callable or None
        The weight of a batch in `partial_fit`: constant to follow drift, a function of the step, or a schedule.
    lag : int
        How many rows of a series that goes on wait for what comes after them.

    Attributes
    ----------
    transition_, observation_ : ndarray
        A and C.
    transition_noise_, observation_noise_ : ndarray
        Q and R.
    initial_mean_, initial_covariance_ : ndarray
        π and V.
    input_transition_, input_observation_ : ndarray
        B and D, where there are inputs.
    offset_ : ndarray
        d, with `offset`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> level = np.cumsum(rng.normal(0, 0.1, 300))
    >>> X = np.stack([level, -level], axis=1) + rng.normal(0, 0.5, (300, 2))
    >>> system = LinearDynamicalSystem(n_latents=1, random_state=0).fit(X)
    >>> system.forecast(X, steps=5).mean.shape
    (5, 2)

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_latents": [Interval(Integral, 1, None, closed="left")],
        "offset": ["boolean"],
        "fixed": [tuple, list],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "rate": [Interval(Real, 0.0, 1.0, closed="right"), callable, None],
        "lag": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_latents: int = 1,
        *,
        offset: bool = True,
        fixed: tuple[str, ...] = (),
        tol: float = 1e-5,
        max_iter: int = 200,
        n_init: int = 1,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        rate: Any = None,
        lag: int = 20,
    ):
        self.n_latents = n_latents
        self.offset = offset
        self.fixed = fixed
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.rate = rate
        self.lag = lag

    # --- learning ---------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, lengths: Any = None, inputs: Any = None, sample_weight: Any = None) -> Self:
        """Fit to all sequences by batch EM.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of all sequences, one below the other. NaN entries are missing, single ones or whole rows. Of Dask
            arrays and frames statistics travel, and up to 65,536 rows for the start; a sequence stays in one block.
        lengths : array-like of int or None
            The number of rows of each sequence; None is one sequence.
        inputs : array-like of shape (n_samples, n_inputs) or None
            What is known from outside at each step.
        sample_weight : array-like of shape (n_sequences,) or None
            How often each sequence counts.

        Returns
        -------
        self

        """
        self._validate_params()
        data = self._all_sequences(X, lengths, sample_weight, inputs)
        if not isinstance(data, Sequences):
            self._fit_sequences(data)
            return self
        data.allow_steady(True)
        try:
            self._fit_sequences(data)
        except Breakdown:  # gains that do not settle are another reason for it: see `TimeIndex.steady`
            data.allow_steady(False)
            self._fit_sequences(data)
        return self

    def _rule(self, history: list[float], mass: float) -> GainBelow:
        return GainBelow(self.tol, self.max_iter, before=history[-1] if history else -np.inf, done=len(history))

    @all_or_nothing
    def partial_fit(
        self, X: Any, lengths: Any = None, inputs: Any = None, sample_weight: Any = None, continues: bool = False
    ) -> Self:
        """Move towards the sequences of X by one step of online EM. The first call starts from them.

        A call that raises leaves the estimator as it was.

        Parameters
        ----------
        X, lengths, inputs, sample_weight
            As in `fit`.
        continues : bool
            Whether X goes on where the last call has ended, and the next call goes on from here. What is known of the
            hidden state is carried along, and the last `lag` rows wait until the next call has come.

        Returns
        -------
        self

        """
        self._validate_once()
        if continues and sample_weight is not None:
            raise ValueError("sample_weight cannot be given with continues=True: a series that goes on has weight 1.")
        begun = hasattr(self, "n_batches_seen_") or hasattr(self, "waiting_")
        data = self._sequences(X, lengths, sample_weight, not begun, inputs)
        if len(data) == 0:
            if not continues:
                self.end_series()
            return self
        data, carry = self._with_waiting(data, continues)
        self._partial_fit(data, carry, continues)
        return self

    def _piece(self, X: Any, continues: bool) -> Any:
        X, inputs = X if isinstance(X, tuple) else (X, None)
        return self.partial_fit(X, inputs=inputs, continues=continues)

    # --- between attributes_ and models -------------------------------------------------------------------

    def to_model(self) -> Model:
        """Return the fitted model, with NumPy arrays."""
        self._check_is_fitted()
        given = {name: getattr(self, f"{name}_", None) for name in LINEAR_PARAMETERS}
        arrays = {n: np.asarray(value, dtype=np.float64) for n, value in given.items() if value is not None}
        return Model(**arrays, fixed=tuple(self.fixed))

    def _attributes(self, model: Model) -> dict[str, np.ndarray]:
        held = {f"{name}_": getattr(model, name) for name in LINEAR_PARAMETERS}
        return {name: np.asarray(value) for name, value in held.items() if value is not None}

    def _shape_of(self, model: Model) -> dict[str, Any]:
        return {"n_features_in_": int(model.observation.shape[0])}

    @classmethod
    def _parameters_of(cls, model: Model) -> dict[str, Any]:
        if not isinstance(model, Model):
            raise ValueError(f"the model is a {type(model).__name__}: it must be a LinearDynamicalSystem.")
        return {
            "n_latents": int(model.transition.shape[0]),
            "offset": model.offset is not None,
            "fixed": model.fixed,
        }

    def _n_parameters(self) -> int:
        """Return the number of free parameters, less those that another basis of the hidden state would move."""
        q, n = self.n_latents, len(self.observation_)
        sizes = {name: np.size(getattr(self, f"{name}_", ())) for name in LINEAR_PARAMETERS if name not in self.fixed}
        for name, size in (("transition_noise", q), ("observation_noise", n), ("initial_covariance", q)):
            if name in sizes:
                sizes[name] = size * (size + 1) // 2
        same = q * q if not {"transition", "observation"} & set(self.fixed) else 0
        return max(int(sum(sizes.values())) - same, 1)

    def _prior(self, model: Model) -> None:
        """Return nothing: there is none."""

    def _later_prior(self, model: Model) -> None:
        """Return nothing: what is fixed is a field of the model."""

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        return X

    @property
    def _steps(self) -> int:
        return self.max_iter

    @property
    def _carry_names(self) -> tuple[str, ...]:
        return ("filtered_mean_", "filtered_covariance_")

    def _carry_from(self, known: tuple[Any, ...]) -> States:
        return States(*known)

    @property
    def _fitted_markers(self) -> tuple[str, ...]:
        return ("transition_",)

    def _check_some(self, data: Any) -> None:
        unknown = [name for name in self.fixed if name not in LINEAR_PARAMETERS]
        if unknown:
            raise ValueError(f"fixed has {unknown[0]!r}: it must name parameters, of {', '.join(LINEAR_PARAMETERS)}.")
        if data.absent.any():
            raise ValueError(f"column {int(np.argmax(data.absent))} of X has no entry that is not missing.")
        if len(data) < 2:
            raise ValueError("X has 1 sample: a linear dynamical system needs 2 rows or more to start from.")

    # --- the start ----------------------------------------------------------------------------------------

    def _start(self, data: Sequences, turn: int, random: np.random.RandomState) -> Model:
        if self.warm_start and hasattr(self, "transition_"):
            return self.to_model()
        given = {name: getattr(self, f"{name}_", None) for name in self.fixed}
        missing = [name for name, value in given.items() if value is None]
        if missing:
            raise ValueError(f"{missing[0]} is fixed, and {missing[0]}_ is not set: set it before the fit.")
        return initial_system(data, self.n_latents, self.offset, given, random if turn else None)
