"""Checks of parameters: one sentence that names the argument, the entry and what would be right.

Shapes are always checked. Values are checked when they are concrete; inside `jit` nothing can be looked at.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from kullback.numerics._types import Numeric, is_concrete


def entry_name(name: str, index: tuple[Any, ...]) -> str:
    """Name one entry of an argument, as the reader would write it in Python."""
    return name if not index else f"{name}[{', '.join(str(int(i)) for i in index)}]"


def check_ndim(name: str, value: Numeric, least: int, meaning: str) -> None:
    """Raise unless `value` has at least `least` axes."""
    if value.ndim < least:
        raise ValueError(f"{name} has shape {value.shape}: it needs {meaning}.")


def check_values(name: str, value: Numeric, good: Callable[[Any], Any], must: str) -> None:
    """Raise at the first entry for which `good` does not hold. NaN is never good."""
    if not is_concrete(value):
        return
    array = np.asarray(value)
    with np.errstate(invalid="ignore"):
        bad = ~np.asarray(good(array), dtype=bool)
    if bad.any():
        index = tuple(np.argwhere(bad)[0])
        raise ValueError(f"{entry_name(name, index)} is {array[index]:.6g}: it must be {must}.")


def check_finite(name: str, value: Numeric) -> None:
    """Raise at the first entry that is NaN or infinite."""
    check_values(name, value, np.isfinite, "finite")


def check_positive(name: str, value: Numeric) -> None:
    """Raise at the first entry that is not a positive finite number."""
    check_values(name, value, lambda v: np.isfinite(v) & (v > 0), "positive and finite")


def check_probabilities(name: str, value: Numeric) -> None:
    """Raise unless the last axis holds probabilities that sum to one."""
    check_values(name, value, lambda v: (v >= 0) & (v <= 1), "in [0, 1]")
    if not is_concrete(value):
        return
    array = np.asarray(value)
    total = array.sum(axis=-1)
    bad = np.abs(total - 1) > np.sqrt(np.finfo(array.dtype).eps)
    if np.any(bad):
        index = tuple(np.argwhere(bad)[0])
        raise ValueError(f"{entry_name(name, index)} sums to {total[index]:.8g}: probabilities must sum to 1.")


def check_covariance(name: str, value: Numeric) -> None:
    """Raise unless the last two axes hold symmetric positive definite matrices."""
    if not is_concrete(value):
        return
    check_finite(name, value)
    array = np.asarray(value)
    eps = np.finfo(array.dtype).eps
    root = np.sqrt(np.abs(np.diagonal(array, axis1=-2, axis2=-1)))  # the product of two variances may underflow
    scale = root[..., :, None] * root[..., None, :]
    skew = np.abs(array - np.swapaxes(array, -1, -2)) > np.sqrt(eps) * scale
    if skew.any():
        *batch, i, j = np.argwhere(skew)[0]
        left, right = array[(*batch, i, j)], array[(*batch, j, i)]
        raise ValueError(
            f"{name} is not symmetric: {entry_name(name, (*batch, i, j))} is {left:.6g} "
            f"but {entry_name(name, (*batch, j, i))} is {right:.6g}."
        )
    try:
        np.linalg.cholesky(array)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(array)[..., 0]
        index = np.unravel_index(np.argmin(smallest), smallest.shape)
        raise ValueError(
            f"{entry_name(name, tuple(index))} is not positive definite: "
            f"its smallest eigenvalue is {smallest[index]:.3g}."
        ) from None


def check_interior(name: str, value: Numeric, inside: Callable[[Any], Any]) -> None:
    """Raise where a member lies on the boundary of its family, which natural coordinates do not reach."""
    if not is_concrete(value):
        return
    array = np.asarray(value)
    bad = ~np.asarray(inside(array), dtype=bool)
    if bad.any():
        index = tuple(np.argwhere(bad)[0])
        raise ValueError(
            f"{entry_name(name, index)} is {array[index]:.6g}: natural coordinates do not exist on the boundary of "
            "the family. Use source or expectation coordinates, or move the member inside."
        )
