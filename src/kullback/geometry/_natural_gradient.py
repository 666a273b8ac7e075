"""The natural gradient: steepest descent with respect to relative entropy."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Estimate
from kullback.families import Coordinates, ExponentialFamily
from kullback.runtime import in_given_precision

Objective = Callable[[Any], Array]


@in_given_precision
def gradient(F: Objective, p: ExponentialFamily, coordinates: Coordinates = "natural") -> Float[Array, " d"]:
    """∇F, the vector of partial derivatives in these coordinates. It depends on the coordinates."""
    kind = p.kind
    return jax.grad(lambda vector: F(kind.at(coordinates, vector)))(p.coordinates(coordinates))


@in_given_precision
def natural_gradient(F: Objective, p: ExponentialFamily, coordinates: Coordinates = "natural") -> Float[Array, " d"]:
    """∇̃F = I⁻¹∇F, the direction of steepest ascent of F at p, in these coordinates.

    No matrix is inverted. Natural and expectation coordinates are dual: ∇̃_θ F = ∇_η F and ∇̃_η F = ∇_θ F. In source
    coordinates ξ it is the image of the latter under ∂ξ/∂η. F itself is differentiated in θ only, and ∇_η F read off
    as (∂θ/∂η)ᵀ∇_θ F: close to the boundary both factors come from one η, and their errors cancel.

    >>> from kullback.families import Bernoulli
    >>> natural_gradient(lambda p: p.probability**2, Bernoulli(0.25)).round(4).tolist()  # ∇_η η² = 2η
    [0.5]
    """
    kind, slope = p.kind, gradient(F, p, "natural")
    match coordinates:
        case "natural":
            _, pull_back = jax.vjp(lambda eta: kind.at("expectation", eta).natural, p.expectation)
            return pull_back(slope)[0]
        case "expectation":
            return slope
        case "source" | "free":
            _, image = jax.jvp(
                lambda eta: kind.at("expectation", eta).coordinates(coordinates), (p.expectation,), (slope,)
            )
            return image
    raise ValueError(f"coordinates is {coordinates!r}: it must be 'source', 'natural', 'expectation' or 'free'.")


@in_given_precision
def estimate_natural_gradient(f: Callable[[Any], Any], p: ExponentialFamily, key: Array, n: int = 1000) -> Estimate:
    """∇̃_θ E_p[f] = Cov(T, T)⁻¹ Cov(f, T), estimated from n points, with its standard error.

    `f` takes an array of points, one to a row, and returns their values; it need not be differentiable, nor written in
    JAX. The estimate is the slope of the least-squares fit of f by the statistics T, and its standard error that of the
    slope under uneven noise. When f lies in the span of T the estimate is exact.

    >>> from kullback.families import DiagonalGaussian
    >>> import jax
    >>> p = DiagonalGaussian(mean=[1.0], variance=[2.0])
    >>> slope, error = estimate_natural_gradient(lambda x: 3 * x[:, 0], p, jax.random.key(0))
    >>> [round(float(s), 2) + 0.0 for s in slope], bool((error < 1e-4).all())
    ([3.0, 0.0], True)
    """
    if n <= p.size + 1:
        raise ValueError(f"n is {n}: {p.size} coordinates need more than {p.size + 1} points.")
    x = p.sample(key, (n,))
    values = jnp.asarray(f(x))
    if values.shape != (n,):
        raise ValueError(f"f returned shape {values.shape} for {n} points: it must return one value for each.")
    if not isinstance(values, jax.core.Tracer) and not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"f returned {values[row]} at point {row}: every value must be finite.")
    statistics = p.statistics(x)
    centred = statistics - jnp.mean(statistics, axis=0)
    # by the singular values of the centred statistics in units of their spread: no squared condition number
    scale = jnp.sqrt(jnp.mean(jnp.square(centred), axis=0))
    left, singular, right = jnp.linalg.svd(centred / scale, full_matrices=False)
    solve = (right.T / singular) @ left.T / scale[:, None]
    away = values - jnp.mean(values)
    slope = solve @ away
    residual = away - centred @ slope
    variance = jnp.square(solve) @ jnp.square(residual) * (n / (n - p.size - 1))
    return Estimate(slope, jnp.sqrt(variance))
