"""Stochastic relaxation: minimizing a black box by moving a distribution."""

from kullback.search._minimize import minimize
from kullback.search._minimize_binary import minimize_binary
from kullback.search._registry import METHODS
from kullback.search.methods._cma import CMA
from kullback.search.methods._cross_entropy import CrossEntropy
from kullback.search.methods._limited_memory import LimitedMemoryCMA
from kullback.search.methods._method import Method, check_evaluations
from kullback.search.methods._natural_gradient import NaturalGradient
from kullback.search.methods._xnes import XNES
from kullback.search.spins._independent import IndependentSpins
from kullback.search.spins._markov import MarkovSpins
from kullback.search.spins._markov_field import MarkovField

# an earlier name, which keeps working
Exponential = XNES

__all__ = [
    "CMA",
    "METHODS",
    "XNES",
    "CrossEntropy",
    "Exponential",
    "IndependentSpins",
    "LimitedMemoryCMA",
    "MarkovField",
    "MarkovSpins",
    "Method",
    "NaturalGradient",
    "check_evaluations",
    "minimize",
    "minimize_binary",
]
