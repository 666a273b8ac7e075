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
from kullback.geometry._highest_density import (
    Pieces,
    conformal_quantile,
    density_grid,
    highest_density_level,
    highest_density_threshold,
    highest_mass_set,
    pieces_above,
    whole_pieces,
)
from kullback.geometry._layer_fisher import (
    LayerFisherState,
    damped_inverse,
    layer_moments,
    refresh_due,
    refresh_share,
    scale_by_layer_fisher,
)
from kullback.geometry._natural_gradient import estimate_natural_gradient, gradient, natural_gradient
from kullback.geometry._network_fisher import network_fisher_product, scale_by_network_fisher
from kullback.geometry._optax import scale_by_natural_gradient
from kullback.geometry._retraction import retraction
from kullback.geometry._sample_entropy import kernel_entropy, mmd_entropy, mmd_entropy_slope, squared_mmd
from kullback.geometry._toward import toward
from kullback.geometry._track import Track

__all__ = [
    "Estimate",
    "Geodesic",
    "LayerFisherState",
    "Pieces",
    "Track",
    "alpha_divergence",
    "bregman",
    "centroid",
    "conformal_quantile",
    "cross_entropy",
    "damped_inverse",
    "density_grid",
    "descend",
    "entropy",
    "estimate_natural_gradient",
    "exponential_map",
    "fisher_rao_distance",
    "flow",
    "geodesic",
    "gradient",
    "highest_density_level",
    "highest_density_threshold",
    "highest_mass_set",
    "jeffreys",
    "jensen_shannon",
    "kernel_entropy",
    "layer_moments",
    "logarithm_map",
    "mmd_entropy",
    "mmd_entropy_slope",
    "natural_gradient",
    "network_fisher_product",
    "pieces_above",
    "refresh_due",
    "refresh_share",
    "relative_entropy",
    "retraction",
    "scale_by_layer_fisher",
    "scale_by_natural_gradient",
    "scale_by_network_fisher",
    "squared_mmd",
    "toward",
    "whole_pieces",
]
