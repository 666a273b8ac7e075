"""The Gaussian with independent coordinates."""

from collections.abc import Callable
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from kullback.core import (
    Batch,
    CenteredStatistics,
    Key,
    Shape,
    Standardization,
    as_key,
    as_shape,
    average,
    expand,
    replace,
    row_weight,
    weighted_total,
)
from kullback.families._family import FreeGroup, Role
from kullback.families._gaussian_family import GaussianFamily
from kullback.families._gaussian_rows import (
    LOG_TWO_PI,
    FeatureScorer,
    diagonal_spreads,
    features_moments,
    near_enough,
)
from kullback.numerics import (
    Numeric,
    as_parameter,
    bounded_log_scale,
    check_finite,
    check_ndim,
    check_positive,
    log_normal,
    ratio_excess,
    share_batch,
)


def squares(vector: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """Return the squares of a vector's entries; a function of a module, so that statistics can be pickled."""
    return jnp.square(vector)


class DiagonalGaussian(GaussianFamily):
    """N(μ, diag(σ²)) on Rⁿ.

    Coordinates, each of length 2n:

    - source: (μᵢ), (σᵢ²)
    - statistics T: (xᵢ), (xᵢ²)
    - natural: (μᵢ/σᵢ²), (−1/2σᵢ²)
    - expectation: (μᵢ), (σᵢ² + μᵢ²)
    - free: (μᵢ), (log σᵢ)

    >>> DiagonalGaussian(mean=[0.0, 2.0], variance=[1.0, 4.0]).natural.tolist()
    [0.0, 0.5, -0.5, -0.125]
    """

    square = staticmethod(squares)

    mean: Float[Numeric, "*batch n"]
    variance: Float[Numeric, "*batch n"]

    def __init__(self, mean: Any, variance: Any):
        mean, variance = as_parameter(mean), as_parameter(variance)
        check_ndim("mean", mean, 1, "at least one axis, the last for the coordinates of a point")
        check_ndim("variance", variance, 1, "at least one axis, the last for the coordinates of a point")
        if variance.shape[-1] != mean.shape[-1]:
            raise ValueError(
                f"variance has shape {variance.shape}: mean has {mean.shape[-1]} coordinates, so its last axis must "
                f"have {mean.shape[-1]} entries."
            )
        check_finite("mean", mean)
        check_positive("variance", variance)
        self.mean, self.variance = share_batch(("mean", mean), ("variance", variance), (1, 1))

    @property
    def size(self) -> int:
        return 2 * self.mean.shape[-1]

    @classmethod
    def column_name(cls) -> str:
        """Return "gaussian": side by side with other columns, Gaussian ones are independent."""
        return "gaussian"

    @classmethod
    def plain(cls, members: int, columns: int, categories: int = 0, trials: int = 0) -> Self:
        return cls(np.zeros((members, columns)), np.ones((members, columns)))

    @property
    def interior(self) -> Bool[Array, "*batch"]:
        return jnp.all(jnp.isfinite(self.source), axis=-1) & jnp.all(jnp.asarray(self.variance) > 0, axis=-1)

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        variance = jnp.asarray(self.variance)
        square = jnp.square(jnp.subtract(jnp.asarray(x), self.mean)) / variance
        return -0.5 * jnp.sum(square + jnp.log(2 * np.pi * variance), axis=-1)

    def sample(self, key: Key, shape: Shape = ()) -> Float[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
        mean = jnp.asarray(self.mean)
        return mean + jnp.sqrt(self.variance) * jax.random.normal(key, shape + mean.shape, mean.dtype)

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        x = jnp.asarray(x, dtype=jnp.asarray(self.mean).dtype)
        return jnp.concatenate([x, jnp.square(x)], axis=-1)

    @property
    def source(self) -> Float[Array, "*batch d"]:
        return jnp.concatenate([self.mean, self.variance], axis=-1)

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        precision = 1 / jnp.asarray(self.variance)
        return jnp.concatenate([self.mean * precision, -0.5 * precision], axis=-1)

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        return jnp.concatenate([self.mean, self.variance + jnp.square(self.mean)], axis=-1)

    @classmethod
    def _from_source(cls, source: Numeric) -> Self:
        return cls(*_halves(source))

    @classmethod
    def _from_natural(cls, natural: Numeric) -> Self:
        shift, half = _halves(natural)
        check_positive("the precision", -2 * half)
        return cls(-0.5 * shift / half, -0.5 / half)

    @classmethod
    def _from_expectation(cls, expectation: Numeric) -> Self:
        mean, second = _halves(expectation)
        return cls(mean, second - jnp.square(mean))

    @property
    def free(self) -> Float[Array, "*batch d"]:
        return jnp.concatenate([self.mean, 0.5 * jnp.log(self.variance)], axis=-1)

    @classmethod
    def free_roles(cls, size: int) -> tuple[Role, ...]:
        return (Role.LINEAR,) * (size // 2) + (Role.LOG_SCALE,) * (size // 2)

    @classmethod
    def _from_free(cls, free: Numeric) -> Self:
        mean, log_scale = _halves(free)
        return cls(mean, jnp.exp(2 * bounded_log_scale(log_scale)))

    @classmethod
    def _log_prob_natural(cls, natural: Array, x: Array, observed: Any) -> Float[Array, "..."]:
        shift, half = _halves(natural)
        precision = -2 * half
        square = precision * jnp.square(_seen(x, observed) - shift / precision)
        return _add_up(-0.5 * (square - jnp.log(precision) + LOG_TWO_PI), observed)

    @classmethod
    def _log_prob_free(cls, free: Array, x: Array, observed: Any) -> Float[Array, "..."]:
        mean, log_scale = _halves(free)
        return _add_up(log_normal(_seen(x, observed) - mean, bounded_log_scale(log_scale)), observed)

    @classmethod
    def _free_groups(cls, size: int) -> tuple[FreeGroup, ...]:
        half = size // 2
        return tuple(FreeGroup((place,), 0.0 if place < half else -2.0, place >= half) for place in range(size))

    def _fisher_free(self) -> Float[Array, "*batch d d"]:
        precision = 1 / jnp.asarray(self.variance)
        return _coordinate_blocks(precision, jnp.zeros_like(precision), jnp.full_like(precision, 2))

    def fisher_product(self, columns: Float[Numeric, "... d k"], observed: Any = None) -> Float[Array, "... d k"]:
        precision = 1 / jnp.asarray(self.variance)
        diagonal = jnp.concatenate([precision, jnp.full_like(precision, 2)], axis=-1)
        product = diagonal[..., None] * jnp.asarray(columns)
        if observed is None:
            return product
        seen = jnp.asarray(observed)
        return jnp.where(jnp.concatenate([seen, seen], axis=-1)[..., None], product, 0)

    def toward(self, y: Any) -> Float[Array, "... d"]:
        away = jnp.subtract(jnp.asarray(y), self.mean)
        return jnp.concatenate([away, 0.5 * (jnp.square(away / jnp.sqrt(self.variance)) - 1)], axis=-1)

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        variance = jnp.asarray(self.variance)
        return 0.5 * jnp.sum(jnp.square(self.mean) / variance + jnp.log(2 * np.pi * variance), axis=-1)

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        return 0.5 * jnp.sum(1 + jnp.log(2 * np.pi * jnp.asarray(self.variance)), axis=-1)

    def relative_entropy(self, other: Self) -> Float[Array, "*batch"]:
        variance = jnp.asarray(other.variance)
        square = jnp.square(jnp.subtract(self.mean, other.mean)) / variance
        return 0.5 * jnp.sum(ratio_excess(self.variance, variance) + square, axis=-1)

    def _fisher_source(self) -> Float[Array, "*batch d d"]:
        precision = 1 / jnp.asarray(self.variance)
        return _coordinate_blocks(precision, jnp.zeros_like(precision), 0.5 * jnp.square(precision))

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        mean, variance = jnp.asarray(self.mean), jnp.asarray(self.variance)
        return _coordinate_blocks(variance, 2 * mean * variance, 2 * variance * (variance + 2 * jnp.square(mean)))

    def _fisher_expectation(self) -> Float[Array, "*batch d d"]:
        mean, precision = jnp.asarray(self.mean), 1 / jnp.asarray(self.variance)
        square = jnp.square(precision)
        return _coordinate_blocks(precision + 2 * jnp.square(mean) * square, -mean * square, 0.5 * square)

    def natural_form(self) -> tuple[Float[Array, "*batch d"], Float[Array, "*batch"]]:
        """Return the natural coordinates and the log-partition function."""
        return self.natural, self.log_partition

    def turned_statistics(self, x: Float[Array, "n rows"]) -> Float[Array, "d rows"]:
        """Return the statistics of points that are columns."""
        return jnp.concatenate([x, jnp.square(x)])

    def standardize(self, scaling: Standardization) -> "DiagonalGaussian":
        """Return the members in the coordinates u = (x − center) / scale."""
        mean, variance = (
            (self.mean - scaling.center) / scaling.scale,
            self.variance / jnp.square(scaling.scale),
        )
        return eqx.tree_at(lambda g: (g.mean, g.variance), self, (mean, variance))

    @property
    def column_variances(self) -> Float[Array, "*batch n"]:
        return jnp.asarray(self.variance)

    def quick_kernel_is_accurate(self, scaling: Standardization, radius: Any) -> Any:
        """Whether features keep their digits on data within `radius` of the scaling's center."""
        precision = (scaling.scale * scaling.scale / self.variance).max(axis=-1)
        return near_enough((self.mean - scaling.center) / scaling.scale, precision, radius)

    def _flat(self) -> Self:
        """Return the members in one row."""
        n = self.mean.shape[-1]
        flat = (jnp.asarray(self.mean).reshape(-1, n), jnp.asarray(self.variance).reshape(-1, n))
        return eqx.tree_at(lambda g: (g.mean, g.variance), self, flat)

    def log_likelihood(self, batch: Batch) -> Float[Array, "rows *batch"]:
        """Log density of each row, or of what is observed of it, under each member."""
        return self.scorer(batch)(batch)

    def scorer(self, batch: Batch) -> Callable[[Batch], Float[Array, "rows *batch"]]:
        flat = self._flat()
        scaling = batch.standardization if batch.observed is None else None
        linear = None if scaling is None else FeatureScorer.of(flat, scaling)

        def of_block(block: Batch) -> Float[Array, "rows *batch"]:
            values = jnp.asarray(block.values, jnp.asarray(flat.mean).dtype)
            shape = (values.shape[0], *self.batch_shape)
            if linear is not None:
                return linear(values).reshape(shape)
            variance = jnp.asarray(flat.variance)
            terms = jnp.square(values[:, None, :] - flat.mean) / variance + jnp.log(variance) + LOG_TWO_PI
            if block.observed is not None:
                terms = jnp.where(jnp.asarray(block.observed)[:, None, :], terms, 0)
            return -0.5 * jnp.sum(terms, axis=-1).reshape(shape)

        return of_block

    def expected_statistics(self, batch: Batch, carry: None = None) -> tuple[CenteredStatistics, None]:
        """Return mean and variances of the rows; missing entries as the members expect them."""
        total = weighted_total(row_weight(batch, self.batch_shape), self.log_likelihood(batch))
        return replace(self.member_statistics(batch), log_likelihood=total), carry

    def member_statistics(self, batch: Batch) -> CenteredStatistics:
        weight = row_weight(batch, self.batch_shape)
        values, w = jnp.asarray(batch.values, weight.dtype), weight.reshape(weight.shape[0], -1)
        if batch.observed is not None:
            mass, mean, spread = self._flat()._completed_moments(
                values, w, jnp.asarray(batch.observed, w.dtype), jnp.asarray(batch.point_variance)
            )
        elif batch.standardization is not None:
            mass, eta = features_moments(self, values, w, batch.standardization)
            mean, second = _halves(eta)
            spread = (second - jnp.square(mean)) * jnp.square(batch.standardization.scale) + batch.point_variance
            mean = jnp.asarray(batch.standardization.center + mean * batch.standardization.scale)
        else:
            mass, mean = average(values, w)
            spread = diagonal_spreads(values, w, mean) / expand(jnp.where(mass > 0, mass, 1), 1) + batch.point_variance
        mass = mass.reshape(self.batch_shape)
        gathered = (mass, jnp.zeros_like(mass), mean.reshape(self.mean.shape), spread.reshape(self.mean.shape))
        return CenteredStatistics(*gathered, squares)

    def _completed_moments(
        self, values: Array, weight: Array, seen: Array, point_variance: Array
    ) -> tuple[Array, Array, Array]:
        """Return mass, mean and spread by columns: of what is seen, and of what the members expect of the rest."""
        there = weight.T @ seen
        some = jnp.where(there > 0, there, 1)
        mean = (weight.T @ (values * seen)) / some
        total = jax.lax.map(lambda m: m[0] @ (seen * jnp.square(values - m[1])), (weight.T, mean))
        nothing = jnp.zeros_like(there)
        data = CenteredStatistics(there, nothing, mean[..., None], total / some + point_variance, _only_square)
        absent = weight.T @ (1 - seen)
        own = (jnp.asarray(self.mean)[..., None], jnp.asarray(self.variance))
        both = data.merge(CenteredStatistics(absent, nothing, *own, _only_square))
        return jnp.sum(weight, axis=0), jnp.asarray(both.mean)[..., 0], jnp.asarray(both.spread)

    def cross_entropy(self, statistics: CenteredStatistics) -> Float[Array, "*batch"]:
        variance = jnp.asarray(self.variance)
        square = (statistics.spread + jnp.square(jnp.subtract(statistics.mean, self.mean))) / variance
        return 0.5 * jnp.multiply(statistics.mass, jnp.sum(square + jnp.log(2 * np.pi * variance), axis=-1))


def _only_square(vector: Float[Array, "*batch 1"]) -> Float[Array, "*batch"]:
    return jnp.square(vector[..., 0])


def _halves(flat: Numeric) -> tuple[Array, Array]:
    flat = jnp.asarray(flat)
    if flat.shape[-1] % 2:
        raise ValueError(f"{flat.shape[-1]} coordinates do not fit: a diagonal Gaussian on Rⁿ has 2n.")
    first, second = jnp.split(flat, 2, axis=-1)
    return first, second


def _seen(x: Array, observed: Any) -> Array:
    return x if observed is None else jnp.where(observed, x, 0)


def _add_up(terms: Float[Array, "... n"], observed: Any) -> Float[Array, "..."]:
    return jnp.sum(terms if observed is None else jnp.where(observed, terms, 0), axis=-1)


def _coordinate_blocks(a: Array, b: Array, d: Array) -> Array:
    """Return the matrix with entries a at (μᵢ, μᵢ), b at (μᵢ, σᵢ²) and d at (σᵢ², σᵢ²)."""
    eye = jnp.eye(a.shape[-1], dtype=a.dtype)
    top = jnp.concatenate([a[..., None] * eye, b[..., None] * eye], axis=-1)
    bottom = jnp.concatenate([b[..., None] * eye, d[..., None] * eye], axis=-1)
    return jnp.concatenate([top, bottom], axis=-2)
