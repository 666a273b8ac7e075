"""Counts with hidden probabilities, against scipy, Monte Carlo and a numerical maximum of the likelihood."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, stats

from contracts.quick import quick
from kullback.families import Batch, Extent
from kullback.learning import combine, em, merge, online_em_step
from kullback.models import CompoundDirichlet, Mixture
from tiers import slow

ALPHA = np.array([0.4, 1.5, 3.0])


def counts(seed=0, rows=200, alpha=ALPHA):
    """Rows of different totals, an empty one among them."""
    rng = np.random.default_rng(seed)
    trials = rng.integers(0, 40, rows)
    trials[0] = 0
    return np.stack([rng.multinomial(n, h) for n, h in zip(trials, rng.dirichlet(alpha, rows), strict=True)])


def likelihood(alpha, x):
    return np.array([stats.dirichlet_multinomial.logpmf(row, alpha, row.sum()) for row in x])


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_probabilities_as_in_scipy(size):
    x = counts(rows=30)
    found = quick(lambda m: m.log_likelihood(Batch(x)))(CompoundDirichlet(size * ALPHA))
    np.testing.assert_allclose(found, likelihood(size * ALPHA, x), rtol=1e-11, atol=1e-11)


def test_a_large_concentration_is_a_multinomial():
    """log p tends to that of the multinomial, and no digits are lost on the way."""
    x = counts(rows=30)
    share = ALPHA / ALPHA.sum()
    expected = np.array([stats.multinomial.logpmf(row, row.sum(), share) for row in x])
    found = quick(lambda m: m.log_likelihood(Batch(x)))(CompoundDirichlet(1e12 * ALPHA))
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_probabilities_sum_to_one():
    x = np.array([row for row in itertools.product(range(6), repeat=3) if sum(row) == 5])
    both = CompoundDirichlet(np.stack([ALPHA, 3 * ALPHA[::-1]]))
    np.testing.assert_allclose(np.exp(quick(lambda m: m.log_likelihood(Batch(x)))(both)).sum(axis=0), 1, rtol=1e-12)


def test_what_is_not_a_count_is_impossible_and_says_nothing():
    x = np.array([[1.0, 2.0, 0.5], [-1.0, 2.0, 3.0], [np.nan, 1.0, 1.0], [np.inf, 1.0, 1.0], [2.0, 0.0, 1.0]])

    @quick
    def ask(model):
        return model.log_likelihood(Batch(x)), model.energy(x), model.expected_statistics(Batch(x))[0]

    rows, energy, data = ask(CompoundDirichlet(ALPHA))
    assert np.isneginf(rows[:4]).all()
    np.testing.assert_array_equal(energy, -rows)
    assert np.isfinite(rows[4])
    assert np.isfinite(data.mean).all()
    slope = quick(jax.grad(lambda m: m.log_likelihood(Batch(x))[4]))(CompoundDirichlet(jnp.asarray(ALPHA)))
    assert np.isfinite(slope.concentration).all()


@pytest.mark.parametrize("trials", [slow(12), 2000])
def test_samples_have_the_moments_of_the_pair(trials):
    model = CompoundDirichlet(ALPHA, trials=trials)

    @quick
    def draw(model, key):
        h, v = model.sample_joint(key, (20_000,))
        return h, v, model.expected_statistics(Batch(v))[0].mean, model.own_statistics(Extent()).mean

    h, v, data, own = map(np.asarray, draw(model, jax.random.key(0)))
    assert v.shape == h.shape == (20_000, 3)
    assert np.all(np.sum(v, axis=-1) == trials)
    assert np.all(v >= 0)
    reference = stats.dirichlet_multinomial(ALPHA, trials)
    error = np.sqrt(np.diag(reference.cov()) / len(v))
    assert np.all(np.abs(np.mean(v, axis=0) - reference.mean()) < 5 * error)
    residual = (v - trials * h) / np.sqrt(trials * h * (1 - h) + 1e-9)
    assert np.all(np.abs(np.mean(residual**2, axis=0) - 1) < 0.1)
    # what the data says on average is what the model says: E[E[log h | v]] = E[log h]
    spread = np.std(np.log(h), axis=0) / np.sqrt(len(v))
    assert np.all(np.abs(data - own) < 5 * spread)


def test_the_posterior_by_weighted_samples():
    """E[log h | v] with h from the prior, weighted by the multinomial."""
    model, v = CompoundDirichlet(ALPHA), np.array([[2, 0, 3]])
    h = np.random.default_rng(1).dirichlet(ALPHA, 200_000)
    weight = np.exp(stats.multinomial.logpmf(v, 5, h / h.sum(axis=-1, keepdims=True)))
    weight = weight / weight.sum()
    log_h = np.log(h)
    expected = weight @ log_h
    error = np.sqrt(weight**2 @ (log_h - expected) ** 2)
    ask = quick(lambda m: (m.expected_statistics(Batch(v))[0].mean, m.posterior(Batch(v)).expectation[0]))
    data, posterior = ask(model)
    assert np.all(np.abs(data - expected) < 5 * error)
    np.testing.assert_allclose(posterior, data, rtol=1e-12)


@pytest.mark.parametrize("alpha", [[1e-6, 1e6, 1e-3], [1e-6, 1e-6, 1e-6], [1e6, 2e6, 1e6]])
def test_rows_that_say_nothing_leave_the_model_as_it_is(alpha):
    """An empty row, and one with a missing entry, have the statistics of the model itself."""
    model = CompoundDirichlet(np.array(alpha))
    batch = Batch(np.array([[0, 0, 0], [5, 5, 5]]), observed=[[True] * 3, [True, True, False]])

    @quick
    def ask(model):
        own = model.own_statistics(Extent()).mean
        return model.log_likelihood(batch), model.expected_statistics(batch)[0].mean, own

    rows, mean, own = ask(model)
    np.testing.assert_array_equal(rows, 0)
    np.testing.assert_allclose(mean, own, rtol=1e-12)


@pytest.mark.slow
def test_em_climbs_to_the_maximum_of_the_likelihood():
    x = counts()
    start = CompoundDirichlet(np.ones(3))
    found, history = em(start, Batch(x), steps=2000, tolerance=1e-13)
    assert np.all(np.diff(history) > -1e-12)
    best = optimize.minimize(lambda u: -likelihood(np.exp(u), x).mean(), np.zeros(3), tol=1e-9)
    assert history[-1] == pytest.approx(-best.fun, abs=1e-9)
    np.testing.assert_allclose(found.concentration, np.exp(best.x), rtol=1e-3)


def test_the_gradient_is_data_less_own():
    """Fisher's identity: ∇ log p(v) = E[log h | v] − E[log h]."""
    x = counts(rows=20)

    @quick
    def ask(model):
        gap = model.expected_statistics(Batch(x))[0].mean - model.own_statistics(Extent()).mean
        return jax.grad(lambda m: jnp.sum(m.log_likelihood(Batch(x))))(model).concentration, 20 * gap

    np.testing.assert_allclose(*ask(CompoundDirichlet(jnp.asarray(ALPHA))), rtol=1e-9)


def test_online_em_stays_at_the_truth():
    """The inertia is exact: of the model's own data, a step goes nowhere on average, and with rate 0 not at all."""
    model = CompoundDirichlet(ALPHA)
    batch = Batch(counts(2, rows=2000))
    np.testing.assert_allclose(online_em_step(model, batch, jnp.asarray(0.0))[0].concentration, ALPHA, rtol=1e-10)
    moved = online_em_step(model, batch, jnp.asarray(0.5))[0]
    np.testing.assert_allclose(moved.concentration, ALPHA, rtol=0.1)


@pytest.mark.slow
def test_combining_is_the_dirichlet_between():
    a, b = CompoundDirichlet(ALPHA), CompoundDirichlet(ALPHA[::-1].copy())
    np.testing.assert_allclose(combine([a, a]).concentration, ALPHA, rtol=1e-10)
    between = combine([a, b], [0.25, 0.75])
    expected = 0.25 * a.hidden.expectation + 0.75 * b.hidden.expectation
    np.testing.assert_allclose(between.hidden.expectation, expected, rtol=1e-10)


@pytest.mark.slow
def test_long_batches_go_block_by_block():
    x = counts(rows=5000)

    @quick
    def ask(model, x):
        return model.expected_statistics(Batch(x))[0]

    model = CompoundDirichlet(np.stack([ALPHA, ALPHA[::-1]]))
    whole = ask(model, x)
    parts = merge(ask(model, x[:1000]), ask(model, x[1000:]))
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


def test_missing_rows_are_drawn():
    model = CompoundDirichlet(np.stack([ALPHA, ALPHA[::-1]]), trials=7)
    x = np.array([[1, 2, 3], [4, 5, 6]])
    batch = Batch(x, observed=[[True] * 3, [True, False, True]])
    drawn = np.asarray(quick(lambda m, key: m.impute(batch, key))(model, jax.random.key(0)))
    assert drawn.shape == (2, 2, 3)
    np.testing.assert_array_equal(drawn[0], [x[0], x[0]])
    np.testing.assert_array_equal(drawn[1].sum(axis=-1), 7)


@pytest.mark.slow
def test_a_mixture_tells_topics_apart():
    alpha = np.array([[6.0, 1.0, 0.5], [0.5, 1.0, 6.0]])
    x = np.concatenate([counts(0, alpha=alpha[0]), counts(1, alpha=alpha[1])])
    start = Mixture([0.5, 0.5], CompoundDirichlet(np.array([[2.0, 1.0, 1.0], [1.0, 1.0, 2.0]])))
    found, history = em(start, Batch(x), steps=100, tolerance=1e-7)
    assert np.all(np.diff(history) > -1e-10)
    share = np.asarray(found.components.concentration)
    share = share / share.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(share, alpha / alpha.sum(axis=-1, keepdims=True), atol=0.05)


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match=r"concentration\[1\] is 0"):
        CompoundDirichlet([1.0, 0.0])
    with pytest.raises(ValueError, match=r"trials is 2.5: it must be a whole number"):
        CompoundDirichlet([1.0, 1.0], trials=2.5)
    with pytest.raises(ValueError, match=r"values have shape \(1, 2\): rows of 3 counts are needed"):
        CompoundDirichlet(ALPHA).log_likelihood(Batch(np.ones((1, 2))))
