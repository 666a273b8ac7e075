"""Spins that interact in given pairs: the natural gradient from Gibbs samples, by a damped solve."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.sparse.linalg import cg
from jaxtyping import Array, Float, Int

from kullback.numerics import Numeric
from kullback.search._search import check_population
from kullback.search.spins._gibbs import gibbs_sweeps, pair_statistics, single_groups, spin_groups
from kullback.search.spins._spin_method import SpinMethod, check_rate, check_spins
from kullback.search.spins._tied_ranking import normal_scores

#: Of the slopes: added to the variances of the statistics, which are 1 in the beginning.
DAMPING = 0.01
#: Sweeps of Gibbs sampling from one population to the next.
SWEEPS = 10
#: The longest window of points, for the time of a solve, and the most steps of conjugate gradients in it.
LONGEST, STEPS = 2048, 100


class MarkovState(NamedTuple):
    """Natural coordinates, the last slopes, chains, the last points, their values, how many they are, and a key."""

    natural: Float[Array, " d"]
    slopes: Float[Array, " d"]
    chains: Float[Array, "m n"]
    points: Float[Array, "window n"]
    values: Float[Array, " window"]
    filled: Int[Array, ""]
    key: Array


class MarkovSpins(SpinMethod):
    """p(x) ∝ exp(Σ θ_i x_i + Σ θ_ij x_i x_j), a Markov random field, and steps along −∇̃E_p[u], u the utility.

    θ ← θ − rate·Cov(T, T)⁻¹Cov(u, T) / σ, where T = (x_i), (x_i x_j) and σ is the standard deviation of u in the
    population. The step is the slope of the least-squares fit of u by T, so it has no error where u is in the span of
    T, as a pairwise energy is, whichever points it is fitted to: a window of the last points is used, twice as many as
    there are statistics. It is damped: (Cov + λI)⁻¹, so that fewer points than statistics do. As σ is that of u, the
    step has length rate·R in the Fisher metric if the fit explains a share R² of the variance. It is shortened by how
    well the slopes before have predicted the new values, their correlation: where they say nothing, p stays. The u are
    normal scores of the order.

    Points are drawn by Gibbs sampling, from chains that go on from one population to the next: p moves little, so they
    are near it all the time.

    - `pairs`: which spins interact; (n, n) stands for no pair, to fill up
    - `rate`: the length of a step, 1 unless given
    - `population`: 50, or a tenth of the number of statistics if that is more, unless given

    Malagò, Matteucci, Pistone, Towards the geometry of estimation of distribution algorithms based on the exponential
    family (2011); Shakya, McCall, Optimization by estimation of distribution with DEUM framework based on Markov random
    fields (2007).

    >>> search = MarkovSpins(3, [(0, 1), (1, 2)], population=20)
    >>> state = search.init(jax.random.key(0))
    >>> for _ in range(2):  # the slopes of the first are tried on the second
    ...     points, state = search.ask(state)
    ...     state = search.tell(state, points, points[:, 0] * points[:, 1])
    >>> (state.natural.round(1) + 0.0).tolist()  # the first two are to differ
    [0.0, 0.0, 0.0, -1.0, 0.0]
    """

    n: int = eqx.field(static=True)
    population: int = eqx.field(static=True)
    rate: float = eqx.field(static=True)
    window: int = eqx.field(static=True)
    pairs: Int[Numeric, "k 2"]
    groups: Int[Numeric, "g w"]

    def __init__(self, n: int, pairs: Any, population: int | None = None, rate: float | None = None):
        self.n = check_spins(n)
        self.pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        none = (self.pairs == n).all(axis=1)
        bad = ~none & ((self.pairs < 0) | (self.pairs >= n)).any(axis=1) | ~none & (
            self.pairs[:, 0] == self.pairs[:, 1]
        )
        if bad.any():
            place = int(np.argmax(bad))
            pair = tuple(self.pairs[place].tolist())
            raise ValueError(f"pairs[{place}] is {pair}: it must be two different spins in 0…{n - 1}.")
        self.groups = single_groups(n) if none.any() else spin_groups(n, self.pairs)
        size = n + len(self.pairs)
        self.population = check_population(population, max(50, size // 10))
        self.window = max(self.population, min(2 * size, LONGEST))
        self.rate = check_rate(rate, 1.0, np.inf)

    def init(self, key: Array) -> MarkovState:
        """Return the uniform distribution, and chains drawn from it."""
        key, draw = jax.random.split(key)
        natural = jnp.zeros(self.n + len(self.pairs))
        chains = jax.random.rademacher(draw, (self.population, self.n), natural.dtype)
        points = jnp.zeros((self.window, self.n), natural.dtype)
        return MarkovState(natural, natural, chains, points, points[:, 0], jnp.zeros((), jnp.int32), key)

    def ask(self, state: MarkovState) -> tuple[Float[Array, "population n"], MarkovState]:
        """Draw by Gibbs sampling, on from the last population."""
        key, draw = jax.random.split(state.key)
        chains = gibbs_sweeps(
            draw, state.chains, state.natural, jnp.asarray(self.pairs), jnp.asarray(self.groups), SWEEPS
        )
        return chains, state._replace(chains=chains, key=key)

    def tell(self, state: MarkovState, points: Any, values: Any) -> MarkovState:
        """Take a step along the natural gradient."""
        theta = state.natural
        points, values = jnp.asarray(points, theta.dtype), jnp.asarray(values, theta.dtype)
        m = len(points)
        points = jnp.concatenate([points, state.points])[: self.window]
        values = jnp.concatenate([values, state.values])[: self.window]
        filled = jnp.minimum(state.filled + m, self.window)
        there = jnp.arange(self.window) < filled
        utilities = normal_scores(values, there)
        statistics = pair_statistics(points, jnp.asarray(self.pairs))
        slopes = damped_slopes(statistics, utilities, there / filled.astype(theta.dtype), state.slopes)
        length = self.rate * _skill(statistics[:m] @ state.slopes, utilities[:m])
        deviation = jnp.std(utilities[:m])
        # a population of equal values has nothing to say
        step = jnp.where(deviation > 0, length / jnp.where(deviation > 0, deviation, 1), 0) * slopes
        return state._replace(natural=theta - step, slopes=slopes, points=points, values=values, filled=filled)

    def spread(self, state: MarkovState) -> Float[Array, " n"]:
        """Return the standard deviation of each spin over the chains."""
        return jnp.std(state.chains, axis=0)


def _skill(predicted: Float[Array, " m"], utilities: Float[Array, " m"]) -> Float[Array, ""]:
    """Return the correlation of what the last slopes predict for new points with their utilities, 0 if negative."""
    a, b = predicted - jnp.mean(predicted), utilities - jnp.mean(utilities)
    lengths = jnp.sqrt(jnp.sum(jnp.square(a)) * jnp.sum(jnp.square(b)))
    return jnp.maximum(jnp.sum(a * b), 0) / jnp.where(lengths > 0, lengths, jnp.inf)


def damped_slopes(
    statistics: Float[Array, "m d"],
    utilities: Float[Array, " m"],
    weights: Float[Array, " m"],
    start: Float[Array, " d"],
    damping: float = DAMPING,
    tolerance: float = 1e-3,
) -> Float[Array, " d"]:
    """Return (Cov(T, T) + λI)⁻¹Cov(T, u), with covariances under `weights` that sum to 1.

    By conjugate gradients, from `start`: each step takes two products with T, and neither a matrix of statistics by
    statistics nor one of points by points is made. Steps end when the error is below a share `tolerance` of Cov(T, u).
    """
    root = jnp.sqrt(weights)
    centered = (statistics - weights @ statistics) * root[:, None]
    target = (utilities - weights @ utilities) * root
    solution, _ = cg(
        lambda slopes: (centered @ slopes) @ centered + damping * slopes,
        target @ centered,
        start,
        tol=tolerance,
        maxiter=STEPS,
    )
    return solution
