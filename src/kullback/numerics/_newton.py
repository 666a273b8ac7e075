"""From expectation to natural coordinates where only Newton's method knows the way."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def natural_from_expectation(
    member: Callable[[Any], Any], start: Float[Array, "*batch d"], eta: Float[Array, "*batch d"]
) -> Float[Array, "*batch d"]:
    """Return the θ with ∇ψ(θ) = η, the minimum of the convex ψ(θ) − ⟨θ, η⟩, by damped Newton steps.

    `member` makes a member from θ. The derivative is that of the implicit function: dθ = I(θ)⁻¹ dη.
    """
    return jnp.vectorize(functools.partial(_descend, member), signature="(d),(d)->(d)")(start, eta)


@natural_from_expectation.defjvp
def _jvp(member: Callable[[Any], Any], primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Array, Array]:
    theta = natural_from_expectation(member, *primals)
    change = jnp.linalg.solve(member(theta).fisher("natural"), tangents[1][..., None])[..., 0]
    return theta, change


def _descend(member: Callable[[Any], Any], start: Float[Array, " d"], eta: Float[Array, " d"]) -> Float[Array, " d"]:
    floor = 16 * np.finfo(start.dtype).eps

    def height(theta: Array) -> Array:
        return member(theta).log_partition - theta @ eta

    def step(state: Any) -> Any:
        theta, value, _, count = state
        here = member(theta)
        gradient = here.expectation - eta
        direction = jnp.linalg.solve(here.fisher("natural"), gradient)
        decrement = gradient @ direction

        def too_far(trial: Any) -> Array:
            length, reached = trial
            enough = reached <= value - 1e-4 * length * decrement
            # close to the minimum rounding hides the decrease, and the full step is right
            return ~(enough | (decrement < 1e-8)) & (length > 1e-10)

        def shorter(trial: Any) -> Any:
            length = trial[0] / 2
            return length, height(theta - length * direction)

        one = jnp.ones_like(value)
        length, reached = jax.lax.while_loop(too_far, shorter, (one, height(theta - direction)))
        return theta - length * direction, reached, jnp.max(jnp.abs(gradient)), count + 1

    def going(state: Any) -> Array:
        return (state[2] > floor) & (state[3] < 60)

    first = (start, height(start), jnp.asarray(jnp.inf, start.dtype), jnp.asarray(0))
    theta, _, residual, _ = jax.lax.while_loop(going, step, first)
    return jnp.where(residual < 1e-6, theta, jnp.nan)  # no member has these expectations
