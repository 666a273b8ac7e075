"""Entropy of points that know no density, by kernels: surrogates whose gradient spreads a sampler as entropy does."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.numerics import Numeric

#: The covariance of points is taken so much wider, in units of its mean variance, that its factor exists.
_RIDGE = 1e-5


def squared_mmd(
    x: Float[Numeric, "n d"], y: Float[Numeric, "m d"], width: float | Float[Numeric, ""]
) -> Float[Array, ""]:
    """Return the squared maximum mean discrepancy of two sets of points, with the kernel exp(−‖a − b‖²/width).

    It is mean k(x, x′) + mean k(y, y′) − 2·mean k(x, y), where no point of a set is compared with itself. So it is
    unbiased: 0 on average for sets of one law, and often below 0. Between the sets all pairs count. Gretton et al.
    (2012).

    >>> x = np.array([[0.0], [1.0]])
    >>> round(float(squared_mmd(x, x, 1.0)), 4)  # e⁻¹ + e⁻¹ − 2(½ + ½e⁻¹)
    -0.6321
    """
    x, y = jnp.asarray(x), jnp.asarray(y)
    if len(x) < 2 or len(y) < 2:
        raise ValueError(f"there are {len(x)} and {len(y)} points: each set must have two at least.")
    between = jnp.mean(jnp.exp(-_squared_distances(x, y) / width))
    return _mean_of_pairs(x, width) + _mean_of_pairs(y, width) - 2 * between


def mmd_entropy_slope(d: int, width: float, spread: float) -> float:
    """Return κ: by how much less the squared discrepancy to a wider Gaussian falls than entropy rises.

    Points of a Gaussian with covariance A are compared with N(0, spread·Σ) by the kernel exp(−(a − b)ᵀΣ⁻¹(a − b)/c).
    Where A = Σ the gradient in A is −κ·∇H, with κ = (4/c)·[(1 + 4/c)^−(d/2+1) − (1 + 2(1 + α)/c)^−(d/2+1)], c the width
    and α the spread: the same in all directions, so that MMD²/κ is entropy with its sign turned, to first order, in
    scale and correlation.

    >>> round(mmd_entropy_slope(2, 4.0, 2.0), 4)
    0.09
    """
    power = -(d / 2 + 1)
    return float(4 / width * ((1 + 4 / width) ** power - (1 + 2 * (1 + spread) / width) ** power))


def mmd_entropy(x: Float[Numeric, "n d"], width: float | None = None, spread: float = 2.0) -> Float[Array, ""]:
    """Return the entropy of points as far as their discrepancy to a wider Gaussian tells of it, in nats.

    It is ½log|2πeΣ| − (MMD² − MMD²₀)/κ, where Σ is the covariance of the points and MMD² their squared discrepancy to
    N(mean, spread·Σ); MMD²₀ is that of a Gaussian, so that the entropy of Gaussian points is right, and κ is
    `mmd_entropy_slope`, so that its gradient is. Mean and Σ are constants for derivatives, and the kernel is as wide as
    the points: one of a fixed width lets go of points that have come close, and they collapse. The Gaussian's part is
    in closed form, and nothing is drawn. Of the shape of points it knows little: a gradient that is followed for long
    leads to one that is not that of highest entropy.

    Parameters
    ----------
    x : array of shape (n, d)
        The points.
    width : float, optional
        Of the kernel, in units of Σ: 4d by default.
    spread : float
        How much wider the Gaussian is, above 1.

    """
    x = jnp.asarray(x)
    d = x.shape[1]
    c = 4.0 * d if width is None else width
    if not spread > 1 or not c > 0:
        raise ValueError(f"width is {width} and spread {spread}: the width must be above 0, the spread above 1.")
    still = jax.lax.stop_gradient(x)
    factor, log_volume = _inverse_factor(_covariance(still))
    z = (x - jnp.mean(still, axis=0)) @ factor.T
    to_wide = jnp.mean(jnp.exp(-jnp.sum(z**2, axis=1) / (c + 2 * spread))) * (1 + 2 * spread / c) ** (-d / 2)
    of_gaussian = (1 + 4 / c) ** (-d / 2) - 2 * (1 + 2 * (1 + spread) / c) ** (-d / 2)
    excess = _mean_of_pairs(z, c) - 2 * to_wide - of_gaussian
    return log_volume + 0.5 * d * (1 + np.log(2 * np.pi)) - excess / mmd_entropy_slope(d, c, spread)


def kernel_entropy(x: Float[Numeric, "n d"], rounds: int = 5) -> Float[Array, ""]:
    """Return the entropy of points by a kernel estimate of their density at each that leaves it out, in nats.

    H ≈ −mean_i log q_i with q_i = (1/(n−1)) Σ_{j≠i} N(x_i; x_j, K). The kernel's covariance K is a constant for
    derivatives, which go through both ends of each pair. It is what makes Σ_i log q_i highest, by some `rounds` of EM
    from ½·n^(−2/(d+4)) times the covariance of the points on: K ← mean_i Σ_j w_ij·(x_i − x_j)(x_i − x_j)ᵀ, where w_ij
    is the share of x_j in q_i. At that K the estimate has what entropy has under any law, H(Ax) = H(x) + log|A| to
    first order around A = I; on the way to it the gradient is divided by how much it misses H(s·x) = H(x) + d·log s. So
    it is exact in scale, for any points. In many dimensions no point is near another, and all but the scale is poor.
    """
    x = jnp.asarray(x)
    n, d = x.shape
    still, itself = jax.lax.stop_gradient(x), jnp.eye(n, dtype=bool)
    still = still - jnp.mean(still, axis=0)

    def log_kernels(x: Array, factor: Array) -> Array:
        z = x @ factor.T
        return jnp.where(itself, -jnp.inf, -0.5 * _squared_distances(z, z))

    def scatter(factor: Array) -> Array:
        shares = jax.nn.softmax(log_kernels(still, factor), axis=1)
        shares = (shares + shares.T) / n
        return (still * jnp.sum(shares, axis=1)[:, None]).T @ still - still.T @ shares @ still

    kernel = 0.5 * n ** (-2 / (d + 4)) * _covariance(still)
    kernel = jax.lax.fori_loop(0, rounds, lambda _, kernel: scatter(_inverse_factor(kernel)[0]), kernel)
    factor, log_volume = _inverse_factor(kernel)
    slope = jnp.trace(factor @ scatter(factor) @ factor.T) / d
    log_density = jax.nn.logsumexp(log_kernels(x - jax.lax.stop_gradient(jnp.mean(x, axis=0)), factor), axis=1)
    found = np.log(n - 1) + 0.5 * d * np.log(2 * np.pi) + log_volume - jnp.mean(log_density)
    fixed = jax.lax.stop_gradient(found)
    return fixed + (found - fixed) / slope


def _covariance(x: Float[Array, "n d"]) -> Float[Array, "d d"]:
    n, d = x.shape
    if n <= d:
        raise ValueError(f"there are {n} points in {d} dimensions: a covariance takes more points than dimensions.")
    centered = x - jnp.mean(x, axis=0)
    return centered.T @ centered / (n - 1)


def _inverse_factor(covariance: Float[Array, "d d"]) -> tuple[Float[Array, "d d"], Float[Array, ""]]:
    """Return the inverse of the Cholesky factor of a covariance, and the logarithm of the factor's determinant."""
    identity = jnp.eye(len(covariance), dtype=covariance.dtype)
    factor = jnp.linalg.cholesky(covariance + _RIDGE * jnp.trace(covariance) / len(covariance) * identity)
    inverse = jax.scipy.linalg.solve_triangular(factor, identity, lower=True)
    return inverse, jnp.sum(jnp.log(jnp.diagonal(factor)))


def _squared_distances(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
    """Return ‖x − y‖² of all pairs, by one product of matrices."""
    found = jnp.sum(x**2, axis=1)[:, None] + jnp.sum(y**2, axis=1)[None] - 2 * x @ y.T
    return jnp.maximum(found, 0)


def _mean_of_pairs(x: Float[Array, "n d"], width: float | Float[Numeric, ""]) -> Float[Array, ""]:
    """Return the mean of the kernel over all pairs of different points."""
    n = len(x)
    kernel = jnp.exp(-_squared_distances(x, x) / width)
    return jnp.sum(jnp.where(jnp.eye(n, dtype=bool), 0, kernel)) / (n * (n - 1))
