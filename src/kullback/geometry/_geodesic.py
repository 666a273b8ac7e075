"""The straight lines of information geometry."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import jax
import jax.numpy as jnp

from kullback.core import Extent
from kullback.families import ExponentialFamily
from kullback.geometry._divergence import check_same_kind
from kullback.geometry._fisher_rao import exponential_map, logarithm_map

Family = TypeVar("Family", bound=ExponentialFamily)


def geodesic(p: Family, q: Family, kind: Literal["e", "m", "fisher-rao"] = "fisher-rao") -> Callable[[Any], Family]:
    """Return the curve t ↦ member that is p at t = 0 and q at t = 1.

    - "e": straight in natural coordinates, p^(1−t) q^t up to its norm
    - "m": straight in expectation coordinates, the member nearest to the mixture (1−t)·p + t·q
    - "fisher-rao": the shortest curve in the Fisher metric, at constant speed

    An array of times gives a batched member, times first.

    >>> from kullback.families import Poisson
    >>> p, q = Poisson(rate=1.0), Poisson(rate=9.0)
    >>> [round(float(geodesic(p, q, kind)(0.5).rate), 3) for kind in ("e", "m", "fisher-rao")]
    [3.0, 5.0, 4.0]
    """
    check_same_kind(p, q)
    match kind:
        case "e":
            start, step = p.natural, q.natural - p.natural
            return _over_times(lambda t: p.kind.at("natural", start + t * step))
        case "m":
            return _over_times(lambda t: p.maximize(_mixed(p, q, t)))
        case "fisher-rao":
            speed = logarithm_map(p, q)
            return _over_times(lambda t: exponential_map(p, t * speed))
    raise ValueError(f"kind is {kind!r}: it must be 'e', 'm' or 'fisher-rao'.")


def _mixed(p: ExponentialFamily, q: ExponentialFamily, t: Any) -> Any:
    """Statistics of the mixture (1−t)·p + t·q."""
    one = Extent(jnp.ones(p.batch_shape))
    return p.own_statistics(one).scale(1 - t).merge(q.own_statistics(one).scale(t))


def _over_times(at: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def curve(t: Any) -> Any:
        t = jnp.asarray(t, dtype=float)
        return at(t) if t.ndim == 0 else jax.vmap(at)(t)

    return curve
