"""Networks of an energy and of a sampler: perceptrons around the center of the data, in units of its scale."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import Fixed
from kullback.models.conditional import ACTIVATIONS
from kullback.numerics import Numeric, normal

#: Far from the data the energy of a perceptron rises as that of a Gaussian so many times as wide as the data.
REACH = 4.0


class Perceptron(eqx.Module):
    """Layers of units: each is activation((below, 1)·weights), the last without an activation.

    The last row of a matrix has the biases.
    """

    weights: tuple[Float[Numeric, "_ _"], ...]
    activation: str = eqx.field(static=True)

    @classmethod
    def start(cls, sizes: Sequence[int], key: Array, activation: str, dtype: Any, last: float = 1.0) -> Self:
        """Return one with weights of variance 1/inputs and no biases; those of the last layer are `last` as large."""

        def matrix(place: int, inputs: int, units: int) -> Array:
            size = (last if place == len(sizes) - 2 else 1.0) / inputs**0.5
            drawn = size * jax.random.normal(jax.random.fold_in(key, place), (inputs + 1, units), dtype)
            return drawn.at[-1].set(0)

        return cls(tuple(matrix(place, *pair) for place, pair in enumerate(itertools.pairwise(sizes))), activation)

    def __call__(self, x: Float[Array, "*rows inputs"]) -> Float[Array, "*rows units"]:
        """Return what the last layer answers."""
        function = ACTIVATIONS[self.activation]
        for place, weights in enumerate(self.weights):
            x = x if place == 0 else function(x)
            x = x @ weights[:-1] + weights[-1]
        return x


class Standardized(eqx.Module):
    """Center and scale of data. They are no parameters."""

    numbers: Fixed

    @classmethod
    def of(cls, center: Any, scale: Any, n_features: int, dtype: Any) -> Self:
        """Return those of columns; the scale of a constant is taken as 1."""
        center, scale = (jnp.broadcast_to(jnp.asarray(part, dtype), (n_features,)) for part in (center, scale))
        return cls(Fixed((center, jnp.where(scale > 0, scale, 1))))

    def to(self, x: Float[Array, "*rows d"]) -> Float[Array, "*rows d"]:
        """Return points in units of the scale."""
        center, scale = self.numbers.value
        return (x - center) / scale

    def back(self, z: Float[Array, "*rows d"]) -> Float[Array, "*rows d"]:
        """Return points in their own units."""
        center, scale = self.numbers.value
        return center + scale * z


class PerceptronEnergy(eqx.Module):
    """e(x) = perceptron(z) + ½‖z‖²/reach², z the standardized point: the last part keeps exp(−e) normalizable.

    For a perceptron grows no faster than linearly, whatever its weights are.
    """

    standardized: Standardized
    network: Perceptron

    def __call__(self, x: Float[Array, "*rows d"]) -> Float[Array, "*rows"]:
        """Return the energy of points."""
        z = self.standardized.to(x)
        return self.network(z)[..., 0] + 0.5 * jnp.sum(z**2, axis=-1) / REACH**2


class AutoencoderEnergy(eqx.Module):
    """e(x) = ‖F(G(z)) − z‖², z the standardized point: low where the way through a narrow code leads back (5.60)."""

    standardized: Standardized
    encoder: Perceptron
    decoder: Perceptron

    def __call__(self, x: Float[Array, "*rows d"]) -> Float[Array, "*rows"]:
        """Return the energy of points."""
        z = self.standardized.to(x)
        return jnp.sum((self.decoder(self.encoder(z)) - z) ** 2, axis=-1)


class GivenEnergy(eqx.Module):
    """An energy that is a function of one point: it is kept as it is, and has no parameters."""

    function: Callable[[Any], Any] = eqx.field(static=True)

    def __call__(self, x: Float[Array, "*rows d"]) -> Float[Array, "*rows"]:
        """Return the energy of points."""
        rows = x.reshape(-1, x.shape[-1])
        return jnp.asarray(jax.vmap(self.function)(rows), x.dtype).reshape(x.shape[:-1])


class Sampler(eqx.Module):
    """x = g(ε), ε ~ N(0, I): a linear map and a perceptron, in units of the scale (5.43).

    The perceptron begins small and the linear map orthogonal, so that it first draws a Gaussian as wide as the data.
    """

    standardized: Standardized
    linear: Float[Numeric, "n_noise d"]
    network: Perceptron

    @property
    def n_noise(self) -> int:
        """How many numbers a point is made of."""
        return len(self.linear)

    def __call__(self, noise: Float[Array, "*rows n_noise"]) -> Float[Array, "*rows d"]:
        """Return points made of noise."""
        return self.standardized.back(noise @ self.linear + self.network(noise))

    def draw_noise(self, key: Array, shape: tuple[int, ...]) -> Float[Array, "... n_noise"]:
        """Draw what points are made of."""
        return normal(key, (*shape, self.n_noise), jnp.asarray(self.linear).dtype)


def start_energy(
    kind: str, standardized: Standardized, n_features: int, hidden: Sequence[int], n_code: int, **options: Any
) -> PerceptronEnergy | AutoencoderEnergy:
    """Return an energy to begin with, "mlp" or "autoencoder"; the options are those of `Perceptron.start`."""
    key = options.pop("key")
    if kind == "mlp":
        return PerceptronEnergy(standardized, Perceptron.start((n_features, *hidden, 1), key, **options))
    if kind != "autoencoder":
        raise ValueError(f"energy is {kind!r}: it must be 'mlp' or 'autoencoder'.")
    there = Perceptron.start((n_features, *hidden, n_code), jax.random.fold_in(key, 1), **options)
    back = Perceptron.start((n_code, *reversed(hidden), n_features), jax.random.fold_in(key, 2), **options)
    return AutoencoderEnergy(standardized, there, back)


def start_sampler(
    standardized: Standardized, n_noise: int, n_features: int, hidden: Sequence[int], key: Array, **options: Any
) -> Sampler:
    """Return a sampler to begin with: one that draws nearly a Gaussian."""
    most, least = max(n_noise, n_features), min(n_noise, n_features)
    drawn = jax.random.normal(jax.random.fold_in(key, 0), (most, least), options["dtype"])
    basis = jnp.linalg.qr(drawn)[0]  # its columns are orthonormal
    linear = basis if n_noise >= n_features else basis.T * (n_features / n_noise) ** 0.5
    network = Perceptron.start((n_noise, *hidden, n_features), jax.random.fold_in(key, 1), last=0.1, **options)
    return Sampler(standardized, linear, network)
