"""One question for all models: the missing part of rows, of lowest energy or drawn."""

import operator
from typing import Any

import jax
import numpy as np

from kullback.core import Batch, Completion, Model, Want, as_key
from kullback.models._search import search
from kullback.runtime import in_given_precision


@in_given_precision
def complete(
    model: Model,
    batch: Batch,
    *,
    want: str | Want = ("h", "v"),
    temperature: float = 0.0,
    key: Any = None,
    n: int | None = None,
) -> Completion:
    """Find the missing part of rows: what is hidden, missing entries, or both. What is not wanted is summed out.

    Temperature 0 is the lowest energy, 1 a draw; others draw from p^(1/T), where that is exact: labels, paths of
    states, Gaussians, both together, and whatever can be enumerated. Which part is wanted matters: the label in the
    lowest joint energy may be an unlikely one given what is observed, so that `want="h"` and `want=("h", "v")` may
    differ in it.

    Parameters
    ----------
    model : Model
        Closed-form models have `completed`. For others unknowns that are discrete are enumerated, up to 2^20 states of
        a row (the model says by `hidden_levels` and `visible_levels` what they may be); real ones are found by descent
        from several starts, or drawn by Langevin dynamics.
    batch : Batch
        Rows; `observed` says which entries are there.
    want : "h", "v" or both
        What is to be found.
    temperature : float
        0 for the lowest energy; otherwise draws.
    key : random key or int
        For draws.
    n : int, optional
        How many draws: a leading axis of what is returned.

    Returns
    -------
    Completion(v, h, energy, exact)

    Examples
    --------
    >>> from kullback.families import Gaussian
    >>> from kullback.models import Mixture
    >>> narrow = [[[0.01]], [[4.0]]]
    >>> mixture = Mixture(weights=[0.3, 0.7], components=Gaussian([[0.0], [3.0]], narrow))
    >>> row = Batch(np.zeros((1, 1)), observed=np.zeros((1, 1), bool))
    >>> complete(mixture, row, want="h").h.tolist()  # the label of largest weight
    [1]
    >>> both = complete(mixture, row)  # the highest density is that of the narrow component
    >>> both.h.tolist(), both.v.tolist()
    ([0], [[0.0]])

    """
    want, temperature = check_want(want), check_temperature(temperature)
    if temperature == 0:
        if n is not None:
            raise ValueError(f"n is {n} and temperature 0: only draws differ from each other, so leave n out.")
        return _once(model, batch, want, temperature, None)
    if key is None:
        raise ValueError(f"key is None: draws, at temperature {temperature}, need one, such as 0 or jax.random.key(0).")
    key = as_key(key)
    if n is None:
        return _once(model, batch, want, temperature, key)
    exact = []

    def one(key: Any) -> tuple[Any, Any, Any]:
        found = _once(model, batch, want, temperature, key)
        exact.append(found.exact)
        return found[:3]

    return Completion(*jax.vmap(one)(jax.random.split(key, _check_count(n))), exact=exact[0])


def _once(model: Model, batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
    found = model.completed(batch, want, temperature, key)
    return search(model, batch, want, temperature, key) if found is None else found


def check_want(want: Any) -> Want:
    """Return what is wanted as ("h",), ("v",) or ("h", "v")."""
    names = (want,) if isinstance(want, str) else tuple(want) if np.iterable(want) else (want,)
    if not names or any(name not in ("h", "v") for name in names):
        raise ValueError(f"want is {want!r}: it must be 'h', what is hidden, 'v', what is missing of rows, or both.")
    return tuple(name for name in ("h", "v") if name in names)


def check_temperature(temperature: Any) -> float:
    """Return the temperature as a number."""
    try:
        number = float(temperature)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number < np.inf:
        raise ValueError(
            f"temperature is {temperature!r}: it must be 0, for the lowest energy, or a positive number, 1 for a draw."
        )
    return number


def _check_count(n: Any) -> int:
    try:
        count = operator.index(n)
    except TypeError:
        count = 0
    if count < 1:
        raise ValueError(f"n is {n!r}: it must be a whole number, 1 or more.")
    return count
