"""Gradient descent over distributions, in steps that never leave the family."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.families import Coordinates, ExponentialFamily, Kind
from kullback.geometry._flow import Metric, members_at, velocity
from kullback.geometry._natural_gradient import Objective
from kullback.geometry._track import Track
from kullback.runtime import in_given_precision

_HALVINGS = 40


@in_given_precision
def descend(
    F: Objective,
    p: ExponentialFamily,
    step: float = 0.1,
    steps: int = 300,
    metric: Metric = "fisher",
    coordinates: Coordinates = "natural",
) -> Track:
    """Take `steps` steps ξ ← ξ − λ∇̃F(ξ) (or −λ∇F(ξ) with the Euclidean metric) from p.

    A step that would leave the family, or not lower F, is halved until it does neither; the next one starts from
    twice the last length, and never above `step`. A batched p starts one descent for each member.

    >>> from kullback.families import Exponential
    >>> path = descend(lambda p: (p.expectation[0] - 2.0) ** 2, Exponential(rate=5.0))
    >>> round(float(path.end.rate), 3)
    0.5
    """
    if not step > 0:
        raise ValueError(f"step is {step}: it must be positive.")
    if steps < 1:
        raise ValueError(f"steps is {steps}: it must be 1 or more.")
    starts = p.coordinates(coordinates)
    flat = starts.reshape(-1, starts.shape[-1])
    vectors, values, times = eqx.filter_jit(_descend)(F, p.kind, metric, coordinates, flat, step, steps)
    shape = (*starts.shape[:-1], steps + 1)
    members = members_at(p.kind, coordinates, vectors.reshape(*shape, -1))
    never = jnp.zeros(starts.shape[:-1], bool)
    return Track(members, values.reshape(shape), times.reshape(shape), never)


def _descend(
    F: Objective,
    kind: Kind,
    metric: Metric,
    coordinates: Coordinates,
    starts: Float[Array, "starts d"],
    step: float,
    steps: int,
) -> tuple[Array, Array, Array]:
    def value_at(vector: Array) -> Array:
        """F inside the family, infinite outside, so that no step goes there."""
        member = kind.at(coordinates, vector)
        value = jnp.asarray(F(member), vector.dtype)
        return jnp.where(member.interior & jnp.isfinite(value), value, jnp.inf)

    def move(state: Any, _: None) -> tuple[Any, Any]:
        vector, value, length, time = state
        direction = velocity(F, kind.at(coordinates, vector), metric, coordinates)
        direction = jnp.where(jnp.all(jnp.isfinite(direction)), direction, 0)

        def too_long(trial: Any) -> Array:
            return (trial[1] > value) & (trial[2] < _HALVINGS)

        def halve(trial: Any) -> Any:
            return trial[0] / 2, value_at(vector + trial[0] / 2 * direction), trial[2] + 1

        first = (length, value_at(vector + length * direction), jnp.asarray(0))
        taken, reached, _count = jax.lax.while_loop(too_long, halve, first)
        better = reached <= value
        vector = jnp.where(better, vector + taken * direction, vector)
        time = time + jnp.where(better, taken, 0)
        after = (vector, jnp.where(better, reached, value), jnp.minimum(2 * taken, step), time)
        return after, (after[0], after[1], after[3])

    def one(start: Float[Array, " d"]) -> tuple[Any, ...]:
        value = value_at(start)
        zero = jnp.zeros_like(value)
        _, tracks = jax.lax.scan(move, (start, value, jnp.full_like(value, step), zero), None, length=steps)
        firsts = (start, value, zero)
        return tuple(jnp.concatenate([first[None], track]) for first, track in zip(firsts, tracks, strict=True))

    vectors, values, times = jax.vmap(one)(starts)
    return vectors, values, times
