"""A mixture to begin from: components of one weight, spread evenly over points."""

from typing import Any

import jax
import numpy as np

from kullback.core import Batch, Extent
from kullback.families import Component
from kullback.models._mixture import Mixture
from kullback.runtime import in_given_precision, quick_jit

#: How much of the member of all points each component keeps, so that alike points make none collapse.
_KEPT = 0.1


@in_given_precision
def even_mixture(member: Component, n_components: int, batch: Batch) -> Mixture:
    """Return a mixture of components that each stand for as much of the points, in their order.

    The order is that of the points along the direction in which they vary most, in units of each column. A component is
    the member nearest to its points, and with a tenth of their mass to `member`, that of all points: so it is no
    degenerate one where its points are alike.

    >>> from kullback.families import Poisson
    >>> even_mixture(Poisson(2.0), 2, Batch(np.array([0.0, 4.0, 0.0, 4.0]))).components.rate.round(3).tolist()
    [0.182, 3.818]
    """
    if n_components < 2:
        raise ValueError(f"n_components is {n_components}: one component is no mixture, so take the member itself.")
    weight = np.asarray(batch.weight, np.float64)
    order = np.argsort(_positions(batch), kind="stable")
    total = np.cumsum(weight[order])
    middle = (total - 0.5 * weight[order]) / total[-1]
    group = np.empty(len(weight), int)
    group[order] = np.minimum((n_components * middle).astype(int), n_components - 1)
    each = (group[:, None] == np.arange(n_components)) * weight[:, None]
    lacking = np.flatnonzero(each.sum(axis=0) == 0)
    if lacking.size:
        raise ValueError(f"there are too few points for {n_components} components: ask for fewer of them.")
    members = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (n_components, *np.shape(leaf))), member)
    return Mixture(np.full(n_components, 1 / n_components), _nearest(members, batch.weighted(each)))


@quick_jit
def _nearest(members: Any, batch: Batch) -> Any:
    found = members.expected_statistics(batch)[0]
    own = members.own_statistics(Extent(_KEPT * batch.weight.sum(axis=0)))
    return members.maximize(found.merge(own))


def _positions(batch: Batch) -> np.ndarray:
    """Return where points lie along the direction in which they vary most."""
    values = np.asarray(batch.values, np.float64).reshape(len(batch.values), -1)
    weight = np.asarray(batch.weight, np.float64) / np.sum(batch.weight)
    observed = None if batch.observed is None else np.asarray(batch.observed).reshape(values.shape)
    if observed is not None:
        there = np.where(observed, weight[:, None], 0)
        values = np.where(observed, values, np.sum(there * values, axis=0) / np.maximum(there.sum(axis=0), 1e-300))
    if values.shape[1] == 1:
        return values[:, 0]
    away = values - weight @ values
    scale = np.sqrt(weight @ away**2)
    away = away / np.where(scale > 0, scale, 1)
    return away @ np.linalg.eigh(away.T @ (weight[:, None] * away))[1][:, -1]
