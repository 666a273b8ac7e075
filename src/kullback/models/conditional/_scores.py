"""What data says of the parameters of a conditional model: the score and the information, which merge."""

from typing import Self

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.numerics import Numeric


class Scores(eqx.Module):
    """Sums over points at the parameters of a model: its score, its Fisher information, its log-likelihood.

    With them goes how far the inputs reach, which bounds how much any row is moved by a step: `radius` is the greatest
    length of (1, x), `low` and `high` are the ends of each input. A mass of 0 is the unit of `merge`.
    """

    mass: Float[Numeric, ""]
    log_likelihood: Float[Numeric, ""]
    score: Float[Numeric, " p"]
    information: Float[Numeric, "p p"]
    radius: Float[Numeric, ""]
    low: Float[Numeric, " k"]
    high: Float[Numeric, " k"]

    def merge(self, other: Self) -> Self:
        """Add the sums, and take the ends of both."""
        mine, others = jnp.asarray(self.mass) > 0, jnp.asarray(other.mass) > 0
        low = jnp.minimum(jnp.where(mine, self.low, other.low), jnp.where(others, other.low, self.low))
        high = jnp.maximum(jnp.where(mine, self.high, other.high), jnp.where(others, other.high, self.high))
        return type(self)(
            jnp.add(self.mass, other.mass),
            jnp.add(self.log_likelihood, other.log_likelihood),
            jnp.add(self.score, other.score),
            jnp.add(self.information, other.information),
            jnp.maximum(self.radius, other.radius),
            low,
            high,
        )

    def farthest(self, step: Float[Array, "size q"]) -> Float[Array, " size"]:
        """Return a bound of |step·(1, x)| over the points, for each coordinate: that of the ball or of the box."""
        center, half = (jnp.asarray(self.high) + self.low) / 2, (jnp.asarray(self.high) - self.low) / 2
        box = jnp.abs(step[:, 0] + step[:, 1:] @ center) + jnp.abs(step[:, 1:]) @ half
        return jnp.minimum(box, self.radius * jnp.sqrt(jnp.sum(jnp.square(step), axis=1)))
