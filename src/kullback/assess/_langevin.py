"""The learning coefficient of data that is too big for gradients of all rows: stochastic gradient Langevin dynamics.

Its draws are biased by the length of the step, and the spread of chains knows nothing of it. So it is run twice, with a
step and with half of it: what is left of the bias is about as large as the change from one to the other, to first
order. That change enters the bar, and where it is a tenth of the coefficient or more there is no number.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.assess._diagnostics import mean_error
from kullback.assess._estimate import NUMBERS, EstimatedCoefficient
from kullback.assess._estimated_coefficient import estimate_from_draws
from kullback.assess._posterior import function_posterior
from kullback.assess._sampling import check_sampling
from kullback.assess._tempered import Density, Draws, Posterior, begin_chains, total_loss
from kullback.runtime import in_float64, jit

#: A change of the mean loss by this share of the coefficient, when the step is halved, is too much.
_MOST_CHANGE = 0.1


@functools.partial(jit, static_argnames=("log_likelihoods", "log_prior", "draws", "batch_size"))
def draw_langevin(
    key: Array,
    starts: Float[Array, "chains d"],
    step_size: Float[Array, ""],
    between: Array,
    beta: Float[Array, ""],
    data: Any,
    weight: Float[Array, " rows"],
    *,
    log_likelihoods: Density,
    log_prior: Density,
    draws: int,
    batch_size: int,
) -> Draws:
    """Return draws that stand `between` steps apart, each step by the gradient of rows that are drawn anew."""
    rows = weight.shape[0]

    def slope(vector: Array, index: Array) -> Array:
        part = jax.tree.map(lambda leaf: leaf[index], data)

        def density(v: Array) -> Array:
            found = jnp.sum(weight[index] * log_likelihoods(v, part)) * (rows / batch_size)
            return log_prior(v, data) + beta * found

        return jax.grad(density)(vector)

    def step(number: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        key, positions = carry
        key, first, second = jax.random.split(key, 3)
        index = jax.random.randint(first, (positions.shape[0], batch_size), 0, rows)
        noise = jax.random.normal(second, positions.shape, positions.dtype)
        move = 0.5 * step_size * jax.vmap(slope)(positions, index)
        return key, positions + move + jnp.sqrt(step_size) * noise

    def draw(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        key, positions = jax.lax.fori_loop(0, between, step, carry)
        losses = jax.vmap(lambda v: total_loss(log_likelihoods, None, v, data, weight))(positions)
        return (key, positions), (positions, losses)

    _, (positions, losses) = jax.lax.scan(draw, (key, starts), None, length=draws)
    nothing = jnp.full(starts.shape[0], jnp.nan, starts.dtype)
    return Draws(jnp.swapaxes(positions, 0, 1), losses.T, nothing, jnp.full_like(nothing, step_size))


@in_float64
def minibatch_learning_coefficient(
    log_likelihoods: Callable[[Any, Any], Any],
    parameters: Any,
    data: Any,
    *,
    log_prior: Callable[[Any], Any],
    step_size: float,
    batch_size: int = 256,
    prior: str = "given",
    chains: int = 4,
    draws: int = 1000,
    warm_up: int = 500,
    steps_between: int = 10,
    seed: int = 0,
) -> EstimatedCoefficient:
    """Estimate the learning coefficient at this number of rows from gradients of few rows at a time.

    Parameters
    ----------
    log_likelihoods : callable
        Of parameters and data: the log-likelihood of each row. It is given some rows, or all.
    parameters : array or tree of arrays
        Where chains begin: a good fit.
    data : tree of arrays
        The rows, along the first axis of every array.
    log_prior : callable
        The log density of the prior, a function of the parameters.
    step_size : float
        ε of w + ½ε·(gradient) + √ε·(noise): a step that is too large is refused.
    batch_size : int
        Rows for a gradient.
    prior : str
        What the prior is, in words.
    chains, draws, warm_up, steps_between : int
        How many chains, draws of each after those of the warm-up, and steps from draw to draw. The loss of all rows is
        computed once for each draw.
    seed : int
        Where chance begins.

    Returns
    -------
    EstimatedCoefficient
        That of half the step, with what halving has changed in its bar; or one sentence as its `problem`.

    """
    check_sampling("arviz_stats")
    if not 0 < step_size < np.inf:
        raise ValueError(f"step_size is {step_size}: it must be positive and finite.")
    posterior = function_posterior(log_likelihoods, parameters, log_prior, data=data, prior=prior)
    count = len(posterior.weight)
    for leaf in jax.tree.leaves(data):
        if np.shape(leaf)[:1] != (count,):
            raise ValueError(f"data has an array of shape {np.shape(leaf)}: its first axis must be the {count} rows.")
    if not 1 <= batch_size <= count:
        raise ValueError(f"batch_size is {batch_size}: it must be 1 or more, and at most the {count} rows.")
    beta = float(1 / np.log(posterior.rows))
    runs = [
        _run(posterior, beta, step_size / halved, steps_between * halved, (chains, draws, warm_up, batch_size), seed)
        for halved in (1, 2)
    ]
    found = estimate_from_draws(posterior, runs[1], beta)
    return _with_bias(found, runs, beta, step_size)


def _run(
    posterior: Posterior, beta: float, step_size: float, between: int, sizes: tuple[int, int, int, int], seed: int
) -> Draws:
    chains, draws, warm_up, batch_size = sizes
    first, second = jax.random.split(jax.random.key(seed))
    starts = begin_chains(first, jnp.asarray(posterior.start), chains)
    found = draw_langevin(
        second,
        starts,
        jnp.asarray(step_size),
        jnp.asarray(between),
        jnp.asarray(beta),
        jax.tree.map(jnp.asarray, posterior.data),
        jnp.asarray(posterior.weight),
        log_likelihoods=posterior.log_likelihoods,
        log_prior=posterior.log_prior,
        draws=warm_up + draws,
        batch_size=batch_size,
    )
    return found._replace(positions=found.positions[:, warm_up:], losses=found.losses[:, warm_up:])


def _with_bias(found: EstimatedCoefficient, runs: list[Draws], beta: float, step_size: float) -> EstimatedCoefficient:
    """Return the estimate with the bias of its step in the bar, or the sentence that the step is too large."""
    both = [np.asarray(run.losses, np.float64) for run in runs]
    nothing: dict[str, Any] = dict.fromkeys(NUMBERS)
    if not all(np.all(np.isfinite(losses)) for losses in both):
        problem = f"The chains diverge with step_size {step_size:g}: take a smaller one."
        return dataclasses.replace(found, **nothing, problem=problem)
    squares = [np.square(losses - losses.mean()) for losses in both]
    # of the mean of S, and of its variance: the coefficient in both forms, up to a constant
    for forms, scale in ((both, beta), (squares, beta**2)):
        change = scale * float(forms[0].mean() - forms[1].mean())
        error = scale * float(np.hypot(mean_error(forms[0]), mean_error(forms[1])))
        level = beta**2 * min(float(square.mean()) for square in squares)
        if abs(change) > max(_MOST_CHANGE * level, 2 * error):
            problem = (
                f"step_size {step_size:g} is too large: halving it changes the coefficient by {abs(change):.2g}, where "
                f"it is about {level:.2g}; take a smaller one."
            )
            return dataclasses.replace(found, **nothing, problem=problem)
    if found.value is None:
        return found
    chain = float(np.hypot(found.chain_error or 0.0, change))
    total = float(np.hypot(found.jackknife_error or 0.0, chain))
    return dataclasses.replace(found, chain_error=chain, standard_error=total)
