"""Bounds of the likelihood as objectives: for models whose draws of what is hidden let gradients through."""

import dataclasses
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import Batch, weighted_total
from kullback.learning._gradient import Loss
from kullback.learning._learner import Key


class _Weighted(Protocol):
    """Draws with their weights."""

    @property
    def log_weight(self) -> Float[Array, "rows draws"]: ...


class _Bounded(Protocol):
    """A model with a guess q(h | v) of what is hidden, through whose draws gradients go."""

    def bound(self, key: Any, batch: Batch, draws: int) -> Float[Array, " rows"]: ...

    def recognize(self, key: Any, batch: Batch, draws: int) -> _Weighted: ...


@dataclasses.dataclass(frozen=True)
class EvidenceBound:
    """E_q[log p(v, h) − log q(h | v)] as an objective for `Gradient`: it is log p(v) − D(q, p(h | v)).

    Both networks follow it, p to raise the likelihood and q to come nearer to the posterior.
    """

    draws: int = 1

    def __post_init__(self) -> None:
        _check_draws(self.draws, 1)

    def __call__(self, model: _Bounded, batch: Batch, memory: Any = None, key: Key = None) -> Loss:
        """Return minus the bound, in nats per point."""
        return _mean_loss(model.bound(key, batch, self.draws), batch, memory)


@dataclasses.dataclass(frozen=True)
class ImportanceBound:
    """E_q[log of the mean of p(v, h) / q(h | v) over draws] as an objective for `Gradient`.

    It grows with the number of draws, from that of `EvidenceBound` towards log p(v), and lets q be wider.
    """

    draws: int = 10

    def __post_init__(self) -> None:
        _check_draws(self.draws, 2)

    def __call__(self, model: _Bounded, batch: Batch, memory: Any = None, key: Key = None) -> Loss:
        """Return minus the bound, in nats per point."""
        found = model.recognize(key, batch, self.draws).log_weight
        return _mean_loss(jax.nn.logsumexp(found, axis=1) - jnp.log(self.draws), batch, memory)


def _mean_loss(rows: Float[Array, " rows"], batch: Batch, memory: Any) -> Loss:
    weight = jnp.asarray(batch.weight, rows.dtype)
    return Loss(-weighted_total(weight, rows) / jnp.sum(weight), memory)


def _check_draws(draws: int, least: int) -> None:
    if draws < least:
        raise ValueError(f"draws is {draws}: the bound takes {least} or more of what is hidden, for each row.")
