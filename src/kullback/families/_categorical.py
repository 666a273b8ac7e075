"""One of K categories."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr, xlogy
from jaxtyping import Array, Bool, Float, Num

from kullback.core import Batch, MeanStatistics
from kullback.families._unsplittable import UnsplittableFamily, gather_means, own_means
from kullback.numerics import (
    LinearForm,
    Numeric,
    as_parameter,
    check_interior,
    check_ndim,
    check_probabilities,
    entropy_excess,
    log_or_lowest,
)


class Categorical(UnsplittableFamily):
    """P(x = k) = p_k for x in {0, …, K−1}.

    Coordinates, each of length K−1; the last category is the reference:

    - source and expectation: p₀, …, p_{K−2}
    - statistics T: [x = 0], …, [x = K−2]
    - natural: log(p_k / p_{K−1})

    >>> Categorical(probabilities=[0.5, 0.25, 0.25]).natural.round(3).tolist()
    [0.693..., 0.0]
    """

    probabilities: Float[Numeric, "*batch k"]

    def __init__(self, probabilities: Any):
        self.probabilities = as_parameter(probabilities)
        check_ndim("probabilities", self.probabilities, 1, "at least one axis, the last for the categories")
        check_probabilities("probabilities", self.probabilities)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.probabilities.shape[:-1]

    @property
    def event_shape(self) -> tuple[int, ...]:
        return ()

    @property
    def size(self) -> int:
        return self.probabilities.shape[-1] - 1

    @property
    def interior(self) -> Bool[Array, "*batch"]:
        return jnp.all(jnp.asarray(self.probabilities) > 0, axis=-1)

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        log_p = jnp.log(self.probabilities)
        x = jnp.asarray(x)
        index = jnp.clip(x, 0, self.size).astype(int)
        shape = jnp.broadcast_shapes(x.shape, self.batch_shape)
        table = jnp.broadcast_to(log_p, (*shape, self.size + 1))
        value = jnp.take_along_axis(table, jnp.broadcast_to(index, shape)[..., None], axis=-1)[..., 0]
        return jnp.where(x == index, value, -jnp.inf)

    def linear_form(self, x: Any) -> LinearForm:
        """Return log p(x) = Σ_k [x = k]·log p_k."""
        features = self._indicators(x)
        base = jnp.where(jnp.any(features > 0, axis=-1), jnp.zeros((), features.dtype), -jnp.inf)
        return LinearForm(features, log_or_lowest(self.probabilities), base)

    def sample(self, key: Array, shape: tuple[int, ...] = ()) -> Num[Array, "..."]:
        logits = jnp.log(self.probabilities)
        return jax.random.categorical(key, logits, shape=shape + self.batch_shape)

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        return self._indicators(x)[..., :-1]

    def _indicators(self, x: Any) -> Float[Array, "... k"]:
        dtype = jnp.asarray(self.probabilities).dtype
        return (jnp.asarray(x)[..., None] == jnp.arange(self.size + 1)).astype(dtype)

    @property
    def source(self) -> Float[Array, "*batch d"]:
        return jnp.asarray(self.probabilities)[..., :-1]

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        check_interior("probabilities", self.probabilities, lambda p: p > 0)
        log_p = jnp.log(self.probabilities)
        return log_p[..., :-1] - log_p[..., -1:]

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        return self.source

    @classmethod
    def _from_source(cls, source: Numeric) -> Self:
        source = jnp.asarray(source)
        last = 1 - jnp.sum(source, axis=-1, keepdims=True)
        rounding = 4 * source.shape[-1] * np.finfo(source.dtype).eps
        return cls(jnp.concatenate([source, jnp.where(jnp.abs(last) < rounding, jnp.maximum(last, 0), last)], axis=-1))

    @classmethod
    def _from_natural(cls, natural: Numeric) -> Self:
        return cls(jax.nn.softmax(_with_reference(natural), axis=-1))

    @classmethod
    def _from_expectation(cls, expectation: Numeric) -> Self:
        return cls._from_source(expectation)

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        check_interior("probabilities", self.probabilities, lambda p: p > 0)
        return -jnp.log(self.probabilities)[..., -1]

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        return jnp.sum(entr(jnp.asarray(self.probabilities)), axis=-1)

    def relative_entropy(self, other: Self) -> Float[Array, "*batch"]:
        return jnp.sum(entropy_excess(self.probabilities, other.probabilities), axis=-1)

    def _fisher_source(self) -> Float[Array, "*batch d d"]:
        return simplex_fisher(self.probabilities)

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        return simplex_covariance(self.probabilities)

    def _fisher_expectation(self) -> Float[Array, "*batch d d"]:
        return simplex_fisher(self.probabilities)

    # The average keeps all K frequencies: the last is not one minus the others, so it keeps its digits.

    def _statistics_of(self, batch: Batch, log_likelihood: Float[Array, "*batch"]) -> MeanStatistics:
        return gather_means(self, batch, self._indicators(batch.values), log_likelihood)

    def _expected_statistics(self, mass: Float[Array, "*batch"]) -> MeanStatistics:
        return own_means(self, mass, jnp.asarray(self.probabilities))

    def _from_statistics(self, statistics: MeanStatistics) -> Self:
        return eqx.tree_at(lambda c: c.probabilities, self, statistics.mean)

    def cross_entropy(self, statistics: MeanStatistics) -> Float[Array, "*batch"]:
        return -jnp.multiply(statistics.mass, jnp.sum(xlogy(statistics.mean, self.probabilities), axis=-1))


def _with_reference(natural: Numeric) -> Float[Array, "*batch k"]:
    natural = jnp.asarray(natural)
    return jnp.concatenate([natural, jnp.zeros_like(natural[..., :1])], axis=-1)


def simplex_fisher(probabilities: Numeric) -> Float[Array, "*batch d d"]:
    """Return diag(1/p_k) + 1/p_{K−1}: the Fisher matrix in the first K−1 probabilities."""
    check_interior("probabilities", probabilities, lambda p: p > 0)
    inverse = 1 / jnp.asarray(probabilities)
    k = inverse.shape[-1] - 1
    return inverse[..., :-1, None] * jnp.eye(k, dtype=inverse.dtype) + inverse[..., -1:, None]


def simplex_covariance(probabilities: Numeric) -> Float[Array, "*batch d d"]:
    """Return diag(p) − ppᵀ: the covariance of the first K−1 indicators."""
    check_interior("probabilities", probabilities, lambda p: p > 0)
    p = jnp.asarray(probabilities)[..., :-1]
    return p[..., :, None] * (jnp.eye(p.shape[-1], dtype=p.dtype) - p[..., None, :])
