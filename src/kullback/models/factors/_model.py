"""What factor analysis and probabilistic PCA share: all but the shape of the noise."""

import abc
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import (
    Batch,
    CenteredStatistics,
    ClosedFormModel,
    Completion,
    Extent,
    Key,
    Shape,
    Want,
    as_key,
    as_shape,
    by_blocks,
    expand,
    keep_observed,
    replace,
    row_weight,
)
from kullback.families import Gaussian
from kullback.models.factors._completion import complete_rows
from kullback.models.factors._principal import order_loadings
from kullback.models.factors._rows import Factors, Member, Square, draw_missing, infer, joint_energy, moments
from kullback.numerics import (
    LOG_TWO_PI,
    Numeric,
    apply,
    as_parameter,
    check_finite,
    check_ndim,
    check_positive,
    gram,
    share_batch,
    whitener,
)


class FactorModel(ClosedFormModel):
    """p(h, v) = N(h; 0, I) · N(v; W h + μ, Ψ) with h in R^q, v in Rⁿ and Ψ diagonal; batched over leading axes.

    Statistics are means of (h, v), the covariances of both with h and their variances, all centered. The model nearest
    to them is the regression of v on h: W = S_vh S_hh⁻¹, μ = v̄ − W h̄, and Ψ from what it leaves, diag(S_vv − W S_hv).
    A noise that the data leaves no digits of is kept at ε^(2/3) of its column's variance.
    """

    mean: eqx.AbstractVar[Float[Numeric, "*batch n"]]
    loadings: eqx.AbstractVar[Float[Numeric, "*batch n q"]]
    noise: eqx.AbstractVar[Float[Numeric, "..."]]

    @property
    @abc.abstractmethod
    def noises(self) -> Float[Array, "*batch n"]:
        """The noise variance of each column."""

    @abc.abstractmethod
    def _nearest_noise(self, rest: Float[Array, "*batch n"], variance: Float[Array, "*batch n"]) -> Array:
        """Return the noise from what the regression leaves of the variance of each column."""

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch of models."""
        return self.mean.shape[:-1]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one visible point."""
        return self.mean.shape[-1:]

    @property
    def covariance(self) -> Float[Array, "*batch n n"]:
        """The covariance W Wᵀ + Ψ of the visible."""
        eye = jnp.eye(self.mean.shape[-1], dtype=jnp.asarray(self.mean).dtype)
        return jnp.einsum("...iq,...jq->...ij", self.loadings, self.loadings) + self.noises[..., None] * eye

    @property
    def _q(self) -> int:
        return self.loadings.shape[-1]

    def _members(self) -> Member:
        """Return the parameters of all members, in one row."""
        n, q = self.loadings.shape[-2:]
        parts = (jnp.reshape(self.mean, (-1, n)), jnp.reshape(self.loadings, (-1, n, q)))
        return Member(*parts, jnp.reshape(self.noises, (-1, n)))

    def _rows(self, batch: Batch) -> tuple[Array, Array | None]:
        observed = None if batch.observed is None else jnp.asarray(batch.observed)
        return jnp.asarray(batch.values, jnp.asarray(self.mean).dtype), observed

    # --- what the data says -----------------------------------------------------------------------------

    def log_likelihood(self, batch: Batch) -> Float[Array, "rows *batch"]:
        """Return log N(v; μ, W Wᵀ + Ψ) of each row, or of what is observed of it, under each member."""
        values, observed = self._rows(batch)
        rows = jax.lax.map(lambda member: infer(member, values, observed).log_likelihood, self._members())
        return rows.T.reshape(values.shape[0], *self.batch_shape)

    def posterior(self, batch: Batch, key: Any = None) -> Factors:
        """Return p(h | v) = N(M⁻¹WᵀΨ⁻¹(v − μ), M⁻¹) of each row with M = I + WᵀΨ⁻¹W over what is observed."""
        values, observed = self._rows(batch)
        rows, q = values.shape[0], self._q

        def one(member: Member) -> tuple[Array, Array]:
            mean, covariance, _ = infer(member, values, observed)
            return mean, jnp.broadcast_to(covariance, (rows, q, q))

        mean, covariance = (jnp.moveaxis(part, 0, 1) for part in jax.lax.map(one, self._members()))
        shape = (rows, *self.batch_shape)
        return Factors(mean.reshape(*shape, q), covariance.reshape(*shape, q, q))

    def energy(self, v: Any, h: Any = None, inputs: None = None) -> Float[Array, "..."]:
        """Return −log p(h, v); without h the free energy −log p(v)."""
        member = Member(jnp.asarray(self.mean), jnp.asarray(self.loadings), self.noises)
        v = jnp.asarray(v, member.mean.dtype)
        if h is None:
            return -infer(member, v, None).log_likelihood
        return joint_energy(member, v, None, jnp.asarray(h, member.mean.dtype))

    def expected_statistics(self, batch: Batch, carry: None = None) -> tuple[CenteredStatistics, None]:
        """Return the moments of (h, v) with h, and missing entries of v, as the model expects them; block by block."""
        return by_blocks(self._of_block, batch), carry

    def _of_block(self, batch: Batch) -> CenteredStatistics:
        values, observed = self._rows(batch)
        weight = row_weight(batch, self.batch_shape).astype(values.dtype)
        point_variance = jnp.asarray(batch.point_variance, values.dtype)
        mass, total, mean, spread = jax.lax.map(
            lambda m: moments(m[0], values, m[1], point_variance, observed),
            (self._members(), weight.reshape(weight.shape[0], -1).T),
        )
        shape, (d, columns) = self.batch_shape, spread.shape[-2:]
        parts = (mass.reshape(shape), total.reshape(shape), mean.reshape(*shape, d), spread.reshape(*shape, d, columns))
        return CenteredStatistics(*parts, Square(self._q))

    # --- what the model says ----------------------------------------------------------------------------

    def sample(self, key: Key, shape: Shape = ()) -> Float[Array, "..."]:
        """Draw visible points."""
        return self.sample_joint(key, shape)[1]

    def sample_joint(self, key: Key, shape: Shape = ()) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Draw factors, and the points they belong to."""
        key, shape = as_key(key), as_shape(shape)
        first, second = jax.random.split(key)
        mean = jnp.asarray(self.mean)
        h = jax.random.normal(first, (*shape, *self.batch_shape, self._q), mean.dtype)
        noise = jnp.sqrt(self.noises) * jax.random.normal(second, (*shape, *mean.shape), mean.dtype)
        return h, mean + apply(self.loadings, h) + noise

    def impute(self, batch: Batch, key: Array) -> Float[Array, "rows *batch n"]:
        """Draw the missing entries of each row given the others, for each member.

        A whole point y is drawn, then moved by the regression on the observed entries: y + W·E[h | (v − y)ₒ].
        """
        values, observed = self._rows(batch)
        n, members = values.shape[-1], self._members()
        drawn = self.sample(key, values.shape[:1]).reshape(values.shape[0], -1, n)
        seen = jnp.ones(values.shape, bool) if observed is None else observed
        rows = jax.lax.map(lambda m: draw_missing(m[0], values, seen, m[1]), (members, jnp.moveaxis(drawn, 1, 0)))
        return jnp.moveaxis(rows, 0, 1).reshape(values.shape[0], *self.mean.shape)

    def conditional_embedding(self, batch: Batch) -> Float[Array, "rows *batch n"]:
        """Return E[v | vₒ] = μ + W·E[h | vₒ], with the observed entries as they are."""
        expected = jnp.asarray(self.mean) + apply(self.loadings, self.posterior(batch).mean)
        return keep_observed(batch, expected)

    def conditional_mode(self, batch: Batch) -> Float[Array, "rows *batch n"]:
        """Return the conditional mean: a Gaussian is the most probable there."""
        return self.conditional_mean(batch)

    def completed(self, batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
        """Return factors, missing entries or both: at their mean, which is the mode, or drawn, at any temperature."""
        if self.batch_shape:
            raise ValueError(f"the model holds members of batch shape {self.batch_shape}: rows are completed by one.")
        member = Member(jnp.asarray(self.mean), jnp.asarray(self.loadings), self.noises)
        return complete_rows(member, self._rows(batch)[0], batch, want, temperature, key)

    @property
    def visible_levels(self) -> tuple[tuple[float, ...], ...]:
        """All entries are real numbers."""
        return ((),) * self.mean.shape[-1]

    @property
    def visible_family(self) -> Gaussian:
        """The Gaussians N(μ, W Wᵀ + Ψ) of the visible."""
        return Gaussian(self.mean, self.covariance)

    def own_statistics(self, like: Extent) -> CenteredStatistics:
        """Return the moments of the joint: means (0, μ), covariances (I, W) with h, variances 1 and diag(W Wᵀ) + Ψ."""
        mean, w = jnp.asarray(self.mean), jnp.asarray(self.loadings)
        mass = jnp.broadcast_to(jnp.asarray(like.mass, mean.dtype), self.batch_shape)
        eye = jnp.broadcast_to(jnp.eye(self._q, dtype=w.dtype), (*self.batch_shape, self._q, self._q))
        none = jnp.zeros((*self.batch_shape, self._q), w.dtype)
        variance = jnp.concatenate([none + 1, jnp.sum(jnp.square(w), axis=-1) + self.noises], axis=-1)
        spread = jnp.concatenate([jnp.concatenate([eye, w], axis=-2), variance[..., None]], axis=-1)
        mean = jnp.concatenate([none, mean], axis=-1)
        return CenteredStatistics(mass, jnp.zeros_like(mass), mean, spread, Square(self._q))

    # --- the nearest model ------------------------------------------------------------------------------

    def maximize(self, statistics: CenteredStatistics, prior: CenteredStatistics | None = None) -> Self:
        """Return the regression of v on h; a member without mass stays as it is."""
        if prior is not None:
            statistics = prior.added_to(statistics, self)
        q, seen = self._q, jnp.asarray(statistics.mass) > 0
        mean, spread = jnp.asarray(statistics.mean), jnp.asarray(statistics.spread)
        h = jnp.where(expand(seen, 2), spread[..., :q, :q], jnp.eye(q, dtype=spread.dtype))
        with_h, variance = spread[..., q:, :q], spread[..., q:, q]
        w = with_h @ gram(whitener(h))
        rest = variance - jnp.sum(w * with_h, axis=-1)
        noise = self._nearest_noise(rest, variance)
        found = {"mean": mean[..., q:] - apply(w, mean[..., :q]), "loadings": w, "noise": noise}

        def kept(name: str, new: Array) -> Array:
            return jnp.where(expand(seen, new.ndim - seen.ndim), new, getattr(self, name))

        return replace(self, **{name: kept(name, new) for name, new in found.items()})

    def cross_entropy(self, statistics: CenteredStatistics) -> Float[Array, "*batch"]:
        """Return ½E|h|² + ½E[(v − μ − W h)ᵀΨ⁻¹(v − μ − W h)] + ½log|2πΨ| + ½q·log 2π, times the mass."""
        q, w, noise = self._q, jnp.asarray(self.loadings), self.noises
        mean, spread = jnp.asarray(statistics.mean), jnp.asarray(statistics.spread)
        hidden = jnp.sum(spread[..., :q, q] + jnp.square(mean[..., :q]), axis=-1)
        bias = mean[..., q:] - self.mean - apply(w, mean[..., :q])
        moved = jnp.sum(w * (w @ spread[..., :q, :q] - 2 * spread[..., q:, :q]), axis=-1)
        visible = (spread[..., q:, q] + moved + jnp.square(bias)) / noise + jnp.log(noise)
        constant = (q + self.mean.shape[-1]) * LOG_TWO_PI
        return 0.5 * jnp.multiply(statistics.mass, hidden + jnp.sum(visible, axis=-1) + constant)

    # --- the basis of the factors -----------------------------------------------------------------------

    def aligned_to(self, reference: Self) -> Self:
        """Return the same distribution with the factors turned to those of the reference.

        W R with R orthogonal that makes tr (W R − W̃)ᵀΨ̃⁻¹(W R − W̃) least, twice the part of D(Θ, Θ̃) that depends on
        R: R = U Vᵀ from the singular value decomposition of WᵀΨ̃⁻¹W̃ (orthogonal Procrustes).
        """
        if self.loadings.shape[-2:] != reference.loadings.shape[-2:]:
            raise ValueError(
                f"loadings have shapes {self.loadings.shape} and {reference.loadings.shape}: factors can only be "
                "turned to those of a model with as many columns and factors."
            )
        w = jnp.asarray(self.loadings)
        products = jnp.einsum("...ni,...nj->...ij", w / reference.noises[..., None], reference.loadings)
        left, _, right = jnp.linalg.svd(products)
        return replace(self, loadings=w @ (left @ right))

    def principal_axes(self) -> Self:
        """Return the same distribution with loadings that are orthogonal, of falling length, largest entry positive."""
        return replace(self, loadings=order_loadings(self.loadings))


def check_parameters(mean: Any, loadings: Any, noise: Any, per_column: bool) -> tuple[Numeric, Numeric, Numeric]:
    """Return mean, loadings and noise with one batch of leading axes, or say which of them is wrong."""
    mean, loadings, noise = as_parameter(mean), as_parameter(loadings), as_parameter(noise)
    check_ndim("mean", mean, 1, "at least one axis, the last for the columns")
    check_ndim("loadings", loadings, 2, "at least two axes, the last two for columns and factors")
    check_ndim("noise", noise, int(per_column), "at least one axis, the last for the columns")
    n = mean.shape[-1]
    if loadings.shape[-2] != n or loadings.shape[-1] < 1:
        raise ValueError(
            f"loadings has shape {loadings.shape}: mean has {n} columns, so its last two axes must be ({n}, q), q ≥ 1."
        )
    if per_column and noise.shape[-1] != n:
        raise ValueError(f"noise has shape {noise.shape}: mean has {n} columns, so its last axis must be {n}.")
    check_finite("mean", mean)
    check_finite("loadings", loadings)
    check_positive("noise", noise)
    mean, loadings = share_batch(("mean", mean), ("loadings", loadings), (1, 2))
    mean, noise = share_batch(("mean", mean), ("noise", noise), (1, int(per_column)))
    mean, loadings = share_batch(("mean", mean), ("loadings", loadings), (1, 2))
    return mean, loadings, noise
