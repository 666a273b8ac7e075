"""Draws of tempered posteriors against closed forms: a normal mean with a normal prior, and priors by themselves."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from assess.fixtures_coefficient import THOROUGH, normal_prior
from kullback.assess import Settings, diagnose
from kullback.assess._diagnostics import mean_error
from kullback.assess._posterior import model_posterior
from kullback.assess._tempered import begin_chains, draw_tempered
from kullback.families import Gaussian
from kullback.models import Mixture
from tiers import slow

SETTINGS = Settings(4, 1500, 200, 4)
ROWS = np.random.default_rng(0).normal([1.0, -0.5], [1.0, 1.0], (60, 2))


def normal_rows(w, data):
    return -0.5 * jnp.sum(jnp.square(data - w), axis=-1)


@functools.partial(jax.jit, compiler_options=THOROUGH)
def draw(betas, rows, weight):
    key = jax.random.key(3)
    starts = begin_chains(key, jnp.zeros(2), SETTINGS.chains)
    return draw_tempered(
        key, starts, betas, rows, weight, log_likelihoods=normal_rows, log_prior=normal_prior, settings=SETTINGS
    )


def exact(beta):
    """Return mean, variance and E S of the posterior of a normal mean under N(0, I)."""
    n, center = len(ROWS), ROWS.mean(axis=0)
    mean, variance = beta * n * center / (1 + beta * n), 1 / (1 + beta * n)
    loss = 0.5 * np.sum(np.square(ROWS - mean)) + 0.5 * n * 2 * variance
    return mean, variance, loss


@pytest.mark.parametrize("betas", [[0.3], slow([0.0]), slow([0.1, 0.25, 0.5, 1.0])])
def test_moments_of_a_normal_mean_are_exact_at_every_temperature(betas):
    draws = jax.tree.map(np.asarray, draw(jnp.asarray(betas), ROWS, np.ones(60)))
    for rung, beta in enumerate(betas):
        mean, variance, loss = exact(beta)
        positions, losses = draws.positions[rung], draws.losses[rung]
        assert diagnose(losses).problem is None
        for column in range(2):
            here = positions[..., column]
            square = np.square(here - mean[column])
            assert abs(here.mean() - mean[column]) < 4 * mean_error(here)
            assert abs(square.mean() - variance) < 4 * mean_error(square)
        assert abs(losses.mean() - loss) < 4 * mean_error(losses)
    assert np.all((draws.acceptance > 0.6) & (draws.acceptance < 0.99))


def test_the_loss_falls_with_the_inverse_temperature_as_its_variance_says():
    """−dE/dβ = Var, by the difference of two runs, within 3 standard errors of both."""
    apart = 0.02
    low, here, high = (np.asarray(draw(jnp.asarray([b]), ROWS, np.ones(60)).losses[0]) for b in (0.18, 0.2, 0.22))
    assert low.mean() > here.mean() > high.mean()
    slope = (low.mean() - high.mean()) / (2 * apart)
    square = np.square(here - here.mean())
    error = np.hypot(mean_error(square), np.hypot(mean_error(low), mean_error(high)) / (2 * apart))
    assert error < 0.2 * square.mean()
    assert abs(slope - square.mean()) < 3 * error


@pytest.mark.slow
def test_rows_without_weight_change_nothing():
    inside = np.arange(60) < 50
    some, others = (np.where(inside[:, None], ROWS, value) for value in (7.0, -1e6))
    found, known = (draw(jnp.asarray([0.3]), rows, inside.astype(float)) for rows in (some, others))
    np.testing.assert_array_equal(found.losses, known.losses)
    assert not np.array_equal(found.losses, draw(jnp.asarray([0.3]), some, np.ones(60)).losses)


@pytest.mark.slow
def test_without_data_draws_are_those_of_the_default_prior():
    rng = np.random.default_rng(1)
    X = rng.normal(2.0, 3.0, (50, 1))
    model = Mixture([0.4, 0.6], Gaussian([[0.0], [1.0]], [[[1.0]], [[2.0]]]))
    posterior = model_posterior(model, X)
    settings = Settings(4, 4000, 800, 8)
    starts = begin_chains(jax.random.key(0), jnp.asarray(posterior.start), 4)
    found = jax.jit(
        lambda: (
            draw_tempered(
                jax.random.key(1),
                starts,
                jnp.zeros(1),
                posterior.data,
                posterior.weight,
                log_likelihoods=posterior.log_likelihoods,
                log_prior=posterior.log_prior,
                settings=settings,
            ).positions
        ),
        compiler_options=THOROUGH,
    )()
    positions = np.asarray(found)[0, :, ::20].reshape(-1, 5)
    mean, deviation = X.mean(), X.std()
    # a variance of IW(3, s²/4) is s²/4 by a χ² of 3 degrees; the free coordinates are log odds, mean, log σ, …
    known = [
        (stats.logistic().cdf, 0),
        (stats.norm(mean, 3 * deviation).cdf, 1),
        (stats.norm(mean, 3 * deviation).cdf, 3),
    ]
    known += [(lambda s: stats.invgamma(1.5, scale=deviation**2 / 8).cdf(np.exp(2 * s)), column) for column in (2, 4)]
    for cdf, column in known:
        assert stats.kstest(positions[:, column], cdf).pvalue > 1e-3, column


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="chains is 1: it must be a whole number, 2 or more"):
        Settings(chains=1).check()
    with pytest.raises(ValueError, match="draws is 2.5"):
        Settings(draws=2.5).check()


def test_chains_that_disagree_or_stand_still_are_named():
    rng = np.random.default_rng(0)
    good = rng.normal(size=(4, 500))
    assert diagnose(good).problem is None
    assert "R̂ = " in diagnose(good + np.arange(4)[:, None]).problem
    assert "effective draws" in diagnose(np.cumsum(good, axis=1)).problem
    assert "have not moved" in diagnose(np.ones((4, 500))).problem
    found = diagnose(good + 0.123 * np.arange(4)[:, None])
    assert 1.01 < found.rhat < 1.0105
    assert "R̂ = 1.011 and" in found.problem  # rounded to 1.010 the sentence would contradict itself
    assert "not finite" in diagnose(np.where(good > 2, np.nan, good)).problem
