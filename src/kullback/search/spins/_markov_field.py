"""The distribution of a search over spins: an `Ising` member where its sums can be done, else one that is sampled."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from kullback.families import Ising
from kullback.numerics import Numeric
from kullback.runtime import computing, quick_jit
from kullback.search.spins._gibbs import gibbs_sweeps, pair_statistics, spin_groups

#: How many spins are summed over.
SUMMED = 20
#: Sweeps of Gibbs sampling before a sample is taken: half of them at temperatures that fall from ∞ to 1.
SWEEPS = 200


class MarkovField(eqx.Module):
    """p(x) ∝ exp(Σ h_i x_i + Σ J_ij x_i x_j) for x in {−1, +1}ⁿ with any n: `Ising` without its sums over all states.

    `natural` are (h_i), (J_ij), in the order of `interactions`. Samples are drawn by Gibbs sampling, so where p has
    modes far from each other they are near p, not exactly of it.

    >>> import jax
    >>> MarkovField(np.zeros(100), [3.0], [(0, 1)]).sample(jax.random.key(0), (5,)).shape
    (5, 100)
    """

    biases: Float[Numeric, " n"]
    couplings: Float[Numeric, " k"]
    interactions: tuple[tuple[int, int], ...] = eqx.field(static=True)

    def __init__(self, biases: Any, couplings: Any, interactions: Any):
        self.biases, self.couplings = np.asarray(biases), np.asarray(couplings)
        self.interactions = tuple((int(i), int(j)) for i, j in interactions)

    @property
    def natural(self) -> NDArray[np.float64]:
        """The natural coordinates (h_i), (J_ij)."""
        return np.concatenate([self.biases, self.couplings])

    def statistics(self, x: Any) -> Float[Array, "m d"]:
        """Return (x_i), (x_i x_j) of each row."""
        return pair_statistics(jnp.asarray(x, self.biases.dtype), jnp.asarray(self._pairs))

    def sample(self, key: Array, shape: tuple[int, ...] = ()) -> NDArray[np.int64]:
        """Draw points by Gibbs sampling, from independent chains that are cooled."""
        size = int(np.prod(shape)), len(self.biases)
        groups = spin_groups(len(self.biases), self._pairs)
        with computing():
            points = np.asarray(_anneal(key, self.natural.astype(float), self._pairs, groups, size))
        return points.astype(np.int64).reshape(*shape, len(self.biases))

    @property
    def _pairs(self) -> NDArray[np.int64]:
        return np.array(self.interactions, dtype=np.int64).reshape(-1, 2)


def spin_distribution(natural: NDArray[np.float64], n: int, pairs: NDArray[np.int64]) -> Ising | MarkovField:
    """Return the distribution with these natural coordinates; pairs (n, n), which stand for none, are left out."""
    there = pairs[:, 0] < n
    listed = tuple((int(i), int(j)) for i, j in pairs[there])
    biases, couplings = np.array(natural[:n]), np.array(natural[n:][there])
    return Ising(biases, couplings, listed) if n <= SUMMED else MarkovField(biases, couplings, listed)


@partial(quick_jit, static_argnames="shape")
def _anneal(key: Array, natural: Array, pairs: Array, groups: Array, shape: tuple[int, int]) -> Array:
    """Return chains that began anywhere, after sweeps at temperatures that fall to 1."""
    first, rest = jax.random.split(key)

    def sweep(spins: Array, turn: tuple[Array, Array]) -> tuple[Array, None]:
        key, coldness = turn
        return gibbs_sweeps(key, spins, coldness * natural, pairs, groups, 1), None

    coldness = jnp.minimum(jnp.linspace(0, 2, SWEEPS, dtype=natural.dtype), 1)
    start = jax.random.rademacher(first, shape, natural.dtype)
    return jax.lax.scan(sweep, start, (jax.random.split(rest, SWEEPS), coldness))[0]
