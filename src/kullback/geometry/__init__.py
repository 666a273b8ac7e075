"""Relative entropy, natural gradient, flows, geodesics and centroids."""

from kullback.core import Estimate
from kullback.geometry._centroid import centroid
from kullback.geometry._descend import descend
from kullback.geometry._divergence import (
    alpha_divergence,
    bregman,
    cross_entropy,
    entropy,
    jeffreys,
    jensen_shannon,
    relative_entropy,
)
from kullback.geometry._fisher_rao import exponential_map, fisher_rao_distance, logarithm_map
from kullback.geometry._flow import flow
from kullback.geometry._geodesic import Geodesic, geodesic
from kullback.geometry._natural_gradient import estimate_natural_gradient, gradient, natural_gradient
from kullback.geometry._optax import scale_by_natural_gradient
from kullback.geometry._retraction import retraction
from kullback.geometry._track import Track

__all__ = [
    "Estimate",
    "Geodesic",
    "Track",
    "alpha_divergence",
    "bregman",
    "centroid",
    "cross_entropy",
    "descend",
    "entropy",
    "estimate_natural_gradient",
    "exponential_map",
    "fisher_rao_distance",
    "flow",
    "geodesic",
    "gradient",
    "jeffreys",
    "jensen_shannon",
    "logarithm_map",
    "natural_gradient",
    "relative_entropy",
    "retraction",
    "scale_by_natural_gradient",
]
