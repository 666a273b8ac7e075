"""The learning coefficient that data shows: the population coefficient at this n, with an error bar.

λ(t) = t²·Var[K] under prior · e^{−tK} is what an asymptotic learning coefficient looks like at t = nβ; where its
multiplicity is above 1 the two differ by about (m − 1)/log t, which no bar at finite n could hold. Here K is replaced
by the losses of the rows: β²·Var[S], with the infinitesimal jackknife for what other rows would have said,

∂(β²·Var S)/∂ω_i = β²·(2·Cov(S, ℓ_i) − β·E[(S − E S)²·(ℓ_i − E ℓ_i)]),

and the Monte Carlo error of the chains. In many dimensions third moments are noisy and the bar is too wide.

At finite n the population coefficient may be above d/2, where the asymptotic one is not. A prior that is at odds with
the data leaves S a slope where draws lie: for the variance of a normal, whose posterior is a Gamma distribution with a
share r of its scale from the data, it is ½ + t(1 − r)²/2 to first order. The variance between modes adds to it too.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.assess._diagnostics import diagnose, mean_error
from kullback.assess._estimate import NUMBERS, EstimatedCoefficient
from kullback.assess._posterior import as_posterior
from kullback.assess._sampling import check_sampling
from kullback.assess._tempered import (
    Density,
    Draws,
    Posterior,
    Settings,
    begin_chains,
    draw_tempered,
    total_loss,
    weighted_rows,
)
from kullback.numerics import counted
from kullback.runtime import in_float64, jit

#: Steps of the descent to the best fit, from the best draw.
_DESCENT = 300


class Form(NamedTuple):
    """β²·Var S with its two errors."""

    value: float
    jackknife_error: float
    chain_error: float

    @property
    def standard_error(self) -> float:
        """What the rows and the chains leave unknown, together."""
        return float(np.hypot(self.jackknife_error, self.chain_error))


def influence_coefficients(losses: Float[np.ndarray, "chains draws"], beta: float) -> Float[np.ndarray, " all"]:
    """Return c_t such that ∂(β²·Var S)/∂ω_i = Σ_t c_t·ℓ_i(w_t)."""
    away = losses.ravel() - losses.mean()
    square = np.square(away)
    return beta**2 * (2 * away - beta * (square - square.mean())) / away.size


def variance_form(
    losses: Float[np.ndarray, "chains draws"],
    influence: Float[np.ndarray, " rows"],
    weight: Float[np.ndarray, " rows"],
    beta: float,
) -> Form:
    """Return β²·Var S, the infinitesimal jackknife over rows, and the error of the chains."""
    square = np.square(losses - losses.mean())
    center = np.sum(weight * influence) / np.sum(weight)
    jackknife = float(np.sqrt(np.sum(weight * np.square(influence - center))))
    return Form(float(beta**2 * square.mean()), jackknife, beta**2 * mean_error(square))


@functools.partial(jit, static_argnames=("log_likelihoods", "total"))
def descend(
    start: Float[Array, " d"],
    scale: Float[Array, " d"],
    data: Any,
    weight: Float[Array, " rows"],
    *,
    log_likelihoods: Density,
    total: Density | None,
) -> Float[Array, ""]:
    """Return the least loss on the way down from here, in steps of the posterior's width that grow short."""
    import optax

    def loss(z: Array) -> Array:
        return total_loss(log_likelihoods, total, start + scale * z, data, weight)

    optimizer = optax.adam(optax.exponential_decay(0.1, _DESCENT, 1e-5))

    def step(carry: Any, _: None) -> tuple[Any, Array]:
        z, state = carry
        value, slope = jax.value_and_grad(loss)(z)
        move, state = optimizer.update(jnp.nan_to_num(slope), state)
        return (z + move, state), value

    zero = jnp.zeros_like(start)
    (z, _), values = jax.lax.scan(step, (zero, optimizer.init(zero)), None, length=_DESCENT)
    return jnp.minimum(jnp.nanmin(values), loss(z))


def draw_posterior(posterior: Posterior, betas: Sequence[float], settings: Settings, seed: int) -> list[Draws]:
    """Return draws at each of these inverse temperatures, which rise, from chains around the start."""
    settings.check()
    check_sampling()
    first, second = jax.random.split(jax.random.key(seed))
    starts = begin_chains(first, jnp.asarray(posterior.start), settings.chains)
    found = draw_tempered(
        second,
        starts,
        jnp.asarray(betas, starts.dtype),
        posterior.data,
        jnp.asarray(posterior.weight),
        log_likelihoods=posterior.log_likelihoods,
        log_prior=posterior.log_prior,
        total=posterior.total,
        settings=settings,
    )
    return [found.at(rung) for rung in range(len(betas))]


def least_loss(posterior: Posterior, draws: Draws) -> float:
    """Return S(ŵ): the least loss that is found from the start and from the best draw."""
    positions, losses = np.asarray(draws.positions), np.asarray(draws.losses)
    flat = positions.reshape(-1, positions.shape[-1])
    functions: dict[str, Any] = {"log_likelihoods": posterior.log_likelihoods, "total": posterior.total}
    weight, scale = jnp.asarray(posterior.weight), jnp.asarray(flat.std(axis=0))
    best = flat[np.argmin(losses)]
    return min(
        float(descend(jnp.asarray(start), scale, posterior.data, weight, **functions))
        for start in (posterior.start, best)
    )


def estimate_from_draws(posterior: Posterior, draws: Draws, beta: float) -> EstimatedCoefficient:
    """Return the coefficient that draws show, or the sentence why they show none."""
    losses = np.asarray(draws.losses, np.float64)
    positions = jnp.asarray(draws.positions)
    weight = np.asarray(posterior.weight, np.float64)
    found = diagnose(losses)
    same: dict[str, Any] = {
        "rows": posterior.rows,
        "parameters": positions.shape[-1],
        "inverse_temperature": beta,
        "rhat": found.rhat,
        "effective_draws": found.effective_draws,
        "prior": posterior.prior,
    }
    if found.problem is not None:
        nothing: dict[str, Any] = dict.fromkeys(NUMBERS)
        return EstimatedCoefficient(**nothing, **same, problem=found.problem)
    coefficients = jnp.asarray(influence_coefficients(losses, beta))
    influence = weighted_rows(
        positions.reshape(-1, positions.shape[-1]),
        coefficients,
        posterior.data,
        log_likelihoods=posterior.log_likelihoods,
    )
    form = variance_form(losses, np.where(weight > 0, influence, 0.0), weight, beta)
    wbic, error = float(losses.mean()), mean_error(losses)
    anchored = beta * (wbic - least_loss(posterior, draws))
    return EstimatedCoefficient(
        form.value,
        form.standard_error,
        form.jackknife_error,
        form.chain_error,
        anchored,
        beta * error,
        wbic,
        error,
        **same,
    )


@in_float64
def estimate_learning_coefficient(
    subject: Any,
    given: Any,
    *,
    log_prior: Callable[..., Any] | None = None,
    data: Any = None,
    weight: Any = None,
    total: Callable[..., Any] | None = None,
    prior: str = "given",
    inverse_temperature: float | None = None,
    chains: int = 4,
    draws: int = 2000,
    warm_up: int = 800,
    leapfrogs: int = 8,
    seed: int = 0,
) -> EstimatedCoefficient:
    """Estimate the population learning coefficient at this number of rows, by chains of Hamiltonian Monte Carlo.

    Parameters
    ----------
    subject : Model or callable
        A fitted model, or a function of parameters, and of `data` where that is given, that returns the log-likelihood
        of each row.
    given : Batch, array or tree of arrays
        The rows of the model; for a function the parameters where chains begin, near the best fit.
    log_prior : callable, optional
        The log density of the prior. Of a model it is a function of the model, and by default Dirichlet(1) for
        probabilities and weak conjugate ones from the data's scale; a function needs one, of its parameters.
    data : tree of arrays, optional
        What a function is given besides the parameters. Data of the same shapes share what is compiled.
    weight : array, optional
        How often each row counts, for functions.
    total : callable, optional
        The sum of all log-likelihoods, by weight, where that is cheaper than to add them up; for functions.
    prior : str
        What a given prior is, in words.
    inverse_temperature : float, optional
        β; by default 1/log n.
    chains, draws, warm_up, leapfrogs : int
        How many chains, draws of each after the warm-up, and mean leapfrog steps for each draw.
    seed : int
        Where chance begins.

    Returns
    -------
    EstimatedCoefficient
        Without a number, and with one sentence as its `problem`, where R̂ of the loss is above 1.01 or there are fewer
        than 400 effective draws.

    """
    posterior = as_posterior(subject, given, log_prior=log_prior, data=data, weight=weight, total=total, prior=prior)
    beta = _beta(posterior, inverse_temperature)
    (found,) = draw_posterior(posterior, [beta], Settings(chains, draws, warm_up, leapfrogs), seed)
    return estimate_from_draws(posterior, found, beta)


@in_float64
def learning_coefficient_curve(
    subject: Any,
    given: Any,
    inverse_temperatures: Sequence[float],
    *,
    log_prior: Callable[..., Any] | None = None,
    data: Any = None,
    weight: Any = None,
    total: Callable[..., Any] | None = None,
    prior: str = "given",
    chains: int = 4,
    draws: int = 2000,
    warm_up: int = 800,
    leapfrogs: int = 8,
    seed: int = 0,
) -> list[EstimatedCoefficient]:
    """Return the coefficient at each of several inverse temperatures, for a picture; see the function for one.

    They are one ladder, whose chains change places: neighbors a factor of 1.5 apart, or less, help each other.
    """
    posterior = as_posterior(subject, given, log_prior=log_prior, data=data, weight=weight, total=total, prior=prior)
    settings = Settings(chains, draws, warm_up, leapfrogs)
    betas = [_beta(posterior, each) for each in inverse_temperatures]
    if not betas or sorted(set(betas)) != betas:
        raise ValueError(f"inverse_temperatures are {betas}: give one or more, each above the one before.")
    found = draw_posterior(posterior, betas, settings, seed)
    return [estimate_from_draws(posterior, each, beta) for each, beta in zip(found, betas, strict=True)]


def _beta(posterior: Posterior, given: float | None) -> float:
    if given is None:
        if posterior.rows < 3:
            raise ValueError(
                f"the data has {counted(int(posterior.rows), 'row')}: an estimate needs more, 1/log n is its "
                "temperature."
            )
        return float(1 / np.log(posterior.rows))
    if not 0 < given < np.inf:
        raise ValueError(f"inverse_temperature is {given}: it must be positive and finite.")
    return float(given)
