"""What a fitted model must be: finite, and with variances that are more than rounding."""

from typing import Any

import jax
import numpy as np

from kullback.families import DiagonalGaussian, Gaussian, SphericalGaussian
from kullback.models import HiddenMarkovModel

COLLAPSED = (  # scikit-learn's words
    "Fitting the mixture model failed because some components have ill-defined empirical covariance (for instance "
    "caused by singleton or collapsed samples). Try to decrease the number of components, increase reg_covar, or "
    "scale the input data."
)
COLLAPSED_STATES = (
    "Fitting the hidden Markov model failed because the covariance of a state has collapsed: too few different rows "
    "belong to it. Try fewer states, a covars_prior or reg_covar with larger variances, or another start."
)
BROKEN = (
    "Fitting the model failed because its parameters are no longer finite: scale the input data, or start elsewhere."
)


_GAUSSIANS = (Gaussian, DiagonalGaussian, SphericalGaussian)


def check_sound(model: Any, log_likelihood: float, width: float) -> None:
    """Raise unless every parameter is finite, every Gaussian has a density, and the likelihood is a number."""
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(model)):
        raise ValueError(BROKEN)
    if not all(_definite(part, width) for part in _gaussians(model)):
        raise ValueError(COLLAPSED_STATES if isinstance(model, HiddenMarkovModel) else COLLAPSED)
    if not log_likelihood < np.inf:
        raise ValueError(BROKEN)


def _gaussians(model: Any) -> list[Any]:
    """Return the Gaussians among the parts of a model: what can collapse."""
    parts = jax.tree.leaves(model, is_leaf=lambda part: type(part) in _GAUSSIANS)
    return [part for part in parts if type(part) in _GAUSSIANS]


def _definite(part: Any, width: float) -> bool:
    """Whether variances are more than rounding, seen from the scale of each column: what a density needs."""
    rounding = np.square(4 * np.finfo(float).eps * np.asarray(part.mean)) if width == 0 else np.zeros(1)
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
