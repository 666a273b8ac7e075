"""Gradient flows: the differential equations behind gradient descent."""

from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from kullback.families import Coordinates, ExponentialFamily, Kind
from kullback.geometry._natural_gradient import Objective, gradient, natural_gradient
from kullback.geometry._track import Track
from kullback.runtime import in_given_precision

Metric = Literal["fisher", "euclidean"]

#: How long a flow with a stopping rule may run.
_LONGEST = 1e4


def velocity(F: Objective, p: ExponentialFamily, metric: Metric, coordinates: Coordinates) -> Float[Array, " d"]:
    """Return −∇̃F (metric "fisher") or −∇F ("euclidean"): downhill, in these coordinates."""
    match metric:
        case "fisher":
            return -natural_gradient(F, p, coordinates)
        case "euclidean":
            return -gradient(F, p, coordinates)
    raise ValueError(f"metric is {metric!r}: it must be 'fisher' or 'euclidean'.")


@in_given_precision
def flow(
    F: Objective,
    p: ExponentialFamily,
    metric: Metric = "fisher",
    coordinates: Coordinates = "natural",
    until: float | Callable[[Any], Any] = 10.0,
    points: int = 200,
    tolerance: float = 1e-9,
) -> Track:
    """Follow dξ/dt = −∇̃F(ξ), or −∇F(ξ) with the Euclidean metric, from p, by an adaptive Runge–Kutta method.

    `F` maps a distribution to a number, and is made smaller; to climb, pass −F. The natural flow is the same curve of
    distributions in all coordinates. The Euclidean flow is not, and can run into the boundary of the family, where
    it stops. `until` is a time, or a function of a member that says when to stop. A batched p starts one flow for
    each member. `points` are evenly spaced in time, from 0 to where the flow stopped.

    >>> from kullback.families import Bernoulli
    >>> path = flow(lambda p: p.expectation[0], Bernoulli(0.5), until=3.0)
    >>> round(float(path.end.probability), 4)  # θ falls at speed 1: 1/(1 + e³)
    0.0474
    """
    if points < 2:
        raise ValueError(f"points is {points}: a path needs 2 or more.")
    starts = p.coordinates(coordinates)
    horizon = _LONGEST if callable(until) else float(until)
    if not horizon > 0:
        raise ValueError(f"until is {until}: it must be a positive time.")
    stop = until if callable(until) else None
    batch = starts.shape[:-1]
    vectors, values, times, left, failed = eqx.filter_jit(_solve)(
        F, stop, p.kind, metric, coordinates, starts.reshape(-1, starts.shape[-1]), horizon, points, tolerance
    )
    if bool(jnp.any(failed)):
        raise RuntimeError(
            f"The flow needs more steps than allowed to reach time {horizon:g}: it is stiff in {coordinates} "
            "coordinates. Try other coordinates, a shorter time, or a larger tolerance."
        )
    members = members_at(p.kind, coordinates, vectors.reshape(*batch, points, -1))
    shape = (*batch, points)
    return Track(members, values.reshape(shape), times.reshape(shape), left.reshape(batch))


def members_at(kind: Kind, coordinates: Coordinates, vectors: Float[Array, "... d"]) -> Any:
    """Return the members along a track. They were inside when they were made: nothing is checked again, for on the
    boundary another way of rounding would find them outside.
    """
    return jax.jit(lambda v: kind.at(coordinates, v))(vectors)


def _solve(
    F: Objective,
    stop: Callable[[Any], Any] | None,
    kind: Kind,
    metric: Metric,
    coordinates: Coordinates,
    starts: Float[Array, "starts d"],
    horizon: float,
    points: int,
    tolerance: float,
) -> tuple[Array, Array, Array, Array, Array]:
    import diffrax  # a third of a second, for flows only

    @jax.jit  # traced once, however often the solver looks
    def look(vector: Array) -> tuple[Array, Bool[Array, ""]]:
        """Return the slope here, and whether this is a member with digits left for its slope."""
        member = kind.at(coordinates, vector)
        slope = velocity(F, member, metric, coordinates)
        return slope, member.interior & jnp.all(jnp.isfinite(slope))

    def field(t: Any, vector: Array, args: Any) -> Array:
        slope, inside = look(vector)
        # outside the family nothing moves: the solver shortens its steps until it lands on the boundary
        return jnp.where(inside, slope, 0)

    def inside(vector: Array) -> Bool[Array, ""]:
        return look(vector)[1]

    def outside(t: Any, vector: Array, args: Any, **_: Any) -> Bool[Array, ""]:
        return ~inside(vector)

    def satisfied(t: Any, vector: Array, args: Any, **_: Any) -> Bool[Array, ""]:
        return jnp.asarray(stop(kind.at(coordinates, vector)), bool)  # type: ignore[misc]

    def one(start: Float[Array, " d"]) -> tuple[Array, Array, Array, Array, Array]:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            diffrax.Tsit5(),
            t0=0.0,
            t1=horizon,
            dt0=1e-3 * horizon / points,
            y0=start,
            saveat=diffrax.SaveAt(t1=True, dense=True),
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
            event=diffrax.Event(outside if stop is None else (outside, satisfied)),
            max_steps=4096,
            throw=False,
        )
        finish = solution.ts[-1]
        left = ~inside(solution.ys[-1])
        last = jnp.where(left, _last_inside(solution, inside, finish), finish)
        times = jnp.linspace(0, last, points)
        vectors = jax.vmap(lambda t: jnp.where(t > 0, solution.evaluate(t), start))(times)
        values = jax.vmap(lambda vector: jnp.asarray(F(kind.at(coordinates, vector))))(vectors)
        failed = solution.result == diffrax.RESULTS.max_steps_reached
        return vectors, values, times, left, failed

    return jax.vmap(one)(starts)


def _last_inside(solution: Any, inside: Callable[[Array], Array], finish: Array) -> Array:
    """Return the last time at which the path was inside the family, by bisection."""

    def halve(_: Any, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = (low + high) / 2
        ok = inside(solution.evaluate(middle))
        return jnp.where(ok, middle, low), jnp.where(ok, high, middle)

    low, _ = jax.lax.fori_loop(0, 60, halve, (jnp.zeros_like(finish), finish))
    return low
