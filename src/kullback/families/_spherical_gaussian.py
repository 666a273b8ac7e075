"""The Gaussian with one variance for all coordinates."""

from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from kullback.core import Batch, CenteredStatistics, Key, Shape, Standardization, as_key, as_shape
from kullback.families._diagonal_gaussian import DiagonalGaussian
from kullback.families._family import FreeGroup, Role
from kullback.families._gaussian_family import GaussianFamily
from kullback.numerics import (
    Numeric,
    as_parameter,
    bounded_log_scale,
    check_finite,
    check_ndim,
    check_positive,
    ratio_excess,
    share_batch,
)


def mean_square(vector: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
    """Return the average of the squares of a vector's entries."""
    return jnp.mean(jnp.square(vector), axis=-1)


class SphericalGaussian(GaussianFamily):
    """N(μ, σ²·I) on Rⁿ.

    Coordinates, each of length n+1:

    - source: (μᵢ), σ²
    - statistics T: (xᵢ), Σxᵢ²
    - natural: (μᵢ/σ²), −1/2σ²
    - expectation: (μᵢ), nσ² + Σμᵢ²
    - free: (μᵢ), log σ

    >>> SphericalGaussian(mean=[0.0, 2.0], variance=4.0).expectation.tolist()
    [0.0, 2.0, 12.0]
    """

    square = staticmethod(mean_square)

    mean: Float[Numeric, "*batch n"]
    variance: Float[Numeric, "*batch"]

    def __init__(self, mean: Any, variance: Any):
        mean, variance = as_parameter(mean), as_parameter(variance)
        check_ndim("mean", mean, 1, "at least one axis, the last for the coordinates of a point")
        if mean.shape[-1] < 1:
            raise ValueError(f"mean has shape {mean.shape}: a point needs one coordinate or more.")
        check_finite("mean", mean)
        check_positive("variance", variance)
        self.mean, self.variance = share_batch(("mean", mean), ("variance", variance), (1, 0))

    @property
    def size(self) -> int:
        return self.mean.shape[-1] + 1

    @classmethod
    def plain(cls, members: int, columns: int, categories: int = 0, trials: int = 0) -> Self:
        return cls(np.zeros((members, columns)), np.ones(members))

    @property
    def interior(self) -> Bool[Array, "*batch"]:
        return jnp.all(jnp.isfinite(self.source), axis=-1) & (jnp.asarray(self.variance) > 0)

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        square = jnp.sum(jnp.square(jnp.subtract(jnp.asarray(x), self.mean)), axis=-1) / self.variance
        return -0.5 * (square + self._log_volume)

    @property
    def _log_volume(self) -> Float[Array, "*batch"]:
        return self.mean.shape[-1] * jnp.log(2 * np.pi * jnp.asarray(self.variance))

    def sample(self, key: Key, shape: Shape = ()) -> Float[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
        mean = jnp.asarray(self.mean)
        z = jax.random.normal(key, shape + mean.shape, mean.dtype)
        return mean + jnp.sqrt(self.variance)[..., None] * z

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        x = jnp.asarray(x, dtype=jnp.asarray(self.mean).dtype)
        return _join(x, jnp.sum(jnp.square(x), axis=-1))

    @property
    def source(self) -> Float[Array, "*batch d"]:
        return _join(self.mean, self.variance)

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        precision = 1 / jnp.asarray(self.variance)
        return _join(self.mean * precision[..., None], -0.5 * precision)

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        n = self.mean.shape[-1]
        return _join(self.mean, n * jnp.asarray(self.variance) + jnp.sum(jnp.square(self.mean), axis=-1))

    @classmethod
    def _from_source(cls, source: Numeric) -> Self:
        return cls(source[..., :-1], source[..., -1])

    @classmethod
    def _from_natural(cls, natural: Numeric) -> Self:
        natural = jnp.asarray(natural)
        check_positive("the precision", -2 * natural[..., -1])
        return cls(-0.5 * natural[..., :-1] / natural[..., -1:], -0.5 / natural[..., -1])

    @classmethod
    def _from_expectation(cls, expectation: Numeric) -> Self:
        mean, second = jnp.asarray(expectation)[..., :-1], jnp.asarray(expectation)[..., -1]
        return cls(mean, (second - jnp.sum(jnp.square(mean), axis=-1)) / mean.shape[-1])

    @property
    def free(self) -> Float[Array, "*batch d"]:
        return _join(self.mean, 0.5 * jnp.log(self.variance))

    @classmethod
    def free_roles(cls, size: int) -> tuple[Role, ...]:
        return (Role.LINEAR,) * (size - 1) + (Role.LOG_SCALE,)

    @classmethod
    def _from_free(cls, free: Numeric) -> Self:
        return cls(free[..., :-1], jnp.exp(2 * bounded_log_scale(free[..., -1])))

    @classmethod
    def _log_prob_natural(cls, natural: Array, x: Array, observed: Any) -> Float[Array, "..."]:
        wide = jnp.broadcast_to(natural[..., -1:], natural[..., :-1].shape)
        return DiagonalGaussian._log_prob_natural(jnp.concatenate([natural[..., :-1], wide], axis=-1), x, observed)

    @classmethod
    def _log_prob_free(cls, free: Array, x: Array, observed: Any) -> Float[Array, "..."]:
        wide = jnp.broadcast_to(free[..., -1:], free[..., :-1].shape)
        return DiagonalGaussian._log_prob_free(jnp.concatenate([free[..., :-1], wide], axis=-1), x, observed)

    @classmethod
    def _free_groups(cls, size: int) -> tuple[FreeGroup, ...]:
        return tuple(FreeGroup((place,), 0.0 if place < size - 1 else -2.0, place == size - 1) for place in range(size))

    def _fisher_free(self) -> Float[Array, "*batch d d"]:
        mean, precision = jnp.asarray(self.mean), 1 / jnp.asarray(self.variance)
        return _blocks(precision, jnp.zeros_like(mean), jnp.full_like(precision, 2 * mean.shape[-1]))

    def fisher_product(self, columns: Float[Numeric, "... d k"], observed: Any = None) -> Float[Array, "... d k"]:
        mean, precision = jnp.asarray(self.mean), 1 / jnp.asarray(self.variance)
        seen = jnp.ones_like(mean) if observed is None else jnp.asarray(observed).astype(mean.dtype)
        diagonal = _join(seen * precision[..., None], 2 * jnp.sum(seen, axis=-1))
        return diagonal[..., None] * jnp.asarray(columns)

    def toward(self, y: Any) -> Float[Array, "... d"]:
        away = jnp.subtract(jnp.asarray(y), self.mean)
        z = away / jnp.sqrt(self.variance)[..., None]
        return _join(away, 0.5 * (jnp.mean(jnp.square(z), axis=-1) - 1))

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        return 0.5 * (jnp.sum(jnp.square(self.mean), axis=-1) / self.variance + self._log_volume)

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        return 0.5 * (self.mean.shape[-1] + self._log_volume)

    def relative_entropy(self, other: Self) -> Float[Array, "*batch"]:
        variance = jnp.asarray(other.variance)
        square = jnp.sum(jnp.square(jnp.subtract(self.mean, other.mean)), axis=-1) / variance
        return 0.5 * (self.mean.shape[-1] * ratio_excess(self.variance, variance) + square)

    def _fisher_source(self) -> Float[Array, "*batch d d"]:
        precision, n = 1 / jnp.asarray(self.variance), self.mean.shape[-1]
        return _blocks(precision, jnp.zeros(self.mean.shape, precision.dtype), 0.5 * n * jnp.square(precision))

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        mean, variance = jnp.asarray(self.mean), jnp.asarray(self.variance)
        n = mean.shape[-1]
        square = 2 * variance * (n * variance + 2 * jnp.sum(jnp.square(mean), axis=-1))
        return _blocks(variance, 2 * mean * variance[..., None], square)

    def _fisher_expectation(self) -> Float[Array, "*batch d d"]:
        mean, precision = jnp.asarray(self.mean), 1 / jnp.asarray(self.variance)
        n = mean.shape[-1]
        square = jnp.square(precision)[..., None]
        matrix = _blocks(precision, -mean * square / n, 0.5 * square[..., 0] / n)
        correction = 2 * square[..., None] / n * mean[..., :, None] * mean[..., None, :]
        return matrix.at[..., :n, :n].add(correction)

    def _diagonal(self) -> DiagonalGaussian:
        """Return the same members with a variance for each coordinate."""
        variance = jnp.broadcast_to(jnp.asarray(self.variance)[..., None], self.mean.shape)
        return DiagonalGaussian(self.mean, variance)

    @property
    def column_variances(self) -> Float[Array, "*batch n"]:
        return jnp.asarray(self.variance)[..., None]

    def quick_kernel_is_accurate(self, scaling: Standardization, radius: Any) -> Any:
        """Whether features keep their digits on data within `radius` of the scaling's center."""
        return self._diagonal().quick_kernel_is_accurate(scaling, radius)

    def log_likelihood(self, batch: Batch) -> Float[Array, "rows *batch"]:
        """Log density of each row, or of what is observed of it, under each member."""
        return self._diagonal().log_likelihood(batch)

    def expected_statistics(self, batch: Batch, carry: None = None) -> tuple[CenteredStatistics, None]:
        """Return mean and variance of the rows; missing entries as the members expect them."""
        each, _ = self._diagonal().expected_statistics(batch)
        spread = jnp.mean(each.spread, axis=-1)
        return CenteredStatistics(each.mass, each.log_likelihood, each.mean, spread, mean_square), carry

    def cross_entropy(self, statistics: CenteredStatistics) -> Float[Array, "*batch"]:
        n = self.mean.shape[-1]
        away = jnp.sum(jnp.square(jnp.subtract(statistics.mean, self.mean)), axis=-1)
        return 0.5 * jnp.multiply(statistics.mass, (n * statistics.spread + away) / self.variance + self._log_volume)


def _join(vector: Numeric, scalar: Numeric) -> Array:
    return jnp.concatenate([vector, jnp.asarray(scalar)[..., None]], axis=-1)


def _blocks(first: Array, cross: Array, second: Array) -> Array:
    eye = jnp.eye(cross.shape[-1], dtype=cross.dtype)
    top = jnp.concatenate([first[..., None, None] * eye, cross[..., :, None]], axis=-1)
    bottom = jnp.concatenate([cross, second[..., None]], axis=-1)
    return jnp.concatenate([top, bottom[..., None, :]], axis=-2)
