"""The front door: minimize a function of which nothing is known but its values."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from kullback.search._bounds import Box, check_box
from kullback.search._box import BoxDomain
from kullback.search._integers import check_integers
from kullback.search._loop import Loop
from kullback.search._objective import Objective
from kullback.search._registry import choose_method
from kullback.search._settings import check_settings, is_number
from kullback.search.methods._method import Method, check_start


def minimize(
    f: Callable[..., Any],
    x0: Any,
    sigma0: Any = 0.3,
    bounds: Any = None,
    method: str | Method | type[Method] = "auto",
    budget: float = 10_000,
    target: float | None = None,
    seed: int = 0,
    *,
    population: int | None = None,
    interactions: Iterable[tuple[int, int]] | None = None,
    integers: Any = None,
    guesses: Any = None,
    vectorized: bool = False,
    map: Callable[..., Iterable[Any]] | None = None,
    noisy: bool = False,
    restarts: str | int | None = "ipop",
    tolerance: float = 1e-11,
    callback: Callable[[OptimizeResult], Any] | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    verbose: bool = False,
) -> OptimizeResult:
    """Find a point at which f is small, by moving a distribution to where it is smaller.

    - `f`: a function of a point, an array of n numbers; with `vectorized`, of a batch of them, one in each row. It may
      raise or return NaN: such points count as the worst.
    - `x0`, `sigma0`: where to begin, and the standard deviation of the first points, one number or one for each
      coordinate. The minimum should be within some `sigma0` of `x0`. Where f has no value near `x0`, steps up to 64
      times as long are tried.
    - `bounds`: a pair for all coordinates, one for each, or `scipy.optimize.Bounds`; None for an open side. f is never
      called outside.
    - `method`: "auto", "cma", "limited-memory", "xnes", "snes", "spherical", "natural-gradient",
      "expectation-gradient", "cross-entropy", "diagonal-cross-entropy", or a search from `kullback.search`.
      `interactions` are the pairs of "natural-gradient".
    - `budget`: evaluations at most. `target`: a value that is small enough. Without one, the budget is spent on
      restarts.
    - `population`: points at a time, for the first run.
    - `integers`: which coordinates are whole numbers, by place or by a mask. f sees them rounded.
    - `guesses`: points that go with the first population.
    - `map`: evaluates f at many points, as `pool.map` or the `map` of a Dask client. It must keep their order: at the
      end f is asked once more at `x`, beside the budget, and a warning says so where it is not `fun`.
    - `noisy`: f has noise. Points are evaluated as often as their order needs, and `x` is the mean of the distribution.
    - `restarts`: "ipop", "bipop", None, or how many there may be. Populations double up to 16,384 points, or 2²³
      numbers.
    - `tolerance`: values within it are equal to the rule that ends a run.
    - `callback`: sees the best so far after each population; returns True, or raises `StopIteration`, to stop.
    - `checkpoint`: a file to which the run is written from time to time; `resume` goes on from it, bit for bit.
    - `verbose`: one line that says how far it has come.

    Returns a `scipy.optimize.OptimizeResult`: `x`, `fun`, `nfev`, `nit`, `success`, `message`, `status`, and

    - `stopped`: which rule has ended it; `restarts` and `runs`: how many, and each of them; `nfailed`: evaluations that
      failed
    - `history`: a number for each population: `evaluations`, `best`, `median`, `spread`, `condition`, `repeats`, `run`
    - `distribution`: that of the points, at the end of the run that has found `x`. With `bounds`, of the free ones that
      are folded into them.

    >>> result = minimize(lambda x: (x[0] - 1) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, [-1.0, 1.0], target=1e-9)
    >>> result.stopped, result.x.round(3).tolist()
    ('target', [1.0, 1.0])
    """
    point = np.atleast_1d(_numbers(x0, "x0", "a point, a number for each coordinate"))
    widths = _numbers(sigma0, "sigma0", "a number, or one for each coordinate")
    start, scale = (np.asarray(part) for part in check_start(point, widths, ("x0", "sigma0")))
    whole = check_integers(integers, len(start))
    box = check_box(bounds, scale)
    hull = _hull(box, whole, scale)
    inside = _check_points(start[None], "x0", box)[0]
    given = None if guesses is None else _check_points(guesses, "guesses", box, len(start))
    search = choose_method(method, inside if hull is None else hull.unfold(inside), scale, population, interactions)
    if not is_number(tolerance) or tolerance < 0:
        raise ValueError(f"tolerance is {tolerance!r}: it must be 0 or more.")
    needed = search.population + (0 if given is None else len(given))
    settings = check_settings(needed, budget, target, seed, restarts, callback, checkpoint, resume, verbose)
    settings = settings._replace(tolerance=float(tolerance), noisy=bool(noisy))
    objective = Objective(f, vectorized, map)
    return Loop(BoxDomain(settings, objective, inside, scale, box, hull, whole, search, given)).run()


def _numbers(value: Any, name: str, meaning: str) -> np.ndarray:
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}: it must be {meaning}.") from None


def _check_points(points: Any, name: str, box: Box | None, n: int | None = None) -> np.ndarray:
    try:
        found = np.atleast_2d(np.array(points, dtype=float))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be points, rows of {n} numbers.") from None
    if n is not None and (found.ndim != 2 or found.shape[1] != n or len(found) == 0):
        raise ValueError(f"{name} has shape {found.shape}: it must have one row per point, of {n} numbers.")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} has entries that are not finite.")
    if box is not None and not box.contains(found).all():
        row, place = np.argwhere((found < box.lower) | (found > box.upper))[0]
        which = f"{name}[{place}]" if n is None else f"{name}[{row}][{place}]"
        raise ValueError(
            f"{which} is {found[row, place]:g}: it must be within its bounds, "
            f"{box.lower[place]:g} and {box.upper[place]:g}."
        )
    return found


def _hull(box: Box | None, whole: np.ndarray, scale: np.ndarray) -> Box | None:
    """Return the box in which the search moves: a whole number has half a unit to each side."""
    if box is None or not whole.any():
        return box
    lower = np.where(whole, np.ceil(box.lower) - 0.5, box.lower)
    upper = np.where(whole, np.floor(box.upper) + 0.5, box.upper)
    if (lower >= upper).any():
        place = int(np.argmax(lower >= upper))
        raise ValueError(
            f"bounds has {box.lower[place]:g} and {box.upper[place]:g} for coordinate {place}: "
            f"there is no whole number between them."
        )
    return check_box(list(zip(lower, upper, strict=True)), scale)
