"""Stochastic relaxation: minimizing a black box by moving a distribution."""

import functools
from collections.abc import Callable

from kullback.search._cma import CMA
from kullback.search._cross_entropy import CrossEntropy
from kullback.search._exponential import Exponential
from kullback.search._limited_memory import LimitedMemoryCMA
from kullback.search._method import Method
from kullback.search._minimize import minimize
from kullback.search._natural_gradient import NaturalGradient

#: Every method and its variants, by name, each called with a mean and a scale. The protocol tests go through this list.
METHODS: dict[str, Callable[..., Method]] = {
    "cma": CMA,
    "limited_memory": LimitedMemoryCMA,
    "exponential": Exponential,
    "exponential_diagonal": functools.partial(Exponential, covariance="diagonal"),
    "exponential_spherical": functools.partial(Exponential, covariance="spherical"),
    "natural_gradient": NaturalGradient,
    "expectation_gradient": functools.partial(NaturalGradient, coordinates="expectation"),
    "cross_entropy": CrossEntropy,
    "cross_entropy_diagonal": functools.partial(CrossEntropy, covariance="diagonal"),
}

__all__ = ["CMA", "METHODS", "CrossEntropy", "Exponential", "LimitedMemoryCMA", "Method", "NaturalGradient", "minimize"]
