"""Noise, bias and variance of predictions: what no learner can change, what more data cannot, and what it can."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kullback.assess._interval import check_entries


class BiasVariance(NamedTuple):
    """The parts of a loss: noise + bias + variance = loss.

    `noise` is None where the data cannot tell it from bias, which then has it inside. `bias` is squared.
    """

    loss: float
    noise: float | None
    bias: float
    variance: float


def bias_variance(
    predictions: ArrayLike,
    y: ArrayLike,
    *,
    noise: ArrayLike | None = None,
    where: ArrayLike | None = None,
    loss: Literal["squared", "zero-one"] = "squared",
) -> BiasVariance:
    """Return what of the loss of several fits is noise, bias and variance (2.121).

    Parameters
    ----------
    predictions : array_like of shape (fits, rows)
        Of fits that differ by their seeds, or by the rows they have learned from.
    y : array_like of shape (rows,) or (repeats, rows)
        Targets; several of the same inputs tell noise from bias.
    noise : array_like of shape (rows,), optional
        The variance of the targets where it is known: y is then their expectation, and not a draw.
    where : array_like of shape (fits, rows), optional
        Which predictions count: those of rows that a fit has not seen (`OutOfBag.outside`). A row needs one.
    loss : {"squared", "zero-one"}
        "zero-one" is ¼(y − prediction)² of labels −1 and 1, which is 0 or 1 (2.116).

    Examples
    --------
    >>> found = bias_variance([[1.0, 2.0], [3.0, 2.0]], [[0.0, 2.0], [2.0, 4.0]])
    >>> found.loss, found.noise, found.bias, found.variance
    (2.5, 1.0, 1.0, 0.5)

    """
    if loss not in ("squared", "zero-one"):
        raise ValueError(f"loss is {loss!r}: it must be 'squared' or 'zero-one'.")
    fits = check_entries("predictions", predictions)
    targets = check_entries("y", y)
    targets = targets[None] if targets.ndim == 1 else targets
    if fits.ndim != 2 or targets.ndim != 2 or 0 in (*fits.shape, *targets.shape) or fits.shape[1] != targets.shape[1]:
        raise ValueError(
            f"predictions has shape {fits.shape} and y {targets.shape}: they must be (fits, rows) and (repeats, rows)."
        )
    counts = np.ones(fits.shape, bool) if where is None else np.asarray(where, bool)
    if counts.shape != fits.shape or not counts.any(axis=0).all():
        raise ValueError(f"where has shape {counts.shape}: it must mark at least one prediction of each row.")
    known = None if noise is None else check_entries("noise", noise, 0.0)
    if known is not None and (len(targets) != 1 or known.shape != targets.shape[1:]):
        raise ValueError("noise is the variance of each row around its expectation: pass one of both for each row.")
    if loss == "zero-one":
        _check_labels(fits, targets, known)
    share = counts / counts.sum(axis=0)
    center, middle = np.sum(share * fits, axis=0), np.mean(targets, axis=0)
    variance = np.mean(np.sum(share * (fits - center) ** 2, axis=0))
    bias = np.mean((middle - center) ** 2)
    spread = np.mean((targets - middle) ** 2) if known is None else np.mean(known)
    total = np.mean([np.mean(np.sum(share * (row - fits) ** 2, axis=0)) for row in targets])
    total = total if known is None else total + spread
    unit = 0.25 if loss == "zero-one" else 1.0
    told = unit * float(spread) if known is not None or len(targets) > 1 else None
    return BiasVariance(unit * float(total), told, unit * float(bias), unit * float(variance))


def _check_labels(fits: np.ndarray, targets: np.ndarray, noise: np.ndarray | None) -> None:
    if not (np.abs(fits) == 1).all() or (noise is None and not (np.abs(targets) == 1).all()):
        raise ValueError("labels must be −1 and 1 for the zero-one loss: recode predictions and y.")
    if noise is not None and not np.allclose(noise, 1 - targets[0] ** 2, atol=1e-9):
        raise ValueError("noise must be 1 − y², the variance of labels −1 and 1 whose expectation is y.")
