"""What is filled in for missing entries: draws, means or modes."""

from collections.abc import Iterable
from typing import Any, Literal

import jax
import numpy as np

from kullback.core import Batch, ClosedFormModel
from kullback.estimators._count import check_count
from kullback.learning import adaptive_jit
from kullback.models import complete
from kullback.runtime import computing

ImputeMethod = Literal["draw", "mean", "mode"]


def check_method(method: Any, n: Any) -> int | None:
    """Return how many draws are asked for, or None for one answer."""
    if method not in ("draw", "mean", "mode"):
        raise ValueError(f"method is {method!r}: it must be 'draw', 'mean' or 'mode'.")
    if n is None:
        return None
    if method != "draw":
        raise ValueError(f"n is {n!r} and method {method!r}: only draws differ from each other, so leave n out.")
    return check_count("n", n)


def fill_table(
    table: np.ndarray,
    batches: Iterable[tuple[slice, Batch]],
    model: Any,
    method: ImputeMethod,
    n: int | None,
    random: np.random.RandomState,
    bits: int = 64,
) -> np.ndarray:
    """Return the table with its missing entries filled in, once or n times: (rows, columns) or (n, rows, columns).

    `batches` has its rows, with their places; where nothing is missing they are not looked at.
    """
    filled = np.repeat(table[None], 1 if n is None else n, axis=0)
    if np.isnan(table).any():
        for here, batch in batches:
            missing = np.isnan(table[here])
            for turn in filled:
                with computing(bits):
                    if method == "draw":
                        found = _draw(model, batch, jax.random.key(random.randint(2**31)))
                    else:
                        found = (_mean if method == "mean" else _mode)(model, batch)
                    rows = np.asarray(found)[: len(missing)].reshape(missing.shape)
                turn[here][missing] = rows[missing]
        if not np.isfinite(filled).all():
            raise ValueError(
                "X cannot be imputed: what the model expects of its missing entries is not finite, as the model grows "
                "too fast or the numbers are too large."
            )
    return filled[0] if n is None else filled


@adaptive_jit
def _draw(model: Any, batch: Batch, key: Any) -> Any:
    return complete(model, batch, want="v", temperature=1.0, key=key).v


@adaptive_jit
def _mean(model: Any, batch: Batch) -> Any:
    return model.conditional_mean(batch)


@adaptive_jit
def _mode(model: Any, batch: Batch) -> Any:
    if isinstance(model, ClosedFormModel):
        return model.conditional_mode(batch)
    return complete(model, batch, want="v").v
