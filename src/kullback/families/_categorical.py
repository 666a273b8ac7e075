"""One of K categories."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr, xlogy
from jaxtyping import Array, Bool, Float, Num
from numpy.typing import NDArray

from kullback.core import Key, MeanStatistics, Shape, as_key, as_shape
from kullback.families._component import Support, is_whole
from kullback.families._family import ExpectationSource, Kind
from kullback.families._marginal import Marginal
from kullback.families._scalar import ScalarFamily
from kullback.families._unsplittable import NaturalFree
from kullback.numerics import (
    LinearForm,
    Numeric,
    as_parameter,
    check_interior,
    check_ndim,
    check_probabilities,
    entropy_excess,
    is_concrete,
    log_or_lowest,
)

#: Numbers that stand for a category at most, where clusters are looked for.
_INDICATORS = 256


class Categorical(ExpectationSource, NaturalFree, ScalarFamily):
    """P(x = k) = p_k for x in {0, …, K−1}.

    Coordinates, each of length K−1; the last category is the reference:

    - source and expectation: p₀, …, p_{K−2}
    - statistics T: [x = 0], …, [x = K−2]
    - natural and free: log(p_k / p_{K−1})

    >>> Categorical(probabilities=[0.5, 0.25, 0.25]).natural.round(3).tolist()
    [0.693..., 0.0]
    """

    support = Support(is_whole, "a category 0, 1, 2, …", discrete=True, codes=True)

    probabilities: Float[Numeric, "*batch k"]

    def __init__(self, probabilities: Any):
        self.probabilities = as_parameter(probabilities)
        check_ndim("probabilities", self.probabilities, 1, "at least one axis, the last for the categories")
        check_probabilities("probabilities", self.probabilities)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.probabilities.shape[:-1]

    @property
    def size(self) -> int:
        return self.probabilities.shape[-1] - 1

    @property
    def codes(self) -> int:
        return self.probabilities.shape[-1]

    @classmethod
    def standard(cls, shape: tuple[int, ...], categories: int = 0) -> Self:
        return cls(np.full((*shape, max(categories, 2)), 1 / max(categories, 2)))

    @classmethod
    def least_parameters(cls, columns: int, categories: int = 0) -> int:
        return columns * max(categories, 1)

    @classmethod
    def cluster_view(cls, column: NDArray[Any], categories: int = 0) -> NDArray[Any]:
        """Return an indicator of each category, or, of very many categories, random directions about as far apart."""
        if categories <= _INDICATORS:
            return (np.arange(categories) == column[:, None]).astype(float)
        directions = np.random.default_rng(0).normal(0, _INDICATORS**-0.5, (categories + 1, _INDICATORS))
        directions[categories] = 0  # of an entry that is no category: the mean that stands for a missing one
        known = (column == np.floor(column)) & (column < categories)
        return directions[np.where(known, column, categories).astype(np.int64)]

    @property
    def column_means(self) -> Any:
        return np.asarray(self.probabilities) @ np.arange(self.codes)

    @property
    def mean(self) -> Any:
        """There is none: the numbers of categories are names."""
        raise AttributeError(
            "A Categorical has no mean, for its numbers are names: see its probabilities, or its mode."
        )

    @property
    def variance(self) -> Any:
        """There is none: the numbers of categories are names."""
        raise AttributeError("A Categorical has no variance, for its numbers are names: see its probabilities.")

    @property
    def mode(self) -> Num[Array, "*batch"]:
        """The most probable category; of several, the first."""
        return self.from_embedding(jnp.asarray(self.probabilities))

    def cdf(self, x: Any) -> Any:
        """There is none: the numbers of categories are names."""
        raise TypeError("A Categorical has no distribution function, for its numbers are names, in no order.")

    @classmethod
    def _fit_structure(cls, kind: Kind) -> dict[str, Any]:
        return {"categories": kind.size + 1}

    @classmethod
    def _start(cls, values: Numeric, categories: int | None = None) -> Self:
        seen = int(np.max(values)) + 1 if is_concrete(values) else 0
        if categories is not None and categories < seen:
            raise ValueError(f"x has category {seen - 1}, and categories is {categories}: they are counted from 0.")
        if categories is None and not is_concrete(values):
            raise ValueError("x is being traced, so the number of categories has to be given.")
        return cls.standard((), seen if categories is None else categories)

    def embed(self, x: Any) -> Float[Array, "... k"]:
        return self.extended_statistics(x)

    @property
    def mean_embedding(self) -> Float[Array, "*batch k"]:
        return self.extended_expectation

    def from_embedding(self, embedding: Any) -> Num[Array, "..."]:
        """Return the most probable category; of several, the first."""
        return jnp.argmax(embedding, axis=-1)

    @property
    def visible_levels(self) -> tuple[tuple[float, ...], ...]:
        return (tuple(map(float, range(self.codes))),)

    def tempered(self, temperature: float) -> Self:
        """Return the distributions in proportion to p^(1/T)."""
        shares = jax.nn.softmax(jnp.log(self.probabilities) / temperature, axis=-1)
        return eqx.tree_at(lambda c: c.probabilities, self, shares)

    def raise_zeros(self, least: float) -> Self:
        return eqx.tree_at(lambda c: c.probabilities, self, positive_shares(self.probabilities, least))

    def marginal(self) -> Marginal:
        p = np.asarray(self.probabilities)[:, 0]
        return Marginal.of_table(range(self.codes), p, "", {})._replace(codes=self.codes)

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
        features = self.extended_statistics(x)
        base = jnp.where(jnp.any(features > 0, axis=-1), jnp.zeros((), features.dtype), -jnp.inf)
        return LinearForm(features, log_or_lowest(self.probabilities), base)

    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
        logits = jnp.log(self.probabilities)
        return jax.random.categorical(key, logits, shape=shape + self.batch_shape)

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        return self.extended_statistics(x)[..., :-1]

    def extended_statistics(self, x: Any) -> Float[Array, "... k"]:
        """Return all K indicators: the last frequency is not one minus the others, so it keeps its digits."""
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

    @classmethod
    def _from_source(cls, source: Numeric) -> Self:
        source = jnp.asarray(source)
        last = 1 - jnp.sum(source, axis=-1, keepdims=True)
        rounding = 4 * source.shape[-1] * np.finfo(source.dtype).eps
        return cls(jnp.concatenate([source, jnp.where(jnp.abs(last) < rounding, jnp.maximum(last, 0), last)], axis=-1))

    @classmethod
    def _from_natural(cls, natural: Numeric) -> Self:
        return cls(jax.nn.softmax(with_reference(natural), axis=-1))

    @classmethod
    def _density_natural(cls, natural: Array, x: Array) -> Float[Array, "..."]:
        log_p = jax.nn.log_softmax(with_reference(natural), axis=-1)
        last = log_p.shape[-1] - 1
        index = jnp.clip(x, 0, last).astype(int)
        # a sum, for the gradient of looking up is to scatter
        value = jnp.sum(jnp.where(index[..., None] == jnp.arange(last + 1), log_p, 0), axis=-1)
        return jnp.where(x == index, value, -jnp.inf)

    def toward(self, y: Any) -> Float[Array, "... d"]:
        check_interior("probabilities", self.probabilities, lambda p: p > 0)
        gaps = self.extended_statistics(y) / self.probabilities
        return gaps[..., :-1] - gaps[..., -1:]

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

    @property
    def extended_expectation(self) -> Float[Array, "*batch k"]:
        return jnp.asarray(self.probabilities)

    def _from_statistics(self, statistics: MeanStatistics) -> Self:
        return eqx.tree_at(lambda c: c.probabilities, self, statistics.mean)

    def cross_entropy(self, statistics: MeanStatistics) -> Float[Array, "*batch"]:
        return -jnp.multiply(statistics.mass, jnp.sum(xlogy(statistics.mean, self.probabilities), axis=-1))


def with_reference(natural: Numeric) -> Float[Array, "*batch k"]:
    natural = jnp.asarray(natural)
    return jnp.concatenate([natural, jnp.zeros_like(natural[..., :1])], axis=-1)


def positive_shares(probabilities: Any, least: float) -> NDArray[Any]:
    """Return probabilities with a little for those that are none; where all are some, as they are."""
    probabilities = np.asarray(probabilities)
    if (probabilities > 0).all():
        return probabilities
    raised = np.maximum(probabilities, least)
    return raised / raised.sum(axis=-1, keepdims=True)


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
