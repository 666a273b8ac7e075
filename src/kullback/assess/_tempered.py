"""Draws of a tempered posterior, prior · e^{−βS}: Hamiltonian Monte Carlo, many chains at once.

S(w) = Σ_i ω_i·(−log p(v_i | w)) is the loss of all rows. β = 1 is the posterior, β = 0 the prior, and β = 1/log n the
temperature at which the mean of S is the free energy to first order.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.numerics import Numeric
from kullback.runtime import jit

#: Log-likelihoods of all rows, or a log prior density: of a flat vector of parameters, and of data.
Density = Callable[[Any, Any], Any]

#: The share of proposals that is accepted when the step has been adapted.
_ACCEPTED = 0.8
#: Steps are multiplied by a number between these, another for each draw.
_JITTER = (0.3, 1.3)
#: Windows of the warm-up: each learns a step for each chain, and the scales for the next.
_WINDOWS = 4


class Posterior(NamedTuple):
    """What is drawn from: two functions of (vector, data), the data, the weights of its rows, and where to begin."""

    log_likelihoods: Density
    log_prior: Density
    start: Float[Numeric, " d"]
    data: Any
    weight: Float[Numeric, " rows"]
    #: What the prior is, in words: printed with every number that depends on it.
    prior: str
    #: The sum of the log-likelihoods, by weight, where it is cheaper than to add them up.
    total: Density | None = None

    @property
    def rows(self) -> float:
        """How many rows there are, by weight."""
        return float(jnp.sum(jnp.asarray(self.weight)))


class Settings(NamedTuple):
    """How long chains are, and how many.

    `leapfrogs` is the mean number of steps of a trajectory. The numbers are drawn once, from 1 to twice as many, and
    are the same for all chains, so that none waits for another.
    """

    chains: int = 4
    draws: int = 2000
    warm_up: int = 800
    leapfrogs: int = 8

    def check(self) -> None:
        """Raise where a number makes no sense."""
        for name, least in (("chains", 2), ("draws", 4), ("warm_up", _WINDOWS), ("leapfrogs", 1)):
            value = getattr(self, name)
            if int(value) != value or value < least:
                raise ValueError(f"{name} is {value}: it must be a whole number, {least} or more.")


class Draws(NamedTuple):
    """Draws of each chain, the loss S of each draw, and how the chains moved."""

    positions: Float[Array, "chains draws d"]
    losses: Float[Array, "chains draws"]
    acceptance: Float[Array, " chains"]
    step_size: Float[Array, " chains"]


def total_loss(
    log_likelihoods: Density,
    total: Density | None,
    vector: Float[Array, " d"],
    data: Any,
    weight: Float[Array, " rows"],
) -> Float[Array, ""]:
    """Return S(w); a row without weight may be anything."""
    if total is not None:
        return -jnp.asarray(total(vector, data))
    rows = jnp.asarray(log_likelihoods(vector, data))
    return -jnp.sum(jnp.where(weight > 0, weight * jnp.where(weight > 0, rows, 0), 0))


@functools.partial(jit, static_argnames=("log_likelihoods", "log_prior", "total", "settings"))
def draw_tempered(
    key: Array,
    starts: Float[Array, "chains d"],
    beta: Float[Array, ""],
    data: Any,
    weight: Float[Array, " rows"],
    *,
    log_likelihoods: Density,
    log_prior: Density,
    total: Density | None = None,
    settings: Settings,
) -> Draws:
    """Return draws of prior · e^{−βS}, from these positions on. It may be mapped over keys, data and temperatures."""
    import blackjax
    from blackjax.adaptation.step_size import dual_averaging_adaptation

    def loss(vector: Array) -> Array:
        return total_loss(log_likelihoods, total, vector, data, weight)

    def log_density(vector: Array) -> Array:
        found = log_prior(vector, data) - beta * loss(vector)
        return jnp.where(jnp.isfinite(found), found, -jnp.inf)

    hmc = blackjax.hmc.build_kernel()
    start_step, update_step, final_step = dual_averaging_adaptation(_ACCEPTED)

    def move(key: Array, states: Any, steps: Array, scale: Array, length: Array) -> tuple[Any, Any]:
        keys = jax.random.split(key, settings.chains)
        one = functools.partial(hmc, logdensity_fn=log_density, inverse_mass_matrix=jnp.square(scale))
        return jax.vmap(lambda k, state, step: one(k, state, step_size=step, num_integration_steps=length))(
            keys, states, steps
        )

    per_window = max(settings.warm_up // _WINDOWS, 1)
    dtype = starts.dtype

    def schedule(count: int, salt: int) -> tuple[Array, Array, Array]:
        """Return numbers, lengths of trajectories and factors of the step: short ones enter where it is narrow.

        They are the same for all keys: mapped over data sets, the loop over steps has one length.
        """
        first, second = jax.random.split(jax.random.key(salt))
        length = jax.random.randint(first, (count,), 1, 2 * settings.leapfrogs + 1)
        factor = jnp.exp(jax.random.uniform(second, (count,), dtype, *map(jnp.log, _JITTER)))
        return jnp.arange(count), length, factor

    def window(carry: Any, number: Array) -> tuple[Any, tuple[Array, Array]]:
        states, steps, scale = carry
        adapted = jax.vmap(start_step)(steps)

        def one(inner: Any, at: tuple[Array, Array, Array]) -> tuple[Any, Array]:
            states, adapted = inner
            index, length, factor = at
            k = jax.random.fold_in(jax.random.fold_in(key, number), index)
            states, info = move(k, states, factor * jnp.exp(adapted.log_step_size), scale, length)
            accepted = jnp.nan_to_num(info.acceptance_rate)
            return (states, jax.vmap(update_step)(adapted, accepted)), states.position

        (states, adapted), positions = jax.lax.scan(one, (states, adapted), schedule(per_window, 1))
        late = positions[per_window // 2 :].reshape(-1, starts.shape[-1])
        spread = jnp.std(late, axis=0)
        fresh = jnp.where(jnp.isfinite(spread) & (spread > 0), spread, scale)
        steps = jax.vmap(final_step)(adapted)
        # in the new scale the same step would be another: what matters is their product
        ratio = jnp.exp(jnp.mean(jnp.log(scale) - jnp.log(fresh)))
        return (states, steps * ratio, fresh), (steps, scale)

    states = jax.vmap(lambda position: blackjax.hmc.init(position, log_density))(starts)
    begin = (states, jnp.full(settings.chains, 0.1, dtype), jnp.ones(starts.shape[-1], dtype))
    (states, _, _), (steps, scales) = jax.lax.scan(window, begin, jnp.arange(_WINDOWS))
    steps, scale = steps[-1], scales[-1]

    def draw(states: Any, at: tuple[Array, Array, Array]) -> tuple[Any, tuple[Array, Array, Array]]:
        index, length, factor = at
        k = jax.random.fold_in(jax.random.fold_in(key, _WINDOWS), index)
        states, info = move(k, states, factor * steps, scale, length)
        losses = jax.vmap(loss)(states.position)
        return states, (states.position, losses, info.acceptance_rate)

    _, (positions, losses, accepted) = jax.lax.scan(draw, states, schedule(settings.draws, 2))
    return Draws(jnp.swapaxes(positions, 0, 1), losses.T, jnp.mean(accepted, axis=0), steps)


def begin_chains(key: Array, start: Float[Array, " d"], chains: int, spread: float = 0.1) -> Float[Array, "chains d"]:
    """Return where chains begin: around a fit, each apart from the others."""
    noise = jax.random.normal(key, (chains, start.shape[0]), start.dtype)
    return start + spread * (1 + jnp.abs(start)) * noise


@functools.partial(jit, static_argnames=("log_likelihoods",))
def row_log_likelihoods(
    positions: Float[Array, "draws d"], data: Any, *, log_likelihoods: Density
) -> Float[Array, "draws rows"]:
    """Return the log-likelihood of each row under each draw."""
    return jax.lax.map(lambda vector: jnp.asarray(log_likelihoods(vector, data)), positions)


@functools.partial(jit, static_argnames=("log_likelihoods",))
def weighted_rows(
    positions: Float[Array, "draws d"], coefficients: Float[Array, " draws"], data: Any, *, log_likelihoods: Density
) -> Float[Array, " rows"]:
    """Return Σ_t c_t·ℓ_i(w_t) of the losses of each row, with the memory of one draw."""
    rows = jax.eval_shape(log_likelihoods, positions[0], data)

    def add(total: Array, at: tuple[Array, Array]) -> tuple[Array, None]:
        vector, coefficient = at
        return total - coefficient * jnp.asarray(log_likelihoods(vector, data)), None

    return jax.lax.scan(add, jnp.zeros(rows.shape, coefficients.dtype), (positions, coefficients))[0]
