"""The variational autoencoder of any table: few hidden numbers, and a network that makes distributions of them."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Num

from kullback.core import Batch, Completion, Estimate, Key, Model, Shape, Want, as_key, as_shape, keep_observed
from kullback.families import DiagonalGaussian, Gaussian, OutputKind
from kullback.models._importance import WeightedDraws, average_weights
from kullback.models.autoencoder import _completion
from kullback.models.autoencoder._encoder import Encoder
from kullback.models.autoencoder._posterior import Peak, for_rows, log_prior, weigh
from kullback.models.conditional import Network
from kullback.models.conditional._conditional import as_kind, point_shape
from kullback.numerics import normal

#: Draws of z where none are asked for: one is kept by its weight, or all are averaged.
_DRAWS = 64


class VariationalAutoencoder(Model):
    """p(v, z) = N(z; 0, I)·p(v | z), where `decoder(z)` are the free coordinates of a member of a kind.

    The kind is that of any family over vectors, of a `Product` of different ones, of `Independent` columns or of a
    mixture, so a row may have numbers, counts, categories, angles and shares side by side; what is missing of it is
    summed out. `encoder(v, observed)` answers with the free coordinates (mean, log σ) of a Gaussian for each row, a
    guess of p(z | v) that learning is quick with.

    What the model is asked about rows goes through a better one: the mode z* of p(z | v), found by Fisher scoring from
    the encoder's mean, and N(z*, F⁻¹) around it, with F = JᵀIJ + 1, J = ∂free/∂z and the Fisher matrix I of what is
    observed. Where free coordinates are linear in z and means of Gaussians it is the posterior itself.

    Examples
    --------
    >>> marginal = DiagonalGaussian(mean=[0.0, 1.0, 2.0], variance=[1.0, 4.0, 9.0])
    >>> model = VariationalAutoencoder.start(marginal, n_latents=2, hidden=(8,), seed=0)
    >>> v = np.array([[0.3, -1.0, np.nan]])
    >>> row = Batch(v, observed=~np.isnan(v))
    >>> model.posterior(row).mean.shape
    (1, 2)

    """

    encoder: Callable[[Any, Any], Float[Array, "rows _"]]
    decoder: Callable[[Float[Array, " latents"]], Float[Array, " size"]]
    kind: OutputKind = eqx.field(static=True)
    n_latents: int = eqx.field(static=True)

    def __init__(self, encoder: Callable[[Any, Any], Any], decoder: Callable[[Any], Any], kind: Any, n_latents: int):
        self.encoder, self.decoder, self.kind, self.n_latents = encoder, decoder, as_kind(kind), n_latents
        if n_latents < 1:
            raise ValueError(f"n_latents is {n_latents}: it must be 1 or more.")
        if len(point_shape(self.kind)) != 1:
            raise ValueError(f"kind is {self.kind}: its points must be rows, so make Independent columns of it.")

    @classmethod
    def start(
        cls,
        member: Any,
        n_latents: int,
        hidden: Sequence[int] = (100,),
        *,
        rows: Batch | None = None,
        seed: int = 0,
        width: float = 1e-3,
        activation: str = "relu",
        dtype: Any = np.float32,
    ) -> Self:
        """Return a model to begin with: nearly the member, whatever z is, and an encoder that says nothing yet.

        Parameters
        ----------
        member : of a family or a mixture
            What was fitted to the rows without anything hidden.
        n_latents : int
            How many numbers are hidden.
        hidden : sequence of int
            Units of the encoder's hidden layers; the decoder has them in the opposite order.
        rows : Batch, optional
            Rows that say how far their embeddings spread; draws of the member do otherwise. Where they lack entries,
            the encoder learns which are missing.
        seed : int
            For the first weights.
        width : float
            That of a data point, in standard deviations of the member: no density is higher.
        activation : str
            Between the layers: "relu", "tanh", "logistic", "silu" or "identity".
        dtype : dtype
            Of all numbers.

        """
        encoder = Encoder.start(member, n_latents, hidden, rows=rows, seed=seed, activation=activation, dtype=dtype)
        decoder = Network.start(
            member, n_latents, hidden[::-1], seed=seed + 1, width=width, activation=activation, dtype=dtype
        )
        return cls(encoder, decoder, member.kind, n_latents)

    @property
    def visible_levels(self) -> tuple[tuple[float, ...], ...]:
        """The values that each entry of a row may have; () for one that has countless."""
        like: Any = eqx.filter_eval_shape(lambda free: self.kind.at("free", free), np.zeros(self.kind.size))
        levels: tuple[tuple[float, ...], ...] = like.visible_levels
        return levels

    @property
    def hidden_levels(self) -> tuple[tuple[float, ...], ...]:
        """That all hidden entries are real numbers."""
        return ((),) * self.n_latents

    # --- the joint --------------------------------------------------------------------------------------

    def free(self, h: Any) -> Float[Array, "... size"]:
        """Return the free coordinates of p(v | z) for each z."""
        h = jnp.asarray(h)
        found = jax.vmap(self.decoder)(h.reshape(-1, self.n_latents))
        return found.reshape(*h.shape[:-1], self.kind.size)

    def given(self, h: Any) -> Any:
        """Return p(v | z) for each z, as one member batched over them; of mixtures, for `jax.vmap`."""
        return self.kind.at("free", self.free(h))

    def log_prob(self, v: Any, h: Any, observed: Any = None) -> Float[Array, "..."]:
        """Return log p(v, z) of what is observed; z is h."""
        h = jnp.asarray(h)
        return log_prior(h) + jnp.asarray(self.kind.log_prob_at("free", self.free(h), v, observed))

    def energy(self, v: Any, h: Any = None, inputs: Any = None) -> Float[Array, "..."]:
        """Return −log p(v, z), or −log p(v): z is summed out by importance, with the same draws at each call."""
        if h is not None:
            return -self.log_prob(v, h)
        v = jnp.asarray(v)
        found = self.estimate_log_likelihood(Batch(v.reshape(-1, v.shape[-1])), 0).value
        return -found.reshape(v.shape[:-1])

    # --- what is hidden ---------------------------------------------------------------------------------

    def points(self, batch: Batch) -> tuple[Float[Array, "rows columns"], Bool[Array, "rows columns"] | None]:
        """Return the rows of a batch, and which of their entries are there."""
        v, columns = jnp.asarray(batch.values), self.kind.columns
        if v.ndim != 2 or v.shape[1] != columns:
            raise ValueError(f"values have shape {v.shape}: rows of {self.kind} have {columns} columns.")
        v = v if jnp.issubdtype(v.dtype, jnp.floating) else v.astype(jnp.result_type(float))
        return v, None if batch.observed is None else jnp.asarray(batch.observed)

    def encode(self, batch: Batch) -> DiagonalGaussian:
        """Return the encoder's guess of p(z | v) for each row."""
        return DiagonalGaussian.from_free(self.encoder(*self.points(batch)))

    def recognize(self, key: Key, batch: Batch, draws: int = 1) -> WeightedDraws:
        """Draw z from the encoder's guess, with the weights p(v, z) / q(z | v): gradients go through the draws."""
        v, observed = self.points(batch)
        mean, log_scale = jnp.split(self.encoder(v, observed), 2, axis=-1)
        noise = normal(as_key(key), (len(v), draws, self.n_latents), mean.dtype)
        h = mean[:, None] + jnp.exp(log_scale)[:, None] * noise
        log_q = log_prior(noise) - jnp.sum(log_scale, axis=-1)[:, None]
        seen = None if observed is None else observed[:, None]
        return WeightedDraws(h, self.log_prob(v[:, None], h, seen) - log_q)

    def bound(self, key: Key, batch: Batch, draws: int = 1) -> Float[Array, " rows"]:
        """Return E_q[log p(v | z)] − D(q, N(0, I)) for each row, with the encoder's q: at most log p(v) on average.

        The mean is over draws, through which gradients go; the relative entropy is exact.
        """
        v, observed = self.points(batch)
        mean, log_scale = jnp.split(self.encoder(v, observed), 2, axis=-1)
        noise = normal(as_key(key), (len(v), draws, self.n_latents), mean.dtype)
        free = self.free(mean[:, None] + jnp.exp(log_scale)[:, None] * noise)
        seen = None if observed is None else observed[:, None]
        fit = jnp.mean(jnp.asarray(self.kind.log_prob_at("free", free, v[:, None], seen)), axis=1)
        away = 0.5 * (jnp.square(mean) + jnp.expm1(2 * log_scale)) - log_scale
        return fit - jnp.sum(away, axis=-1)

    def posterior(self, batch: Batch, key: Any = None) -> Gaussian:
        """Return N(z*, F⁻¹) for each row, which is p(z | v) as far as Fisher scoring knows it."""

        def one(key: Array, peak: Peak, v: Array, observed: Any) -> tuple[Array, Array]:
            return peak.mean, peak.covariance

        return Gaussian(*for_rows(self, one, jax.random.key(0), batch, 1))

    def draw_posterior(self, key: Key, batch: Batch, draws: int = _DRAWS) -> WeightedDraws:
        """Draw z from that Gaussian, with the weights p(v, z) / q(z | v)."""

        def one(key: Array, peak: Peak, v: Array, observed: Any) -> tuple[Array, Array]:
            h, log_q = peak.draw(key, draws)
            return h, weigh(self, h, log_q, v, observed)

        return WeightedDraws(*for_rows(self, one, as_key(key), batch, draws))

    def estimate_log_likelihood(self, batch: Batch, key: Any = None, draws: int = _DRAWS) -> Estimate:
        """Return log p(v) of what is observed, by importance: on average at most the true one, nearer with draws."""

        def one(key: Array, peak: Peak, v: Array, observed: Any) -> Array:
            return weigh(self, *peak.draw(key, draws), v, observed)

        return average_weights(for_rows(self, one, as_key(0 if key is None else key), batch, draws))

    def estimate_surprises(self, batch: Batch, key: Any = None, draws: int = _DRAWS) -> Float[Array, "rows columns"]:
        """Return −log p(entry | the rest of its row) in nats: each entry is left out, and z looked for without it.

        Draws of p(z | v), weighted by 1 / p(entry | z), would do in one go, but are too narrow for the rest of a row
        where an entry says much of z.
        """
        whole = self.estimate_log_likelihood(batch, key, draws).value

        def without(column: Array) -> Array:
            return self.estimate_log_likelihood(batch.without_column(column), key, draws).value - whole

        found: Array = jax.lax.map(without, jnp.arange(self.kind.columns))
        return found.T

    # --- points -----------------------------------------------------------------------------------------

    def sample_joint(self, key: Key, shape: Shape = ()) -> tuple[Array, Array]:
        """Draw (z, v)."""
        first, second = jax.random.split(as_key(key))
        shape, dtype = as_shape(shape), eqx.filter_eval_shape(self.decoder, np.zeros(self.n_latents, np.float32)).dtype
        h = jax.random.normal(first, (*shape, self.n_latents), dtype)
        vectors = self.free(h).reshape(-1, self.kind.size)
        keys = jax.random.split(second, len(vectors))
        v = jax.vmap(lambda key, vector: self.kind.at("free", vector).sample(key))(keys, vectors)
        return h, v.reshape(*shape, self.kind.columns)

    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "... columns"]:
        """Draw rows."""
        return self.sample_joint(key, shape)[1]

    def impute(self, batch: Batch, key: Array) -> Num[Array, "rows columns"]:
        """Draw what is missing: one of many z by its weight, then the entries given it."""
        if batch.observed is None:
            return jnp.asarray(batch.values)

        def one(key: Array, peak: Peak, v: Array, observed: Any) -> Array:
            first, second = jax.random.split(key)
            z = _completion.resample(self, first, peak, v, observed)
            member = self.kind.at("free", self.decoder(z))
            found: Array = member.impute(Batch(v[None], observed=observed[None]), second)[0]
            return found

        return keep_observed(batch, for_rows(self, one, as_key(key), batch, _DRAWS))

    def expect(self, h: Any) -> Num[Array, "... columns"]:
        """Return what is expected of a row for each z: means, the most probable categories, mean directions."""
        h = jnp.asarray(h)
        row = jnp.zeros((1, self.kind.columns), h.dtype)
        nothing = Batch(row, observed=jnp.zeros(row.shape, bool))
        found = jax.vmap(lambda z: self.kind.at("free", self.decoder(z)).conditional_mean(nothing)[0])(
            h.reshape(-1, self.n_latents)
        )
        return found.reshape(*h.shape[:-1], self.kind.columns)

    def conditional_mean(self, batch: Batch) -> Num[Array, "rows columns"]:
        """Return rows with their missing entries at their means, given what is observed: the average over many z.

        Categories have no mean: they are the most probable ones. That of angles is the mean direction.
        """
        if batch.observed is None:
            return jnp.asarray(batch.values)

        def one(key: Array, peak: Peak, v: Array, observed: Any) -> Array:
            h, log_q = peak.draw(key, _DRAWS)
            share = jax.nn.softmax(weigh(self, h, log_q, v, observed))
            row = Batch(v[None], observed=observed[None])
            each = jax.vmap(lambda z: self.kind.at("free", self.decoder(z)).conditional_embedding(row))(h)
            mean = jax.tree.map(lambda leaf: jnp.tensordot(share, leaf, axes=1), each)
            found: Array = self.kind.at("free", self.decoder(peak.mean)).from_embedding(mean)[0]
            return found

        return keep_observed(batch, for_rows(self, one, jax.random.key(0), batch, _DRAWS))

    def completed(self, batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
        """Return the missing part of rows: z by Fisher scoring, or one of many draws; then the entries given it."""
        return _completion.complete(self, batch, want, temperature, key)
