"""The natural gradient of one data point."""

from typing import Any

from jaxtyping import Array, Float

from kullback.families import ExponentialFamily
from kullback.runtime import in_given_precision


@in_given_precision
def toward(p: ExponentialFamily, y: Any) -> Float[Array, "... d"]:
    """Return the natural gradient of log p(y) in free coordinates: the image of T(y) − η.

    It is the solution u of (∂η/∂free)·u = T(y) − η, for members and points that are broadcast against each other; no
    Fisher matrix is inverted. Online EM moves the expectation by γ(T(y) − η), and this is that step in free
    coordinates; it is what trees of a boosted distribution are fitted to, and the working response of iteratively
    reweighted least squares.

    >>> from kullback.families import Poisson
    >>> toward(Poisson(rate=4.0), 6.0).tolist()  # y/λ − 1
    [0.5]
    """
    return p.toward(y)
