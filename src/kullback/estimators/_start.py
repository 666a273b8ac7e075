"""Where a mixture begins: with clusters of the rows."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus

from kullback.estimators._rows import Rows
from kullback.families import Batch, by_blocks
from kullback.learning import merged, nearest, sized_jit
from kullback.models import Mixture, MixtureStatistics

#: Up to this many rows k-means sees them all, as scikit-learn does; of longer tables as many, drawn at random.
SEEN_BY_KMEANS = 65_536


class Labels:
    """A start: which component each row belongs to, chunk by chunk, as weights of shape (rows, components)."""

    def __init__(self, rows: Rows, features: Any, k: int, how: str, softness: float, random: np.random.RandomState):
        self._features, self._k, self._how, self._softness, self._random = features, k, how, softness, random
        self._labels: np.ndarray | None = None
        self._chosen: np.ndarray | None = None
        self._centers: np.ndarray | None = None
        if how == "random":
            return
        if how == "random_from_data":
            self._chosen = random.choice(len(rows), size=k, replace=False)
            return
        many = len(rows) > SEEN_BY_KMEANS
        sample = np.sort(random.choice(len(rows), SEEN_BY_KMEANS, replace=False)) if many else np.arange(len(rows))
        seen = features(rows.filled(sample if many else None))
        weight = None if rows.weight is None else rows.weight[sample]
        if how == "k-means++":
            chosen = kmeans_plusplus(seen, k, sample_weight=weight, random_state=random)[1]
            self._chosen = sample[chosen]
        else:
            clusters = KMeans(k, n_init=1, random_state=random).fit(seen, sample_weight=weight)
            self._labels = None if many else clusters.labels_
            self._centers = clusters.cluster_centers_

    def of(self, here: slice, values: np.ndarray) -> np.ndarray:
        """Return the weights of the rows of one chunk."""
        return (1 - self._softness) * self._hard(here, values) + self._softness / self._k

    def _hard(self, here: slice, values: np.ndarray) -> np.ndarray:
        count = len(values)
        share = np.zeros((count, self._k))
        if self._how == "random":
            share = self._random.uniform(size=(count, self._k))
            return share / share.sum(axis=1, keepdims=True)
        if self._chosen is not None:
            inside = (self._chosen >= here.start) & (self._chosen < here.stop)
            share[self._chosen[inside] - here.start, np.flatnonzero(inside)] = 1
            return share
        labels = self._nearest(values) if self._labels is None else self._labels[here]
        share[np.arange(count), labels] = 1
        return share

    def _nearest(self, values: np.ndarray) -> np.ndarray:
        points, centers = self._features(values), self._centers
        assert centers is not None
        origin = centers.mean(axis=0)
        points, centers = points - origin, centers - origin
        return np.argmin(np.square(centers).sum(axis=1) - 2 * points @ centers.T, axis=1)


def started(blank: Mixture, rows: Rows, labels: Labels) -> Mixture:
    """Return the mixture whose components have the rows that the labels give them."""
    total: Any = None
    for here, batch in rows.placed():
        share = labels.of(here, rows.filled(here))
        if rows.weight is not None:
            share = share * rows.weight[here, None]
        padding = np.zeros((len(batch.weight) - len(share), share.shape[1]))
        found = _assigned(blank, batch.weighted(np.concatenate([share, padding])))
        # computing runs ahead of the loop: without waiting, the batches of a long table would pile up
        total = jax.block_until_ready(found if total is None else merged(total, found))
    return jax.tree.map(np.asarray, nearest(blank, total, None)[0])


@sized_jit
def _assigned(model: Any, batch: Batch) -> MixtureStatistics:
    def of_block(block: Batch) -> MixtureStatistics:
        inner, _ = model.components.expected_statistics(block)
        inner = eqx.tree_at(lambda s: s.log_likelihood, inner, jnp.zeros_like(inner.mass))
        return MixtureStatistics(jnp.sum(inner.mass), jnp.zeros(()), inner)

    return by_blocks(of_block, batch)
