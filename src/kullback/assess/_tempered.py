"""Draws of a tempered posterior, prior · e^{−βS}: Hamiltonian Monte Carlo, many chains at once.

S(w) = Σ_i ω_i·(−log p(v_i | w)) is the loss of all rows. β = 1 is the posterior, β = 0 the prior, and β = 1/log n the
temperature at which the mean of S is the free energy to first order.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
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
            if not isinstance(value, (int, float, np.integer)) or not value >= least or value % 1 != 0:
                raise ValueError(f"{name} is {value!r}: it must be a whole number, {least} or more.")


class Draws(NamedTuple):
    """Draws of each chain, the loss S of each draw, and how the chains moved; of several temperatures, each of them."""

    positions: Float[Array, "*rungs chains draws d"]
    losses: Float[Array, "*rungs chains draws"]
    acceptance: Float[Array, "*rungs chains"]
    step_size: Float[Array, "*rungs chains"]

    def at(self, rung: int) -> "Draws":
        """Return those of one temperature."""
        return Draws(*(part[rung] for part in self))


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
    betas: Float[Array, " rungs"],
    data: Any,
    weight: Float[Array, " rows"],
    *,
    log_likelihoods: Density,
    log_prior: Density,
    total: Density | None = None,
    settings: Settings,
) -> Draws:
    """Return draws of prior · e^{−βS} at each of several β, from these positions on.

    Several temperatures are a ladder: after each draw chains of neighbors may change places, so that what is far apart
    at β = 1 is reached through what is warm. It may be mapped over keys and data sets.
    """
    import blackjax
    from blackjax.adaptation.step_size import dual_averaging_adaptation

    def loss(vector: Array) -> Array:
        return total_loss(log_likelihoods, total, vector, data, weight)

    def prior(vector: Array) -> Array:
        return jnp.asarray(log_prior(vector, data))

    def density_at(beta: Array) -> Callable[[Array], Array]:
        def log_density(vector: Array) -> Array:
            found = prior(vector) - beta * loss(vector)
            return jnp.where(jnp.isfinite(found), found, -jnp.inf)

        return log_density

    hmc = blackjax.hmc.build_kernel()
    start_step, update_step, final_step = map(_twice, dual_averaging_adaptation(_ACCEPTED))
    dtype, size, rungs = starts.dtype, starts.shape[-1], betas.shape[0]
    shape = (rungs, settings.chains)

    def move(key: Array, states: Any, steps: Array, scales: Array, length: Array) -> tuple[Any, Any]:
        def rung(keys: Array, states: Any, steps: Array, scale: Array, beta: Array) -> tuple[Any, Any]:
            one = functools.partial(hmc, logdensity_fn=density_at(beta), inverse_mass_matrix=jnp.square(scale))
            return jax.vmap(lambda k, state, step: one(k, state, step_size=step, num_integration_steps=length))(
                keys, states, steps
            )

        return jax.vmap(rung)(jax.random.split(key, shape), states, steps, scales, betas)

    def step(carry: _Chains, at: _Turn) -> tuple[_Chains, tuple[Array, Array]]:
        states, adapted, steps, scale, count, mean, square = carry
        first, second = jax.random.split(jax.random.fold_in(key, at.number))
        now = jnp.where(at.warm, jnp.exp(adapted.log_step_size), steps)
        states, info = move(first, states, at.factor * now, scale, at.length)
        if rungs > 1:
            states = exchange(second, states, betas, at.number, prior)
        accepted = jnp.nan_to_num(info.acceptance_rate)
        adapted = _where(at.warm, update_step(adapted, accepted), adapted)
        # mean and squares of the second half of a window, all chains of a temperature together
        weight = jnp.where(at.late, settings.chains, 0)
        total = jnp.maximum(count + weight, 1)
        here = jnp.mean(states.position, axis=1)
        inside = jnp.sum(jnp.square(states.position - here[:, None]), axis=1)
        square = square + jnp.where(at.late, inside + jnp.square(here - mean) * count * weight / total, 0)
        mean, count = mean + (here - mean) * weight / total, count + weight
        spread = jnp.sqrt(square / jnp.maximum(count, 1))
        fresh = jnp.where(jnp.isfinite(spread) & (spread > 0) & ~at.last, spread, scale)
        # in the new scale the same step would be another: what matters is their product
        ratio = jnp.exp(jnp.mean(jnp.log(scale) - jnp.log(fresh), axis=-1, keepdims=True))
        found = final_step(adapted) * ratio
        steps, scale = _where(at.end, (found, fresh), (steps, scale))
        adapted = _where(at.end, start_step(found), adapted)
        count, mean, square = (jnp.where(at.end, 0, part) for part in (count, mean, square))
        return _Chains(states, adapted, steps, scale, count, mean, square), (states.position, accepted)

    def begin_rung(beta: Array) -> Any:
        return jax.vmap(lambda position: blackjax.hmc.init(position, density_at(beta)))(starts)

    steps = jnp.full(shape, 0.1, dtype)
    nothing = jnp.zeros((rungs, size), dtype)
    begin = _Chains(
        jax.vmap(begin_rung)(betas),
        start_step(steps),
        steps,
        jnp.ones((rungs, size), dtype),
        jnp.zeros((), dtype),
        nothing,
        nothing,
    )
    end, (positions, accepted) = jax.lax.scan(step, begin, _turns(settings, dtype))
    positions, accepted = positions[-settings.draws :], accepted[-settings.draws :]
    losses = jax.lax.map(jax.vmap(jax.vmap(loss)), positions)
    return Draws(jnp.moveaxis(positions, 0, 2), jnp.moveaxis(losses, 0, 2), jnp.mean(accepted, axis=0), end.steps)


def exchange(
    key: Array, states: Any, betas: Float[Array, " rungs"], number: Any, prior: Callable[[Array], Array]
) -> Any:
    """Let neighbors of a ladder change places, those with an even lower rung at every other draw, with probability
    min(1, e^{(β_i − β_j)(S_i − S_j)}); S and its gradient follow from those of the density and of the prior.
    """
    rungs, chains = states.logdensity.shape
    level, slope = jax.vmap(jax.vmap(jax.value_and_grad(prior)))(states.position)
    beta = betas[:, None]
    loss = (level - states.logdensity) / beta
    loss_slope = (slope - states.logdensity_grad) / beta[..., None]
    place = jnp.arange(rungs)
    lower = (place % 2 == number % 2) & (place + 1 < rungs)
    log_ratio = (beta - jnp.roll(beta, -1, axis=0)) * (loss - jnp.roll(loss, -1, axis=0))
    wanted = jnp.log(jax.random.uniform(key, (rungs, chains), loss.dtype)) < log_ratio  # NaN is not
    up = wanted & lower[:, None]
    source = jnp.where(up, place[:, None] + 1, jnp.where(jnp.roll(up, 1, axis=0), place[:, None] - 1, place[:, None]))

    def moved(part: Array) -> Array:
        return part[source, jnp.arange(chains)]

    level, slope, loss, loss_slope = map(moved, (level, slope, loss, loss_slope))
    changed = source != place[:, None]
    return type(states)(
        moved(states.position),
        jnp.where(changed, level - beta * loss, states.logdensity),
        jnp.where(changed[..., None], slope - beta[..., None] * loss_slope, states.logdensity_grad),
    )


def _twice(function: Callable[..., Any]) -> Callable[..., Any]:
    return jax.vmap(jax.vmap(function))


class _Chains(NamedTuple):
    """Where chains are, how their steps are being adapted, the steps and scales in use, and moments of a window."""

    states: Any
    adapted: Any
    steps: Float[Array, "rungs chains"]
    scale: Float[Array, "rungs d"]
    mass: Float[Array, ""]
    mean: Float[Array, "rungs d"]
    square: Float[Array, "rungs d"]


class _Turn(NamedTuple):
    """One draw: its number, steps of its trajectory, factor of the step, and where in the warm-up it stands."""

    number: Any
    length: Any
    factor: Any
    warm: Any
    late: Any
    end: Any
    last: Any


def _turns(settings: Settings, dtype: Any) -> _Turn:
    """Return all draws, those of the warm-up first.

    Lengths and factors are the same for all keys: mapped over data sets, the loop over steps has one length. Short
    steps enter where the posterior is narrow.
    """
    random = np.random.default_rng(0)
    window = settings.warm_up // _WINDOWS
    warm_up = window * _WINDOWS
    number = np.arange(warm_up + settings.draws)
    length = random.integers(1, 2 * settings.leapfrogs + 1, number.size)
    factor = np.exp(random.uniform(np.log(_JITTER[0]), np.log(_JITTER[1]), number.size)).astype(dtype)
    warm, place = number < warm_up, number % window
    return _Turn(
        number,
        length,
        factor,
        warm,
        warm & (place >= window // 2),
        warm & (place == window - 1),
        number >= warm_up - window,
    )


def _where(condition: Any, one: Any, other: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), one, other)


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
