"""Checks of parameters and weights for versions of scikit-learn that no longer have those that are private to it."""

import dataclasses
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_array, check_consistent_length


@dataclasses.dataclass(frozen=True)
class Interval:
    """Numbers of a type between two ends; None is an end at infinity."""

    type: Any
    left: float | None
    right: float | None
    closed: Literal["left", "right", "both", "neither"]

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, self.type) or (isinstance(value, float) and np.isnan(value)):
            return False
        left, right = -np.inf if self.left is None else self.left, np.inf if self.right is None else self.right
        above = value > left or (value == self.left and self.closed in ("left", "both"))
        below = value < right or (value == self.right and self.closed in ("right", "both"))
        return bool(above and below)

    def __str__(self) -> str:
        kind = "an int" if self.type is Integral else "a float"
        left = "(-inf" if self.left is None else f"{'[' if self.closed in ('left', 'both') else '('}{self.left}"
        right = "inf)" if self.right is None else f"{self.right}{']' if self.closed in ('right', 'both') else ')'}"
        return f"{kind} in the range {left}, {right}"


@dataclasses.dataclass(frozen=True)
class StrOptions:
    """Some words."""

    options: set[str]

    def __contains__(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options

    def __str__(self) -> str:
        return f"a str among {sorted(self.options)}"


def validate_parameter_constraints(constraints: dict[str, list[Any]], parameters: dict[str, Any], caller: str) -> None:
    """Raise unless each parameter is one of the things that it may be."""
    for name, value in parameters.items():
        allowed = constraints.get(name, [object])
        if not any(_satisfies(value, one) for one in allowed):
            said = " or ".join(one.__name__ if isinstance(one, type) else str(one) for one in allowed)
            raise ValueError(f"The {name!r} parameter of {caller} must be {said}. Got {value!r} instead.")


def _satisfies(value: Any, allowed: Any) -> bool:
    if isinstance(allowed, Interval | StrOptions):
        return value in allowed
    if isinstance(allowed, type):
        return isinstance(value, allowed)
    match allowed:
        case None:
            return value is None
        case "array-like":
            return not np.isscalar(value) and any(hasattr(value, name) for name in ("__len__", "shape", "__array__"))
        case "boolean":
            return isinstance(value, bool | np.bool_)
        case "verbose":
            return isinstance(value, Integral | np.bool_) and int(value) >= 0
        case "random_state":
            seed = isinstance(value, Integral) and 0 <= int(value) < 2**32
            return value is None or isinstance(value, np.random.RandomState) or seed
    return allowed is callable and callable(value)


def check_sample_weight(sample_weight: Any, X: Any, *, dtype: Any, ensure_non_negative: bool) -> np.ndarray:
    """Return one number for each row of X, none of them negative if that is asked for."""
    if isinstance(sample_weight, Real):
        return np.full(len(X), sample_weight, dtype=dtype)
    weight: np.ndarray = check_array(
        sample_weight, ensure_2d=False, dtype=dtype, ensure_non_negative=ensure_non_negative, input_name="sample_weight"
    )
    if weight.ndim != 1:
        raise ValueError(f"sample_weight has {weight.ndim} dimensions: it must have one.")
    check_consistent_length(weight, X)
    return weight
