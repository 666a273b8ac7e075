"""A memory of a few states, with a table for everything."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from kullback.core import Key, Shape, as_key, as_shape
from kullback.families import Categorical, Kind
from kullback.models.process._mutable_process import MutableProcess
from kullback.numerics import Numeric, as_parameter, check_finite


class TabularMemory(MutableProcess):
    """K memories and X symbols; tables of logits, of which a softmax over the last axis makes probabilities.

    Parameters
    ----------
    memory_logits : array of shape (K, X, K)
        Those of q(z' | z, x).
    expected_logits : array of shape (K, X, K)
        Those of p(z' | z, x).
    prediction_logits : array of shape (K, X, X)
        Those of p(x' | z, x).

    Examples
    --------
    >>> process = TabularMemory(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), np.zeros((2, 2, 2)))
    >>> float(process.prediction(0, 1).probabilities[0])
    0.5

    """

    memory_logits: Float[Numeric, "k x k"]
    expected_logits: Float[Numeric, "k x k"]
    prediction_logits: Float[Numeric, "k x x"]

    def __init__(self, memory_logits: Any, expected_logits: Any, prediction_logits: Any):
        self.memory_logits, self.expected_logits = as_parameter(memory_logits), as_parameter(expected_logits)
        self.prediction_logits = as_parameter(prediction_logits)
        k, symbols = (*np.shape(self.prediction_logits), 0, 0)[:2]
        shapes = [np.shape(leaf) for leaf in (self.memory_logits, self.expected_logits, self.prediction_logits)]
        if k < 2 or symbols < 2 or shapes != [(k, symbols, k), (k, symbols, k), (k, symbols, symbols)]:
            raise ValueError(
                f"the logits have shapes {shapes}: of K memories and X symbols, two at least of each, they are "
                "(K, X, K), (K, X, K) and (K, X, X)."
            )
        check_finite("memory_logits", self.memory_logits)
        check_finite("expected_logits", self.expected_logits)
        check_finite("prediction_logits", self.prediction_logits)

    @classmethod
    def random(cls, memories: int, symbols: int, key: Key, scale: float = 1.0) -> Self:
        """Return a process to begin with: the memory moves by random tables, p expects that, and any symbol."""
        drawn = scale * jax.random.normal(as_key(key), (memories, symbols, memories))
        return cls(drawn, drawn, jnp.zeros((memories, symbols, symbols)))

    @property
    def memory_kind(self) -> Kind:
        """One of K categories."""
        return Kind(Categorical, self.n_states - 1, ())

    @property
    def visible_kind(self) -> Kind:
        """One of X categories."""
        return Kind(Categorical, self.prediction_logits.shape[-1] - 1, ())

    @property
    def origin(self) -> Int[np.ndarray, ""]:
        """The last memory, which is the reference of the others."""
        return np.asarray(self.n_states - 1)

    @property
    def n_states(self) -> int:
        """How many memories there are."""
        return self.prediction_logits.shape[0]

    def states(self) -> Int[Array, " states"]:
        """Return all memories."""
        return jnp.arange(self.n_states)

    def drive(self, x: Any) -> Int[Array, "..."]:
        """Return the symbols as places in a table."""
        return jnp.asarray(x).astype(int)

    def driven_natural(self, z: Any, drive: Any) -> Float[Array, "... d"]:
        """Look up the log odds of q(z' | z, x), against the last memory."""
        return _log_odds(self.memory_logits, z, drive)

    def expected_natural(self, z: Any, x: Any) -> Float[Array, "... d"]:
        """Look up those of p(z' | z, x)."""
        return _log_odds(self.expected_logits, z, x)

    def prediction_free(self, z: Any, x: Any) -> Float[Array, "... d"]:
        """Look up those of p(x' | z, x)."""
        return _log_odds(self.prediction_logits, z, x)

    def embed(self, x: Any) -> Float[Array, "... x"]:
        """Return an indicator of each symbol."""
        logits = jnp.asarray(self.prediction_logits)
        return (jnp.asarray(x)[..., None] == jnp.arange(logits.shape[-1])).astype(logits.dtype)

    @property
    def embedding_size(self) -> int:
        """How many symbols there are."""
        return self.prediction_logits.shape[-1]

    def start(self, key: Key, chains: int) -> Int[Array, " chains"]:
        """Draw memories, all alike."""
        return jax.random.randint(as_key(key), (chains,), 0, self.n_states)

    def noise(self, key: Key, shape: Shape) -> Float[Array, "... k"]:
        """Draw Gumbel variables: the largest of log odds with such noise is a draw."""
        dtype = jnp.asarray(self.memory_logits).dtype
        return jax.random.gumbel(as_key(key), (*as_shape(shape), self.n_states), dtype)

    def step(self, natural: Float[Array, "... d"], noise: Float[Array, "... k"]) -> Int[Array, "..."]:
        """Return the memory of the largest log odds with noise."""
        reference = jnp.zeros_like(natural[..., :1])
        return jnp.argmax(jnp.concatenate([natural, reference], axis=-1) + noise, axis=-1)

    def memory_part(self) -> Any:
        """Return the tree of bools in which `memory_logits` are marked."""
        none = jax.tree.map(lambda _: False, self)
        return eqx.tree_at(lambda process: process.memory_logits, none, True)


def _log_odds(logits: Numeric, z: Any, x: Any) -> Float[Array, "... d"]:
    found = jnp.asarray(logits)[jnp.asarray(z, int), jnp.asarray(x, int)]
    return found[..., :-1] - found[..., -1:]
