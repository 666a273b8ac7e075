"""What is missing of sequences of a linear dynamical system: draws and means, and rows that lack one more entry."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import Batch
from kullback.families import log_conditionals
from kullback.models.linear._inference import filter_states, log_likelihoods, smooth_states
from kullback.models.linear._kalman import States, symmetric
from kullback.models.linear._observed_rows import missing_given_rest
from kullback.models.linear._sampling import draw_rows
from kullback.models.linear._system import LinearSystem
from kullback.numerics import apply


def expected_rows(system: LinearSystem, batch: Batch) -> Float[Array, "rows n"]:
    """Return the rows with what the smoothed states and the rest of a row say of its missing entries."""
    values = jnp.asarray(batch.values, system.transition.dtype)
    if batch.observed is None:
        return values
    line, observed = system.line_of(batch), jnp.asarray(batch.observed)
    _, centered, _ = system.centered_values(batch, line)
    mean = smooth_states(system.dynamics, line, system.outputs(centered, observed)).states.mean
    rest = missing_given_rest(jnp.asarray(system.observation), jnp.asarray(system.observation_noise), observed)
    away = apply(rest.from_values, jnp.where(observed, centered, 0)) + apply(rest.from_state, mean)
    return jnp.where(observed, values, away + system.visible_mean(jnp.zeros_like(mean), line.inputs))


def leave_one_out(system: LinearSystem, batch: Batch, carry: States | None) -> Float[Array, "rows n"]:
    """Return log p(v_t | past) − log p(v_tj | past, the rest of the row), where v_t | past is a Gaussian."""
    line = system.line_of(batch, carry)
    _, centered, observed = system.centered_values(batch, line)
    outputs, dynamics = system.outputs(centered, observed), system.dynamics
    states, _ = filter_states(dynamics, line, outputs)
    before = line.before or dynamics.initial
    mean, covariance = (jnp.concatenate([first[None], rest[:-1]]) for first, rest in zip(before, states, strict=True))
    a, starts = jnp.asarray(system.transition), line.start
    mean = jnp.where(starts[:, None], dynamics.initial.mean, mean @ a.T + line.drive)
    moved = symmetric(a @ covariance @ a.T + jnp.asarray(system.transition_noise))
    covariance = jnp.where(starts[:, None, None], dynamics.initial.covariance, moved)
    c = jnp.asarray(system.observation)
    spread = symmetric(c @ covariance @ c.T + jnp.asarray(system.observation_noise))
    each = log_conditionals(centered - mean @ c.T, spread, observed)
    return log_likelihoods(dynamics, line, outputs)[:, None] - each


def draw_missing(system: LinearSystem, batch: Batch, key: Array) -> Float[Array, "rows n"]:
    """Draw all missing entries together given what is observed of the sequences."""
    if batch.observed is None:
        return jnp.asarray(batch.values, system.transition.dtype)
    return draw_joint(system, batch, key)[1]


def draw_joint(system: LinearSystem, batch: Batch, key: Array) -> tuple[Float[Array, "rows q"], Float[Array, "rows n"]]:
    """Draw all states and missing entries together given what is observed of the sequences."""
    values, dtype = jnp.asarray(batch.values, system.transition.dtype), system.transition.dtype
    line, observed = system.line_of(batch), None if batch.observed is None else jnp.asarray(batch.observed)
    states, drawn = draw_rows(system, key, line.start, line.drive, line.inputs)
    apart = values - drawn if observed is None else jnp.where(observed, values - drawn, 0)
    dynamics = system.dynamics
    initial = States(jnp.zeros_like(dynamics.initial.mean), dynamics.initial.covariance)
    still, none = dynamics._replace(initial=initial), jnp.zeros_like(line.drive)
    outputs = system.outputs(apart, observed)
    mean = smooth_states(still, line._replace(drive=none), outputs).states.mean
    if observed is None:
        return states + mean, values
    rest = missing_given_rest(jnp.asarray(system.observation), jnp.asarray(system.observation_noise), observed)
    moved = drawn + apply(rest.from_values, apart) + apply(rest.from_state, mean)
    return states + mean, jnp.where(observed, values, moved).astype(dtype)
