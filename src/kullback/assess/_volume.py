"""How much of the prior lies where a model is nearly as good as it can be."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kullback.core import Estimate

#: Runs whose spread is the standard error, and moves of a point after each level.
_RUNS = 16
_MOVES = 6
#: A move gives up after so many places on its line.
_HALVINGS = 60

Floats = NDArray[np.float64]


def volume(
    K: Callable[[Any], Any],
    epsilon: ArrayLike,
    bounds: Sequence[tuple[float, float]],
    *,
    draws: int = 2_000,
    seed: int = 0,
) -> Estimate:
    """Return V(ε), the share of a box where K(w) < ε.

    For K with the learning coefficient λ of multiplicity m, log V(ε) = λ log ε + (m − 1) log log(1/ε) + O(1): V shows
    how flat K is at its least, where curvature cannot. Sets of a share far too small to be hit are reached in levels,
    each holding a fifth of the one before (subset simulation): points of a level are multiplied and moved inside.
    Another prior than the uniform one comes in by its quantile function: give u ↦ K(quantile(u)).

    Parameters
    ----------
    K : callable
        A function of an array of shape (points, d) whose answer has the shape (points,).
    epsilon : array-like
        Where to cut, > 0.
    bounds : sequence of pairs
        The least and the largest value of each coordinate.
    draws : int
        Points of each of the 16 runs, whose spread gives the standard error.
    seed : int
        Where chance begins.

    Returns
    -------
    Estimate
        The volume as a share of the box, with its standard error, in the shape of `epsilon`.

    Raises
    ------
    ValueError
        Where an argument is out of range, K answers NaN or in another shape, or no point below ε is found.

    Examples
    --------
    With K = w₁²·w₂² on [0, 1]² it is √ε·(1 − ½ log ε):

    >>> found = volume(lambda w: np.prod(w**2, axis=1), 1e-8, [(0, 1), (0, 1)], draws=500)
    >>> exact = 1e-4 * (1 - 0.5 * np.log(1e-8))
    >>> bool(abs(found.value - exact) < 4 * found.standard_error), bool(found.standard_error < 0.1 * exact)
    (True, True)

    """
    cuts = np.asarray(epsilon, float)
    box = np.asarray(bounds, float)
    if cuts.size == 0 or not np.all(np.isfinite(cuts) & (cuts > 0)):
        raise ValueError(f"epsilon is {epsilon!r}: it must be positive and finite.")
    if box.ndim != 2 or box.shape[1:] != (2,) or not np.all(np.isfinite(box)) or not np.all(box[:, 0] < box[:, 1]):
        raise ValueError("bounds must have a pair (least, largest) of finite numbers for each coordinate.")
    if draws < 100:
        raise ValueError(f"draws is {draws}: it must be 100 or more, for a fifth of them begins each level.")
    random = np.random.default_rng(seed)
    order = np.argsort(-cuts.ravel())
    found = np.zeros((_RUNS, cuts.size))
    for run in range(_RUNS):
        found[run, order] = _shares(_checked(K), cuts.ravel()[order], box, draws, random)
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(_RUNS)
    return Estimate(mean.reshape(cuts.shape), error.reshape(cuts.shape))


def _checked(K: Callable[[Any], Any]) -> Callable[[Floats], Floats]:
    def values(w: Floats) -> Floats:
        found = np.asarray(K(w), float)
        if found.shape != w.shape[:1]:
            raise ValueError(
                f"K has answered with shape {found.shape} for {len(w)} points: it must give one number each."
            )
        if np.isnan(found).any():
            raise ValueError(
                f"K is NaN at w = {w[np.isnan(found)][0].tolist()}: it must be a number in all of the box."
            )
        return found

    return values


def _shares(
    K: Callable[[Floats], Floats], cuts: Floats, box: Floats, draws: int, random: np.random.Generator
) -> Floats:
    """Return the share below each of the descending cuts, from one run."""
    low, high = box.T
    points = random.uniform(low, high, (draws, len(box)))
    values = K(points)
    share, shares = 1.0, []
    for cut in cuts:
        while (level := np.quantile(values, 0.2)) > cut:
            below = values < level
            if np.sum(below) < 2:
                break  # no point is better than the others
            share *= below.mean()
            points, values = _moved(K, points[below], values[below], level, box, draws, random)
        shares.append(share * np.mean(values < cut))
    if shares[-1] == 0:
        raise ValueError(
            f"No point with K < {cuts[-1]:g} was found: take a larger epsilon, a smaller box, or more draws."
        )
    return np.array(shares)


def _moved(
    K: Callable[[Floats], Floats],
    points: Floats,
    values: Floats,
    level: float,
    box: Floats,
    draws: int,
    random: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return `draws` points of the level, multiplied and moved inside of it by slice sampling.

    A move goes along an axis, or along the difference of two points of the level, whose directions are those of the
    set: a place on that line is drawn from all of the box, then closer and closer until it is inside.
    """
    others = points
    chosen = random.integers(len(points), size=draws)
    points, values = points[chosen], values[chosen]
    low, high = box.T
    for move in range(_MOVES):
        if move % 2:
            first, second = random.integers(len(others), size=(2, draws))
            direction = others[first] - others[second]
        else:
            direction = np.eye(len(box))[random.integers(len(box), size=draws)] * (high - low)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.stack([(low - points) / direction, (high - points) / direction])
        ends = np.where(direction == 0, np.array([-np.inf, np.inf])[:, None, None], ends)
        left, right = np.max(ends.min(axis=0), axis=1), np.min(ends.max(axis=0), axis=1)
        open_ = np.flatnonzero(np.isfinite(left) & np.isfinite(right))  # two points may be one
        for _ in range(_HALVINGS):
            if not open_.size:
                break
            step = random.uniform(left[open_], right[open_])
            trial = np.clip(points[open_] + step[:, None] * direction[open_], low, high)
            found = K(trial)
            good = found < level
            points[open_[good]], values[open_[good]] = trial[good], found[good]
            left[open_], right[open_] = np.where(step < 0, step, left[open_]), np.where(step < 0, right[open_], step)
            open_ = open_[~good]
    return points, values
