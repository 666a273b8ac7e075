"""The log-likelihood of each row, and where a row is too unlikely."""

from typing import Any, NamedTuple

import jax
import numpy as np

from kullback.cli._roles import Piece
from kullback.core import Batch
from kullback.learning import adaptive_jit
from kullback.runtime import computing

#: Rows that are drawn from a model to see how likely its own rows are.
_DRAWS = 10_000


class RowScores(NamedTuple):
    """Log-likelihoods in nats, and the most probable component or state of each row, where there is one."""

    log_likelihood: np.ndarray
    component: np.ndarray | None


class OfTable:
    """Scores of rows that know nothing of each other."""

    def __init__(self, estimator: Any):
        self._estimator = estimator

    def __call__(self, piece: Piece) -> RowScores:
        """Answer for some rows."""
        estimator = self._estimator
        component = estimator.predict(piece.X) if hasattr(estimator, "predict") else None
        return RowScores(estimator.score_samples(piece.X), component)


class OfSeries:
    """Scores of rows given those before them: log p(v_t | v_1 … v_{t−1}), from batch to batch."""

    def __init__(self, estimator: Any):
        self._estimator, self._carry, self._last = estimator, None, None

    def __call__(self, piece: Piece) -> RowScores:
        """Answer for the next rows."""
        estimator, rows = self._estimator, len(piece.X)
        data, model = estimator._asked(piece.X, piece.lengths, piece.inputs)
        if self._carry is not None and (piece.sequence is None or piece.sequence[0] == self._last):
            data.starts[0] = False
        self._last = None if piece.sequence is None else piece.sequence[-1]
        with computing():
            batch = data.batch(model)
            found, states, carry = _next_rows(model, batch, self._carry)
            self._carry = jax.tree.map(np.array, carry)
        discrete = isinstance(states, jax.Array)  # probabilities of states, or moments of one that moves continuously
        component = np.asarray(states)[:rows].argmax(axis=1) if discrete else None
        return RowScores(np.asarray(found)[:rows], component)


@adaptive_jit
def _next_rows(model: Any, batch: Batch, carry: Any) -> Any:
    return model.log_likelihood(batch, carry), *model.filter(batch, carry)


class Floor:
    """The log-likelihood below which only a small share of the model's own rows lies.

    Rows with missing entries are compared with drawn rows that lack the same columns.
    """

    def __init__(self, estimator: Any, scores: type, share: float):
        self._scores, self._estimator, self._share = scores, estimator, share
        before, estimator.random_state = estimator.random_state, 0
        # what a row adds to the likelihood of a linear system is as likely with any inputs
        effect = getattr(estimator, "input_transition_", getattr(estimator, "input_observation_", None))
        self._inputs = None if effect is None else np.zeros((_DRAWS, effect.shape[1]))
        drawn = estimator.sample(_DRAWS, **({} if effect is None else {"inputs": self._inputs}))
        estimator.random_state = before
        self._drawn = np.array(drawn[0] if isinstance(drawn, tuple) else drawn, dtype=np.float64)
        self._floors: dict[bytes, float] = {}

    def of(self, X: np.ndarray) -> np.ndarray:
        """Return the floor of each row."""
        patterns, which = np.unique(np.isnan(X), axis=0, return_inverse=True)
        return np.array([self._floor(pattern) for pattern in patterns])[which.ravel()]

    def _floor(self, missing: np.ndarray) -> float:
        key = missing.tobytes()
        if key not in self._floors:
            if missing.all():
                self._floors[key] = -np.inf
            else:
                drawn = Piece(np.where(missing, np.nan, self._drawn), self._inputs)
                own = self._scores(self._estimator)(drawn).log_likelihood
                self._floors[key] = float(np.quantile(own, self._share))
        return self._floors[key]
