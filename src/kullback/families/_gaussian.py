"""The Gaussian with a full covariance matrix."""

import math
from collections.abc import Callable
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from numpy.typing import NDArray

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
    keep_observed,
    replace,
    row_weight,
    weighted_total,
)
from kullback.families._family import Coordinates, FreeGroup, Role
from kullback.families._gaussian_family import GaussianFamily, without_spread
from kullback.families._gaussian_fisher import fisher_expectation, fisher_natural, fisher_source
from kullback.families._gaussian_free import (
    fisher_free,
    from_free,
    groups_free,
    log_prob_free,
    log_prob_observed,
    log_volume_free,
    to_free,
    toward_free,
)
from kullback.families._gaussian_missing import completed_moments, completer, log_conditionals
from kullback.families._gaussian_rows import (
    LOG_TWO_PI,
    FeatureScorer,
    centered_moments,
    centered_squares,
    features_moments,
    near_enough,
    spreads,
    whitened_squares,
)
from kullback.numerics import (
    Numeric,
    apply,
    as_parameter,
    check_covariance,
    check_finite,
    check_ndim,
    determinant_excess,
    dimension,
    gram,
    log_determinant,
    outer,
    pack,
    pairs,
    share_batch,
    solve_packed,
    unpack,
    whiten,
    whitener,
)


class Gaussian(GaussianFamily):
    """N(μ, Σ) on Rⁿ.

    Coordinates, each of length n(n+3)/2, i < j in lexicographic order:

    - source: (μᵢ), (Σᵢᵢ), (Σᵢⱼ)
    - statistics T: (xᵢ), (xᵢ²), (2xᵢxⱼ)
    - natural θ: (Σ⁻¹μ)ᵢ, (−½Σ⁻¹ᵢᵢ), (−½Σ⁻¹ᵢⱼ)
    - expectation η: (μᵢ), (Σᵢᵢ + μᵢ²), (2Σᵢⱼ + 2μᵢμⱼ)
    - free: (μᵢ), (log of the standard deviation of xᵢ given those before it), (coefficient of xᵢ in the mean of xⱼ)

    >>> g = Gaussian(mean=[0.0, 1.0], covariance=[[2.0, 0.3], [0.3, 1.0]])
    >>> [round(float(e), 3) for e in g.expectation]
    [0.0, 1.0, 2.0, 2.0, 0.6]
    """

    square = staticmethod(outer)

    mean: Float[Numeric, "*batch n"]
    covariance: Float[Numeric, "*batch n n"]

    def __init__(self, mean: Any, covariance: Any):
        mean, covariance = as_parameter(mean), as_parameter(covariance)
        check_ndim("mean", mean, 1, "at least one axis, the last for the coordinates of a point")
        check_ndim("covariance", covariance, 2, "at least two axes, the last two for the matrix")
        n = mean.shape[-1]
        if covariance.shape[-2:] != (n, n):
            raise ValueError(
                f"covariance has shape {covariance.shape}: mean has {n} coordinates, so its last two axes must be "
                f"({n}, {n})."
            )
        check_finite("mean", mean)
        check_covariance("covariance", covariance)
        self.mean, self.covariance = share_batch(("mean", mean), ("covariance", covariance), (1, 2))

    @property
    def size(self) -> int:
        n = self.mean.shape[-1]
        return n * (n + 3) // 2

    @classmethod
    def plain(cls, members: int, columns: int, categories: int = 0, trials: int = 0) -> Self:
        return cls(np.zeros((members, columns)), np.tile(np.eye(columns), (members, 1, 1)))

    @classmethod
    def least_parameters(cls, columns: int, categories: int = 0) -> int:
        return columns * (columns + 1) // 2

    @property
    def interior(self) -> Bool[Array, "*batch"]:
        definite = jnp.all(jnp.isfinite(whitener(self.covariance)), axis=(-2, -1))
        return jnp.all(jnp.isfinite(self.mean), axis=-1) & definite

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        square, log_det = whiten(self.covariance, jnp.subtract(jnp.asarray(x), self.mean))
        return -0.5 * (square + log_det + self.mean.shape[-1] * math.log(2 * math.pi))

    def sample(self, key: Key, shape: Shape = ()) -> Float[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
        mean = jnp.asarray(self.mean)
        z = jax.random.normal(key, shape + mean.shape, mean.dtype)
        return mean + apply(jnp.linalg.cholesky(jnp.asarray(self.covariance)), z)

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        x = jnp.asarray(x, dtype=jnp.asarray(self.mean).dtype)
        i, j = pairs(x.shape[-1])
        return jnp.concatenate([x, jnp.square(x), 2 * x[..., i] * x[..., j]], axis=-1)

    def natural_form(self) -> tuple[Float[Array, "*batch d"], Float[Array, "*batch"]]:
        """Return the natural coordinates and the log-partition function, with one factorization for both."""
        w, mean = whitener(self.covariance), jnp.asarray(self.mean)
        precision, square = gram(w), jnp.sum(jnp.square(apply(w, mean)), axis=-1)
        constant = mean.shape[-1] * math.log(2 * math.pi)
        return pack(apply(precision, mean), -0.5 * precision), 0.5 * (square + log_determinant(w) + constant)

    def turned_statistics(self, x: Float[Array, "n rows"]) -> Float[Array, "d rows"]:
        """Return the statistics of points that are columns."""
        i, j = pairs(x.shape[0])
        return jnp.concatenate([x, jnp.square(x), 2 * x[i] * x[j]])

    @property
    def source(self) -> Float[Array, "*batch d"]:
        return pack(self.mean, self.covariance)

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        n = self.mean.shape[-1]
        flat = solve_packed(self.covariance, jnp.asarray(self.mean))
        return jnp.where(np.arange(self.size) < n, flat, -0.5 * flat)

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        return pack(self.mean, self.covariance + outer(self.mean), 2.0)

    @classmethod
    def _from_source(cls, source: Numeric) -> Self:
        return cls(*unpack(source))

    @classmethod
    def _from_natural(cls, natural: Numeric) -> Self:
        shift, half = unpack(natural)
        precision = -2 * half
        check_covariance("the precision matrix", precision)
        return cls(*unpack(solve_packed(precision, shift)))

    @classmethod
    def _from_expectation(cls, expectation: Numeric) -> Self:
        mean, second = unpack(expectation, 2.0)
        return cls(mean, second - outer(mean))

    @property
    def free(self) -> Float[Array, "*batch d"]:
        return to_free(self.mean, self.covariance)

    @classmethod
    def free_roles(cls, size: int) -> tuple[Role, ...]:
        n = dimension(size)
        return (Role.LINEAR,) * n + (Role.LOG_SCALE,) * n + (Role.LINEAR,) * (size - 2 * n)

    @classmethod
    def _from_free(cls, free: Numeric) -> Self:
        return cls(*from_free(free))

    @classmethod
    def _log_prob_natural(cls, natural: Array, x: Array, observed: Any) -> Float[Array, "..."]:
        shift, half = unpack(natural)
        precision = -2 * half
        if observed is not None:
            return log_prob_observed(*unpack(solve_packed(precision, shift)), x, observed)
        factor = jnp.linalg.cholesky(precision)
        mean = apply(gram(whitener(precision)), shift)
        z = jnp.einsum("...ji,...j->...i", factor, x - mean)
        log_scales = jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1))
        return jnp.sum(log_scales - 0.5 * (jnp.square(z) + LOG_TWO_PI), axis=-1)

    @classmethod
    def _log_prob_free(cls, free: Array, x: Array, observed: Any) -> Float[Array, "..."]:
        return log_prob_free(free, x, observed)

    @classmethod
    def _free_groups(cls, size: int) -> tuple[FreeGroup, ...]:
        return groups_free(size)

    def _fisher_free(self) -> Float[Array, "*batch d d"]:
        return fisher_free(self.mean, self.covariance)

    def log_volume(self, coordinates: Coordinates = "source") -> Float[Array, "*batch"]:
        return log_volume_free(jnp.asarray(self.covariance), coordinates)

    def fisher_product(self, columns: Float[Numeric, "... d k"], observed: Any = None) -> Float[Array, "... d k"]:
        if observed is None:
            return super().fisher_product(columns)
        # of the marginal: the others are made independent, with parameters that no coordinate moves
        seen = jnp.asarray(observed)
        both = seen[..., :, None] & seen[..., None, :]
        eye = jnp.eye(seen.shape[-1], dtype=jnp.asarray(self.mean).dtype)
        alone = type(self)(jnp.where(seen, self.mean, 0), jnp.where(both, self.covariance, eye))
        i, j = pairs(seen.shape[-1])
        moved = jnp.concatenate([seen, seen, both[..., i, j]], axis=-1)
        slope = jnp.where(moved[..., None], self._slope("source"), 0)
        return jnp.swapaxes(slope, -1, -2) @ (alone.fisher("source") @ (slope @ jnp.asarray(columns)))

    def toward(self, y: Any) -> Float[Array, "... d"]:
        return toward_free(self.mean, self.covariance, jnp.asarray(y))

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        square, log_det = whiten(self.covariance, jnp.asarray(self.mean))
        return 0.5 * (square + log_det + self.mean.shape[-1] * math.log(2 * math.pi))

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        n = self.mean.shape[-1]
        return 0.5 * (n * (1 + math.log(2 * math.pi)) + log_determinant(whitener(self.covariance)))

    def relative_entropy(self, other: Self) -> Float[Array, "*batch"]:
        w = whitener(other.covariance)
        turned = jnp.swapaxes(w, -1, -2)
        ratio = w @ jnp.asarray(self.covariance) @ turned
        apart = w @ jnp.subtract(self.covariance, other.covariance) @ turned
        log_ratio = log_determinant(whitener(self.covariance)) - log_determinant(w)
        z = apply(w, jnp.subtract(self.mean, other.mean))
        return 0.5 * (determinant_excess(ratio, apart, log_ratio) + jnp.sum(jnp.square(z), axis=-1))

    def _fisher_source(self) -> Float[Array, "*batch d d"]:
        return fisher_source(jnp.asarray(self.covariance))

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        return fisher_natural(jnp.asarray(self.mean), jnp.asarray(self.covariance))

    def _fisher_expectation(self) -> Float[Array, "*batch d d"]:
        return fisher_expectation(jnp.asarray(self.mean), jnp.asarray(self.covariance))

    # --- a model with nothing hidden --------------------------------------------------------------------

    def _flat(self) -> tuple["Gaussian", Float[Array, "k n"], Float[Array, "k n n"]]:
        """Return the members in one row, and their parameters."""
        n = self.mean.shape[-1]
        mean = jnp.asarray(self.mean).reshape(-1, n)
        covariance = jnp.asarray(self.covariance).reshape(-1, n, n)
        return eqx.tree_at(lambda g: (g.mean, g.covariance), self, (mean, covariance)), mean, covariance

    def standardize(self, scaling: Standardization) -> "Gaussian":
        """Return the members in the coordinates u = (x − center) / scale."""
        mean = (self.mean - scaling.center) / scaling.scale
        covariance = self.covariance / outer(scaling.scale)
        return eqx.tree_at(lambda g: (g.mean, g.covariance), self, (mean, covariance))

    @property
    def column_variances(self) -> Float[Array, "*batch n"]:
        return jnp.diagonal(jnp.asarray(self.covariance), axis1=-2, axis2=-1)

    @property
    def variance(self) -> Float[Array, "*batch n"]:
        """The variance of each coordinate: the diagonal of the covariance."""
        return self.column_variances

    def _refusal(self) -> str | None:
        flat = without_spread(self.mean, self.column_variances)
        if flat is not None:
            return flat
        deviations = np.sqrt(np.asarray(self.column_variances))
        correlation = np.asarray(self.covariance) / (deviations[:, None] * deviations)
        least = np.linalg.eigvalsh(correlation)[0]
        if least > 8 * len(deviations) * np.finfo(correlation.dtype).eps:
            return None
        return "its points lie in a plane, and its likelihood grows without bound: take more points or fewer columns."

    def moments(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.asarray(self.mean, dtype=float), np.asarray(self.covariance, dtype=float)

    @property
    def _has_few_features(self) -> bool:
        """Whether features are the quicker of the two orders of products: members are not few against columns."""
        return math.prod(self.batch_shape) >= self.mean.shape[-1]

    def quick_kernel_is_accurate(self, scaling: Standardization, radius: Any) -> Any:
        """Whether moments around the scaling's center keep their digits on data within `radius` of it."""
        mean = (self.mean - scaling.center) / scaling.scale
        if isinstance(mean, np.ndarray):  # nothing to compile
            precision: Any = np.linalg.inv(self.covariance / np.multiply.outer(scaling.scale, scaling.scale))
            return near_enough(mean, np.linalg.norm(precision, axis=(-2, -1)), radius)
        precision = gram(whitener(self.covariance / outer(scaling.scale)))
        return near_enough(mean, jnp.linalg.norm(precision, axis=(-2, -1)), radius)

    def log_likelihood(self, batch: Batch) -> Float[Array, "rows *batch"]:
        """Log density of each row, or of what is observed of it, under each member."""
        return self.scorer(batch)(batch)

    def scorer(self, batch: Batch) -> Callable[[Batch], Float[Array, "rows *batch"]]:
        flat, mean, covariance = self._flat()
        scaling, constant = batch.standardization, mean.shape[-1] * LOG_TWO_PI
        if batch.observed is not None:

            def score(block: Batch) -> Array:
                complete = completer(block, mean.dtype)
                return jax.lax.map(lambda member: complete(*member).log_likelihood, (mean, covariance)).T

        elif scaling is not None and self._has_few_features:
            linear = FeatureScorer.of(flat, scaling)

            def score(block: Batch) -> Array:
                return linear(jnp.asarray(block.values, mean.dtype))

        else:
            w = whitener(covariance)
            log_det = log_determinant(w)
            center: Any = None if scaling is None else scaling.center
            shift = None if scaling is None else apply(w, mean - center)

            def score(block: Batch) -> Array:
                values = jnp.asarray(block.values, mean.dtype)
                if shift is None:
                    square = whitened_squares(values, mean, w)
                else:
                    square = centered_squares(values - center, shift, w)
                return -0.5 * (square + log_det + constant)

        def of_block(block: Batch) -> Float[Array, "rows *batch"]:
            scores = score(block)
            return scores.reshape(scores.shape[0], *self.batch_shape)

        return of_block

    def expected_statistics(self, batch: Batch, carry: None = None) -> tuple[CenteredStatistics, None]:
        """Return mean and covariance of the rows; missing entries as the members expect them given the others."""
        total = weighted_total(row_weight(batch, self.batch_shape), self.log_likelihood(batch))
        return replace(self.member_statistics(batch), log_likelihood=total), carry

    def member_statistics(self, batch: Batch) -> CenteredStatistics:
        weight = row_weight(batch, self.batch_shape)
        flat, here, covariance = self._flat()
        values, w = jnp.asarray(batch.values, weight.dtype), weight.reshape(weight.shape[0], -1)
        n = values.shape[-1]
        if batch.observed is not None:
            complete = completer(batch, here.dtype)
            mass, mean, spread = jax.lax.map(
                lambda m: completed_moments(complete(m[0], m[1]), m[2], jnp.asarray(batch.point_variance)),
                (here, covariance, w.T),
            )
        elif batch.standardization is not None and self._has_few_features:
            mass, eta = features_moments(flat, values, w, batch.standardization)
            mean, second = unpack(eta, 2.0)
            spread = (second - outer(mean)) * outer(batch.standardization.scale) + batch.point_variance * jnp.eye(
                n, dtype=w.dtype
            )
            mean = batch.standardization.center + mean * batch.standardization.scale
        elif batch.standardization is not None:
            center = batch.standardization.center
            mass, mean, spread = centered_moments(values - center, w)
            mean, spread = mean + center, spread + batch.point_variance * jnp.eye(n, dtype=w.dtype)
        else:
            mass, mean = average(values, w)
            spread = spreads(values, w, mean) / expand(jnp.where(mass > 0, mass, 1), 2)
            spread = spread + batch.point_variance * jnp.eye(n, dtype=w.dtype)
        shape = self.batch_shape
        mass = mass.reshape(shape)
        gathered = (mass, jnp.zeros_like(mass), mean.reshape(*shape, n), spread.reshape(*shape, n, n))
        return CenteredStatistics(*gathered, outer)

    def impute(self, batch: Batch, key: Array) -> Float[Array, "rows *batch n"]:
        """Draw the missing entries of each row given the others, for each member.

        A whole point y is drawn, then moved by the regression on the observed entries: y + G(x − y)ₒ.
        """
        flat, mean, covariance = self._flat()
        drawn = jnp.moveaxis(flat.sample(key, batch.values.shape[:1]), 1, 0)

        def one(member: tuple[Array, Array]) -> Array:
            c, y = member
            apart = batch.columns(batch.values - y, batch.observed)
            return y + completer(apart, y.dtype)(jnp.zeros_like(mean[0]), c).filled

        return keep_observed(batch, self._by_member(jax.lax.map(one, (covariance, drawn))))

    def conditional_embedding(self, batch: Batch) -> Float[Array, "rows *batch n"]:
        """Return E[x | xₒ] = μ + Σ·ₒ Σₒₒ⁻¹ (xₒ − μₒ) of each row, for each member."""
        _, mean, covariance = self._flat()
        complete = completer(batch, mean.dtype)
        return self._by_member(jax.lax.map(lambda member: complete(*member).filled, (mean, covariance)))

    def leave_one_out(self, batch: Batch, carry: None = None) -> Float[Array, "rows *batch n"]:
        """Return log p(xₒ) − log p(x_j | the others) for each row, member and column."""
        _, mean, covariance = self._flat()
        values = jnp.asarray(batch.values, mean.dtype)
        seen = None if batch.observed is None else jnp.asarray(batch.observed)
        each = jax.lax.map(lambda member: log_conditionals(values - member[0], member[1], seen), (mean, covariance))
        return self.log_likelihood(batch)[..., None] - self._by_member(each)

    def _by_member(self, found: Float[Array, "k rows n"]) -> Float[Array, "rows *batch n"]:
        return jnp.moveaxis(found, 0, 1).reshape(found.shape[1], *self.mean.shape)

    def cross_entropy(self, statistics: CenteredStatistics) -> Float[Array, "*batch"]:
        w = whitener(self.covariance)
        z = apply(w, jnp.subtract(statistics.mean, self.mean))
        trace = jnp.sum(gram(w) * statistics.spread, axis=(-2, -1))
        constant = self.mean.shape[-1] * math.log(2 * math.pi)
        quadratic = jnp.sum(jnp.square(z), axis=-1) + trace
        return 0.5 * jnp.multiply(statistics.mass, quadratic + constant + log_determinant(w))
