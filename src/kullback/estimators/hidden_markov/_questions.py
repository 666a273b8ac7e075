"""What a fitted hidden Markov model is asked."""

import math
import warnings
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
from sklearn.utils import check_random_state

from kullback.core import Batch
from kullback.estimators._count import check_count
from kullback.estimators._sequence_estimator import SequenceEstimator
from kullback.estimators.data._sequences import padded_steps
from kullback.estimators.hidden_markov._emission import Emission
from kullback.learning import adaptive_jit
from kullback.models import HiddenMarkovModel
from kullback.runtime import computing, in_float64, jit


class StateForecast(NamedTuple):
    """What is expected after the end of a series, step by step."""

    states: np.ndarray
    mean: np.ndarray


class HiddenMarkovQuestions(SequenceEstimator):
    """hmmlearn's questions, and those that a series asks which is met row by row, or has gaps."""

    _emission_type: ClassVar[type[Emission]]

    @property
    def _emission(self) -> Emission:
        """What the states emit, by the parameters as they are now."""
        return self._emission_type.of(self)

    def score(self, X: Any, lengths: Any = None) -> float:
        """Log-likelihood of all sequences together, in nats."""
        return self._total(X, self._answer(X, lengths, _log_likelihood))

    def score_samples(self, X: Any, lengths: Any = None) -> tuple[float, np.ndarray]:
        """Log-likelihood of all sequences together, and the probability of each state at each row."""
        each, posterior = self._answer(X, lengths, _score_and_posterior)
        return self._total(X, each), posterior

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
        return self._total(X, each), states.astype(np.int64)

    def _total(self, X: Any, each: np.ndarray) -> float:
        """Return the sum over the rows. Where it is −inf, one warning says which row is impossible, and why."""
        total = float(np.sum(each))
        if total == -np.inf:
            row = int(np.argmin(each))
            warnings.warn(f"X[{row}] is impossible, and the log-likelihood is −inf: {self._why(X, row)}", stacklevel=3)
        return total

    def _why(self, X: Any, row: int) -> str:
        data, model = self._question(X, None)
        values = np.asarray(data.X[row : row + 1], dtype=np.float64)
        with computing():
            scores = np.asarray(model.emissions.log_likelihood(Batch(values, observed=~np.isnan(values))))
        if np.isneginf(scores).all():
            remedy = self._emission.remedy
            known = f"; {remedy} keeps what a fit has never seen possible." if remedy else ", as none has seen it."
            return f"no state emits it{known}"
        return (
            "no state that emits it can be reached; startprob_prior and transmat_prior above 1 keep starts and "
            "transitions that a fit has never seen possible."
        )

    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Return the path of states that `decode` finds."""
        return self.decode(X, lengths)[1]

    @in_float64
    def filter(self, X: Any, lengths: Any = None, state: Any = None) -> np.ndarray:
        """Probability of each state at each row, given the rows up to it and no later ones.

        `state` is the last row of an earlier answer that X goes on from, for series that are met row by row.
        """
        data, model = self._question(X, lengths)
        if state is not None:
            state = np.asarray(state, dtype=np.float64)
            if state.shape != (len(self.startprob_),):
                raise ValueError(f"state has shape {state.shape}: it must be ({len(self.startprob_)},), one row.")
            if not ((state >= 0).all() and np.isclose(state.sum(), 1)):
                raise ValueError(f"state is {state.tolist()}: it must hold probabilities that sum to 1.")
            data.starts[0] = False
        found = _filter(model, data.batch(model), state)
        return np.asarray(found)[: len(data)]

    def forecast(self, X: Any, steps: int = 1) -> StateForecast:
        """Return what is expected of each of the next steps after the series X.

        `states` has the probability of each state, `mean` what is emitted on average: for symbols, their probabilities.
        """
        steps = check_count("steps", steps)
        last = self.filter(X)[-1]
        transitions, states = np.asarray(self.transmat_, dtype=np.float64), []
        for _ in range(steps):
            last = last @ transitions
            states.append(last)
        found, emission = np.stack(states), self._emission
        return StateForecast(found, found @ emission.means(emission.from_attributes(self)))

    def _own_rows(self, count: int) -> tuple[np.ndarray, dict[str, Any]]:
        """Return one sequence that the model draws, always the same."""
        return self.sample(count, random_state=0)[0], {}

    def sample(
        self, n_samples: int = 1, random_state: Any = None, currstate: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw one sequence and its states; `currstate` is the state it begins in."""
        self._check_is_fitted()
        n_samples = check_count("n_samples", n_samples)
        random = check_random_state(self.random_state if random_state is None else random_state)
        model = self.to_model()
        if currstate is not None:
            if currstate not in range(len(self.startprob_)):
                raise ValueError(f"currstate is {currstate}: states are 0 to {len(self.startprob_) - 1}.")
            only = np.eye(len(self.startprob_))[currstate]
            model = HiddenMarkovModel(only, model.transitions, model.emissions)
        with computing():
            key = jax.random.key(random.randint(2**31))
            states, values = _sample(model, key, padded_steps(n_samples))
        values = np.asarray(values)[:n_samples].reshape(n_samples, -1)
        values = values.astype(np.int64) if self._emission.integers else values
        return values, np.asarray(states)[:n_samples].astype(np.int64)

    @in_float64
    def get_stationary_distribution(self) -> np.ndarray:
        """Return the distribution of states that the transitions leave as it is."""
        self._check_is_fitted()
        return np.asarray(self.to_model().stationary)

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Akaike information criterion; the lower the better."""
        return -2 * self.score(X, lengths) + 2 * self._n_parameters()

    def bic(self, X: Any, lengths: Any = None) -> float:
        """Bayesian information criterion; the lower the better."""
        return -2 * self.score(X, lengths) + self._n_parameters() * math.log(len(X))


_log_likelihood = adaptive_jit(HiddenMarkovModel.log_likelihood)
_posterior = adaptive_jit(HiddenMarkovModel.posterior)
_viterbi = adaptive_jit(HiddenMarkovModel.viterbi)
_sample: Any = jit(HiddenMarkovModel.sample_sequence, static_argnums=2)


@adaptive_jit
def _score_and_posterior(model: Any, batch: Batch) -> Any:
    return model.log_likelihood(batch), model.posterior(batch)


@adaptive_jit
def _filter(model: Any, batch: Batch, state: Any) -> Any:
    return model.filter(batch, state)[0]
