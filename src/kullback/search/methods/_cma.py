"""CMA-ES: covariance matrix adaptation with cumulative paths."""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from kullback.families import Gaussian
from kullback.search.methods._method import Method, check_evaluations
from kullback.search.methods._ranking import effective_number, log_weights, places
from kullback.search.methods._steps import clip_scale, mean_length, shortening


class CMAState(NamedTuple):
    """N(mean, step²·covariance), the two paths, and the axes of the covariance as they were when last looked at."""

    key: Array
    mean: Float[Array, " n"]
    step: Float[Array, ""]
    covariance: Float[Array, "n n"]
    basis: Float[Array, "n n"]
    lengths: Float[Array, " n"]
    step_path: Float[Array, " n"]
    shape_path: Float[Array, " n"]
    generation: Int[Array, ""]


class CMA(Method):
    """Evolution strategy with covariance matrix adaptation: x ~ N(m, σ²C), for up to some hundred coordinates.

    With yᵢ = (xᵢ − m)/σ and weights wᵢ from the order of the values, which sum to 1 over the better half and are
    negative over the other (the active update):

    - m ← m + σ·Σ₊ wᵢyᵢ
    - C ← (1 − c₁ − c_μ·Σwᵢ)·C + c₁·ppᵀ + c_μ·Σ wᵢyᵢyᵢᵀ, p the path of the mean's steps
    - σ ← σ·exp((c_σ/d)·(|s|/E|N(0,I)| − 1)), s the path in units of C: longer than by chance, and steps get longer

    The first line and the terms with c_μ in the second are the natural gradient: in expectation coordinates
    ∇̃_η E[u] = Cov(u, T), that is Σ wᵢ(T(xᵢ) − η) for the utility u of an order, taken with rate 1 for the mean and c_μ
    for the covariance (information-geometric optimization). The paths add what one population cannot tell: how steps
    that follow each other are correlated. Rates are those of Hansen, The CMA Evolution Strategy: A Tutorial
    (arXiv:1604.00772).

    The axes of C are found only when C has changed enough to matter, every 1/(n·(c₁ + c_μ)) populations; on a rotated
    ellipsoid of condition 10⁶ even half as often does no harm.

    >>> import jax
    >>> search = CMA(mean=[3.0, -2.0], scale=1.0)
    >>> state = search.init(jax.random.key(0))
    >>> ask, tell = jax.jit(lambda state: search.ask(state)), jax.jit(lambda *args: search.tell(*args))
    >>> for _ in range(60):
    ...     points, state = ask(state)
    ...     state = tell(state, points, (points**2).sum(axis=1))
    >>> bool(abs(state.mean).max() < 1e-3)
    True
    """

    def init(self, key: Array) -> CMAState:
        """Return the state before the first population."""
        mean, scale = jnp.asarray(self.mean), jnp.asarray(self.scale)
        n = mean.size
        step = jnp.exp(jnp.mean(jnp.log(scale)))
        lengths = scale / step
        return CMAState(
            key=key,
            mean=mean,
            step=step,
            covariance=jnp.diag(jnp.square(lengths)),
            basis=jnp.eye(n, dtype=mean.dtype),
            lengths=lengths,
            step_path=jnp.zeros_like(mean),
            shape_path=jnp.zeros_like(mean),
            generation=jnp.zeros((), jnp.int32),
        )

    def ask(self, state: CMAState) -> tuple[Float[Array, "population n"], CMAState]:
        """Draw x = m + σ·B·diag(lengths)·z with z ~ N(0, I)."""
        key, draw = jax.random.split(state.key)
        z = jax.random.normal(draw, (self.population, self.dimension), state.mean.dtype)
        points = state.mean + state.step * ((z * state.lengths) @ state.basis.T)
        return points, state._replace(key=key)

    def tell(self, state: CMAState, points: Any, values: Any) -> CMAState:
        """Move mean, step and covariance towards the better points."""
        points, values = check_evaluations(points, values, state.mean)
        n, m = self.dimension, len(points)
        rate = rates(n, m)
        weights = jnp.asarray(rate.weights, state.mean.dtype)[places(values)]

        y = (points - state.mean) / state.step
        z = (y @ state.basis) / state.lengths
        shorter = shortening(z)[:, None]
        y, z = y * shorter, z * shorter
        up = jnp.maximum(weights, 0)
        move = up @ y

        step_path = (1 - rate.step) * state.step_path + math.sqrt(rate.step * (2 - rate.step) * rate.effective) * (
            state.basis @ (up @ z)
        )
        generation = state.generation + 1
        length = jnp.sqrt(jnp.sum(jnp.square(step_path)))
        settled = 1 - (1 - rate.step) ** (2 * generation.astype(y.dtype))
        # while steps are getting much longer the path says nothing about the shape
        steady = (jnp.square(length) / settled < n * (2 + 4 / (n + 1))).astype(y.dtype)
        shape_path = (1 - rate.path) * state.shape_path + steady * (
            math.sqrt(rate.path * (2 - rate.path) * rate.effective) * move
        )
        # of a bad direction only the direction counts, or one long step could make C indefinite
        down = jnp.minimum(weights, 0) * (n / jnp.maximum(jnp.sum(jnp.square(z), axis=1), 1e-12))
        stall = (1 - steady) * rate.path * (2 - rate.path)
        covariance = (
            (1 - rate.one * (1 - stall) - rate.many * float(np.sum(rate.weights))) * state.covariance
            + rate.one * shape_path[:, None] * shape_path[None, :]
            + rate.many * ((y.T * (up + down)) @ y)
        )
        growth = jnp.minimum(1, (rate.step / rate.damping) * (length / mean_length(n) - 1))
        step = clip_scale(state.step * jnp.exp(growth))
        covariance, basis, lengths = jax.lax.cond(
            generation % rate.wait == 0,
            lambda c: axes((c + c.T) / 2),
            lambda c: (c, state.basis, state.lengths),
            covariance,
        )
        mean = state.mean + state.step * move
        return CMAState(state.key, mean, step, covariance, basis, lengths, step_path, shape_path, generation)

    def distribution(self, state: CMAState) -> Gaussian:
        """Return N(m, σ²C), with C as it was when its axes were last looked at."""
        root = state.step * state.basis * state.lengths
        return Gaussian(state.mean, root @ root.T)

    def spread(self, state: CMAState) -> Float[Array, " n"]:
        """Return σ·√Cᵢᵢ."""
        return state.step * jnp.sqrt(jnp.sum(jnp.square(state.basis * state.lengths), axis=1))

    def condition(self, state: CMAState) -> Float[Array, ""]:
        """Return the condition number of C when its axes were last looked at."""
        return jnp.square(jnp.max(state.lengths) / jnp.min(state.lengths))


class Rates(NamedTuple):
    """Weights by place, their effective number, and the rates of the paths, the covariance and the step."""

    weights: NDArray[np.float64]
    effective: float
    path: float
    one: float
    many: float
    step: float
    damping: float
    wait: int


@functools.cache
def rates(n: int, m: int) -> Rates:
    """Return the standard rates for m points in n dimensions."""
    raw = log_weights(m)
    better, worse = np.maximum(raw, 0), np.maximum(-raw, 0)
    effective, other = effective_number(better), effective_number(worse)
    one = 2 / ((n + 1.3) ** 2 + effective)
    many = min(1 - one, 2 * (0.25 + effective + 1 / effective - 2) / ((n + 2) ** 2 + effective))
    # as much as keeps C's size, as their noise allows, and as keeps C positive definite
    most = min(1 + one / many, 1 + 2 * other / (effective + 2), (1 - one - many) / (n * many))
    step = (effective + 2) / (n + effective + 5)
    return Rates(
        weights=better / better.sum() - most * worse / worse.sum(),
        effective=effective,
        path=(4 + effective / n) / (n + 4 + 2 * effective / n),
        one=one,
        many=many,
        step=step,
        damping=1 + 2 * max(0.0, math.sqrt((effective - 1) / (n + 1)) - 1) + step,
        wait=max(1, round(1 / (n * (one + many)))),
    )


def axes(covariance: Float[Array, "n n"]) -> tuple[Array, Array, Array]:
    """Return C, its eigenvectors and the roots of its eigenvalues. Where rounding has made the condition number of C
    more than the dtype can hold, C gets as much of the identity as it needs.
    """
    values, basis = jnp.linalg.eigh(covariance, symmetrize_input=False)
    least = 16 * jnp.finfo(values.dtype).eps * values[-1]
    lift = jnp.maximum(least - values[0], 0)
    return covariance + lift * jnp.eye(len(values), dtype=values.dtype), basis, jnp.sqrt(values + lift)
