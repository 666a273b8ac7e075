"""Spins with pairwise interactions, exact by enumeration."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Num
from numpy.typing import NDArray

from kullback.core import Key, MeanStatistics, Shape, as_key, as_shape
from kullback.families._component import Support
from kullback.families._family import NaturalSource
from kullback.families._marginal import Marginal
from kullback.families._unsplittable import NaturalFree
from kullback.numerics import (
    Numeric,
    as_parameter,
    check_finite,
    check_ndim,
    check_values,
    natural_from_expectation,
    pairs,
    share_batch,
)
from kullback.runtime import computing

LARGEST = 20
#: How many states are held at a time.
_BLOCK = 12

Pairs = tuple[tuple[int, int], ...]


class Ising(NaturalSource, NaturalFree):
    """p(x) ∝ exp(Σ h_i x_i + Σ J_ij x_i x_j) for x in {−1, +1}ⁿ, n ≤ 20.

    `interactions` lists the pairs (i, j) that interact, "all" for every pair. With none it is the independence
    model. Coordinates, of length n plus the number of interactions, in their order:

    - source, natural and free: (h_i), (J_ij)
    - statistics T: (x_i), (x_i x_j)
    - expectation: (E[x_i]), (E[x_i x_j])

    >>> spins = Ising(biases=[0.5, -0.5], couplings=[0.3])
    >>> [round(float(e), 3) for e in spins.expectation]
    [0.349, -0.349, 0.083]
    """

    support = Support(lambda x: (x == 1) | (x == -1), "−1 or +1", discrete=True)

    biases: Float[Numeric, "*batch n"]
    couplings: Float[Numeric, "*batch m"]
    interactions: Pairs = eqx.field(static=True)

    def __init__(
        self,
        biases: Any,
        couplings: Any = None,
        interactions: Literal["all"] | Sequence[tuple[int, int]] = "all",
    ):
        biases = as_parameter(biases)
        check_ndim("biases", biases, 1, "at least one axis, the last for the spins")
        n = biases.shape[-1]
        if n > LARGEST:
            raise ValueError(f"biases has {n} spins: enumeration stops at {LARGEST}. For more spins use a sampler.")
        self.interactions = _pair_list(interactions, n)
        m = len(self.interactions)
        couplings = np.zeros((*biases.shape[:-1], m)) if couplings is None else as_parameter(couplings)
        check_ndim("couplings", couplings, 1, "at least one axis, the last for the interactions")
        if couplings.shape[-1] != m:
            raise ValueError(f"couplings has shape {couplings.shape}: {m} interactions need {m} on the last axis.")
        check_finite("biases", biases)
        check_finite("couplings", couplings)
        self.biases, self.couplings = share_batch(("biases", biases), ("couplings", couplings), (1, 1))

    @property
    def size(self) -> int:
        return self.biases.shape[-1] + len(self.interactions)

    @classmethod
    def plain(cls, members: int, columns: int, categories: int = 0, trials: int = 0) -> Self:
        return cls(np.zeros((members, columns)))

    @classmethod
    def least_parameters(cls, columns: int, categories: int = 0) -> int:
        return columns * (columns + 1) // 2

    @property
    def column_means(self) -> Any:
        return self.mean

    @property
    def mean(self) -> Float[Array, "*batch n"]:
        """The mean of each spin."""
        return self.expectation[..., : self.biases.shape[-1]]

    @property
    def variance(self) -> Float[Array, "*batch n"]:
        """The variance 1 − E[x_i]² of each spin."""
        return (1 - self.mean) * (1 + self.mean)

    @property
    def mode(self) -> Num[Array, "*batch n"]:
        """The state of lowest energy."""
        return jnp.vectorize(self._one_mode, signature="(d)->(n)")(self.natural)

    @classmethod
    def _start(cls, values: Numeric, interactions: Any = "all") -> Self:
        return cls(np.zeros(values.shape[-1]), interactions=interactions)

    def _refusal(self) -> str | None:
        finite = np.all(np.isfinite(self.source))
        return None if finite else "some spins, or pairs of them, are always alike, and its parameters are infinite."

    def marginals(self, totals: NDArray[Any] | None = None) -> list[Marginal]:
        with computing():
            up = (1 + np.asarray(self.column_means)) / 2
        words = "probability of +1 {probability}"
        return [Marginal.of_table([-1, 1], np.stack([1 - p, p], axis=1), words, {"probability": p}) for p in up.T]

    @property
    def interior(self) -> Bool[Array, "*batch"]:
        return jnp.all(jnp.isfinite(self.source), axis=-1)

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        spin = jnp.all((x == 1) | (x == -1), axis=-1)
        value = jnp.sum(self.natural * self.statistics(x), axis=-1) - self.log_partition
        return jnp.where(spin, value, -jnp.inf)

    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
        n = self.event_shape[0]
        count = int(np.prod(shape))
        members = self.natural.reshape(-1, self.size)
        keys = jax.random.split(key, members.shape[0])

        def one(member: tuple[Array, Array]) -> Array:
            key, theta = member
            logits = _scan_states(theta, n, self.interactions, lambda t, logits: logits, stack=True).reshape(-1)
            ladder = jnp.cumsum(jnp.exp(logits - jnp.max(logits)))
            level = jax.random.uniform(key, (count,), theta.dtype) * ladder[-1]
            return _spins(jnp.searchsorted(ladder, level, side="right"), n).astype(int)

        drawn = jax.lax.map(one, (keys, members))  # members, count, n
        return jnp.moveaxis(drawn, 0, 1).reshape(*shape, *self.batch_shape, n)

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        return _features(jnp.asarray(x, dtype=jnp.asarray(self.biases).dtype), self.interactions)

    @property
    def source(self) -> Float[Array, "*batch d"]:
        return jnp.concatenate([self.biases, self.couplings], axis=-1)

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        if not self.interactions:
            return _tanh(jnp.asarray(self.biases))
        return jnp.vectorize(self._one_expectation, signature="(d)->(d)")(self.natural)

    @classmethod
    def _from_source(cls, source: Numeric, interactions: Any = "all") -> Self:
        n = _spin_count(source.shape[-1], interactions)
        return cls(source[..., :n], source[..., n:], interactions)

    @classmethod
    def _from_expectation(cls, expectation: Numeric, interactions: Any = "all") -> Self:
        check_values("expectation", expectation, lambda v: np.abs(v) < 1, "in (−1, 1)")
        n = _spin_count(expectation.shape[-1], interactions)
        independent = _arctanh(jnp.asarray(expectation)[..., :n])
        listed = _pair_list(interactions, n)
        if not listed:
            return cls(independent, jnp.zeros((*independent.shape[:-1], 0)), listed)
        start = jnp.concatenate([independent, jnp.zeros_like(expectation[..., n:])], axis=-1)
        theta = natural_from_expectation(_member_of(cls, listed), start, jnp.asarray(expectation))
        check_values("theta", theta, np.isfinite, "finite: no distribution on spins has these expectations")
        return cls._from_source(theta, listed)

    @classmethod
    def _density_natural(cls, natural: Array, x: Array, interactions: Any = "all") -> Float[Array, "..."]:
        return cls._from_source(natural, interactions).log_prob(x)

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        if not self.interactions:
            return jnp.sum(jnp.logaddexp(self.biases, -jnp.asarray(self.biases)), axis=-1)
        return jnp.vectorize(self._one_log_partition, signature="(d)->()")(self.natural)

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        return -self.dual_potential

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        return jnp.vectorize(self._one_covariance, signature="(d)->(d,d)")(self.natural)

    def _fisher_expectation(self) -> Float[Array, "*batch d d"]:
        inverse = jnp.linalg.inv(self._fisher_natural())
        return 0.5 * (inverse + jnp.swapaxes(inverse, -1, -2))

    def toward(self, y: Any) -> Float[Array, "... d"]:
        if self.interactions:
            return super().toward(y)
        # (y − η)/(1 − η²) with y² = 1
        return 1 / (jnp.asarray(y, jnp.asarray(self.biases).dtype) + self.expectation)

    # --- sums over all states, one member at a time -----------------------------------------------------

    def _one_log_partition(self, theta: Float[Array, " d"]) -> Float[Array, ""]:
        n, listed = self.event_shape[0], self.interactions
        parts = _scan_states(theta, n, listed, lambda t, logits: jax.nn.logsumexp(logits), stack=True)
        return jax.nn.logsumexp(parts)

    def _one_expectation(self, theta: Float[Array, " d"]) -> Float[Array, " d"]:
        log_z = self._one_log_partition(theta)

        def sums(t: Array, logits: Array) -> Array:
            return jnp.exp(logits - log_z) @ t

        return _scan_states(theta, self.event_shape[0], self.interactions, sums)

    def _one_mode(self, theta: Float[Array, " d"]) -> Num[Array, " n"]:
        n = self.event_shape[0]
        logits = _scan_states(theta, n, self.interactions, lambda t, logits: logits, stack=True).reshape(-1)
        return _spins(jnp.argmax(logits), n)

    def _one_covariance(self, theta: Float[Array, " d"]) -> Float[Array, "d d"]:
        log_z, mean = self._one_log_partition(theta), self._one_expectation(theta)

        def sums(t: Array, logits: Array) -> Array:
            away = t - mean
            return (away * jnp.exp(logits - log_z)[:, None]).T @ away

        return _scan_states(theta, self.event_shape[0], self.interactions, sums)

    # --- a model with nothing hidden --------------------------------------------------------------------

    def tempered(self, temperature: float) -> Self:
        """Return the spins with 1/T times the biases and couplings."""
        return jax.tree.map(lambda leaf: jnp.asarray(leaf) / temperature, self)

    def _from_statistics(self, statistics: MeanStatistics) -> Self:
        nearest = type(self)._from_expectation(jnp.asarray(statistics.mean), self.interactions)
        return eqx.tree_at(lambda i: (i.biases, i.couplings), self, (nearest.biases, nearest.couplings))


# The slopes of tanh and its inverse, both from the factors of 1 − η². Close to a vertex η has few digits left of its
# distance to ±1, but the two slopes have the same ones, and cancel.


@jax.custom_jvp
def _tanh(bias: Array) -> Array:
    return jnp.tanh(bias)


@_tanh.defjvp
def _tanh_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    eta = _tanh(primals[0])
    return eta, tangents[0] * ((1 - eta) * (1 + eta))


@jax.custom_jvp
def _arctanh(eta: Array) -> Array:
    return jnp.arctanh(eta)


@_arctanh.defjvp
def _arctanh_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    eta = primals[0]
    return _arctanh(eta), tangents[0] / ((1 - eta) * (1 + eta))


def _pair_list(interactions: Any, n: int) -> Pairs:
    if isinstance(interactions, str):
        if interactions != "all":
            raise ValueError(f"interactions is {interactions!r}: it must be 'all' or a list of pairs (i, j).")
        return tuple((int(i), int(j)) for i, j in zip(*pairs(n), strict=True))
    for place, pair in enumerate(interactions):
        if len(tuple(pair)) != 2:
            raise ValueError(f"interactions[{place}] is {tuple(pair)}: it must be two different spins.")
    listed = tuple((int(i), int(j)) for i, j in interactions)
    for place, (i, j) in enumerate(listed):
        if not (0 <= i < n and 0 <= j < n and i != j):
            raise ValueError(f"interactions[{place}] is {(i, j)}: it must be two different spins in 0…{n - 1}.")
        if {i, j} in [set(pair) for pair in listed[:place]]:
            raise ValueError(f"interactions[{place}] is {(i, j)}: the pair is listed twice.")
    return listed


def _spin_count(size: int, interactions: Any) -> int:
    if not isinstance(interactions, str):
        if size <= len(interactions):
            raise ValueError(f"{size} coordinates do not fit {len(interactions)} interactions: each spin adds one.")
        return size - len(interactions)
    n = int((np.sqrt(1 + 8 * size) - 1) / 2 + 0.5)
    if n * (n + 1) // 2 != size:
        raise ValueError(f"{size} coordinates do not fit: n spins that all interact have n(n+1)/2.")
    return n


@functools.cache
def _member_of(cls: type[Ising], interactions: Pairs) -> Callable[[Array], Ising]:
    return lambda theta: cls._from_source(theta, interactions)


def _features(x: Float[Array, "... n"], interactions: Pairs) -> Float[Array, "... d"]:
    i, j = np.array(interactions, dtype=int).reshape(-1, 2).T
    return jnp.concatenate([x, x[..., i] * x[..., j]], axis=-1)


def _spins(index: Num[Array, "..."], n: int) -> Num[Array, "... n"]:
    return 2 * ((index[..., None] >> jnp.arange(n)) & 1) - 1


def _scan_states(
    theta: Float[Array, " d"],
    n: int,
    interactions: Pairs,
    of_block: Callable[[Array, Array], Array],
    stack: bool = False,
) -> Array:
    """Go through all 2ⁿ states in blocks; sum (or stack) what `of_block(features, logits)` says of each."""
    width = min(n, _BLOCK)
    offsets = jnp.arange(2 ** (n - width)) << width

    @jax.checkpoint  # the features of all blocks together would not fit into memory
    def block(offset: Array) -> Array:
        features = _features(_spins(offset + jnp.arange(2**width), n).astype(theta.dtype), interactions)
        return of_block(features, features @ theta)

    if stack:
        return jax.lax.map(block, offsets)
    zero = jnp.zeros_like(jax.eval_shape(block, offsets[0]))
    total, _ = jax.lax.scan(lambda sum_, offset: (sum_ + block(offset), None), zero, offsets)
    return total
