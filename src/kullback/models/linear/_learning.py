"""What data and a linear dynamical system say of the moments of states and rows, and the system that has them."""

from typing import Any, TypeVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import Batch, Extent, replace
from kullback.models.linear._inference import Line, infer_moments, unobserved_moments
from kullback.models.linear._kalman import States, matmul, select_state, transpose
from kullback.models.linear._observed_rows import missing_given_rest
from kullback.models.linear._parameters import PARAMETERS
from kullback.models.linear._statistics import (
    Inside,
    LinearStatistics,
    centered_moments,
    gaussian_cost,
    joint_covariance,
    positive_definite,
    regress,
    regression_cost,
)
from kullback.models.linear._system import LinearSystem
from kullback.numerics import Numeric, apply, outer

System = TypeVar("System", bound=LinearSystem)


def expected_statistics(system: LinearSystem, batch: Batch, carry: States | None) -> tuple[LinearStatistics, States]:
    """Return the moments under p(h | v), and the filtered state of the last row that counts."""
    line = system.line_of(batch, carry)
    away, values, observed = system.centered_values(batch, line)
    outputs = system.outputs(values, observed)
    found = infer_moments(system.dynamics, line, outputs)
    total = jnp.sum(jnp.where(line.counted > 0, line.counted * found.log_likelihood, 0))
    (n, q), dtype = system.observation.shape, away.dtype
    inside = Inside(found.sums, jnp.zeros((n, q), dtype), jnp.zeros((n, n), dtype))
    if observed is not None and found.covariance is not None:
        rest = missing_given_rest(jnp.asarray(system.observation), jnp.asarray(system.observation_noise), observed)
        filled = apply(rest.from_values, jnp.where(observed, values, 0)) + apply(rest.from_state, found.mean)
        away = jnp.where(observed, away, filled + (away - values))
        moving = matmul(rest.from_state, found.covariance)
        late = matmul(moving, transpose(rest.from_state)) + rest.noise
        inside = Inside(found.sums, *(jnp.tensordot(line.counted, part, axes=1) for part in (moving, late)))
    return _statistics(system, line, found.mean, found.before, inside, away, total), found.carry


def _statistics(
    system: LinearSystem,
    line: Line,
    mean: Float[Array, "rows q"],
    before: Float[Array, " q"],
    inside: Inside,
    away: Float[Array, "rows n"],
    log_likelihood: Any = 0,
) -> LinearStatistics:
    """Put the blocks together. `away` is v − d, and `inside` sums the covariances of the rows."""
    sums, cross, late = inside
    earlier = jnp.concatenate([before[None], mean[:-1]])
    driven = line.inputs if system.input_transition is not None else None
    seen = line.inputs if system.input_observation is not None else None
    initial = centered_moments(mean, line.begun, sums.initial)
    spread = joint_covariance(sums.earlier, sums.lag, sums.later, _columns(driven))
    transition = centered_moments(_concatenate(earlier, driven, mean), line.moved, spread)
    spread = joint_covariance(sums.every, cross, late, _columns(seen))
    emission = centered_moments(_concatenate(mean, seen, away), line.counted, spread)
    there = jnp.concatenate([jnp.zeros(emission.mean.shape[0] - away.shape[1], mean.dtype), system.offset_or_zero])
    emission = replace(emission, mean=emission.mean + there)
    total = jnp.asarray(log_likelihood, mean.dtype)
    return LinearStatistics(jnp.asarray(emission.mass), total, initial, transition, emission)


def own_statistics(system: LinearSystem, like: Extent) -> LinearStatistics:
    """Return the moments of the joint over as many steps."""
    weight = like.weight
    if weight is None:
        weight = jnp.reshape(like.mass, 1) if like.time is None else jnp.ones(like.time.starts.shape)
    line = system.line(like.time, weight, like.inputs, None if like.time is None else like.carry)
    mean, sums = unobserved_moments(system.dynamics, line)
    c, mass = jnp.asarray(system.observation), jnp.sum(line.counted)
    late = c @ sums.every @ c.T + mass * jnp.asarray(system.observation_noise)
    away = mean @ c.T + system.input_effect(line.inputs)
    before = (line.before or system.dynamics.initial).mean
    return _statistics(system, line, mean, before, Inside(sums, c @ sums.every, late), away)


def maximize(system: System, statistics: LinearStatistics, prior: Any = None) -> System:
    """Return the regressions of states and of rows, and the distribution of h₁; a block without mass stays."""
    if prior is not None:
        statistics = prior.added_to(statistics, system)
    q, free = system.transition.shape[0], {name: name not in system.fixed for name in PARAMETERS}
    driven, seeing = _columns(system.input_transition), _columns(system.input_observation)
    columns = (free["transition"],) * q + (free["input_transition"],) * driven
    moving = regress(system.transition_regression, statistics.transition, columns, False)
    columns = (free["observation"],) * q + (free["input_observation"],) * seeing
    seen = regress(
        system.observation_regression, statistics.emission, columns, system.offset is not None and free["offset"]
    )
    mean, covariance = _nearest_initial(system, statistics)
    found = {
        "transition": moving.coefficients[:, :q],
        "input_transition": moving.coefficients[:, q:],
        "transition_noise": moving.noise,
        "observation": seen.coefficients[:, :q],
        "input_observation": seen.coefficients[:, q:],
        "offset": seen.offset,
        "observation_noise": seen.noise,
        "initial_mean": mean,
        "initial_covariance": covariance,
    }
    names = [name for name in PARAMETERS if free[name] and getattr(system, name) is not None]
    return replace(system, **{name: found[name] for name in names})


def _nearest_initial(system: LinearSystem, statistics: LinearStatistics) -> States:
    begun, old = statistics.initial, system.dynamics.initial
    spread = jnp.asarray(begun.spread)
    mean = old.mean if "initial_mean" in system.fixed else jnp.asarray(begun.mean)
    around = spread + outer(jnp.asarray(begun.mean) - mean)
    new = States(mean, positive_definite(around, jnp.diagonal(around)))
    return select_state(jnp.asarray(begun.mass) > 0, new, old)


def cross_entropy(system: LinearSystem, statistics: LinearStatistics) -> Float[Array, ""]:
    """Return the cost of the start, of the transitions and of the emissions."""
    begun, (mean, covariance) = statistics.initial, system.dynamics.initial
    second = jnp.asarray(begun.spread) + outer(jnp.asarray(begun.mean) - mean)
    start = jnp.multiply(begun.mass, gaussian_cost(second, covariance))
    moved = regression_cost(statistics.transition, system.transition_regression)
    return start + moved + regression_cost(statistics.emission, system.observation_regression)


def _concatenate(first: Array, inputs: Array | None, last: Array) -> Float[Array, "rows d"]:
    return jnp.concatenate([part for part in (first, inputs, last) if part is not None], axis=1)


def _columns(inputs: Numeric | None) -> int:
    return 0 if inputs is None else inputs.shape[-1]
