"""Gibbs sampling of spins that interact in pairs: spins that do not interact are drawn at once."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray


def spin_groups(n: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return groups of spins that do not interact, a row each, filled up with n, which stands for no spin.

    A coloring of the graph, spins with many neighbors first: two groups for a grid, n of them if all interact.

    >>> spin_groups(3, np.array([[0, 1], [1, 2]])).tolist()
    [[1, 3], [0, 2]]
    """
    neighbors: list[set[int]] = [set() for _ in range(n)]
    for i, j in pairs.tolist():
        neighbors[i].add(j)
        neighbors[j].add(i)
    color: dict[int, int] = {}
    for spin in sorted(range(n), key=lambda i: -len(neighbors[i])):
        taken = {color[other] for other in neighbors[spin] if other in color}
        color[spin] = next(c for c in range(n) if c not in taken)
    groups: list[list[int]] = [[] for _ in range(max(color.values()) + 1)]
    for spin in range(n):
        groups[color[spin]].append(spin)
    width = max(len(group) for group in groups)
    return np.array([group + [n] * (width - len(group)) for group in groups])


def single_groups(n: int) -> NDArray[np.int64]:
    """Return each spin as a group of its own, which serves every graph."""
    return np.arange(n)[:, None]


def with_none(spins: Float[Array, "m n"]) -> Float[Array, "m n1"]:
    """Return the spins and a column of zeros, the spin that is none."""
    return jnp.concatenate([spins, jnp.zeros_like(spins[:, :1])], axis=1)


def pair_statistics(spins: Float[Array, "m n"], pairs: Int[Array, "k 2"]) -> Float[Array, "m d"]:
    """Return T = (x_i), (x_i x_j) of each row. A pair (n, n) stands for none: its statistic is 0."""
    wide = with_none(spins)
    return jnp.concatenate([spins, wide[:, pairs[:, 0]] * wide[:, pairs[:, 1]]], axis=1)


def gibbs_sweeps(
    key: Array,
    spins: Float[Array, "m n"],
    natural: Float[Array, " d"],
    pairs: Int[Array, "k 2"],
    groups: Int[Array, "g w"],
    sweeps: int,
) -> Float[Array, "m n"]:
    """Draw each spin of m chains, `sweeps` times, given all others: P(x_i = +1) = 1 / (1 + exp −2(h_i + Σ_j J_ij x_j)).

    It leaves p(x) ∝ exp(Σ h_i x_i + Σ J_ij x_i x_j) as it is, and from any start comes to it.
    """
    m, n = spins.shape
    biases = jnp.append(natural[:n], jnp.zeros((), natural.dtype))
    couplings = jnp.zeros((n + 1, n + 1), natural.dtype).at[pairs[:, 0], pairs[:, 1]].add(natural[n:])
    couplings = couplings + couplings.T

    def draw_group(chains: Array, drawn: tuple[Array, Array]) -> tuple[Array, None]:
        group, levels = drawn
        field = couplings[group] @ chains + biases[group][:, None]
        up = levels < jax.nn.sigmoid(2 * field)
        return chains.at[group].set(jnp.where(up, 1.0, -1.0).astype(chains.dtype)), None

    def sweep(chains: Array, levels: Array) -> tuple[Array, None]:
        return jax.lax.scan(draw_group, chains, (groups, levels))

    # 24 random bits decide on a spin as well as 53, in a third of the time
    levels = jax.random.uniform(key, (sweeps, *groups.shape, m), jnp.float32)
    # chains side by side: what is drawn at once is one block of memory
    chains, _ = jax.lax.scan(sweep, with_none(spins).T, levels)
    return chains[:n].T
