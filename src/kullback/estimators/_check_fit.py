"""What data and a fitted model must be: of a size that can be squared, and with variances more than rounding."""

import functools
import operator
import os
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from kullback.estimators.data._rows import CHUNK
from kullback.families import DiagonalGaussian, Gaussian, SphericalGaussian
from kullback.models import HiddenMarkovModel
from kullback.numerics import whitener

COLLAPSED = (  # scikit-learn's words
    "Fitting the mixture model failed because some components have ill-defined empirical covariance (for instance "
    "caused by singleton or collapsed samples). Try to decrease the number of components, increase reg_covar, or "
    "scale the input data."
)
ENDED_BEFORE_COLLAPSE = (
    "The fit has ended before an iteration in which a component collapses: too few different rows belong to it. Try to "
    "decrease the number of components, increase reg_covar, or start elsewhere."
)
ENDED_BEFORE_COLLAPSE_OF_STATE = (
    "The fit has ended before an iteration in which the covariance of a state collapses: too few different rows belong "
    "to it. Try fewer states, a covars_prior or reg_covar with larger variances, or another start."
)
COLLAPSED_STATES = (
    "Fitting the hidden Markov model failed because the covariance of a state has collapsed: too few different rows "
    "belong to it. Try fewer states, a covars_prior or reg_covar with larger variances, or another start."
)
BROKEN = (
    "Fitting the model failed because its parameters are no longer finite, or too large or too small to compute with: "
    "scale the input data, or start elsewhere."
)


Answers = TypeVar("Answers")

#: Copies of all parameters that a fit has at once.
_COPIES = 3

#: Entries and parameters are at most so large, that their squares and sums of these are finite; variances are squares.
LARGEST = 1e152
_SQUARES = ("covariance", "variance", "noise")
_VARIANCES = ("variance", "noise")
#: Parameters of this size down to its inverse, and variances that are more than this share of others, are no trouble.
_ORDINARY, _FAR = 1e100, 1e-12
_GAUSSIANS = (Gaussian, DiagonalGaussian, SphericalGaussian)


class Breakdown(ValueError):  # noqa: N818 - it is what has happened
    """Parameters or the likelihood are no numbers any more."""


class Collapse(ValueError):  # noqa: N818 - it is what has happened
    """A Gaussian has no density any more: its points are too few, or too much alike."""


def check_finite_fit(model: Any, log_likelihood: float, point_variance: float) -> None:
    """Raise unless every parameter is finite, every Gaussian has a density, and the likelihood is a number."""
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(model)) or not log_likelihood < np.inf:
        raise Breakdown(BROKEN)
    if not all(_definite(part, point_variance) for part in _gaussians(model)):
        raise Collapse(COLLAPSED_STATES if isinstance(model, HiddenMarkovModel) else COLLAPSED)
    try:
        check_magnitude(model)
    except ValueError as error:
        raise ValueError(BROKEN) from error


def is_clearly_sound(model: Any) -> Any:
    """Whether a model is far from all that `check_finite_fit` raises for. It is traced: compiled loops ask it.

    Where it says no, `check_finite_fit` decides.
    """
    good: list[Any] = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(model):
        if jnp.issubdtype(leaf.dtype, jnp.inexact):
            size = jnp.abs(leaf)
            if getattr(path[-1], "name", "") in (*_VARIANCES, "concentration"):
                size = jnp.maximum(size, 1 / size)
            good.append(jnp.all(size < _ORDINARY))
    good.extend(_is_clearly_definite(part) for part in _gaussians(model))
    return functools.reduce(operator.and_, good)


def _is_clearly_definite(part: Any) -> Any:
    """Whether variances are far more than rounding, also of what is left of each column given those before it."""
    variance, rounding = part.column_variances, jnp.square(_FAR * jnp.asarray(part.mean))
    if type(part) is SphericalGaussian:
        rounding = jnp.mean(rounding, axis=-1, keepdims=True)
    definite = jnp.all(variance > rounding)
    if type(part) is not Gaussian:
        return definite
    factor = jnp.diagonal(whitener(part.covariance), axis1=-2, axis2=-1)
    return definite & jnp.all(variance * jnp.square(factor) < 1 / _FAR)


def check_magnitude(model: Any) -> None:
    """Raise unless every parameter is finite, and of a size with which the likelihood of ordinary rows is a number."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(model)[0]:
        name = str(getattr(path[-1], "name", "a parameter"))
        value, least = np.asarray(leaf), np.finfo(float).tiny if name in (*_VARIANCES, "concentration") else 0.0
        if name == "concentration":  # the family judges 0: angles may have it
            value = np.where(value == 0, 1.0, value)
        bad = ~(np.abs(value) <= (LARGEST**2 if name.endswith(_SQUARES) else LARGEST)) | ~(np.abs(value) >= least)
        if bad.any():
            raise ValueError(f"{name} has the entry {value[bad].flat[0]:.3g}, with which nothing can be computed.")


def check_scale(X: np.ndarray) -> None:
    """Raise unless the variance of every column is finite."""
    if X.dtype.kind != "f" or X.dtype.itemsize < 8:
        return
    for start in range(0, len(X), CHUNK):
        large = np.abs(X[start : start + CHUNK]) > LARGEST
        if large.any():
            column = int(np.argmax(large.any(axis=0)))
            raise ValueError(f"X is so large in column {column} that its variance is not finite: scale the column.")


def check_total(weight: np.ndarray) -> None:
    """Raise unless the sum of weights is finite."""
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError("sample_weight is so large that its sum is not finite: divide it by a large number.")


def _gaussians(model: Any) -> list[Any]:
    """Return the Gaussians among the parts of a model: what can collapse."""
    parts = jax.tree.leaves(model, is_leaf=lambda part: type(part) in _GAUSSIANS)
    return [part for part in parts if type(part) in _GAUSSIANS]


def _definite(part: Any, point_variance: float) -> bool:
    """Whether variances are more than rounding, seen from the scale of each column: what a density needs."""
    rounding = np.square(4 * np.finfo(float).eps * np.asarray(part.mean)) if point_variance == 0 else np.zeros(1)
    full = type(part) is Gaussian
    covariance = np.asarray(part.covariance if full else part.variance)
    variance = np.diagonal(covariance, axis1=-2, axis2=-1) if full else covariance
    if not (variance > (rounding.mean(axis=-1) if type(part) is SphericalGaussian else rounding)).all():
        return False
    if not full:
        return True
    scale = np.sqrt(variance)
    try:
        factor = np.linalg.cholesky(covariance / (scale[..., :, None] * scale[..., None, :]))
    except np.linalg.LinAlgError:
        return False
    pivots = np.square(np.diagonal(factor, axis1=-2, axis2=-1))
    return bool((pivots > np.finfo(float).eps * pivots.shape[-1]).all())


def check_answers(answers: Answers) -> Answers:
    """Return what a model has answered; raise unless it is numbers. −∞ is one: the logarithm of what cannot be."""
    for answer in jax.tree.leaves(answers):
        if np.issubdtype(answer.dtype, np.floating) and not (answer < np.inf).all():
            raise ValueError(
                "The model has no answer that is finite: its parameters, or what they grow to, are too large or too "
                "small to compute with. Fit it anew, or look at shorter sequences."
            )
    return answers


def check_memory(numbers: int, what: str) -> None:
    """Raise before so many numbers are made, where some copies of them are more than the memory of this machine."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not say how much it has
        return
    if _COPIES * 8 * numbers > memory:
        raise ValueError(
            f"{what} take {8 * numbers / 2**30:,.0f} GB, and some copies are needed: this machine has "
            f"{memory / 2**30:,.0f} GB. Use fewer columns, or covariance_type='diag'."
        )
