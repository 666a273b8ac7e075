"""What a fitted linear dynamical system is asked."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm
from sklearn.utils import check_random_state

from kullback.core import Batch
from kullback.estimators._check_fit import check_answers
from kullback.estimators._count import check_count
from kullback.estimators._sequence_estimator import SequenceEstimator
from kullback.learning import adaptive_jit
from kullback.models import States
from kullback.runtime import computing, in_float64, jit


class Forecast(NamedTuple):
    """What is expected of the next points of a series, step by step, with the band that holds each of them."""

    mean: np.ndarray
    covariance: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class LinearDynamicalQuestions(SequenceEstimator):
    """What the Kalman filter and its smoother answer."""

    _takes_inputs = True

    def score(self, X: Any, lengths: Any = None, inputs: Any = None) -> float:
        """Log-likelihood of all sequences together, in nats."""
        return float(np.sum(self._answer(X, lengths, _log_likelihood, inputs=inputs)))

    @in_float64
    def filter(
        self, X: Any, lengths: Any = None, inputs: Any = None, state: tuple[Any, Any] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Means and covariances of the hidden state at each row, given the rows up to it and no later ones.

        `state` is the mean and covariance of an earlier answer that X goes on from, for series that are met row by row:
        `filter(x, state=(means[-1], covariances[-1]))`.
        """
        data, model = self._question(X, lengths, inputs)
        carry: Any = None
        if state is not None:
            carry = self._carry_from(tuple(np.asarray(part, dtype=np.float64) for part in state))
            data.starts[0] = False
        found = _filter(model, data.batch(), carry)
        return check_answers((np.asarray(found.mean)[: len(data)], np.asarray(found.covariance)[: len(data)]))

    def smooth(self, X: Any, lengths: Any = None, inputs: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Means and covariances of the hidden state at each row, given all rows of its sequence."""
        found = self._answer(X, lengths, _smooth, inputs=inputs)
        return found.mean, found.covariance

    def forecast(
        self, X: Any, steps: int = 1, inputs: Any = None, future_inputs: Any = None, level: float = 0.95
    ) -> Forecast:
        """Return what is expected of the next steps after the series X, with bands that hold each point at this level.

        A system with inputs needs those of X and those of the steps ahead.
        """
        steps = check_count("steps", steps)
        if not 0 < level < 1:
            raise ValueError(f"level is {level}: it must be between 0 and 1.")
        means, covariances = self.filter(X, inputs=inputs)
        model = self.to_model()
        future = None
        if model.input_transition is not None or model.input_observation is not None:
            future = (
                np.asarray(future_inputs, dtype=np.float64).reshape(steps, -1) if future_inputs is not None else None
            )
            if future is None:
                raise ValueError("future_inputs is missing: the system has inputs, so give a row for each step ahead.")
        with computing():
            state = States(jnp.asarray(means[-1]), jnp.asarray(covariances[-1]))
            found = _forecast(model, state, steps, future)
        mean, covariance = check_answers((np.asarray(found.mean), np.asarray(found.covariance)))
        band = norm.ppf(0.5 + level / 2) * np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
        return Forecast(mean, covariance, mean - band, mean + band)

    def _own_rows(self, count: int) -> tuple[np.ndarray, dict[str, Any]]:
        """Return one sequence that the system draws, always the same, with inputs of 0.

        What a row adds to the likelihood of a linear system is as likely with any inputs.
        """
        self._check_is_fitted()
        model = self.to_model()
        driven = [part for part in (model.input_transition, model.input_observation) if part is not None]
        inputs = np.zeros((count, driven[0].shape[1])) if driven else None
        return self.sample(count, inputs, random_state=0)[0], {"inputs": inputs}

    @in_float64
    def sample(self, n_samples: int = 1, inputs: Any = None, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw one sequence and its hidden states."""
        self._check_is_fitted()
        n_samples = check_count("n_samples", n_samples)
        random = check_random_state(self.random_state if random_state is None else random_state)
        known = None if inputs is None else np.asarray(inputs, dtype=np.float64).reshape(n_samples, -1)
        key = jax.random.key(random.randint(2**31))
        states, values = _draw(self.to_model(), key, n_samples, known)
        return np.asarray(values), np.asarray(states)

    def aic(self, X: Any, lengths: Any = None, inputs: Any = None) -> float:
        """Akaike information criterion; the lower the better."""
        return -2 * self.score(X, lengths, inputs) + 2 * self._n_parameters()

    def bic(self, X: Any, lengths: Any = None, inputs: Any = None) -> float:
        """Bayesian information criterion; the lower the better."""
        return -2 * self.score(X, lengths, inputs) + self._n_parameters() * math.log(len(X))


@adaptive_jit
def _log_likelihood(model: Any, batch: Batch) -> Any:
    return model.log_likelihood(batch)


@adaptive_jit
def _filter(model: Any, batch: Batch, carry: Any) -> Any:
    return model.filter(batch, carry)[0]


@adaptive_jit
def _smooth(model: Any, batch: Batch) -> Any:
    return model.posterior(batch)


def _ahead(model: Any, state: Any, steps: int, inputs: Any) -> Any:
    return model.forecast(state, steps, inputs)


def _sample_sequence(model: Any, key: Any, length: int, inputs: Any) -> Any:
    return model.sample_sequence(key, length, inputs)


_forecast = jit(_ahead, static_argnums=2)
_draw = jit(_sample_sequence, static_argnums=2)
