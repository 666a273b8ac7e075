"""Mixtures of many components brought to fewer, without data."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Extent
from kullback.geometry import relative_entropy
from kullback.models._mixture import Mixture
from kullback.runtime import jit


def concatenate_mixtures(mixtures: Sequence[Mixture], weights: Any) -> Mixture:
    """Return the mixture Σ α_m p_m with the components of all: exactly the average of the distributions.

    >>> from kullback.families import Poisson
    >>> a, b = (Mixture(weights=[0.5, 0.5], components=Poisson(rate=[1.0, rate])) for rate in (9.0, 11.0))
    >>> concatenate_mixtures([a, b], [0.5, 0.5]).weights.tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    first = mixtures[0]
    shares = np.concatenate([alpha * np.asarray(m.weights) for alpha, m in zip(weights, mixtures, strict=True)])
    components = jax.tree.map(lambda *leaves: np.concatenate(leaves), *(m.components for m in mixtures))
    return Mixture(shares / shares.sum(), components, first.temperature, first.tied)


def reduce(mixture: Mixture, start: Any, steps: int = 100) -> Mixture:
    """Return the mixture of fewer components with the least Σ ω_i D(p_i, q_a(i)) that is reached from `start`.

    As in k-means: each component goes to the nearest of the few, and each of the few becomes the nearest to those that
    went to it, which is the member with the average of their statistics. `start` is the components to begin with.
    """
    shares, goals = jnp.asarray(mixture.weights), start
    assignment, weights = np.full(len(mixture.weights), -1), np.zeros(0)
    for _ in range(steps):
        nearest = np.asarray(jnp.argmin(divergences(mixture.components, goals), axis=1))
        if (nearest == assignment).all():
            break
        assignment = nearest
        goals, mass = _centers(mixture.components, shares, jnp.asarray(assignment), goals)
        weights = np.asarray(mass)
    few = Mixture(weights / weights.sum(), jax.tree.map(np.asarray, goals), mixture.temperature, mixture.tied)
    tied: Mixture = few.maximize(few.own_statistics(Extent()))  # where all share a parameter, it becomes one again
    return tied


@jit
def divergences(components: Any, goals: Any) -> Float[Array, "many few"]:
    """Return D(p_i, q_j) for all pairs; one that is not a number is as bad as can be."""
    table = jax.vmap(jax.vmap(relative_entropy, (None, 0)), (0, None))(components, goals)
    return jnp.where(jnp.isnan(table), jnp.inf, table)


@jit
def _centers(components: Any, shares: Array, assignment: Array, goals: Any) -> tuple[Any, Array]:
    """Return the members nearest to what was assigned to each of the goals, and their masses."""
    few = jax.tree.leaves(goals)[0].shape[0]
    own = components.own_statistics(Extent(jnp.ones_like(shares)))

    def put(merged: Any, item: tuple[Any, Array, Array]) -> tuple[Any, None]:
        one, label, share = item
        mass = jnp.where(jnp.arange(few) == label, share, 0)
        everywhere = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (few, *leaf.shape)), one)
        return merged.merge(everywhere.scale(mass)), None

    nothing = jax.tree.map(lambda leaf: jnp.zeros((few, *leaf.shape[1:]), leaf.dtype), own)
    merged, _ = jax.lax.scan(put, nothing, (own, assignment, shares))
    return goals.maximize(merged), merged.mass


def spread_start(mixture: Mixture, few: int, random: np.random.RandomState) -> Any:
    """Choose components to begin a reduction with: each far from those before it, as k-means++ chooses points."""
    shares = np.asarray(mixture.weights, dtype=np.float64)
    table = np.asarray(divergences(mixture.components, mixture.components), dtype=np.float64)
    table = np.where(np.isfinite(table), table, 1e100)
    chosen = [int(random.choice(len(shares), p=shares))]
    while len(chosen) < few:
        away = table[:, chosen].min(axis=1) * shares
        away[chosen] = 0
        chance = away / away.sum() if away.sum() > 0 else np.full(len(shares), 1 / len(shares))
        chosen.append(int(random.choice(len(shares), p=chance)))
    return jax.tree.map(lambda leaf: np.asarray(leaf)[chosen], mixture.components)


def average_matching(mixtures: Sequence[Mixture], weights: Any, reference: int, near: float = 0.5) -> Mixture:
    """Return one of the mixtures, each component averaged with those of the others that are near to it.

    Near means less than `near` nats in both directions together. What no component of the reference is near to, a
    component that is spread over two of its own for instance, is left out.
    """
    goals, alpha = mixtures[reference].components, np.asarray(weights, dtype=np.float64)
    united = concatenate_mixtures(mixtures, alpha)
    table = np.asarray(divergences(united.components, goals) + divergences(goals, united.components).T)
    label = np.argmin(table, axis=1)
    is_near = table[np.arange(len(label)), label] < near
    shares = np.where(is_near, np.asarray(united.weights), 0.0)
    components, _ = _centers(united.components, jnp.asarray(shares), jnp.asarray(label), goals)
    owner = np.repeat(np.arange(len(mixtures)), [len(m.weights) for m in mixtures])
    sums, voters = np.zeros(len(mixtures[reference].weights)), np.zeros(len(mixtures[reference].weights))
    np.add.at(sums, label, shares)
    for m, a in enumerate(alpha / alpha.sum()):
        voters[np.unique(label[is_near & (owner == m)])] += a
    result = Mixture(
        np.asarray(sums / voters) / (sums / voters).sum(),
        jax.tree.map(np.asarray, components),
        united.temperature,
        united.tied,
    )
    tied: Mixture = result.maximize(result.own_statistics(Extent()))
    return tied
