"""One alternation: EM to the bit, halves that are restricted, and Bayes, who counts a datum once."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.core import Batch
from kullback.families import Beta, Gaussian, Poisson
from kullback.learning import EM, AllAtOnce, GainBelow, alternate, begin, em, fit
from kullback.models import HiddenMarkovModel, Mixture
from learning.proof_data import equal_bits
from tiers import slow

RNG = np.random.default_rng(0)
POINTS = RNG.choice([-1.0, 2.0], (300, 1)) + RNG.normal(size=(300, 2))


def mixture():
    return Mixture(np.array([0.4, 0.6]), Gaussian(np.array([[-1.0, 0.0], [1.0, 1.0]]), np.stack([np.eye(2)] * 2)))


def chain():
    return HiddenMarkovModel(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]]), Poisson(np.array([2.0, 6.0])))


@pytest.mark.parametrize(
    ("model", "batch"), [(mixture, Batch(POINTS)), (chain, Batch(RNG.poisson(RNG.choice([1.0, 9.0], 200))))]
)
def test_em_is_the_alternation_of_a_posterior_and_the_nearest_model_to_the_bit(model, batch):
    found, values = em(model(), batch, 8, 0.0)
    learner, data, rule, infos = EM(), AllAtOnce(batch), GainBelow(0.0, 8), []
    place, _ = fit(learner, begin(learner, model(), data, rule), data, rule, record=infos.extend)
    assert equal_bits(found, place.model)
    assert values == [float(info.value) for info in infos]
    assert (np.diff(values) > -1e-12).all()
    assert em(model(), batch, 0)[1] == []


# --- a restricted first half --------------------------------------------------------------------------


class Coins(eqx.Module):
    """p(z) and p(x = 1 | z) of K coins; rows are one toss each of several columns."""

    weights: jax.Array
    chances: jax.Array

    def log_joint(self, x):
        each = x[:, None] * jnp.log(self.chances) + (1 - x[:, None]) * jnp.log1p(-self.chances)
        return jnp.log(self.weights) + jnp.sum(each, axis=-1)


class Guess(eqx.Module):
    """Sums over rows of q(z | x), of q(z | x)·x, and of the bound log p − log q."""

    mass: jax.Array
    members: jax.Array
    heads: jax.Array
    bound: jax.Array

    def merge(self, other):
        return jax.tree.map(jnp.add, self, other)


def guess_of(model, x, q, weight):
    log_q = jnp.log(jnp.where(q > 0, q, 1))
    bound = jnp.sum(weight * jnp.sum(jnp.where(q > 0, q * (model.log_joint(x) - log_q), 0), axis=1))
    return Guess(jnp.sum(weight), weight @ q, (weight[:, None] * q).T @ x, bound)


def free(model, batch):
    x = jnp.asarray(batch.values)
    return guess_of(model, x, jax.nn.softmax(model.log_joint(x), axis=1), jnp.asarray(batch.weight))


def first_column_only(model, batch):
    """The best q(z | x) among those that see the first column: exp of the mean log p over rows that share it."""
    x, weight = jnp.asarray(batch.values), jnp.asarray(batch.weight)
    same = (x[:, :1] == x[:, 0]) * weight
    q = jax.nn.softmax(same @ model.log_joint(x) / jnp.sum(same, axis=1, keepdims=True), axis=1)
    return guess_of(model, x, q, weight)


def hard(model, batch):
    x = jnp.asarray(batch.values)
    q = jax.nn.one_hot(jnp.argmax(model.log_joint(x), axis=1), len(model.weights))
    return guess_of(model, x, q, jnp.asarray(batch.weight))


def nearest(model, guess):
    chances = jnp.clip(guess.heads / guess.members[:, None], 1e-6, 1 - 1e-6)
    return Coins(guess.members / guess.mass, chances), guess.bound / guess.mass


@pytest.mark.parametrize(
    "discriminate", [slow(free), first_column_only, hard], ids=("free", "first_column_only", "hard")
)
def test_the_bound_never_falls_whatever_the_guess_may_be(discriminate):
    rng = np.random.default_rng(1)
    chances = np.where(rng.random((400, 1)) < 0.4, [[0.9, 0.8, 0.7, 0.9]], [[0.2, 0.3, 0.1, 0.4]])
    x = (rng.random(chances.shape) < chances).astype(float)
    start = Coins(np.array([0.5, 0.3, 0.2]), rng.uniform(0.3, 0.7, (3, 4)))
    data = [Batch(x[:200]), Batch(x[200:])] if discriminate is hard else Batch(x)
    model, values = alternate(discriminate, nearest, start, data, 60, 0.0)
    assert (np.diff(values) > -1e-12).all()
    assert values[-1] > values[0] + 0.01
    # what is bounded is the log-likelihood
    log_likelihood = jax.nn.logsumexp(model.log_joint(jnp.asarray(x)), axis=1).mean()
    assert values[-1] <= log_likelihood + 1e-9


# --- Bayes --------------------------------------------------------------------------------------------


class Posterior(eqx.Module):
    """What some tosses say to a Beta prior: the mean of their posteriors' parameters, and the evidence."""

    mass: jax.Array
    parameters: jax.Array
    evidence: jax.Array

    def merge(self, other):
        total = self.mass + other.mass
        share = other.mass / total
        return Posterior(
            total, self.parameters + share * (other.parameters - self.parameters), self.evidence + other.evidence
        )


def conjugate(prior, batch):
    """Return q(w | x), exactly: Beta(a + x, b + 1 − x)."""
    x, weight = jnp.asarray(batch.values, float), jnp.asarray(batch.weight)
    counts = jnp.stack([prior.alpha + x, prior.beta + 1 - x], axis=1)
    evidence = jnp.log(jnp.where(x == 1, prior.alpha, prior.beta) / (prior.alpha + prior.beta))
    return Posterior(jnp.sum(weight), weight @ counts / jnp.sum(weight), weight @ evidence)


def becomes_prior(prior, posterior):
    moved = eqx.tree_at(lambda p: (p.alpha, p.beta), prior, tuple(posterior.parameters))
    return moved, posterior.evidence / posterior.mass


TOSSES = np.array([1, 1, 0, 1, 0, 1, 1])


def pass_through(prior, tosses, steps):
    total = 0.0
    for toss in tosses:
        prior, values = alternate(conjugate, becomes_prior, prior, Batch(np.array([toss])), steps, 0.0)
        total += values[0]
    return prior, total


def test_one_step_for_each_datum_is_bayes_and_two_count_it_twice():
    prior, heads, tails = Beta(2.0, 3.0), TOSSES.sum(), (1 - TOSSES).sum()
    once, evidence = pass_through(prior, TOSSES, 1)
    np.testing.assert_allclose([once.alpha, once.beta], [2 + heads, 3 + tails])
    beta = lambda a, b: jax.scipy.special.betaln(a, b)  # noqa: E731
    assert evidence == pytest.approx(float(beta(2.0 + heads, 3.0 + tails) - beta(2.0, 3.0)), abs=1e-12)
    # the same data again is no news: its likelihood is squared, and the posterior is too sharp
    twice, _ = pass_through(prior, TOSSES, 2)
    np.testing.assert_allclose([twice.alpha, twice.beta], [2 + 2 * heads, 3 + 2 * tails])
    again, _ = pass_through(once, TOSSES, 1)
    np.testing.assert_allclose([again.alpha, again.beta], [twice.alpha, twice.beta])
    assert float(twice.variance) < float(once.variance)


class Grid(eqx.Module):
    """A prior over values of w that are listed."""

    prior: jax.Array


VALUES = np.linspace(0.05, 0.95, 19)


class Shares(eqx.Module):
    mass: jax.Array
    shares: jax.Array
    evidence: jax.Array

    def merge(self, other):
        return jax.tree.map(jnp.add, self, other)


def posterior_on_grid(model, batch):
    x, weight = jnp.asarray(batch.values), jnp.asarray(batch.weight)
    joint = model.prior * jnp.where(x[:, None] == 1, VALUES, 1 - VALUES)
    total = jnp.sum(joint, axis=1)
    return Shares(jnp.sum(weight), weight @ (joint / total[:, None]), weight @ jnp.log(total))


def mean_posterior(model, shares):
    return Grid(shares.shares / shares.mass), shares.evidence / shares.mass


def test_on_all_of_the_data_the_alternation_learns_the_prior_and_ends_at_the_maximum_of_the_likelihood():
    start = Grid(np.full(len(VALUES), 1 / len(VALUES)))
    one, _ = alternate(posterior_on_grid, mean_posterior, start, Batch(np.array([1.0])), 1)
    np.testing.assert_allclose(one.prior, VALUES / VALUES.sum())  # Bayes
    two, _ = alternate(posterior_on_grid, mean_posterior, start, Batch(np.array([1.0])), 2, 0.0)
    np.testing.assert_allclose(two.prior, VALUES**2 / (VALUES**2).sum())  # the likelihood squared
    many, values = alternate(posterior_on_grid, mean_posterior, start, Batch(TOSSES.astype(float)), 3_000, 0.0)
    assert (np.diff(values) > -1e-12).all()
    share = TOSSES.mean()
    assert many.prior @ VALUES == pytest.approx(share, abs=1e-3)
    assert values[-1] == pytest.approx(share * np.log(share) + (1 - share) * np.log(1 - share), abs=1e-6)
