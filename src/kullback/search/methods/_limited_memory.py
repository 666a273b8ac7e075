"""Limited-memory matrix adaptation: a shape remembered by a few directions, for a thousand coordinates and more."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from kullback.families import Gaussian
from kullback.search.methods._method import Method, check_evaluations, standard_population
from kullback.search.methods._ranking import effective_number, places, positive_weights
from kullback.search.methods._steps import clip_scale, shortening


class LimitedMemoryState(NamedTuple):
    """The mean, the step, the path of steps, and the directions: paths of different lengths."""

    key: Array
    mean: Float[Array, " n"]
    step: Float[Array, ""]
    path: Float[Array, " n"]
    directions: Float[Array, "k n"]
    generation: Int[Array, ""]


class LimitedMemoryCMA(Method):
    """Matrix adaptation with k = 4 + ⌊3 ln n⌋ directions in place of a matrix: O(n·log n) numbers for each point.

    x = m + σ·S·D·z with z ~ N(0, I), S the given scales, and D the product of k factors (1 − aⱼ)·I + aⱼ·dⱼdⱼᵀ. Each
    direction dⱼ is a path of the better points' mean z, the next one with a memory four times as long, so that together
    they know what has worked lately and for long. All factors are sums of the identity and products of directions, so
    D = c·I + dᵀKd with K of k × k numbers: drawing is two products of matrices, and so is its inverse, which is needed
    for points from elsewhere.

    Loshchilov, Glasmachers, Beyer, Large scale black-box optimization by limited-memory matrix adaptation (2019).

    >>> import jax
    >>> search = LimitedMemoryCMA(mean=[1.0] * 2000)
    >>> points, state = search.ask(search.init(jax.random.key(0)))
    >>> points.shape, state.directions.shape
    ((26, 2000), (26, 2000))
    """

    def init(self, key: Array) -> LimitedMemoryState:
        """Return the state before the first population."""
        mean = jnp.asarray(self.mean)
        return LimitedMemoryState(
            key=key,
            mean=mean,
            step=jnp.ones((), mean.dtype),
            path=jnp.zeros_like(mean),
            directions=jnp.zeros((standard_population(mean.size), mean.size), mean.dtype),
            generation=jnp.zeros((), jnp.int32),
        )

    def ask(self, state: LimitedMemoryState) -> tuple[Float[Array, "population n"], LimitedMemoryState]:
        """Draw x = m + σ·S·D·z."""
        key, draw = jax.random.split(state.key)
        z = jax.random.normal(draw, (self.population, self.dimension), state.mean.dtype)
        y = apply_shape(state, factors(state), z)
        return state.mean + state.step * jnp.asarray(self.scale, state.mean.dtype) * y, state._replace(key=key)

    def tell(self, state: LimitedMemoryState, points: Any, values: Any) -> LimitedMemoryState:
        """Move the mean, and extend all paths by the better points' mean z."""
        points, values = check_evaluations(points, values, state.mean)
        m, n = points.shape
        shape, scale = factors(state), jnp.asarray(self.scale, state.mean.dtype)
        z = apply_inverse(state, shape, (points - state.mean) / (state.step * scale))
        z = z * shortening(z)[:, None]
        weights = positive_weights(m)
        effective = effective_number(weights)
        move = jnp.asarray(weights, z.dtype)[places(values)] @ z

        rate = min(2 * m / n, (effective + 2) / (n + effective + 5) if n < 2 * m else 1.0)
        path = (1 - rate) * state.path + math.sqrt(effective * rate * (2 - rate)) * move
        memory = np.minimum(m / n / 4.0 ** np.arange(len(state.directions)), 0.5)
        keep = jnp.asarray(1 - memory, z.dtype)[:, None]
        gain = jnp.asarray(np.sqrt(effective * memory * (2 - memory)), z.dtype)[:, None]
        growth = jnp.minimum(1, 0.5 * rate * (jnp.mean(jnp.square(path)) - 1))
        return LimitedMemoryState(
            key=state.key,
            mean=state.mean + state.step * scale * apply_shape(state, shape, move[None])[0],
            step=clip_scale(state.step * jnp.exp(growth)),
            path=path,
            directions=keep * state.directions + gain * move,
            generation=state.generation + 1,
        )

    def distribution(self, state: LimitedMemoryState) -> Gaussian:
        """Return N(m, σ²·S·DDᵀ·S), with n² numbers."""
        root = apply_shape(state, factors(state), jnp.eye(self.dimension, dtype=state.mean.dtype))
        root = state.step * root * jnp.asarray(self.scale, state.mean.dtype)
        return Gaussian(state.mean, root.T @ root)

    def spread(self, state: LimitedMemoryState) -> Float[Array, " n"]:
        """Return the standard deviation of each coordinate, from the k directions."""
        size, inner = factors(state)
        d = state.directions
        left, right = inner.T @ d, inner @ (d @ d.T) @ inner.T @ d
        square = jnp.square(size) + jnp.sum(d * (2 * size * left + right), axis=0)
        lengths = jnp.sqrt(jnp.maximum(square, jnp.finfo(square.dtype).tiny))
        return state.step * jnp.asarray(self.scale, state.mean.dtype) * lengths

    def condition(self, state: LimitedMemoryState) -> Float[Array, ""]:
        """Return the condition number of DDᵀ: that in the span of the directions, and of the identity beside it."""
        size, inner = factors(state)
        basis, upper = jnp.linalg.qr(state.directions.T)
        small = size * jnp.eye(basis.shape[1], dtype=size.dtype) + upper @ inner @ upper.T
        lengths = jnp.linalg.svd(small, compute_uv=False)
        if self.dimension > len(state.directions):
            lengths = jnp.append(lengths, size)
        return jnp.square(jnp.max(lengths) / jnp.min(lengths))


Shape = tuple[Float[Array, ""], Float[Array, "k k"]]


def factors(state: LimitedMemoryState) -> Shape:
    """Return c and K of D = Π((1 − aⱼ)·I + aⱼ·dⱼdⱼᵀ) = c·I + dᵀKd; the directions join one by one."""
    k, n = state.directions.shape
    rates = jnp.asarray(np.minimum(1 / n / 1.5 ** np.arange(k), 0.25), state.mean.dtype)
    rates = jnp.where(np.arange(k) < state.generation, rates, 0)
    products = state.directions @ state.directions.T

    def factor(shape: Shape, at: tuple[Array, Array, Array]) -> tuple[Shape, None]:
        size, inner = shape
        rate, row, place = at
        new = rate * (size * place + row @ inner)
        return ((1 - rate) * size, (1 - rate) * inner + place[:, None] * new), None

    start = (jnp.ones((), rates.dtype), jnp.zeros((k, k), rates.dtype))
    return jax.lax.scan(factor, start, (rates, products, jnp.eye(k, dtype=rates.dtype)))[0]


def apply_shape(state: LimitedMemoryState, shape: Shape, z: Float[Array, "m n"]) -> Float[Array, "m n"]:
    """Return D·z."""
    size, inner = shape
    return size * z + (z @ state.directions.T @ inner.T) @ state.directions


def apply_inverse(state: LimitedMemoryState, shape: Shape, y: Float[Array, "m n"]) -> Float[Array, "m n"]:
    """Return D⁻¹y = (y − dᵀ(c·I + K·ddᵀ)⁻¹K·d·y) / c."""
    size, inner = shape
    d = state.directions
    small = size * jnp.eye(len(d), dtype=d.dtype) + inner @ (d @ d.T)
    return (y - jnp.linalg.solve(small, inner @ (d @ y.T)).T @ d) / size
