"""Scores of the rows of a sequence given those before them."""

from typing import Any, NamedTuple

import numpy as np

from kullback.core import Batch
from kullback.learning import adaptive_jit


class RowScores(NamedTuple):
    """log p(v_t | v_1 … v_t−1) of each row in nats, its hidden state given v_1 … v_t, and what the next rows need.

    Hidden states are probabilities of shape (rows, states), or means and covariances.
    """

    log_likelihood: np.ndarray
    states: Any
    carry: Any


@adaptive_jit
def score_rows(model: Any, batch: Batch, carry: Any) -> Any:
    """Return the three of a batch."""
    return model.log_likelihood(batch, carry), *model.filter(batch, carry)
