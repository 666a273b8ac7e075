"""Stochastic relaxation: minimizing a black box by moving a distribution."""

from kullback.search._auto import METHODS
from kullback.search._binary import minimize_binary
from kullback.search._binary_independent import IndependentSpins
from kullback.search._binary_markov import MarkovSpins
from kullback.search._cma import CMA
from kullback.search._cross_entropy import CrossEntropy
from kullback.search._exponential import Exponential
from kullback.search._limited_memory import LimitedMemoryCMA
from kullback.search._markov_field import MarkovField
from kullback.search._method import Method
from kullback.search._minimize import minimize
from kullback.search._natural_gradient import NaturalGradient

__all__ = [
    "CMA",
    "METHODS",
    "CrossEntropy",
    "Exponential",
    "IndependentSpins",
    "LimitedMemoryCMA",
    "MarkovField",
    "MarkovSpins",
    "Method",
    "NaturalGradient",
    "minimize",
    "minimize_binary",
]
