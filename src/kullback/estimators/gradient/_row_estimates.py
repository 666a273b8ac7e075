"""Log-likelihoods that are estimated row by row: a row has the same number wherever it stands."""

import zlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from kullback.core import Batch
from kullback.learning import adaptive_jit
from kullback.runtime import computing

#: Rows that are handed over at once, and numbers of visible entries that are worked on at once.
_ROWS, _AT_ONCE = 1024, 2**22


def estimate_rows(
    model: Any, prepare: Callable[[np.ndarray], Batch], count: int, draws: int, seed: int, bits: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return log p(v) of each row and its standard error, of so many rows that `prepare` makes batches of.

    The draws for a row follow from the seed and its entries, so that neither its place nor its neighbors matter.
    """
    values, errors = [], []
    for first in range(0, count, _ROWS):
        places = np.arange(first, min(first + _ROWS, count))
        size = min(1 << (len(places) - 1).bit_length(), _ROWS)  # few sizes: few compiled functions
        batch = prepare(np.concatenate([places, np.full(size - len(places), places[0])]))
        numbers = np.array([zlib.crc32(row.tobytes()) for row in np.ascontiguousarray(batch.values)], np.uint32)
        with computing(bits):
            found = _estimate(model, batch, numbers, jax.random.key(seed), draws)
        values.append(np.asarray(found.value, np.float64)[: len(places)])
        errors.append(np.asarray(found.standard_error, np.float64)[: len(places)])
    return np.concatenate(values), np.concatenate(errors)


@adaptive_jit
def _estimate(model: Any, batch: Batch, numbers: Any, key: Any, draws: int) -> Any:
    def one(row: tuple[Any, Any, Any]) -> Any:
        v, observed, number = row
        alone = Batch(v[None], observed=None if observed is None else observed[None])
        found = model.estimate_log_likelihood(alone, jax.random.fold_in(key, number), draws)
        return jax.tree.map(lambda leaf: leaf[0], found)

    group = max(1, _AT_ONCE // (draws * batch.values.shape[1]))
    return jax.lax.map(one, (batch.values, batch.observed, numbers), batch_size=group)


@adaptive_jit
def estimate_surprises(model: Any, batch: Batch) -> Any:
    """Return −log p(entry | the rest of its row) for all entries, of models that estimate it by draws."""
    return model.estimate_surprises(batch)
