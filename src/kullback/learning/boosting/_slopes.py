"""What trees are fitted to: slopes and curvatures of the log density, row by row."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.families import Kind
from kullback.runtime import light_jit, round_length


class Slopes(NamedTuple):
    """Of each row that is learned from, and of both means."""

    #: the gradient of log p(y), by weight
    slope: np.ndarray
    #: the diagonal of the Fisher information, by weight
    curvature: np.ndarray
    #: the mean −log p(y) of the training part and of the validation part
    energies: tuple[float, float]


class Targets:
    """Targets, and where trees start: a marginal in free coordinates, with the unit of each coordinate.

    Rows are filled up to a round number, with weight 0: tables of about one size compile once.
    """

    def __init__(self, kind: Kind, base: np.ndarray, unit: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        """Take weights in the mean that is learned from, whose rows come first, and in the one that decides."""
        self._kind, self._rows, self._learned = kind, len(y), int(np.count_nonzero(weight[0]))
        self._more = round_length(len(y)) - len(y)
        share = weight / weight.sum(axis=1, keepdims=True)
        filled = np.concatenate([y, y[np.zeros(self._more, int)]])
        self._rest = base, unit, jnp.asarray(filled), jnp.asarray(np.pad(weight[0], (0, self._more)))
        self._share = jnp.asarray(np.pad(share, ((0, 0), (0, self._more))))

    def slopes(self, scores: np.ndarray) -> Slopes:
        """Return what leads on from scores, in units: a row for each coordinate."""
        slope, curvature, energies = _slopes(
            self._kind, np.pad(scores, ((0, 0), (0, self._more))), *self._rest, self._share
        )
        training, validation = np.asarray(energies).tolist()
        learned = slice(self._learned)
        return Slopes(np.asarray(slope)[:, learned], np.asarray(curvature)[:, learned], (training, validation))


def _slopes_in_units(
    kind: Kind,
    scores: Float[Array, "d rows"],
    base: Float[Array, " d"],
    unit: Float[Array, " d"],
    y: Any,
    weight: Float[Array, " rows"],
    share: Float[Array, "2 rows"],
) -> tuple[Float[Array, "d rows"], Float[Array, "d rows"], Float[Array, " 2"]]:
    free = base + unit * scores.T
    log_prob, pull = jax.vjp(lambda vector: kind.log_prob_at("free", vector, y), free)
    slope = pull(jnp.ones_like(log_prob))[0]
    curvature = jnp.diagonal(kind.at("free", free).fisher("free"), axis1=-2, axis2=-1)
    used = jnp.where(share > 0, log_prob, 0)
    return weight * (slope * unit).T, weight * (curvature * unit**2).T, -jnp.sum(share * used, axis=1)


_slopes = light_jit(_slopes_in_units, static_argnums=0)
