"""The registry of methods over real coordinates: by name, by class, or by the number of coordinates."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from kullback.search.methods._cma import CMA
from kullback.search.methods._cross_entropy import CrossEntropy
from kullback.search.methods._limited_memory import LimitedMemoryCMA
from kullback.search.methods._method import Method
from kullback.search.methods._natural_gradient import NaturalGradient
from kullback.search.methods._xnes import XNES

#: Above so many coordinates a matrix of them costs more than it brings.
MANY = 300

#: Every method by name, a function of mean, scale and population: the names that `minimize` takes, and the members that
#: the protocol tests go through. A new method is one file in `methods/`, a line here, and a case in the tests.
METHODS: dict[str, Callable[..., Method]] = {
    "cma": CMA,
    "limited-memory": LimitedMemoryCMA,
    "xnes": XNES,
    "snes": functools.partial(XNES, covariance="diagonal"),
    "spherical": functools.partial(XNES, covariance="spherical"),
    "natural-gradient": NaturalGradient,
    "expectation-gradient": functools.partial(NaturalGradient, coordinates="expectation"),
    "cross-entropy": CrossEntropy,
    "diagonal-cross-entropy": functools.partial(CrossEntropy, covariance="diagonal"),
}


def choose_method(method: Any, mean: Any, scale: Any, population: int | None, interactions: Any) -> Method:
    """Return the search that is meant, at a start; raise where there is none."""
    if method == "auto":
        method = "natural-gradient" if interactions is not None else "cma" if len(mean) <= MANY else "limited-memory"
    if isinstance(method, Method):
        found = dataclasses.replace(method, mean=mean, scale=scale)
        if interactions is not None:
            raise ValueError("interactions belongs to the method: give it to the search that is passed as method.")
        return found if population is None else found.with_population(population)
    if isinstance(method, type) and issubclass(method, Method):
        make: Callable[..., Method] = method
    elif isinstance(method, str) and method in METHODS:
        make = METHODS[method]
    else:
        raise ValueError(
            f"method is {method!r}: it must be 'auto', a search, or one of {', '.join(map(repr, METHODS))}."
        )
    options = {} if interactions is None else {"interactions": interactions}
    if options and make is not NaturalGradient:
        raise ValueError(f"interactions needs method='natural-gradient': {method!r} has no precision matrix to keep.")
    return make(mean, scale, population=population, **options)
