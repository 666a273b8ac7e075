"""The distribution in the middle of several others."""

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Extent
from kullback.families import ExponentialFamily
from kullback.geometry._divergence import check_same_kind
from kullback.numerics import counted, with_article
from kullback.runtime import in_given_precision

Family = TypeVar("Family", bound=ExponentialFamily)


@in_given_precision
def centroid(members: Sequence[Family] | Family, weights: Any = None, kind: Literal["m", "e"] = "m") -> Family:
    """Return the member with the least weighted relative entropy to the others.

    - "m" minimizes Σ wᵢ D(pᵢ, c): the average of the expectation coordinates. This is the M-step of all learning here.
      Gaussian covariances are averaged around the common mean, so no digits are lost far from the origin.
    - "e" minimizes Σ wᵢ D(c, pᵢ): the average of the natural coordinates, a normalized geometric mean.

    `members` is a sequence, or one batched member whose first axis runs over them. Weights are scaled to sum to 1.

    >>> from kullback.families import Poisson
    >>> float(centroid([Poisson(1.0), Poisson(4.0)]).rate), float(centroid([Poisson(1.0), Poisson(4.0)], kind="e").rate)
    (2.5, 2.0)
    """
    stacked = members if isinstance(members, ExponentialFamily) else _stack(list(members))
    if not stacked.batch_shape:
        raise ValueError("members is a single member: pass a sequence, or one batched member.")
    weight = _weights(weights, stacked.batch_shape[0])
    if kind == "m":
        return _m_centroid(stacked, weight)
    if kind == "e":
        return stacked.kind.at("natural", jnp.tensordot(weight, stacked.natural, axes=(0, 0)))  # type: ignore[return-value]
    raise ValueError(f"kind is {kind!r}: it must be 'm' or 'e'.")


def _m_centroid(stacked: Family, weight: Float[Array, " m"]) -> Family:
    own = stacked.own_statistics(Extent(_over(weight, stacked.batch_shape)))
    first = jax.tree.map(lambda leaf: leaf[0], own)
    rest = jax.tree.map(lambda leaf: leaf[1:], own)
    total, _ = jax.lax.scan(lambda merged, one: (merged.merge(one), None), first, rest)
    return jax.tree.map(lambda leaf: leaf[0], stacked).maximize(total)


def _over(weight: Float[Array, " m"], batch: tuple[int, ...]) -> Float[Array, "..."]:
    return jnp.broadcast_to(weight.reshape(-1, *(1,) * (len(batch) - 1)), batch)


def _stack(members: list[Family]) -> Family:
    if not members:
        raise ValueError("members is empty: a centroid needs one member or more.")
    for place, member in enumerate(members):
        if not isinstance(member, ExponentialFamily):
            raise ValueError(
                f"members[{place}] is {with_article(type(member).__name__)}: it must be an exponential family."
            )
        check_same_kind(members[0], member)
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)


def _weights(weights: Any, count: int) -> Float[Array, " m"]:
    if weights is None:
        return jnp.full(count, 1 / count)
    weight = jnp.asarray(weights, dtype=float)
    if weight.shape != (count,):
        raise ValueError(
            f"weights has shape {weight.shape}: there {'is' if count == 1 else 'are'} {counted(count, 'member')}."
        )
    if not isinstance(weight, jax.core.Tracer):
        values = np.asarray(weight)
        if not (np.isfinite(values).all() and (values >= 0).all() and values.sum() > 0):
            raise ValueError(f"weights is {values.tolist()}: they must be finite, not negative, and not all zero.")
    return weight / jnp.sum(weight)
