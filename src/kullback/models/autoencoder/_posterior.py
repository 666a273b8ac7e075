"""What is hidden of a row, by Fisher scoring: the posterior of any decoder that answers with free coordinates."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float

from kullback.core import Batch
from kullback.numerics import normal
from kullback.runtime import filter_jit

if TYPE_CHECKING:
    from kullback.models.autoencoder._model import VariationalAutoencoder

#: Steps at most, the parts of a step that are tried, and the gain in nats below which there is no other.
_STEPS = 12
_PARTS = np.array([1.0, 0.5, 0.25, 0.1, 0.02])
_GAIN = 1e-4
#: Numbers that are worked on at once.
_AT_ONCE = 2**22
_LOG_TWO_PI = math.log(2 * math.pi)

Point = Float[Array, " columns"]
Latents = Float[Array, " latents"]


class Peak(NamedTuple):
    """The Gaussian N(mean, F⁻¹) around the most probable z of a row: `root` is lower, and F = root·rootᵀ."""

    mean: Latents
    root: Float[Array, "latents latents"]

    @property
    def covariance(self) -> Float[Array, "latents latents"]:
        """The matrix F⁻¹."""
        return cho_solve((self.root, True), jnp.eye(len(self.mean), dtype=self.mean.dtype))

    def draw(self, key: Array, draws: int) -> tuple[Float[Array, "draws latents"], Float[Array, " draws"]]:
        """Draw z, with log q(z)."""
        noise = normal(key, (draws, len(self.mean)), self.mean.dtype)
        away = solve_triangular(self.root, noise.T, lower=True, trans=1).T
        log_det = jnp.sum(jnp.log(jnp.diagonal(self.root)))
        return self.mean + away, log_det + log_prior(noise)


def log_prior(z: Float[Array, "... latents"]) -> Float[Array, "..."]:
    """Return log N(z; 0, I)."""
    return -0.5 * (jnp.sum(jnp.square(z), axis=-1) + z.shape[-1] * _LOG_TWO_PI)


@filter_jit
def log_joint(model: "VariationalAutoencoder", z: Latents, v: Point, observed: Any) -> Float[Array, ""]:
    """Return log p(v, z) of what is observed of a row."""
    return log_prior(z) + jnp.asarray(model.kind.log_prob_at("free", model.decoder(z), v, observed))


@filter_jit
def curvature(
    model: "VariationalAutoencoder", z: Latents, v: Point, observed: Any
) -> tuple[Latents, Float[Array, "latents latents"]]:
    """Return ∇log p(v, z), and a root of F = JᵀIJ + 1 with J = ∂free/∂z and the Fisher matrix I of what is observed.

    F is the expected −∇∇log p(v, z) but for the curvature of the decoder, and is it where free coordinates are linear
    in z: never less than 1, the precision of the prior.
    """

    def twice(z: Latents) -> tuple[Array, Array]:
        free = model.decoder(z)
        return free, free

    slope, free = jax.jacfwd(twice, has_aux=True)(z)
    gradient = jax.grad(lambda vector: jnp.asarray(model.kind.log_prob_at("free", vector, v, observed)))(free)
    information = slope.T @ model.kind.fisher_product_at(free, slope, observed)
    information = 0.5 * (information + information.T)
    # rounding of a large information must not make it indefinite
    ridge = 1 + 8 * len(z) * float(np.finfo(z.dtype).eps) * jnp.max(jnp.diagonal(information))
    return gradient @ slope - z, jnp.linalg.cholesky(information + ridge * jnp.eye(len(z), dtype=z.dtype))


@filter_jit
def climb(model: "VariationalAutoencoder", start: Latents, v: Point, observed: Any) -> Peak:
    """Return the Gaussian at the end of z ← z + t·F⁻¹∇log p(v, z), where each t is the best of a few.

    A step that gains nothing is not taken. What is not finite, as where a decoder was led too far, stays at its start.
    """

    def step(carry: tuple[Array, Latents, Array, Array]) -> tuple[Array, Latents, Array, Array]:
        count, z, value, _ = carry
        gradient, root = curvature(model, z, v, observed)
        way = cho_solve((root, True), gradient)
        tried = z + jnp.asarray(_PARTS, z.dtype)[:, None] * way
        values = jax.vmap(lambda z: log_joint(model, z, v, observed))(tried)
        values = jnp.where(jnp.isfinite(values), values, -jnp.inf)
        best = jnp.argmax(values)
        gain = values[best] - value
        better = gain > 0
        return count + 1, jnp.where(better, tried[best], z), jnp.maximum(values[best], value), gain > _GAIN

    def goes_on(carry: tuple[Array, Latents, Array, Array]) -> Array:
        return carry[3] & (carry[0] < _STEPS)

    first = jnp.asarray(0), start, log_joint(model, start, v, observed), jnp.asarray(True)
    z = jax.lax.while_loop(goes_on, step, first)[1]
    return Peak(z, curvature(model, z, v, observed)[1])


def weigh(
    model: "VariationalAutoencoder", z: Float[Array, "draws latents"], log_q: Array, v: Point, observed: Any
) -> Float[Array, " draws"]:
    """Return the log weights of draws of z."""
    return jax.vmap(lambda z: log_joint(model, z, v, observed))(z) - log_q


def for_rows(
    model: "VariationalAutoencoder", one: Callable[[Array, Peak, Point, Any], Any], key: Array, batch: Batch, draws: int
) -> Any:
    """Return what a function of a key, a `Peak`, a row and what is observed of it says of all rows, some at once."""
    v, observed = model.points(batch)
    starts = model.encode(batch).mean

    def row(parts: tuple[Array, Latents, Point, Any]) -> Any:
        key, start, v, observed = parts
        return one(key, climb(model, start, v, observed), v, observed)

    width = model.kind.size * max(draws, model.n_latents, len(_PARTS))
    group = max(1, min(len(v), _AT_ONCE // width))
    return jax.lax.map(row, (jax.random.split(key, len(v)), starts, v, observed), batch_size=group)
