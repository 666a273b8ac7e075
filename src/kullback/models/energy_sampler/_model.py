"""An energy and a sampler of it: exp(−e(x)) without its constant, and a network that draws as it does."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Batch, Estimate, Key, Model, Shape, as_key, as_shape, keep_observed
from kullback.models.energy_sampler._networks import Sampler, Standardized, start_energy, start_sampler
from kullback.models.kernels import hamiltonian, langevin
from kullback.runtime import quick_jit

#: Steps of the chain that draws what is missing of a row, and draws of the sampler among which it finds its start.
_STEPS, _STARTS = 200, 64


class EnergySampler(Model):
    """p(x) ∝ exp(−e(x)), and a sampler x = g(ε), ε ~ N(0, I), that is trained to draw from it (5.43).

    Nothing is hidden, and the constant of the density is not known: log-likelihoods lack it, the same for all points.
    `sample` draws from the sampler; `polish` moves points by chains whose law is exp(−e) itself.

    Parameters
    ----------
    energy_function : callable
        The energy of points in the last axis: a network with parameters, or any function that JAX can differentiate.
    sampler : Sampler
        The network that makes points of noise.

    Examples
    --------
    >>> model = EnergySampler.start(2, key=0, hidden=(8,), center=[5.0, 0.0])
    >>> points = model.sample(1, (1000,))
    >>> bool(abs(points[:, 0].mean() - 5) < 0.2), model.energy(points).shape
    (True, (1000,))

    """

    energy_function: Callable[[Any], Any]
    sampler: Sampler

    #: −energy is a log density up to a constant.
    normalized: ClassVar[bool] = False
    has_likelihood: ClassVar[bool] = False

    def __init__(self, energy_function: Callable[[Any], Any], sampler: Sampler):
        self.energy_function, self.sampler = energy_function, sampler

    @classmethod
    def start(
        cls,
        n_features: int,
        key: Key,
        energy: str | Callable[[Any], Any] = "mlp",
        hidden: Sequence[int] = (64, 64),
        *,
        n_noise: int | None = None,
        n_code: int = 2,
        center: Any = 0.0,
        scale: Any = 1.0,
        dtype: Any = np.float32,
    ) -> Self:
        """Return a model to begin with, whose sampler draws nearly a Gaussian.

        Parameters
        ----------
        n_features : int
            The length of a point.
        key : int or key
            Of the first weights.
        energy : "mlp", "autoencoder" or callable
            A perceptron; ‖F(G(x)) − x‖² with a code of `n_code` numbers (5.60); or the energy itself, which is kept.
        hidden : sequence of int
            Widths of the hidden layers of every network.
        n_noise : int, optional
            Numbers that a point is made of: by default two more than it has.
        n_code : int
            Of the autoencoder.
        center, scale : array-like
            Mean and standard deviation of the data: networks see points in these units.
        dtype : type
            Of the parameters.

        """
        noise = n_features + 2 if n_noise is None else n_noise
        kind = None if callable(energy) else energy
        sizes = n_features, noise, n_code, tuple(hidden)
        function, sampler = _start(as_key(key), center, scale, kind, sizes, np.dtype(dtype).name)
        return cls(energy if callable(energy) else function, sampler)

    @property
    def n_features(self) -> int:
        """The length of a point."""
        return int(np.shape(self.sampler.linear)[1])

    @property
    def visible_levels(self) -> tuple[tuple[float, ...], ...]:
        """All entries are real numbers."""
        return ((),) * self.n_features

    @property
    def hidden_levels(self) -> tuple[tuple[float, ...], ...]:
        """Nothing is hidden."""
        return ()

    def energy(self, v: Any, h: Any = None, inputs: Any = None) -> Float[Array, "..."]:
        """Return −log p(v) up to a constant."""
        return jnp.asarray(self.energy_function(jnp.asarray(v, self._dtype)))

    def posterior(self, batch: Batch, key: Any = None) -> None:
        """Return None: nothing is hidden."""
        return

    def sample(self, key: Key, shape: Shape = ()) -> Float[Array, "..."]:
        """Draw from the sampler."""
        return self.sampler(self.sampler.draw_noise(as_key(key), as_shape(shape)))

    def polish(self, key: Key, v: Any, steps: int = 300, method: str = "langevin") -> Float[Array, "rows d"]:
        """Move points by chains of adjusted Langevin dynamics, a step size for all of them, towards exp(−e).

        With the method "hmc" they are those of Hamiltonian dynamics, of which a proposal has 10 of the steps; it needs
        blackjax. The law of the chains is exp(−e) in the end, whatever the sampler is like; but they hardly ever go
        from one mode to another that lies apart, so that the modes they end in are those in which they began.
        """
        units = self.sampler.standardized

        def energy(z: Float[Array, " d"]) -> Float[Array, ""]:
            return jnp.asarray(self.energy_function(units.back(z)), z.dtype)

        start = units.to(jnp.asarray(v, self._dtype))
        if method == "hmc":
            return units.back(hamiltonian(energy, start, as_key(key), max(steps // 10, 1)))
        return units.back(langevin(energy, start, as_key(key), 1, steps - 1, 0.01).draws[-1])

    def impute(self, batch: Batch, key: Array) -> Float[Array, "rows d"]:
        """Draw what is missing by chains, from the draw of the sampler that is nearest in what is observed."""
        if batch.observed is None:
            return jnp.asarray(batch.values)
        units, key = self.sampler.standardized, as_key(key)
        guesses = units.to(self.sample(jax.random.fold_in(key, 0), (_STARTS,)))
        known = jnp.where(jnp.asarray(batch.observed), units.to(jnp.asarray(batch.values, self._dtype)), 0)

        def row(z: Array, there: Array, key: Array) -> Array:
            apart = jnp.sum(jnp.where(there, guesses - z, 0) ** 2, axis=1)
            start = jnp.where(there, z, guesses[jnp.argmin(apart)])

            def energy(x: Float[Array, " d"]) -> Float[Array, ""]:
                return jnp.asarray(self.energy_function(units.back(jnp.where(there, z, x))), x.dtype)

            return langevin(energy, start[None], key, 1, _STEPS - 1, 0.1).draws[-1, 0]

        keys = jax.random.split(jax.random.fold_in(key, 1), len(known))
        return keep_observed(batch, units.back(jax.vmap(row)(known, jnp.asarray(batch.observed), keys)))

    def estimate_log_likelihood(self, batch: Batch, key: Any = None, draws: int = 1) -> Estimate:
        """Return −e(v) for each row: the log-likelihood up to a constant, the same for all rows, that nobody knows."""
        found = -self.energy(batch.values)
        return Estimate(found, jnp.zeros_like(found))

    @property
    def _dtype(self) -> Any:
        return jnp.asarray(self.sampler.linear).dtype


def _start_networks(
    key: Array, center: Any, scale: Any, kind: str | None, sizes: tuple[Any, ...], dtype: str
) -> tuple[Any, Sampler]:
    n_features, n_noise, n_code, hidden = sizes
    standardized = Standardized.of(center, scale, n_features, dtype)
    first, second = jax.random.fold_in(key, 0), jax.random.fold_in(key, 1)
    # corners let a sampler part modes; chains and gradients of an energy want none
    sampler = start_sampler(standardized, n_noise, n_features, hidden, second, activation="relu", dtype=dtype)
    if kind is None:
        return None, sampler
    options = {"key": first, "activation": "silu", "dtype": dtype}
    return start_energy(kind, standardized, n_features, hidden, n_code, **options), sampler


_start = quick_jit(_start_networks, static_argnums=(3, 4, 5))
