"""Exponential families in three coordinate systems: source, natural and expectation.

Batches, statistics and the contracts of models are those of `kullback.core`; they can be had from here too.
"""

from kullback.core import (
    Batch,
    CenteredStatistics,
    ClosedFormModel,
    Estimate,
    Extent,
    MeanStatistics,
    Model,
    Standardization,
    Statistics,
    TimeIndex,
    by_blocks,
)
from kullback.families._bernoulli import Bernoulli
from kullback.families._beta import Beta
from kullback.families._categorical import Categorical
from kullback.families._component import COUNTS, Component, Support, is_count, is_whole
from kullback.families._diagonal_gaussian import DiagonalGaussian
from kullback.families._dirichlet import Dirichlet
from kullback.families._exponential import Exponential
from kullback.families._family import (
    Coordinates,
    ExpectationSource,
    ExponentialFamily,
    FreeGroup,
    Kind,
    NaturalSource,
    Role,
)
from kullback.families._fit_kind import fit_kind
from kullback.families._gamma import Gamma
from kullback.families._gaussian import Gaussian
from kullback.families._gaussian_missing import log_conditionals
from kullback.families._independent import Independent
from kullback.families._ising import Ising
from kullback.families._marginal import Marginal, count_marginals, typical_totals
from kullback.families._modes import mode_shares, multinomial_mode
from kullback.families._multinomial import Multinomial
from kullback.families._output_kind import OutputKind
from kullback.families._poisson import Poisson
from kullback.families._product import Product, ProductStatistics
from kullback.families._registry import column_families, register_family, registered_families
from kullback.families._scalar import ScalarFamily
from kullback.families._spherical_gaussian import SphericalGaussian
from kullback.families._unsplittable import NaturalFree, UnsplittableFamily
from kullback.families._von_mises import VonMises
from kullback.numerics import Numeric

# earlier names, which keep working
CentredStatistics, Frame, Steps = CenteredStatistics, Standardization, TimeIndex

#: Every family. The contract tests go through this list; users type the names that follow from it.
REGISTRY: tuple[type[ExponentialFamily], ...] = (
    Gaussian,
    DiagonalGaussian,
    SphericalGaussian,
    Bernoulli,
    Categorical,
    Multinomial,
    Poisson,
    Exponential,
    Gamma,
    Beta,
    Dirichlet,
    VonMises,
    Ising,
    Product,
    Independent,
)
for _family in REGISTRY:
    if _family not in (Product, Independent):  # which are made of others, and have no name of their own
        register_family(_family)

__all__ = [
    "COUNTS",
    "REGISTRY",
    "Batch",
    "Bernoulli",
    "Beta",
    "Categorical",
    "CenteredStatistics",
    "CentredStatistics",
    "ClosedFormModel",
    "Component",
    "Coordinates",
    "DiagonalGaussian",
    "Dirichlet",
    "Estimate",
    "ExpectationSource",
    "Exponential",
    "ExponentialFamily",
    "Extent",
    "Frame",
    "FreeGroup",
    "Gamma",
    "Gaussian",
    "Independent",
    "Ising",
    "Kind",
    "Marginal",
    "MeanStatistics",
    "Model",
    "Multinomial",
    "NaturalFree",
    "NaturalSource",
    "Numeric",
    "OutputKind",
    "Poisson",
    "Product",
    "ProductStatistics",
    "Role",
    "ScalarFamily",
    "SphericalGaussian",
    "Standardization",
    "Statistics",
    "Steps",
    "Support",
    "TimeIndex",
    "UnsplittableFamily",
    "VonMises",
    "by_blocks",
    "column_families",
    "count_marginals",
    "fit_kind",
    "is_count",
    "is_whole",
    "log_conditionals",
    "mode_shares",
    "multinomial_mode",
    "register_family",
    "registered_families",
    "typical_totals",
]
