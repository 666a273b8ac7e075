"""Stochastic relaxation: minimizing a black box by moving a distribution."""

from kullback.search._cma import CMA
from kullback.search._method import Method

#: Every method. The protocol tests go through this list.
METHODS: tuple[type[Method], ...] = (CMA,)

__all__ = ["CMA", "METHODS", "Method"]
