"""Relative entropy, natural gradient, flows, geodesics and centroids."""

from kullback.geometry._centroid import centroid
from kullback.geometry._descend import descend
from kullback.geometry._divergence import (
    Estimate,
    alpha_divergence,
    bregman,
    cross_entropy,
    entropy,
    jeffreys,
    jensen_shannon,
    relative_entropy,
)
from kullback.geometry._flow import flow
from kullback.geometry._natural_gradient import estimate_natural_gradient, gradient, natural_gradient
from kullback.geometry._optax import scale_by_natural_gradient
from kullback.geometry._path import Path

__all__ = [
    "Estimate",
    "Path",
    "alpha_divergence",
    "bregman",
    "centroid",
    "cross_entropy",
    "descend",
    "entropy",
    "estimate_natural_gradient",
    "flow",
    "gradient",
    "jeffreys",
    "jensen_shannon",
    "natural_gradient",
    "relative_entropy",
    "scale_by_natural_gradient",
]
