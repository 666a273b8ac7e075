"""Quantiles from distribution functions, for many distributions at once."""

from collections.abc import Callable
from typing import Any

import numpy as np

#: Doublings that reach any finite number from any scale, and halvings after which two neighbors are left.
_DOUBLINGS, _HALVINGS = 1100, 200


def find_quantiles(
    cdf: Callable[[np.ndarray], np.ndarray],
    level: float,
    center: np.ndarray,
    spread: np.ndarray,
    discrete: bool,
) -> np.ndarray:
    """Return the smallest x with P(X ≤ x) ≥ level, for each of several distributions.

    `cdf` takes an x for each of them. They lie around `center`, about as far as `spread`. Those of whole numbers have
    whole quantiles.
    """
    step = np.maximum(np.where(np.isfinite(spread), spread, 1.0), np.abs(center) * 1e-6 + 1e-300)
    if discrete:
        step = np.maximum(np.ceil(step), 1.0)
        center = np.floor(center)
    low = _move_until(lambda x: cdf(x) < level, center - step, -step)
    high = _move_until(lambda x: cdf(x) >= level, center + step, step)
    for _ in range(_HALVINGS):
        middle = np.floor((low + high) / 2) if discrete else low + (high - low) / 2
        done = (middle <= low) | (middle >= high)
        if done.all():
            break
        reached = cdf(middle) >= level
        low, high = np.where(reached | done, low, middle), np.where(reached & ~done, middle, high)
        if not discrete and (high - low <= 4 * np.finfo(float).eps * np.maximum(np.abs(high), np.abs(low))).all():
            break
    return high


def _move_until(good: Callable[[np.ndarray], np.ndarray], x: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return points that were moved by growing steps until they are good."""
    for _ in range(_DOUBLINGS):
        bad = ~good(x)
        if not bad.any():
            return x
        x, step = np.where(bad, x + step, x), np.where(bad, 2 * step, step)
        if not np.isfinite(x).all():
            break
    raise ValueError("A quantile is too far out to be found: it is no finite number.")


def check_level(name: str, level: Any) -> float:
    """Return a probability between 0 and 1, or raise."""
    if isinstance(level, bool) or not isinstance(level, (int, float, np.number)) or not 0 < float(level) < 1:
        raise ValueError(f"{name} is {level!r}: it must be a number between 0 and 1.")
    return float(level)
