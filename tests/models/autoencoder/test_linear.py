"""An autoencoder with a linear decoder is probabilistic PCA: everything it answers has a closed form in NumPy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from contracts.quick import quick
from kullback.core import Batch
from kullback.families import DiagonalGaussian
from kullback.models import VariationalAutoencoder, complete
from kullback.models.autoencoder._posterior import curvature

RNG = np.random.default_rng(0)
N, LATENTS, NOISE = 4, 2, 0.6
W = np.linalg.qr(RNG.normal(size=(N, LATENTS)))[0] * [1.5, 0.7]  # orthogonal, so that the posterior is diagonal
CENTER = RNG.normal(size=N)
ROWS = CENTER + RNG.normal(size=(5, LATENTS)) @ W.T + NOISE * RNG.normal(size=(5, N))
SEEN = np.array([[1, 1, 1, 1], [1, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]], bool)


class Linear(eqx.Module):
    """The means W·z + center and the logarithms of the standard deviations, which are all alike."""

    weight: np.ndarray
    center: np.ndarray
    log_scale: np.ndarray

    def __call__(self, z):
        return jnp.concatenate([self.weight @ z + self.center, jnp.broadcast_to(self.log_scale, self.center.shape)])


class Guess(eqx.Module):
    """A linear encoder, with one spread for all rows."""

    weight: np.ndarray
    center: np.ndarray
    log_scale: np.ndarray

    def __call__(self, v, observed=None):
        mean = (v - self.center) @ self.weight.T
        return jnp.concatenate([mean, jnp.broadcast_to(self.log_scale, mean.shape)], axis=-1)


def posterior(v, seen):
    """Return mean and covariance of p(z | what is seen of v)."""
    A = W[seen]
    covariance = np.linalg.inv(np.eye(LATENTS) + A.T @ A / NOISE**2)
    return covariance @ A.T @ (v - CENTER)[seen] / NOISE**2, covariance


def log_likelihood(v, seen):
    spread = W[seen] @ W[seen].T + NOISE**2 * np.eye(seen.sum())
    return stats.multivariate_normal(CENTER[seen], spread).logpdf(v[seen]) if seen.any() else 0.0


def machine(encoder):
    return VariationalAutoencoder(
        encoder, Linear(W, CENTER, np.array(np.log(NOISE))), DiagonalGaussian(np.zeros(N), np.ones(N)), LATENTS
    )


WHOLE = np.ones(N, bool)
SPREAD = posterior(ROWS[0], WHOLE)[1]
EXACT = machine(Guess(SPREAD @ W.T / NOISE**2, CENTER, 0.5 * np.log(np.diag(SPREAD))))
PRIOR = machine(Guess(np.zeros((LATENTS, N)), CENTER, np.zeros(LATENTS)))
BATCH = Batch(ROWS, observed=SEEN)


def test_fisher_scoring_ends_at_the_posterior_and_its_covariance():
    found = PRIOR.posterior(BATCH)
    for place, (v, seen) in enumerate(zip(ROWS, SEEN, strict=True)):
        mean, covariance = posterior(v, seen)
        np.testing.assert_allclose(found.mean[place], mean, atol=1e-10)
        np.testing.assert_allclose(found.covariance[place], covariance, atol=1e-10)


def test_one_step_from_anywhere_is_enough():
    with jax.enable_x64(True):
        z = np.array([3.0, -7.0])
        gradient, root = quick(lambda v, seen: curvature(PRIOR, jnp.asarray(z), v, seen))(ROWS[1], SEEN[1])
        step = np.linalg.solve(root @ root.T, gradient)
    np.testing.assert_allclose(z + step, posterior(ROWS[1], SEEN[1])[0], atol=1e-10)


def test_the_likelihood_by_that_proposal_is_exact_and_its_error_nothing():
    found = PRIOR.estimate_log_likelihood(BATCH, 0, draws=8)
    expected = [log_likelihood(v, seen) for v, seen in zip(ROWS, SEEN, strict=True)]
    np.testing.assert_allclose(found.value, expected, atol=1e-10)
    assert np.max(found.standard_error) < 1e-10
    np.testing.assert_allclose(PRIOR.energy(ROWS), [-log_likelihood(v, WHOLE) for v in ROWS], atol=1e-10)


def test_weights_of_the_exact_posterior_are_the_likelihood_whatever_is_drawn():
    found = EXACT.recognize(0, Batch(ROWS), 3)
    np.testing.assert_allclose(found.log_weight, [[log_likelihood(v, WHOLE)] * 3 for v in ROWS], atol=1e-10)
    np.testing.assert_allclose(found.effective_size(), 3)


def test_the_bound_of_the_exact_posterior_is_the_likelihood():
    draws = 4000
    with jax.enable_x64(True):
        each = np.asarray(
            jax.vmap(lambda key: EXACT.bound(key, Batch(ROWS)))(jax.random.split(jax.random.key(1), draws))
        )
    error = each.std(axis=0) / np.sqrt(draws)
    assert np.all(np.abs(each.mean(axis=0) - [log_likelihood(v, WHOLE) for v in ROWS]) < 4 * error)


def test_the_prior_as_proposal_has_the_variance_of_the_law():
    """The law: draws · error² is E[w²]/p² − 1, for the prior the integral of p(v | z)² over it."""
    draws = 400_000
    found = PRIOR.recognize(2, Batch(ROWS[:2]), draws).log_likelihood()
    for place, v in enumerate(ROWS[:2]):
        exact = log_likelihood(v, WHOLE)
        narrow = stats.multivariate_normal(CENTER, W @ W.T + NOISE**2 / 2 * np.eye(N)).logpdf(v)
        excess = np.exp(-N / 2 * np.log(4 * np.pi * NOISE**2) + narrow - 2 * exact) - 1
        assert draws * found.standard_error[place] ** 2 == pytest.approx(excess, rel=0.05)
        assert abs(found.value[place] - exact) < 4 * found.standard_error[place]


@pytest.mark.slow
def test_missing_entries_are_imputed_as_conditional_gaussians():
    seen, v = SEEN[1], ROWS[1]
    spread = W @ W.T + NOISE**2 * np.eye(N)
    gain = spread[~seen][:, seen] @ np.linalg.inv(spread[seen][:, seen])
    mean = CENTER[~seen] + gain @ (v - CENTER)[seen]
    variance = (spread[~seen][:, ~seen] - gain @ spread[seen][:, ~seen])[0, 0]
    many = Batch(np.tile(v, (4000, 1)), observed=np.tile(seen, (4000, 1)))
    drawn = np.asarray(PRIOR.impute(many, jax.random.key(0)))
    np.testing.assert_array_equal(drawn[:, seen], np.tile(v[seen], (4000, 1)))
    assert abs(drawn[:, ~seen].mean() - mean[0]) < 4 * np.sqrt(variance / 4000)
    assert drawn[:, ~seen].var() == pytest.approx(variance, rel=4 * np.sqrt(2 / 4000))
    np.testing.assert_allclose(complete(PRIOR, BATCH, want="v").v[1][~seen], mean, atol=1e-10)
    few = Batch(np.tile(v, (50, 1)), observed=np.tile(seen, (50, 1)))
    means = np.asarray(PRIOR.conditional_mean(few))[:, ~seen]
    assert abs(means.mean() - mean[0]) < 4 * means.std() / np.sqrt(50)


@pytest.mark.slow
def test_surprises_are_those_of_conditional_gaussians():
    found = PRIOR.estimate_surprises(Batch(ROWS[:2]), 0, draws=8)
    for v, row in zip(ROWS[:2], found, strict=True):
        for place in range(N):
            rest = np.arange(N) != place
            assert row[place] == pytest.approx(log_likelihood(v, rest) - log_likelihood(v, WHOLE), abs=1e-9)


def test_what_is_hidden_is_completed_by_the_mode_of_the_posterior():
    found = complete(PRIOR, BATCH, want="h")
    for place, (v, seen) in enumerate(zip(ROWS, SEEN, strict=True)):
        mean, covariance = posterior(v, seen)
        np.testing.assert_allclose(found.h[place], mean, atol=1e-10)
        highest = log_likelihood(v, seen) + stats.multivariate_normal(mean, covariance).logpdf(mean)
        assert found.energy[place] == pytest.approx(-highest, abs=1e-9)


@pytest.mark.slow
def test_entries_and_hidden_numbers_are_completed_together():
    """At the lowest energy a missing entry is at its mean given z, so it says nothing: z is that of `want="h"`."""
    found = complete(PRIOR, BATCH)
    for place, (v, seen) in enumerate(zip(ROWS, SEEN, strict=True)):
        mean = posterior(v, seen)[0]
        np.testing.assert_allclose(found.h[place], mean, atol=1e-5)
        np.testing.assert_allclose(found.v[place], np.where(seen, v, CENTER + W @ mean), atol=1e-5)
