"""The best memories that see only the last memory and a part of the last symbol, step by step."""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import log_softmax, logsumexp

from kullback.models import FiniteProcess

#: Sweeps end when no start gains more than this, or after so many.
_TOLERANCE, _MOST_SWEEPS = 1e-13, 5000
#: What stands for an infinite cost inside sums, and from where on a total is one.
_NEVER, _INFINITE = 1e30, 1e20


def least_memory_cost(
    truth: FiniteProcess,
    start: Float[np.ndarray, "z x"],
    table: Float[np.ndarray, "z x w y"],
    steps: int,
    groups: Int[np.ndarray, " x"],
    restarts: int,
    seed: int,
) -> float:
    """Return the least of E[log q(z) − log p(z, x)] over memories q_k(z' | z, o) that may differ from step to step.

    One backward sweep makes each step best for the later ones, that have just moved, and for the earlier ones, that
    have not: the value never rises. Starts go side by side.
    """
    positions = _Positions(truth, start, table, groups)
    rng = np.random.default_rng(seed)
    shape = (steps - 1, restarts, len(start), groups.max() + 1, len(start))
    log_q = log_softmax(2 * rng.normal(size=shape), axis=-1)
    log_first = np.full((restarts, len(start)), -np.log(len(start)))
    value = np.full(restarts, np.inf)
    for _ in range(_MOST_SWEEPS):
        before = value
        value, log_first = positions.sweep(log_q, log_first)
        if not (before - value > _TOLERANCE).any():
            break
    least = float(value.min())
    return least if least < _INFINITE else np.inf


class _Positions:
    """Where the truth can be after a symbol, a = (u, x), and what a move of the memory costs there."""

    def __init__(
        self,
        truth: FiniteProcess,
        start: Float[np.ndarray, "z x"],
        table: Float[np.ndarray, "z x w y"],
        groups: Int[np.ndarray, " x"],
    ):
        u, x = np.nonzero(truth.transition.sum(axis=0).T > 0)
        self.moves = truth.transition[u][:, x, u]
        self.law = np.einsum("u,uxv->vx", truth.stationary, truth.transition)[u, x]
        self.group = groups[x]
        self.sensed = np.eye(groups.max() + 1)[self.group]  # (a, o)
        with np.errstate(divide="ignore"):
            first, cost = (np.minimum(-np.log(p), _NEVER) for p in (start, table))
        self.first = self.law @ first[:, x].T  # −E[log p(z₁, x₁)] for each z₁
        # L[a, z, z'] = −E[log p(z', x' | z, x) | a]
        self.cost = np.einsum("ab,zabw->azw", self.moves, np.moveaxis(cost[:, x][:, :, :, x], 2, 3))

    def sweep(
        self, log_q: Float[np.ndarray, "k r z o w"], log_first: Float[np.ndarray, "r z"]
    ) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, "r z"]]:
        """Make each step best in turn, the last first, in place; return the values and the best first memories."""
        occupied = self._occupied(log_q, log_first)
        ahead = np.zeros(occupied[0].shape)  # cost to go of (start, a, z)
        for k in range(len(log_q) - 1, -1, -1):
            later = self.cost + np.einsum("ab,rbw->raw", self.moves, ahead)[:, :, None, :]
            mass = occupied[k][..., None] * self.sensed[None, :, None, :]  # (r, a, z, o)
            mass = np.where(mass.sum(axis=1, keepdims=True) > 0, mass, self.sensed[None, :, None, :])
            mean = np.einsum("razo,razw->rzow", mass, later) / mass.sum(axis=1)[..., None]
            log_q[k] = log_softmax(-mean, axis=-1)
            here = np.moveaxis(log_q[k][:, :, self.group], 2, 1)  # (r, a, z, z')
            ahead = np.einsum("razw,razw->raz", np.exp(here), here + later)
        total = self.first + np.einsum("a,raz->rz", self.law, ahead)
        return -logsumexp(-total, axis=1), log_softmax(-total, axis=1)

    def _occupied(
        self, log_q: Float[np.ndarray, "k r z o w"], log_first: Float[np.ndarray, "r z"]
    ) -> list[Float[np.ndarray, "r a z"]]:
        """Return how probable position and memory are, before each step."""
        found = [self.law[None, :, None] * np.exp(log_first)[:, None, :]]
        for step in np.exp(log_q):
            moved = np.einsum("raz,rzaw->raw", found[-1], step[:, :, self.group])
            found.append(np.einsum("raw,ab->rbw", moved, self.moves))
        return found
