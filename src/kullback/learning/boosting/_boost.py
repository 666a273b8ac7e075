"""Boosting of any family: each round adds a tree to every free coordinate."""

import os
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from kullback.families import ExponentialFamily, Kind, fit_kind
from kullback.learning.boosting._grower import Grower, Growth
from kullback.learning.boosting._lightgbm import LightGBMGrower, is_installed
from kullback.learning.boosting._sklearn import SklearnGrower
from kullback.learning.boosting._slopes import Targets
from kullback.models import Trees
from kullback.runtime import in_float64, users_settings

#: A leaf leads by at most so many standard errors of a single point of the marginal, before the rate.
REACH = 3.0
#: Below so many rows one thread is the quickest.
MANY_ROWS = 50_000
#: A gain in nats per point that is none.
_NO_GAIN = 1e-9

Callback = Callable[[int, float, float | None], Any]


class Boosted(NamedTuple):
    """Trees, and how the mean −log p(y) went along the rounds, from the marginal on."""

    trees: Trees
    #: of the training part, in nats per point; entry r is after r rounds
    training: np.ndarray
    #: of the validation part, where there is one
    validation: np.ndarray | None
    #: how many rounds the trees are of: those after which the validation part, or else the training part, was likeliest
    best_round: int


class _Part(NamedTuple):
    """Rows with their targets and weights."""

    inputs: np.ndarray
    targets: np.ndarray
    weight: np.ndarray


@in_float64
def boost(
    kind: Kind,
    X: Any,
    y: Any,
    *,
    weight: Any = None,
    validation: tuple[Any, Any] | tuple[Any, Any, Any] | None = None,
    rounds: int = 500,
    rate: float = 0.1,
    depth: int = 3,
    leaf: int = 20,
    subsample: float = 0.5,
    patience: int = 30,
    learner: Literal["auto", "lightgbm", "sklearn"] = "auto",
    threads: int | None = None,
    seed: int = 0,
    start: ExponentialFamily | None = None,
    callback: Callback | None = None,
) -> Boosted:
    """Fit the distribution of y given X by trees, from the marginal of y on.

    Each round grows one tree for every free coordinate, by least squares: in coordinate i the rows of a leaf move by
    Σ s_i / Σ I_ii, with s the gradient of log p(y) in free coordinates and I the Fisher information at the member that
    each row has reached. A tree moves its coordinate alone, with the others held, and s_i / I_ii is the natural
    gradient of that: `toward(y)` itself where free coordinates are orthogonal, as mean and log scale of a Gaussian are.
    The leaf's step, before it is multiplied by the rate, is at most three standard errors of a single point of the
    marginal, 3 / √I_ii: a far point does not send its leaf to infinity.

    Parameters
    ----------
    kind : Kind
        The kind of family of the targets, `member.kind`; a `Product` for several targets of different kinds.
    X : array of shape (rows, inputs)
        Inputs. NaN is missing, and each split learns where missing inputs go; where none was missing they go with
        the most rows.
    y : array of shape (rows,) or (rows, columns)
        Targets.
    weight : array of shape (rows,), optional
        How often each row counts.
    validation : (X, y) or (X, y, weight), optional
        Rows that are not learned from. The rounds end when they have not become likelier for `patience` rounds.
    rounds : int
        Rounds at most.
    rate : float
        What is taken of each leaf's step, in (0, 1].
    depth, leaf : int
        Splits from the root to a leaf at most, and rows in a leaf at least.
    subsample : float
        The share of rows that each round is grown on, drawn anew, in (0, 1]: trees that have not seen a row tell the
        scale of its error better, and half of the rows make a likelier fit than all of them.
    patience : int
        Rounds without a gain before the end.
    learner : {"auto", "lightgbm", "sklearn"}
        Whose trees: LightGBM's, which look at 255 bins of each input, or scikit-learn's, which look at every split and
        take longer. "auto" takes LightGBM where it is installed (`pip install 'kullback[trees]'`).
    threads : int, optional
        Threads of LightGBM; one below 50,000 rows and as many as there are processors beyond, if not given.
    start : member, optional
        What every row begins with; without it the marginal, the member nearest to the targets of all rows.
    seed : int
        The seed of the rows that are drawn, and of the order in which scikit-learn looks at inputs.
    callback : callable, optional
        Called with the number of rounds, the mean −log p(y) of the training part, and that of the validation part or
        None. The rounds end when it returns True.

    >>> from kullback.families import Poisson
    >>> X = np.arange(200.0)[:, None]
    >>> y = np.where(X[:, 0] < 100, 1, 5)
    >>> fitted = boost(Poisson(rate=1.0).kind, X, y, rounds=60)
    >>> np.exp(fitted.trees.evaluate(np.array([[3.0], [170.0]]))).round(2).tolist()
    [[1.0], [5.0]]

    """
    _check_settings(kind, rounds, rate, depth, leaf, subsample, patience, learner)
    training = _part("", X, y, weight, kind.columns)
    held = None if validation is None else _part("of the validation part", *_three(validation), kind.columns)
    if held is not None and held.inputs.shape[1] != training.inputs.shape[1]:
        raise ValueError(
            f"X has {training.inputs.shape[1]} columns, and that of the validation part {held.inputs.shape[1]}."
        )
    if learner == "lightgbm" and not is_installed():
        raise ImportError("learner='lightgbm' needs LightGBM: pip install 'kullback[trees]', or take 'sklearn'.")

    base, unit, single = _start(kind, training, start)
    growth = Growth(rate, depth, leaf, subsample, REACH, threads or _threads(len(training.weight)), seed)
    make = SklearnGrower if learner == "sklearn" or not is_installed() else LightGBMGrower
    grower: Grower = make(training.inputs, None if held is None else held.inputs, kind.size, growth)
    values, weights = _together(training, held)
    targets = Targets(kind, base, unit, values[:, 0] if single else values, weights)

    curve: list[tuple[float, float]] = []
    best = 0
    for count in range(rounds + 1):
        slope, curvature, energies = targets.slopes(grower.scores)
        if not np.isfinite(energies).all():
            if count == 0:
                raise ValueError("y of the validation part has a target that is impossible in the family.")
            break
        curve.append(energies)
        if energies[1] < curve[best][1] - _NO_GAIN:
            best = count
        if callback is not None and _asked(callback, count, energies[0], None if held is None else energies[1]):
            break
        if count == rounds or (held is not None and count - best >= patience):
            break
        if not grower.grow(slope, curvature):
            break

    grown = [tree._replace(value=unit[place % kind.size] * tree.value) for place, tree in enumerate(grower.trees(best))]
    coordinate = np.arange(len(grown)) % kind.size
    trees = Trees.stack(grown, coordinate.tolist(), base, training.inputs.shape[1])
    along = np.array(curve)
    return Boosted(trees, along[:, 0], None if held is None else along[:, 1], best)


def _start(kind: Kind, training: _Part, start: ExponentialFamily | None) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the marginal and the standard errors of one point in free coordinates, and whether points are numbers."""
    marginal: Any = fit_kind(kind, training.targets, training.weight) if start is None else start
    with np.errstate(all="ignore"):
        inside = bool(np.all(marginal.interior))
        base = np.asarray(marginal.free, float) if inside else np.full(kind.size, np.nan)
        unit = 1 / np.sqrt(np.diagonal(np.asarray(marginal.fisher("free")))) if inside else base
    if not (np.isfinite(base).all() and np.isfinite(unit).all()):
        raise ValueError(
            f"y has no {kind.family.__name__} inside the family that is nearest to it: all targets are alike, or one "
            "of the categories never occurs; leave out the target or the category."
        )
    return base, unit, not marginal.event_shape


def _together(training: _Part, held: _Part | None) -> tuple[np.ndarray, np.ndarray]:
    """Return all targets, and the weights in the mean that is learned from and in the one that decides."""
    if held is None:
        return training.targets, np.stack([training.weight, training.weight])
    learned, decides = np.pad(training.weight, (0, len(held.weight))), np.pad(held.weight, (len(training.weight), 0))
    return np.concatenate([training.targets, held.targets]), np.stack([learned, decides])


def _asked(callback: Callback, count: int, training: float, validation: float | None) -> bool:
    with users_settings():
        return bool(callback(count, training, validation))


def _three(validation: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    if not 2 <= len(validation) <= 3:
        raise ValueError(f"validation has {len(validation)} parts: it is (X, y) or (X, y, weight).")
    return validation[0], validation[1], validation[2] if len(validation) == 3 else None


def _part(of: str, X: Any, y: Any, weight: Any, columns: int) -> _Part:
    """Return rows that count, or raise."""
    of = of and f" {of}"
    inputs, targets = np.asarray(X, float), np.asarray(y, float)
    if inputs.ndim != 2 or inputs.shape[1] == 0:
        raise ValueError(f"X{of} has shape {inputs.shape}: it needs a row for each point and a column for each input.")
    targets = targets[:, None] if targets.ndim == 1 and columns == 1 else targets
    if targets.shape != (len(inputs), columns):
        raise ValueError(f"y{of} has shape {np.shape(y)}: X has {len(inputs)} rows, and a target {columns} columns.")
    if np.isinf(inputs).any():
        row, column = np.argwhere(np.isinf(inputs))[0]
        raise ValueError(f"X[{row}, {column}]{of} is infinite: inputs are finite, or NaN where they are missing.")
    weights = np.ones(len(inputs)) if weight is None else np.asarray(weight, float)
    if weights.shape != (len(inputs),):
        raise ValueError(f"weight{of} has shape {weights.shape}: X has {len(inputs)} rows, and each needs one.")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(f"weight{of} has an entry that is negative or not finite.")
    counts = weights > 0
    if not counts.any():
        raise ValueError(f"weight{of} is 0 for all rows, or there is none: boosting needs some.")
    return _Part(inputs, targets, weights) if counts.all() else _Part(inputs[counts], targets[counts], weights[counts])


def _check_settings(
    kind: Any, rounds: int, rate: float, depth: int, leaf: int, subsample: float, patience: int, learner: str
) -> None:
    if not isinstance(kind, Kind):
        raise TypeError(
            f"kind is {kind!r}: trees are fitted to the natural gradient of a family, and a mixture or compound has "
            "none in closed form. Give the kind of a family, such as Poisson(rate=1.0).kind."
        )
    for name, value, least in (
        ("rounds", rounds, 0),
        ("depth", depth, 1),
        ("leaf", leaf, 1),
        ("patience", patience, 1),
    ):
        if value != int(value) or value < least:
            raise ValueError(f"{name} is {value}: it must be a whole number of at least {least}.")
    for name, share in (("rate", rate), ("subsample", subsample)):
        if not 0 < share <= 1:
            raise ValueError(f"{name} is {share}: it must be in (0, 1].")
    if learner not in ("auto", "lightgbm", "sklearn"):
        raise ValueError(f"learner is {learner!r}: it must be 'auto', 'lightgbm' or 'sklearn'.")


def _threads(rows: int) -> int:
    return 1 if rows < MANY_ROWS else os.cpu_count() or 1
