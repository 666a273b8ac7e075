"""Mixtures: one hidden label, and a distribution of the visible for each."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Float, Num

from kullback.core import (
    Batch,
    ClosedFormModel,
    Extent,
    Key,
    Shape,
    Standardization,
    SummedStatistics,
    as_key,
    as_shape,
    by_blocks,
    map_rows,
    replace,
)
from kullback.families import Categorical as Label
from kullback.families import Coordinates
from kullback.geometry import relative_entropy
from kullback.numerics import Numeric
from kullback.runtime import jit


class MixtureStatistics(SummedStatistics):
    """The statistics of each component. Their masses are those of the labels."""

    mass: Float[Numeric, ""]
    log_likelihood: Float[Numeric, ""]
    components: Any


class Mixture(ClosedFormModel):
    """p(h, v) = ω_h p(v | h) with a hidden label h in {0, …, K−1}.

    `components` is one model batched over K, usually a family. Statistics are those of the components, each weighted
    by its responsibilities; the model nearest to them has ω_h = mass of h / mass, and each component its own nearest.

    `temperature` is that of the posterior p(h | v)^(1/temperature) in the E-step: 1 is the mixture, 0 is hard EM, which
    gives each row to its most probable label. The `log_likelihood` of the statistics is then the free energy
    temperature·log Σ_h p(h, v)^(1/temperature), which is what EM raises. `tied` names parameters that all components
    share (the covariance of Gaussians), `fixed_weights` leaves the weights as they are. Hard EM of spherical Gaussians
    with one variance and equal, fixed weights is K-means.

    >>> from kullback.families import Poisson
    >>> shop = Mixture(weights=[0.75, 0.25], components=Poisson(rate=[2.0, 20.0]))
    >>> shop.posterior(Batch([3, 15])).round(3).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    weights: Float[Numeric, " k"]
    components: Any
    temperature: float = eqx.field(static=True)
    tied: tuple[str, ...] = eqx.field(static=True)
    fixed_weights: bool = eqx.field(static=True)

    def __init__(
        self,
        weights: Any,
        components: ClosedFormModel,
        temperature: float = 1.0,
        tied: tuple[str, ...] = (),
        fixed_weights: bool = False,
    ):
        self.weights = Label(weights).probabilities
        self.components = components
        self.temperature = float(temperature)
        self.tied = tuple(tied)
        self.fixed_weights = bool(fixed_weights)
        count = getattr(components, "batch_shape", None)
        if self.weights.ndim != 1 or count != self.weights.shape:
            raise ValueError(
                f"weights has shape {self.weights.shape} and components batch shape {count}: both must be (K,)."
            )
        if not 0 <= self.temperature < np.inf:
            raise ValueError(f"temperature is {temperature}: it must be 0 or more, and finite.")
        for name in self.tied:
            if name not in ("covariance", "variance") or name not in vars(components):
                raise ValueError(f"tied is {self.tied}: only the covariance or variance of Gaussians can be shared.")

    def coordinates(self, name: Coordinates) -> Float[Array, " d"]:
        """Return the coordinates of the labels' distribution, then those of each component, as one flat vector."""
        return jnp.concatenate([Label(self.weights).coordinates(name), self.components.coordinates(name).ravel()])

    def at(self, name: Coordinates, vector: Any) -> Self:
        """Return the mixture of the same kind with these coordinates."""
        k = self.weights.shape[0]
        labels: Any = Label(self.weights).at(name, vector[: k - 1])
        components = self.components.at(name, vector[k - 1 :].reshape(k, -1))
        return replace(self, weights=labels.probabilities, components=components)

    # --- what the data says -----------------------------------------------------------------------------

    def _joint(self, batch: Batch) -> Float[Array, "rows k"]:
        return jnp.log(self.weights) + self.components.log_likelihood(batch)

    def log_likelihood(self, batch: Batch) -> Float[Array, " rows"]:
        """Return log Σ_h ω_h p(v | h) for each row."""
        return jax.nn.logsumexp(self._joint(batch), axis=-1)

    def leave_one_out(self, batch: Batch, carry: None = None) -> Float[Array, "rows columns"]:
        """Return log Σ_h ω_h p(v without an entry | h) for each row and column."""

        def one(rows: Batch, _: Array) -> Array:
            return jax.nn.logsumexp(jnp.log(self.weights)[:, None] + self.components.leave_one_out(rows), axis=1)

        return map_rows(one, batch)

    def posterior(self, batch: Batch, key: Any = None) -> Float[Array, "rows k"]:
        """Return the responsibilities p(h | v). A row that no component can explain leaves the weights as they are."""
        return _responsibilities(self._joint(batch), jnp.asarray(self.weights), 1.0)[0]

    def energy(self, v: Any, h: Any = None, inputs: None = None) -> Float[Array, "..."]:
        """Return −log p(h, v) for points v with labels h; without h, −log p(v)."""
        if h is None:
            v, event = jnp.asarray(v), self.components.event_shape
            rows = -self.log_likelihood(Batch(v.reshape(-1, *event)))
            return rows.reshape(v.shape[: v.ndim - len(event)])
        h = jnp.asarray(h)
        return self._chosen(h).energy(v) - jnp.log(jnp.asarray(self.weights)[h])

    def _chosen(self, h: Num[Array, "..."]) -> Any:
        return jax.tree.map(lambda leaf: jnp.asarray(leaf)[h], self.components)

    @property
    def featured(self) -> ClosedFormModel:
        """The components."""
        components: ClosedFormModel = self.components
        return components

    def standardized(self, batch: Batch) -> tuple[Batch, Any]:
        """Return the batch in the standardization that a mixture of Gaussians expects, and whether it keeps its digits.

        It is the mean of the mixture, and the standard deviation of each column.
        """
        components = self.components
        if batch.observed is not None or not components.has_quick_kernel:
            return batch, True
        weights, mean = jnp.asarray(self.weights), jnp.asarray(components.mean)
        center = weights @ mean
        variance = components.column_variances + jnp.square(mean - center)
        standardization = Standardization(center, jnp.sqrt(weights @ variance))
        away = (batch.values - center) / standardization.scale
        radius = jnp.sqrt(jnp.max(jnp.sum(jnp.square(away), axis=-1)))
        standardized = batch.scaled(standardization)
        return standardized, components.quick_kernel_is_accurate(standardization, radius)

    def expected_statistics(self, batch: Batch, carry: None = None) -> tuple[MixtureStatistics, None]:
        """Return the components' statistics, each row weighted by its responsibilities, block by block."""
        score, weights = self.components.scorer(batch), jnp.asarray(self.weights)
        log_weights = jnp.log(weights)

        def of_block(block: Batch) -> MixtureStatistics:
            return self._statistics(block, *_responsibilities(log_weights + score(block), weights, self.temperature))

        return by_blocks(of_block, batch), carry

    def _statistics(
        self, batch: Batch, share: Float[Array, "rows k"], total: Float[Array, " rows"]
    ) -> MixtureStatistics:
        weight = jnp.asarray(batch.weight)
        inner = self.components.member_statistics(batch.weighted(share * weight[:, None]))
        seen = jnp.sum(jnp.where(weight > 0, weight * total, 0))
        return MixtureStatistics(jnp.sum(weight), seen, inner)

    # --- what the model says ----------------------------------------------------------------------------

    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "..."]:
        """Draw visible points."""
        return self.sample_joint(key, shape)[1]

    def sample_joint(self, key: Key, shape: Shape = ()) -> tuple[Num[Array, "..."], Num[Array, "..."]]:
        """Draw labels, and the points they belong to."""
        key, shape = as_key(key), as_shape(shape)
        first, second = jax.random.split(key)
        h = jax.random.categorical(first, jnp.log(self.weights), shape=shape)
        return h, self._chosen(h).sample(second)

    def impute(self, batch: Batch, key: Array) -> Num[Array, "rows ..."]:
        """Draw the missing entries of each row: a label given what is observed, then the entries given both."""

        def fill(rows: Batch, block: Array) -> Array:
            first, second = jax.random.split(jax.random.fold_in(key, block))
            h = jax.random.categorical(first, jnp.log(self.posterior(rows)), axis=-1)
            drawn = self.components.impute(rows, second)
            return drawn[jnp.arange(drawn.shape[0]), h]

        return map_rows(fill, batch)

    def conditional_embedding(self, batch: Batch) -> Any:
        """Return the average of what the components expect of each row, by their responsibilities."""
        return map_rows(lambda rows, _: average_embedding(self.components, rows, self.posterior(rows)), batch)

    def from_embedding(self, embedding: Any) -> Num[Array, "rows ..."]:
        """Return the rows with these embeddings, as the components do."""
        return self.components.from_embedding(embedding)

    def conditional_mode(self, batch: Batch) -> Num[Array, "rows ..."]:
        """Return the mode of the most probable component given what is observed, given that."""

        def fill(rows: Batch, _: Array) -> Array:
            own = self.components.conditional_mode(rows)
            return own[jnp.arange(own.shape[0]), jnp.argmax(self.posterior(rows), axis=-1)]

        return map_rows(fill, batch)

    def own_statistics(self, like: Extent) -> MixtureStatistics:
        """Return the components' own statistics, with the weights as masses."""
        inner = self.components.own_statistics(Extent(jnp.multiply(self.weights, like.mass)))
        return MixtureStatistics(jnp.sum(inner.mass), jnp.zeros_like(inner.mass[0]), inner)

    # --- the nearest model ------------------------------------------------------------------------------

    def maximize(self, statistics: MixtureStatistics, prior: MixtureStatistics | None = None) -> Self:
        """Return the mixture whose components and weights have these statistics."""
        if prior is not None:
            statistics = prior.added_to(statistics, self)
        mass = jnp.asarray(statistics.components.mass)
        total = jnp.sum(mass)
        share = jnp.where(total > 0, mass / jnp.where(total > 0, total, 1), self.weights)
        components = self.components.maximize(statistics.components)
        for name in self.tied:
            components = tie_parameter(components, name, share)
        weights = self.weights if self.fixed_weights else share
        return replace(self, weights=weights, components=components)

    def cross_entropy(self, statistics: MixtureStatistics) -> Float[Array, ""]:
        """Return −E[log ω_h] − E[log p(v | h)], times the mass."""
        labels = -jnp.sum(xlogy(statistics.components.mass, self.weights))
        return labels + jnp.sum(self.components.cross_entropy(statistics.components))

    def aligned_to(self, reference: Self) -> Self:
        """Return the same mixture with its components in the order of those they are nearest to.

        The order has the least sum of divergences, in both directions, between components that share a label.
        """
        from scipy.optimize import linear_sum_assignment  # half a second, for aligning only

        if self.weights.shape != reference.weights.shape:
            raise ValueError(
                f"the mixtures have {self.weights.shape[0]} and {reference.weights.shape[0]} components: labels can "
                "only be matched one to one."
            )

        cost = np.nan_to_num(np.asarray(distances(reference.components, self.components), np.float64), posinf=1e100)
        _, order = linear_sum_assignment(cost)
        ordered: Self = jax.tree.map(lambda leaf: leaf[order], self)
        return replace(ordered, components=align_components(ordered.components, reference.components))


def average_embedding(members: Any, batch: Batch, share: Float[Array, "rows k"]) -> Any:
    """Return what members expect of each row, averaged by their shares in it."""
    return jax.tree.map(lambda e: jnp.einsum("rk,rk...->r...", share, e), members.conditional_embedding(batch))


@jit
def distances(references: Any, components: Any) -> Float[Array, "references components"]:
    """Return the divergence of each pair, in both directions together, where what they hide is lined up."""

    def both_ways(a: Any, b: Any) -> Array:
        turned = b.aligned_to(a)
        return relative_entropy(a, turned) + relative_entropy(turned, a)

    return jax.vmap(jax.vmap(both_ways, (None, 0)), (0, None))(references, components)


@jit
def align_components(components: Any, references: Any) -> Any:
    return jax.vmap(lambda b, a: b.aligned_to(a))(components, references)


def _responsibilities(
    joint: Float[Array, "rows k"], otherwise: Float[Array, " k"], temperature: float
) -> tuple[Float[Array, "rows k"], Float[Array, " rows"]]:
    """Return p(h | v)^(1/temperature), normalized, and the free energy; a row that nothing explains has `otherwise`."""
    turned = joint.T  # sums over labels are then sums of whole rows, which processors do at once
    if temperature == 0:
        total = jnp.max(turned, axis=0)
        share = jax.nn.one_hot(jnp.argmax(turned, axis=0), len(turned), dtype=joint.dtype, axis=0)
    else:
        peak = jnp.max(turned, axis=0)
        shifted = jnp.exp((turned - jnp.where(jnp.isfinite(peak), peak, 0)) / temperature)
        mass = jnp.sum(shifted, axis=0)
        total = peak + temperature * jnp.log(mass)
        share = shifted / mass
    return jnp.where(jnp.isfinite(total), share, otherwise[:, None]).T, total


def tie_parameter(components: Any, name: str, share: Float[Array, " k"]) -> Any:
    """Give all components the average of a parameter, by mass."""
    value = getattr(components, name)
    mean = jnp.tensordot(share, value, axes=1)
    return replace(components, **{name: jnp.broadcast_to(mean, value.shape)})
