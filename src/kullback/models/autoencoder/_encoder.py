"""The encoder: from what is observed of a row to a guess of what is hidden."""

from collections.abc import Sequence
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Batch, Fixed
from kullback.families import DiagonalGaussian, OutputKind
from kullback.models.conditional import Network
from kullback.numerics import Numeric
from kullback.runtime import as_numpy, quick_jit

#: Draws of the marginal that say how far embeddings spread, where no rows do.
_DRAWS = 1024
#: An embedding that spreads less, in units of itself, is a constant.
_LEAST = 1e-6


class Encoder(eqx.Module):
    """From rows to the free coordinates (mean, log σ) of a Gaussian with independent coordinates, for each row.

    The network sees the embedding of a row, standardized: numbers as they are, indicators of categories, angles as
    points of the circle. What is missing is put where the marginal expects it, given what is observed, and `missing`,
    a matrix, shifts the first layer for the entries that are. It is None where the encoder began with whole rows: then
    it does not learn which entries are missing, and its guesses of rows that lack some are poorer.
    """

    network: Network
    missing: Float[Numeric, "units columns"] | None
    marginal: Fixed  # the free coordinates of the distribution of rows without what is hidden
    kind: OutputKind = eqx.field(static=True)

    @classmethod
    def start(
        cls,
        member: Any,
        n_latents: int,
        widths: Sequence[int],
        *,
        rows: Batch | None = None,
        seed: int = 0,
        activation: str = "relu",
        dtype: Any = np.float32,
    ) -> Self:
        """Return an encoder that begins at the prior N(0, I), whatever the row is.

        The member is that of a family, fitted to the rows alone; `rows` say how far embeddings spread, and without them
        its draws do. Unless they lack entries, there is no matrix for those that are missing.
        """
        free = np.asarray(member.coordinates("free"), np.float64)
        center, scale = _moments(member.kind, free, rows, seed)
        prior = DiagonalGaussian(np.zeros(n_latents), np.ones(n_latents))
        network = Network.start(
            prior, len(center), widths, seed=seed, center=center, scale=scale, activation=activation, dtype=dtype
        )
        units, columns = len(network.layers[0].weight), member.kind.columns
        most = 1 / np.sqrt(columns)
        drawn = np.random.default_rng([seed, 1]).uniform(-most, most, (units, columns)).astype(dtype)
        if not widths:
            drawn = np.zeros_like(drawn)  # the only layer is the last: it begins at the prior
        lacking = rows is not None and rows.observed is not None
        return cls(network, drawn if lacking else None, Fixed(free.astype(dtype)), member.kind)

    def __call__(self, v: Any, observed: Any = None) -> Float[Array, "rows _"]:
        """Return the free coordinates for each row."""
        seen = embed(self.kind, self.marginal.value, v, observed)
        if observed is None or self.missing is None:
            return jax.vmap(self.network)(seen)
        absent = 1 - jnp.asarray(observed).reshape(len(seen), -1).astype(seen.dtype)
        return jax.vmap(self.network)(seen, absent @ jnp.asarray(self.missing).T)


def embed(kind: OutputKind, free: Any, v: Any, observed: Any) -> Float[Array, "rows features"]:
    """Return rows as numbers that average, with what is missing at what the member with these coordinates expects."""
    free = jnp.asarray(free)
    leaves = jax.tree.leaves(kind.at("free", free).conditional_embedding(Batch(v, observed=observed)))
    return jnp.concatenate([leaf.reshape(leaf.shape[0], -1).astype(free.dtype) for leaf in leaves], axis=1)


def _moments(kind: OutputKind, free: np.ndarray, rows: Batch | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what the marginal expects of an embedding, and how far it spreads around that."""
    values, observed = (None, None) if rows is None else (rows.values, rows.observed)
    if values is None:
        values = as_numpy(_draw(kind, free, jax.random.key(seed)))
        values = values.reshape(len(values), -1) if kind.columns > 1 else values
    center, away = as_numpy(_compared(kind, free, values, observed))
    scale = np.sqrt(np.mean(np.square(away), axis=0))
    return center, np.where(scale > _LEAST * np.maximum(np.abs(center), 1e-30), scale, 0)


def _draw_points(kind: OutputKind, free: Any, key: Any) -> Any:
    return kind.at("free", free).sample(key, (_DRAWS,))


def _compare(kind: OutputKind, free: Any, v: Any, observed: Any) -> tuple[Array, Array]:
    nothing = jnp.zeros(jnp.shape(v[:1]), bool)
    center = embed(kind, free, v[:1], nothing)[0]
    return center, embed(kind, free, v, observed) - center


_draw = quick_jit(_draw_points, static_argnums=0)
_compared = quick_jit(_compare, static_argnums=0)
