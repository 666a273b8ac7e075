"""Mixtures: one hidden label, and a distribution of the visible for each."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Float, Num

from kullback.families import Batch, ClosedFormModel, ExponentialFamily, Extent, Numeric, Statistics
from kullback.families import Categorical as Label
from kullback.geometry import relative_entropy


class MixtureStatistics(Statistics):
    """The statistics of each component. Their masses are those of the labels."""

    mass: Float[Numeric, ""]
    log_likelihood: Float[Numeric, ""]
    components: Any

    def merge(self, other: Self) -> Self:
        """Merge component by component: labels must mean the same in both."""
        return type(self)(
            jnp.add(self.mass, other.mass),
            jnp.add(self.log_likelihood, other.log_likelihood),
            self.components.merge(other.components),
        )

    def scale(self, weight: Float[Numeric, ""] | float) -> Self:
        """Return the same averages with `weight` times the mass."""
        return type(self)(
            jnp.multiply(self.mass, weight),
            jnp.multiply(self.log_likelihood, weight),
            self.components.scale(weight),
        )


class Mixture(ClosedFormModel):
    """p(h, v) = ω_h p(v | h) with a hidden label h in {0, …, K−1}.

    `components` is one model batched over K, usually a family. Statistics are those of the components, each weighted
    by its responsibilities; the model nearest to them has ω_h = mass of h / mass, and each component its own nearest.

    >>> from kullback.families import Poisson
    >>> shop = Mixture(weights=[0.75, 0.25], components=Poisson(rate=[2.0, 20.0]))
    >>> shop.posterior(Batch([3, 15])).round(3).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    weights: Float[Numeric, " k"]
    components: Any

    def __init__(self, weights: Any, components: ClosedFormModel):
        self.weights = Label(weights).probabilities
        self.components = components
        count = getattr(components, "batch_shape", None)
        if self.weights.ndim != 1 or count != self.weights.shape:
            raise ValueError(
                f"weights has shape {self.weights.shape} and components batch shape {count}: both must be (K,)."
            )

    def _joint(self, batch: Batch) -> Float[Array, "rows k"]:
        return jnp.log(self.weights) + self.components.log_likelihood(batch)

    def log_likelihood(self, batch: Batch) -> Float[Array, " rows"]:
        """Return log Σ_h ω_h p(v | h) for each row."""
        return jax.nn.logsumexp(self._joint(batch), axis=-1)

    def posterior(self, batch: Batch) -> Float[Array, "rows k"]:
        """Return the responsibilities p(h | v). A row that no component can explain leaves the weights as they are."""
        return self._responsibilities(self._joint(batch))[0]

    def _responsibilities(self, joint: Float[Array, "rows k"]) -> tuple[Array, Array]:
        total = jax.nn.logsumexp(joint, axis=-1)
        possible = jnp.isfinite(total)[:, None]
        share = jnp.exp(joint - jnp.where(possible, total[:, None], 0))
        return jnp.where(possible, share, self.weights), total

    def energy(self, v: Any, h: Any = None) -> Float[Array, "..."]:
        """Return −log p(h, v) for points v with labels h."""
        h = jnp.asarray(h)
        chosen = jax.tree.map(lambda leaf: jnp.asarray(leaf)[h], self.components)
        return chosen.energy(v) - jnp.log(jnp.asarray(self.weights)[h])

    def sample(self, key: Array, shape: tuple[int, ...] = ()) -> Num[Array, "..."]:
        """Draw visible points."""
        return self.sample_joint(key, shape)[1]

    def sample_joint(self, key: Array, shape: tuple[int, ...] = ()) -> tuple[Num[Array, "..."], Num[Array, "..."]]:
        """Draw labels, and the points they belong to."""
        first, second = jax.random.split(key)
        h = jax.random.categorical(first, jnp.log(self.weights), shape=shape)
        chosen = jax.tree.map(lambda leaf: jnp.asarray(leaf)[h], self.components)
        return h, chosen.sample(second)

    def expected_statistics(self, batch: Batch, carry: None = None) -> tuple[MixtureStatistics, None]:
        """Return the components' statistics, each row weighted by its responsibilities."""
        share, total = self._responsibilities(self._joint(batch))
        weight = jnp.asarray(batch.weight)
        inner, _ = self.components.expected_statistics(batch.weighted(share * weight[:, None]))
        seen = jnp.sum(jnp.where(weight > 0, weight * total, 0))
        return MixtureStatistics(jnp.sum(weight), seen, inner), carry

    def own_statistics(self, like: Extent) -> MixtureStatistics:
        """Return the components' own statistics, with the weights as masses."""
        inner = self.components.own_statistics(Extent(jnp.multiply(self.weights, like.mass)))
        return MixtureStatistics(jnp.sum(inner.mass), jnp.zeros_like(inner.mass[0]), inner)

    def maximize(self, statistics: MixtureStatistics, prior: MixtureStatistics | None = None) -> Self:
        """Return the mixture whose components and weights have these statistics."""
        if prior is not None:
            statistics = statistics.merge(prior)
        mass = jnp.asarray(statistics.components.mass)
        total = jnp.sum(mass)
        weights = jnp.where(total > 0, mass / jnp.where(total > 0, total, 1), self.weights)
        components = self.components.maximize(statistics.components)
        return eqx.tree_at(lambda m: (m.weights, m.components), self, (weights, components))

    def cross_entropy(self, statistics: MixtureStatistics) -> Float[Array, ""]:
        """Return −E[log ω_h] − E[log p(v | h)], times the mass."""
        labels = -jnp.sum(xlogy(statistics.components.mass, self.weights))
        return labels + jnp.sum(self.components.cross_entropy(statistics.components))

    def aligned_to(self, reference: Self) -> Self:
        """Return the same mixture with its components in the order of those they are nearest to.

        The order has the least sum of divergences, in both directions, between components that share a label.
        """
        from scipy.optimize import linear_sum_assignment  # half a second, for aligning only

        def both_ways(a: ExponentialFamily, b: ExponentialFamily) -> Array:
            return relative_entropy(a, b) + relative_entropy(b, a)

        table = jax.vmap(jax.vmap(both_ways, (None, 0)), (0, None))(reference.components, self.components)
        cost = np.nan_to_num(np.asarray(table, dtype=np.float64), posinf=1e100)
        _, order = linear_sum_assignment(cost)
        return jax.tree.map(lambda leaf: leaf[order], self)
