"""Many small Gaussians at once: conversion between coordinates, and densities."""

from collections.abc import Iterator
from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import multivariate_normal

from benchmarks._timing import Row, best_of
from kullback.families import Gaussian

MEMBERS, DIMENSION = 100_000, 5


def run(full: bool = False) -> Iterator[Row]:
    """Compare with scipy, which takes one Gaussian at a time, and with numpyro under jit."""
    with jax.enable_x64(True):
        yield from _compare()


def _compare() -> Iterator[Row]:
    import numpyro.distributions as dist

    rng = np.random.default_rng(0)
    root = rng.normal(size=(MEMBERS, DIMENSION, DIMENSION))
    covariance = jnp.asarray(root @ root.swapaxes(-1, -2) + np.eye(DIMENSION))
    mean, x = (jnp.asarray(rng.normal(size=(MEMBERS, DIMENSION))) for _ in range(2))
    plain = [np.asarray(a) for a in (mean, covariance, x)]

    @jax.jit
    def ours(mean, covariance, x):
        g = Gaussian(mean, covariance)
        return g.natural, g.expectation, g.log_prob(x)

    @jax.jit
    def theirs(mean, covariance, x):
        """Do the same in numpyro: natural coordinates from the precision matrix, moments from its properties."""
        g = dist.MultivariateNormal(mean, covariance_matrix=covariance)
        precision = g.precision_matrix
        natural = jnp.einsum("...ij,...j->...i", precision, mean), -0.5 * precision
        moments = g.mean, g.covariance_matrix + mean[..., :, None] * mean[..., None, :]
        return natural, moments, g.log_prob(x)

    @jax.jit
    def our_density(mean, covariance, x):
        return Gaussian(mean, covariance).log_prob(x)

    @jax.jit
    def their_density(mean, covariance, x):
        return dist.MultivariateNormal(mean, covariance_matrix=covariance).log_prob(x)

    np.testing.assert_allclose(our_density(mean, covariance, x), their_density(mean, covariance, x), rtol=1e-10)

    few = 2000

    def scipy_few():
        """Do the same in scipy, one Gaussian at a time."""
        for m, c, point in zip(*(a[:few] for a in plain), strict=True):
            precision = np.linalg.inv(c)
            _ = precision @ m, -0.5 * precision, m, c + np.outer(m, m)
            multivariate_normal(m, c).logpdf(point)

    task = f"{MEMBERS:,} Gaussians of dimension {DIMENSION}: "
    mine, numpyro = best_of(15, lambda: ours(mean, covariance, x), lambda: theirs(mean, covariance, x))
    (slow,) = best_of(2, scipy_few)
    what = task + "coordinates and log_prob"
    yield Row(what, f"scipy {version('scipy')}", slow * MEMBERS / few, mine, 5.0)
    yield Row(what, f"numpyro {version('numpyro')}", numpyro, mine, 1.0)
    mine, numpyro = best_of(15, lambda: our_density(mean, covariance, x), lambda: their_density(mean, covariance, x))
    yield Row(task + "log_prob", f"numpyro {version('numpyro')}", numpyro, mine, 1.0)
