"""Emissions that start from rows of which each state has a share, whatever their family is."""

from typing import Any

import jax
import numpy as np

from kullback.core import Batch, by_blocks
from kullback.estimators._sequences import Sequences
from kullback.learning import adaptive_jit


def labeled(blank: Any, data: Sequences, shares: np.ndarray) -> Any:
    """Return the emissions nearest to the rows that each state has, `shares` of shape (rows, states).

    Call it in 64 bits.
    """
    weight = data.padded(shares * data.weight[:, None], 0.0)
    return jax.tree.map(np.asarray, _from_statistics(blank, data.batch().weighted(weight)))


@adaptive_jit
def _from_statistics(blank: Any, batch: Batch) -> Any:
    return blank.maximize(by_blocks(lambda block: blank.expected_statistics(block)[0], batch))
