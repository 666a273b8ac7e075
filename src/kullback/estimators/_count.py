"""Numbers of rows and steps that a user asks for."""

import operator
from typing import Any


def check_count(name: str, value: Any) -> int:
    """Return how many there are to be, as Python's integer: NumPy's have other methods.

    >>> import numpy as np
    >>> check_count("n_samples", np.int64(3))
    3
    """
    try:
        count = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} is {value!r}: it must be a whole number, 1 or more.") from None
    if count < 1:
        raise ValueError(f"{name} is {count}: it must be 1 or more.")
    return count
