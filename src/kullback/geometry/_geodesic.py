"""The straight lines of information geometry."""

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar

import jax
import jax.numpy as jnp

from kullback.core import Extent
from kullback.families import ExponentialFamily
from kullback.geometry._divergence import check_same_kind
from kullback.geometry._fisher_rao import exponential_map, logarithm_map
from kullback.runtime import in_given_precision

Family = TypeVar("Family", bound=ExponentialFamily)


class Geodesic(Generic[Family]):
    """A curve t ↦ member from p to q, of a kind: call it with a time, or with an array of them."""

    def __init__(self, p: Family, q: Family, kind: str, at: Callable[[Any], Family]):
        self.p, self.q, self.kind = p, q, kind
        self._at = at

    def __call__(self, t: Any) -> Family:
        """Return the member at a time; of an array of times a batched member, times first."""
        return _at_times(self.p, t, self._at)

    def __repr__(self) -> str:
        return f"<geodesic of kind {self.kind!r} from {self.p} to {self.q}>"


def geodesic(p: Family, q: Family, kind: Literal["e", "m", "fisher-rao"] = "fisher-rao") -> Geodesic[Family]:
    """Return the curve t ↦ member that is p at t = 0 and q at t = 1.

    - "e": straight in natural coordinates, p^(1−t) q^t up to its norm
    - "m": straight in expectation coordinates, the member nearest to the mixture (1−t)·p + t·q
    - "fisher-rao": the shortest curve in the Fisher metric, at constant speed; where a family has no closed form it is
      integrated, and refused where it is not found

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
            return Geodesic(p, q, kind, lambda t: p.at("natural", start + t * step))
        case "m":
            return Geodesic(p, q, kind, lambda t: p.maximize(_mixed(p, q, t)))
        case "fisher-rao":
            speed = logarithm_map(p, q)
            return Geodesic(p, q, kind, lambda t: exponential_map(p, t * speed))
    raise ValueError(f"kind is {kind!r}: it must be 'e', 'm' or 'fisher-rao'.")


def _mixed(p: ExponentialFamily, q: ExponentialFamily, t: Any) -> Any:
    """Statistics of the mixture (1−t)·p + t·q."""
    one = Extent(jnp.ones(p.batch_shape))
    return p.own_statistics(one).scale(1 - t).merge(q.own_statistics(one).scale(t))


@in_given_precision
def _at_times(p: Any, t: Any, at: Callable[[Any], Any]) -> Any:
    t = jnp.asarray(t, dtype=float)
    return at(t) if t.ndim == 0 else jax.vmap(at)(t)
