"""Fisher–Rao geodesics of any exponential family, by numerical integration.

In natural coordinates the Fisher metric is the Hessian of ψ, and the Levi-Civita connection half of its third
derivatives: a geodesic satisfies

    I(θ) θ̈ = −½ ∇³ψ(θ)[θ̇, θ̇] ,

where ∇³ψ[θ̇, θ̇] is the second derivative of η along the straight line through θ with velocity θ̇, so that nothing of
the size d³ is formed. The exponential map integrates it. The logarithm shoots: Newton steps on the first velocity, to
goals that move from p to q along the e-geodesic, as fast as the steps converge.

Lengths are measured around p: the coordinates are scaled so that I(p) is the identity.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from kullback.families import ExponentialFamily, Kind
from kullback.runtime import quick_jit

#: Shots in all, Newton steps to one goal, and steps of the integration.
_SHOTS, _NEWTON, _STEPS = 300, 8, 1024


class Shot(NamedTuple):
    """Where a geodesic ends, and with which velocity, in natural coordinates."""

    end: Float[Array, "*batch d"]
    velocity: Float[Array, "*batch d"]
    found: Bool[Array, "*batch"]


class Line(NamedTuple):
    """The velocities of a geodesic at both of its ends, in natural coordinates, and its squared length."""

    first: Float[Array, "*batch d"]
    last: Float[Array, "*batch d"]
    square: Float[Array, "*batch"]
    found: Bool[Array, "*batch"]


class _Tolerance(NamedTuple):
    """How exactly the equation is solved, when a goal counts as hit, and what the answer may be off by."""

    solver: float
    hit: float
    miss: float

    @classmethod
    def of(cls, dtype: Any) -> "_Tolerance":
        return cls(1e-11, 1e-6, 1e-9) if np.finfo(dtype).bits == 64 else cls(1e-5, 1e-3, 1e-3)


def shoot(p: ExponentialFamily, velocity: Float[Array, "*batch d"]) -> Shot:
    """Follow the geodesic from p with this velocity of the natural coordinates until t = 1."""
    return Shot(*_shots(p.kind, p.natural, velocity))


def connect(p: ExponentialFamily, q: ExponentialFamily) -> Line:
    """Return the geodesic from p to q."""
    return Line(*_lines(p.kind, p.natural, q.natural))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def square_distance(kind: Kind, start: Float[Array, "*batch d"], goal: Float[Array, "*batch d"]) -> Any:
    """Return the squared length of the geodesic between natural coordinates, and whether it was found."""
    line = Line(*_lines(kind, start, goal))
    return line.square, line.found


@square_distance.defjvp
def _(kind: Kind, primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> Any:
    """Differentiate by the first variation: d² changes by 2⟨γ̇(1), dq⟩ − 2⟨γ̇(0), dp⟩."""
    line = Line(*_lines(kind, *primals))
    ends = [_product(kind, *each) for each in zip(primals, (line.first, line.last), tangents, strict=True)]
    return (line.square, line.found), (2 * (ends[1] - ends[0]), np.zeros(line.found.shape, jax.dtypes.float0))


def _product(kind: Kind, theta: Array, first: Array, second: Array) -> Array:
    """Return the Fisher product of two velocities."""
    return jnp.einsum("...i,...ij,...j->...", first, kind.at("natural", theta).fisher("natural"), second)


@functools.partial(quick_jit, static_argnums=(0,))
def _shots(kind: Kind, theta: Array, velocity: Array) -> Any:
    return jnp.vectorize(functools.partial(_shot, kind), signature="(d),(d)->(d),(d),()")(theta, velocity)


@functools.partial(quick_jit, static_argnums=(0,))
def _lines(kind: Kind, start: Array, goal: Array) -> Any:
    return jnp.vectorize(functools.partial(_line, kind), signature="(d),(d)->(d),(d),(),()")(start, goal)


def _metric(kind: Kind, theta: Float[Array, " d"]) -> Float[Array, "d d"]:
    return kind.at("natural", theta).fisher("natural")


def _acceleration(kind: Kind, theta: Float[Array, " d"], velocity: Float[Array, " d"]) -> Float[Array, " d"]:
    def along(place: Array) -> Array:
        return jax.jvp(lambda t: kind.at("natural", t).expectation, (place,), (velocity,))[1]

    twice = jax.jvp(along, (theta,), (velocity,))[1]
    return -0.5 * jnp.linalg.solve(_metric(kind, theta), twice)


def _shot(kind: Kind, theta: Float[Array, " d"], velocity: Float[Array, " d"]) -> Shot:
    import diffrax  # a third of a second, for this only

    frame = jnp.linalg.cholesky(_metric(kind, theta))  # u = frameᵀ(θ − θ₀) has unit metric at the start

    def out(u: Array) -> Array:
        return jax.scipy.linalg.solve_triangular(frame, u, lower=True, trans=1)

    def field(t: Any, state: tuple[Array, Array], args: Any) -> tuple[Array, Array]:
        u, w = state
        return w, frame.T @ _acceleration(kind, theta + out(u), out(w))

    tolerance = _Tolerance.of(theta.dtype).solver
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Dopri8(),
        t0=0.0,
        t1=1.0,
        dt0=None,
        y0=(jnp.zeros_like(theta), frame.T @ velocity),
        stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
        adjoint=diffrax.ForwardMode(),
        max_steps=_STEPS,
        throw=False,
    )
    assert solution.ys is not None
    u, w = (each[-1] for each in solution.ys)
    end, last = theta + out(u), out(w)
    # along a geodesic the speed does not change
    speed = jnp.sqrt(velocity @ _metric(kind, theta) @ velocity)
    kept = jnp.abs(jnp.sqrt(last @ _metric(kind, end) @ last) - speed)
    good = (solution.result == diffrax.RESULTS.successful) & kind.at("natural", end).interior
    return Shot(end, last, good & (kept <= 100 * _Tolerance.of(theta.dtype).miss * (1 + speed)))


class _Hunt(NamedTuple):
    """A velocity on its way: it has hit one goal, and Newton steps bring it to the next, a share of the way to q."""

    share: Array  # of the goal that was hit, with the velocity `hit`, which changes by `turn` with the share
    hit: Array
    turn: Array
    stride: Array
    aim: Array  # the share of the next goal, the velocity that is tried, by how much the last one missed
    velocity: Array
    off: Array
    newton: Array
    shots: Array
    last: Array  # the velocity at the end, and whether the equation was solved
    sound: Array


def _line(kind: Kind, start: Float[Array, " d"], goal: Float[Array, " d"]) -> Line:
    tolerance = _Tolerance.of(start.dtype)
    step = goal - start
    far = jnp.asarray(np.finfo(start.dtype).max, start.dtype)

    def going(hunt: _Hunt) -> Array:
        return (hunt.share < 1) & (hunt.stride > 1e-12) & (hunt.shots < _SHOTS)

    def improve(hunt: _Hunt) -> _Hunt:
        target = start + hunt.aim * step
        scale = jnp.linalg.cholesky(_metric(kind, target)).T

        def miss(velocity: Array) -> tuple[Array, Any]:
            shot = _shot(kind, start, velocity)
            away = scale @ (shot.end - target)
            return away, (away, shot)

        slope, (away, shot) = jax.jacfwd(miss, has_aux=True)(hunt.velocity)
        off = jnp.linalg.norm(away)
        moves = jnp.linalg.solve(slope, jnp.stack([away, scale @ step], axis=-1))
        better, turn = hunt.velocity - moves[:, 0], moves[:, 1]
        sound = jnp.isfinite(off) & jnp.all(jnp.isfinite(moves))
        stuck = (hunt.newton >= 2) & ~(off < 0.5 * hunt.off)
        settled = (off <= 0.01 * tolerance.miss) | (stuck & (off <= tolerance.miss))
        hit = sound & jnp.where(hunt.aim < 1, off <= tolerance.hit, settled)
        again = sound & ~hit & ~stuck & (hunt.newton < _NEWTON)
        # from here a goal that is twice as far, the same again, or one that is nearer
        share, base, turn = (
            jnp.where(hit, *pair) for pair in ((hunt.aim, hunt.share), (better, hunt.hit), (turn, hunt.turn))
        )
        stride = jnp.where(hit, 2 * hunt.stride, jnp.where(again, hunt.stride, hunt.stride / 4))
        aim = jnp.minimum(share + stride, 1)
        return _Hunt(
            share,
            base,
            turn,
            stride,
            jnp.where(again, hunt.aim, aim),
            jnp.where(again, better, base + (aim - share) * turn),
            jnp.where(again, off, far),
            jnp.where(again, hunt.newton + 1, 0),
            hunt.shots + 1,
            shot.velocity,
            shot.found,
        )

    length = jnp.sqrt(step @ _metric(kind, start) @ step)
    stride = jnp.minimum(1, 2 / jnp.maximum(length, 1))  # two units of length, as p sees it
    zero, nothing, false = jnp.zeros_like(stride), jnp.zeros_like(step), jnp.zeros((), bool)
    first = _Hunt(zero, nothing, step, stride, stride, stride * step, far, zero, zero, nothing, false)
    hunt = jax.lax.while_loop(going, improve, first)
    square = hunt.hit @ _metric(kind, start) @ hunt.hit
    # the e-geodesic has the energy ⟨Δθ, Δη⟩, and the shortest curve none above it
    rise = kind.at("natural", goal).expectation - kind.at("natural", start).expectation
    shortest = square <= (step @ rise) * (1 + tolerance.miss) + tolerance.miss
    same = jnp.all(step == 0)
    found = same | ((hunt.share >= 1) & hunt.sound & shortest)
    begin, last, square = (jnp.where(same, 0, each) for each in (hunt.hit, hunt.last, square))
    return Line(begin, last, square, found)
