"""Unknowns that are real numbers, under any energy: descent from several starts, and draws by Langevin dynamics."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.models.kernels import langevin

#: Steps of a descent at most, and halvings of one.
_STEPS, _HALVINGS = 500, 40
#: Steps of a chain before its draw: it begins at an energy that is lowest nearby, and has to spread from there.
_WARMUP = 2000


def descend(
    energy: Callable[[Float[Array, " d"]], Float[Array, ""]], starts: Float[Array, "starts d"]
) -> tuple[Float[Array, " d"], Float[Array, ""]]:
    """Return the point of least energy that descents from several starts reach."""
    points, energies = jax.vmap(lambda start: _quasi_newton(energy, start))(starts)
    best = jnp.argmin(jnp.where(jnp.isnan(energies), jnp.inf, energies))
    return points[best], energies[best]


class _Place(NamedTuple):
    """Where a descent is: energy, gradient, a guess of the inverse Hessian matrix, and whether it goes on."""

    x: Float[Array, " d"]
    energy: Float[Array, ""]
    gradient: Float[Array, " d"]
    inverse: Float[Array, "d d"]
    step: Array
    goes_on: Array


def _quasi_newton(
    energy: Callable[[Float[Array, " d"]], Float[Array, ""]], start: Float[Array, " d"]
) -> tuple[Float[Array, " d"], Float[Array, ""]]:
    """Descend by BFGS: a step is halved until the energy falls enough (Armijo), and one that cannot be ends it."""
    ask, eye = jax.value_and_grad(energy), jnp.eye(start.shape[0], dtype=start.dtype)

    def turn(place: _Place) -> _Place:
        x, now, gradient, inverse, step, _ = place
        newton = -inverse @ gradient
        ahead = jnp.where(newton @ gradient < 0, newton, -gradient)

        def too_far(search: tuple[Array, Array]) -> Array:
            size, halvings = search
            falls = energy(x + size * ahead) <= now + 1e-4 * size * (ahead @ gradient)
            return ~falls & (halvings < _HALVINGS)

        first = (jnp.ones((), x.dtype), jnp.asarray(0))
        size, _ = jax.lax.while_loop(too_far, lambda search: (search[0] / 2, search[1] + 1), first)
        there = x + size * ahead
        new, slope = ask(there)
        better = new < now
        s, y = there - x, slope - gradient
        curve = s @ y
        turned = eye - jnp.outer(s, y) / jnp.where(curve > 0, curve, 1)
        moved = turned @ inverse @ turned.T + jnp.outer(s, s) / jnp.where(curve > 0, curve, 1)
        inverse = jnp.where((curve > 0) & jnp.all(jnp.isfinite(moved)), moved, eye)
        after = _Place(there, new, slope, inverse, step, better)
        return jax.tree.map(lambda a, b: jnp.where(better, a, b), after, place)._replace(step=step + 1, goes_on=better)

    begin = _Place(start, *ask(start), eye, jnp.asarray(0), jnp.asarray(True))
    end = jax.lax.while_loop(lambda place: place.goes_on & (place.step < _STEPS), turn, begin)
    return end.x, end.energy


def draw(
    energy: Callable[[Float[Array, " d"]], Float[Array, ""]], start: Float[Array, " d"], temperature: float, key: Any
) -> tuple[Float[Array, " d"], Float[Array, ""]]:
    """Return the end of a chain whose law is e^(−energy/T), and its energy."""
    chain = langevin(energy, start[None], key, steps=1, warmup=_WARMUP, temperature=temperature)
    return chain.draws[-1, 0], chain.energies[-1, 0]
