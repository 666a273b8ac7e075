"""Spins that are independent: the natural gradient in closed form, of which PBIL and cross-entropy are cases."""

from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from kullback.search._search import check_population
from kullback.search.methods._ranking import effective_number, positive_weights
from kullback.search.spins._spin_method import SpinMethod, check_rate, check_spins
from kullback.search.spins._tied_ranking import shared_weights

#: The largest natural coordinate: then a spin is turned once in 10⁷ draws.
SETTLED = 8.0

Update = Literal["natural-gradient", "pbil", "cross-entropy"]


class IndependentState(NamedTuple):
    """The natural coordinates, and a key."""

    natural: Float[Array, " n"]
    key: Array


class IndependentSpins(SpinMethod):
    """p(x) = ∏ p_i(x_i) with η_i = E[x_i] = tanh θ_i, and steps along −∇̃E_p[u], u the utility of a point.

    With u = −m·w for weights w that sum to 1 and depend on the order of the m points, −Cov(u, x) = Σ_k w_k (x_k − η).
    The Fisher matrix is diagonal, 1 − η_i², so the step is in closed form:

    - in natural coordinates θ_i ← θ_i + rate·Σ_k w_k (x_ki − η_i) / (1 − η_i²)
    - in expectation coordinates η_i ← η_i + rate·Σ_k w_k (x_ki − η_i)

    | `update` | coordinates | weights |
    |---|---|---|
    | "natural-gradient" | natural | decreasing with the logarithm of the place, 0 for the worse half |
    | "pbil" | expectation | 1 for the best point (Baluja 1994) |
    | "cross-entropy" | expectation | equal for the best tenth (Rubinstein 1999) |

    A step in natural coordinates is shortened to a length of 1 in the Fisher metric.

    - `rate`: unless given, m_e/(n + m_e) for an effective number m_e of better points; 0.1 for "pbil", 0.7 for
      "cross-entropy"
    - `population`: 50, or n if that is more, unless given

    >>> search = IndependentSpins(3, "pbil", population=2)
    >>> state = search.init(jax.random.key(0))
    >>> state = search.tell(state, [[1, 1, -1], [-1, 1, 1]], [0.0, 5.0])
    >>> [round(float(e), 3) for e in jnp.tanh(state.natural)]  # a tenth of the way to the better point
    [0.1, 0.1, -0.1]
    """

    pairs: ClassVar[NDArray[np.int64]] = np.empty((0, 2), np.int64)  # type: ignore[misc]  # none for all of them
    n: int = eqx.field(static=True)
    population: int = eqx.field(static=True)
    update: Update = eqx.field(static=True)
    rate: float = eqx.field(static=True)

    def __init__(
        self, n: int, update: Update = "natural-gradient", population: int | None = None, rate: float | None = None
    ):
        if update not in UPDATES:
            raise ValueError(f"update is {update!r}: it must be one of {', '.join(UPDATES)}.")
        self.n, self.update = check_spins(n), update
        self.population = check_population(population, max(50, self.n))
        effective = effective_number(UPDATES[update](self.population))
        standard = {"pbil": 0.1, "cross-entropy": 0.7}.get(update, effective / (self.n + effective))
        self.rate = check_rate(rate, standard, np.inf if update == "natural-gradient" else 1.0)

    def init(self, key: Array) -> IndependentState:
        """Return the uniform distribution."""
        return IndependentState(jnp.zeros(self.n), key)

    def ask(self, state: IndependentState) -> tuple[Float[Array, "population n"], IndependentState]:
        """Draw each spin by itself."""
        key, draw = jax.random.split(state.key)
        levels = jax.random.uniform(draw, (self.population, self.n), state.natural.dtype)
        up = levels < jax.nn.sigmoid(2 * state.natural)
        return jnp.where(up, 1.0, -1.0).astype(state.natural.dtype), state._replace(key=key)

    def tell(self, state: IndependentState, points: Any, values: Any) -> IndependentState:
        """Take a step along the natural gradient."""
        theta = state.natural
        points, values = jnp.asarray(points, theta.dtype), jnp.asarray(values, theta.dtype)
        mean = jnp.tanh(theta)
        slope = shared_weights(values, UPDATES[self.update](len(values))) @ (points - mean)
        if self.update == "natural-gradient":
            step = self.rate * slope / ((1 - mean) * (1 + mean))
            length = jnp.sqrt(jnp.sum((1 - mean) * (1 + mean) * jnp.square(step)))
            theta = theta + step / jnp.maximum(length, 1)
        else:
            edge = np.tanh(SETTLED)
            theta = jnp.arctanh(jnp.clip(mean + self.rate * slope, -edge, edge))
        return state._replace(natural=jnp.clip(theta, -SETTLED, SETTLED))

    def spread(self, state: IndependentState) -> Float[Array, " n"]:
        """Return √(1 − η²)."""
        return 1 / jnp.cosh(state.natural)


def _best_weights(m: int) -> NDArray[np.float64]:
    return (np.arange(m) == 0).astype(float)


def _elite_weights(m: int) -> NDArray[np.float64]:
    elite = max(1, round(0.1 * m))
    return (np.arange(m) < elite) / elite


#: The weights of the places in the order, for each update.
UPDATES = {"natural-gradient": positive_weights, "pbil": _best_weights, "cross-entropy": _elite_weights}
