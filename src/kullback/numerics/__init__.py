"""Numerics for the rooms above: special functions, linear algebra, and checks that name the argument."""

from kullback.numerics._bessel import bessel_ratio, bessel_ratio_gap, bessel_ratio_slope, inverse_bessel_ratio
from kullback.numerics._check import (
    check_covariance,
    check_finite,
    check_interior,
    check_ndim,
    check_positive,
    check_probabilities,
    check_values,
    entry_name,
)
from kullback.numerics._digamma import (
    dirichlet_concentration,
    dirichlet_slack,
    gamma_shape,
    inverse_digamma,
    log_beta,
    log_means,
    trigamma,
    trigamma_gaps,
)
from kullback.numerics._excess import determinant_excess, entropy_excess, ratio_excess
from kullback.numerics._linalg import (
    LOG_TWO_PI,
    apply,
    dimension,
    gram,
    log_determinant,
    outer,
    pack,
    pairs,
    solve_packed,
    unpack,
    whiten,
    whitener,
)
from kullback.numerics._linear_form import LinearForm, log1m_or_lowest, log_or_lowest, sum_of_linear_forms
from kullback.numerics._newton import natural_from_expectation
from kullback.numerics._rising import digamma_rise, log_rising
from kullback.numerics._types import Numeric, as_parameter, is_concrete, share_batch
from kullback.numerics._words import counted, with_article

__all__ = [
    "LOG_TWO_PI",
    "LinearForm",
    "Numeric",
    "apply",
    "as_parameter",
    "bessel_ratio",
    "bessel_ratio_gap",
    "bessel_ratio_slope",
    "check_covariance",
    "check_finite",
    "check_interior",
    "check_ndim",
    "check_positive",
    "check_probabilities",
    "check_values",
    "counted",
    "determinant_excess",
    "digamma_rise",
    "dimension",
    "dirichlet_concentration",
    "dirichlet_slack",
    "entropy_excess",
    "entry_name",
    "gamma_shape",
    "gram",
    "inverse_bessel_ratio",
    "inverse_digamma",
    "is_concrete",
    "log1m_or_lowest",
    "log_beta",
    "log_determinant",
    "log_means",
    "log_or_lowest",
    "log_rising",
    "natural_from_expectation",
    "outer",
    "pack",
    "pairs",
    "ratio_excess",
    "share_batch",
    "solve_packed",
    "sum_of_linear_forms",
    "trigamma",
    "trigamma_gaps",
    "unpack",
    "whiten",
    "whitener",
    "with_article",
]
