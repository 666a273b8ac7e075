"""Where a mixture begins: with clusters of the rows."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus

from kullback.core import Batch, by_blocks
from kullback.estimators.data._rows import Rows
from kullback.estimators.mixtures._spares import Spares
from kullback.learning import adaptive_jit, m_step, merge
from kullback.models import Mixture, MixtureStatistics
from kullback.runtime import as_numpy


class Labels:
    """A start: which component each row belongs to, chunk by chunk, as weights of shape (rows, components)."""

    def __init__(self, rows: Rows, features: Any, k: int, how: str, softness: float, random: np.random.RandomState):
        self._k, self._how, self._softness, self._random = k, how, softness, random
        self._labels: np.ndarray | None = None
        self._chosen: np.ndarray | None = None
        if how == "random":
            return
        if how == "random_from_data":
            self._chosen = random.choice(len(rows), size=k, replace=False)
            return
        seen = features(rows.filled())
        if how == "k-means++":
            self._chosen = kmeans_plusplus(seen, k, sample_weight=rows.weight, random_state=random)[1]
        else:
            self._labels = KMeans(k, n_init=1, random_state=random).fit(seen, sample_weight=rows.weight).labels_

    def of(self, here: slice) -> np.ndarray:
        """Return the weights of the rows of one chunk."""
        return (1 - self._softness) * self._hard(here) + self._softness / self._k

    def _hard(self, here: slice) -> np.ndarray:
        count = here.stop - here.start
        share = np.zeros((count, self._k))
        if self._how == "random":
            share = self._random.uniform(size=(count, self._k))
            return share / share.sum(axis=1, keepdims=True)
        if self._chosen is not None:
            inside = (self._chosen >= here.start) & (self._chosen < here.stop)
            share[self._chosen[inside] - here.start, np.flatnonzero(inside)] = 1
            return share
        assert self._labels is not None
        share[np.arange(count), self._labels[here]] = 1
        return share


def mixture_from_labels(blank: Mixture, rows: Rows, labels: Labels) -> Mixture:
    """Return the mixture whose components have the rows that the labels give them."""
    total: Any = None
    spares = Spares(rows.X)
    spared = spares.added(blank)
    for here, batch in rows.batches_with_places():
        share = labels.of(here)
        if rows.weight is not None:
            share = share * rows.weight[here, None]
        full = np.zeros((len(batch.weight), len(spared.weights)))
        full[: len(share), : share.shape[1]] = share
        if len(share) == len(rows):
            return spares.removed(as_numpy(_nearest(spared, batch.weighted(full))))
        found = _assigned(spared, batch.weighted(full))
        # computing runs ahead of the loop: without waiting, the batches of a long table would pile up
        total = jax.block_until_ready(found if total is None else merge(total, found))
    return spares.removed(as_numpy(m_step(spared, total)))


def _statistics(model: Any, batch: Batch) -> MixtureStatistics:
    """Return the statistics of components to which the weights of a batch give its rows."""

    def of_block(block: Batch) -> MixtureStatistics:
        inner = model.components.member_statistics(block)
        return MixtureStatistics(jnp.sum(inner.mass), jnp.zeros(()), inner)

    return by_blocks(of_block, batch)


_assigned = adaptive_jit(_statistics)


@adaptive_jit
def _nearest(model: Any, batch: Batch) -> Mixture:
    """Return the mixture with the statistics of one batch: of most tables there is one, and so one function."""
    nearest: Mixture = model.maximize(_statistics(model, batch))
    return nearest
