"""What holds for factor analysis and probabilistic PCA alike, against plain conditioning of the joint Gaussian."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from contracts.models import each_model, factor_analysis, probabilistic_pca
from contracts.quick import quick
from kullback.families import Batch, Extent
from kullback.geometry import relative_entropy
from kullback.learning import combine, em
from kullback.models import FactorAnalysis, ProbabilisticPCA

MAKERS = {"FactorAnalysis": factor_analysis, "ProbabilisticPCA": probabilistic_pca}
N, Q, ROWS = 4, 2, 40


@pytest.fixture(params=each_model(MAKERS), scope="module")
def make(request):
    return MAKERS[request.param]


@pytest.fixture(scope="module")
def pair(make):
    """Two members in one batch, and rows with holes: nothing is observed of the first row, all of the second."""
    rng = np.random.default_rng(3)
    members = [make(rng) for _ in range(2)]
    both = jax.tree.map(lambda *leaves: np.stack(leaves), *members)
    X = 2 * rng.normal(size=(ROWS, N))
    observed = rng.random((ROWS, N)) < 0.6
    observed[0], observed[1] = False, True
    return members, both, X, observed, rng.uniform(0.2, 2, (ROWS, 2))


def conditioned(model, x, seen, width):
    """Mean and covariance of (h, v) given what is seen of v, by the textbook formula for a joint Gaussian."""
    w, noise = np.asarray(model.loadings), np.broadcast_to(model.noise, N)
    joint = np.block([[np.eye(Q), w.T], [w, w @ w.T + np.diag(noise)]])
    place = Q + np.flatnonzero(seen)
    gain = np.linalg.solve(joint[np.ix_(place, place)], joint[place]).T
    mean = np.concatenate([np.zeros(Q), model.mean]) + gain @ (x - model.mean)[seen]
    return mean, joint - gain @ joint[place] + width * gain @ gain.T


def plain_statistics(model, X, observed, weight, width):
    """Mean and covariance of (h, v) over the rows, from the second moments around the model's own mean."""
    rows = [conditioned(model, x, seen, width) for x, seen in zip(X, observed, strict=True)]
    share = weight / weight.sum()
    mean = sum(s * m for s, (m, _) in zip(share, rows, strict=True))
    spread = sum(s * (c + np.outer(m - mean, m - mean)) for s, (m, c) in zip(share, rows, strict=True))
    return mean, np.concatenate([spread[:, :Q], np.diag(spread)[:, None]], axis=1)


@quick
def ask(model, batch):
    """All that a model says of rows."""
    return model.log_likelihood(batch), model.posterior(batch), model.expected_statistics(batch)[0]


apart = quick(relative_entropy)
aligned = quick(lambda model, reference: model.aligned_to(reference))
impute = quick(lambda model, batch, key: model.impute(batch, key))
principal = quick(lambda model: (model.principal_axes(), model.principal_axes().covariance, model.covariance))


@pytest.mark.parametrize("holes", [False, True])
def test_statistics_are_those_of_the_conditioned_gaussian(pair, holes):
    members, both, X, observed, weight = pair
    observed = observed if holes else np.ones_like(observed)
    batch = Batch(X, weight, 0.3, observed if holes else None)
    _, _, found = ask(both, batch)
    for k, model in enumerate(members):
        mean, spread = plain_statistics(model, X, observed, weight[:, k], 0.3)
        np.testing.assert_allclose(found.mass[k], weight[:, k].sum(), rtol=1e-13)
        np.testing.assert_allclose(found.mean[k], mean, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found.spread[k], spread, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("holes", [False, True])
def test_likelihood_and_posterior_are_those_of_the_marginal(pair, holes):
    members, both, X, observed, weight = pair
    observed = observed if holes else np.ones_like(observed)
    batch = Batch(X, weight, 0.0, observed if holes else None)
    likelihood, posterior, statistics = ask(both, batch)
    total = np.zeros(2)
    for k, model in enumerate(members):
        covariance = np.asarray(model.covariance)
        for r, (x, seen) in enumerate(zip(X, observed, strict=True)):
            expected = 0.0
            if seen.any():
                expected = multivariate_normal(model.mean[seen], covariance[np.ix_(seen, seen)]).logpdf(x[seen])
            total[k] += weight[r, k] * expected
            np.testing.assert_allclose(likelihood[r, k], expected, rtol=1e-11, atol=1e-12)
            mean, spread = conditioned(model, x, seen, 0.0)
            np.testing.assert_allclose(posterior.mean[r, k], mean[:Q], rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(posterior.covariance[r, k], spread[:Q, :Q], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(statistics.log_likelihood, total, rtol=1e-11)


def test_em_with_holes_never_lowers_the_likelihood(pair):
    members, _, X, observed, _ = pair
    _, history = em(members[0], Batch(X, observed=observed), steps=30, tolerance=-np.inf)
    assert np.all(np.diff(history) > -1e-11)
    assert history[-1] > history[0] + 0.1


def test_missing_entries_are_drawn_from_what_is_observed_of_the_row(pair):
    members, _, X, _, _ = pair
    model, count = members[0], 5000
    seen = np.array([True, False, True, False])
    batch = Batch(np.tile(X[5], (count, 1)), observed=np.tile(seen, (count, 1)))
    drawn = np.asarray(impute(model, batch, jax.random.key(0)))
    assert np.array_equal(drawn[:, seen], np.asarray(batch.values)[:, seen])
    mean, spread = conditioned(model, X[5], seen, 0.0)
    mean, spread = mean[Q:][~seen], spread[Q:, Q:][np.ix_(~seen, ~seen)]
    apart = drawn[:, ~seen] - mean
    assert np.all(np.abs(apart.mean(0)) < 4.5 * np.sqrt(np.diag(spread) / count))
    variances = np.diag(spread)
    error = np.sqrt((np.outer(variances, variances) + spread**2) / count)
    assert np.all(np.abs(apart.T @ apart / count - spread) < 4.5 * error)


def test_impute_answers_for_each_member(pair):
    _, both, X, observed, _ = pair
    drawn = np.asarray(impute(both, Batch(X, observed=observed), jax.random.key(0)))
    assert drawn.shape == (ROWS, 2, N)
    assert np.array_equal(drawn[:, 1][observed], X[observed])
    assert np.array_equal(impute(both, Batch(X), jax.random.key(0))[:, 0], X)


def test_own_statistics_are_those_of_draws(pair):
    model = pair[0][0]

    @quick
    def draw(model, key):
        own = model.own_statistics(Extent(3.0))
        joint = jnp.concatenate(model.sample_joint(key, (20_000,)), axis=1)
        return own, joint, own.square(joint - own.mean)

    own, joint, products = jax.tree.map(np.asarray, draw(model, jax.random.key(1)))
    for draws, expected in ((joint, own.mean), (products, own.spread)):
        z = (draws.mean(0) - expected) / (draws.std(0) / np.sqrt(len(draws)))
        assert np.abs(z).max() < 4.5
    assert float(own.mass) == 3


def test_the_nearest_model_is_where_the_slope_of_the_cross_entropy_is_zero(pair):
    members, _, X, observed, _ = pair
    model = members[0]

    @quick
    def slope(model, batch):
        data, _ = model.expected_statistics(batch)
        there = model.maximize(data)
        return jax.grad(type(model).cross_entropy)(there, data), jax.grad(type(model).cross_entropy)(model, data)

    there, here = slope(model, Batch(X, observed=observed))
    assert max(np.abs(leaf).max() for leaf in jax.tree.leaves(there)) < 1e-10
    assert max(np.abs(leaf).max() for leaf in jax.tree.leaves(here)) > 1


def test_data_far_away_loses_no_digits(pair):
    members, _, X, _, _ = pair
    far = X + 1e7
    model = members[0]
    moved = eqx.tree_at(lambda m: m.mean, model, model.mean + 1e7)
    back = eqx.tree_at(lambda m: m.mean, model, moved.mean - 1e7)
    statistics = quick(lambda m, x: m.expected_statistics(Batch(x))[0])
    there, here = statistics(moved, far), statistics(back, far - 1e7)
    np.testing.assert_allclose(there.spread, here.spread, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(there.log_likelihood, here.log_likelihood, rtol=1e-13)


def test_a_member_without_mass_stays_as_it_is(pair):
    _, both, X, _, weight = pair
    weight = weight * np.array([1.0, 0.0])
    found = quick(lambda m, b: m.maximize(m.expected_statistics(b)[0]))(both, Batch(X, weight))
    for new, old in zip(jax.tree.leaves(found), jax.tree.leaves(both), strict=True):
        assert np.array_equal(new[1], old[1])
        assert not np.allclose(new[0], old[0])


def test_alignment_is_the_turn_of_least_relative_entropy(make):
    rng = np.random.default_rng(8)
    model, reference = make(rng), make(rng)
    least = float(apart(aligned(model, reference), reference))
    for _ in range(20):
        basis, _ = np.linalg.qr(rng.normal(size=(Q, Q)))
        turned = eqx.tree_at(lambda m: m.loadings, model, model.loadings @ basis)
        assert float(apart(turned, reference)) > least
        again = aligned(turned, reference)
        np.testing.assert_allclose(again.loadings, aligned(model, reference).loadings, rtol=1e-9, atol=1e-12)


def test_a_sign_makes_no_difference_to_combination(make):
    model = make(np.random.default_rng(9))
    other = eqx.tree_at(lambda m: m.loadings, model, -model.loadings)
    np.testing.assert_allclose(combine([model, other]).covariance, model.covariance, rtol=1e-10)
    blind = combine([model, other], align=False)
    np.testing.assert_allclose(blind.loadings, 0, atol=1e-15)
    np.testing.assert_allclose(jnp.trace(blind.covariance), jnp.trace(model.covariance), rtol=1e-12)


def test_factors_that_do_not_matter_can_be_aligned(make):
    model = make(np.random.default_rng(9))
    model = eqx.tree_at(lambda m: m.loadings, model, model.loadings * np.array([1.0, 0.0]))
    np.testing.assert_allclose(aligned(model, model).loadings, model.loadings, atol=1e-14)


def test_principal_axes_are_orthogonal_and_fall(make):
    rng = np.random.default_rng(10)
    model = make(rng)
    axes, *covariances = principal(model)
    np.testing.assert_allclose(*covariances, rtol=1e-12, atol=1e-13)
    products = axes.loadings.T @ axes.loadings
    assert abs(products[0, 1]) < 1e-13 * products[0, 0]
    assert products[0, 0] > products[1, 1] > 0
    basis, _ = np.linalg.qr(rng.normal(size=(Q, Q)))
    turned = eqx.tree_at(lambda m: m.loadings, model, model.loadings @ basis)
    np.testing.assert_allclose(principal(turned)[0].loadings, axes.loadings, rtol=1e-11, atol=1e-13)
    wide = type(model)(model.mean, rng.normal(size=(N, 6)), model.noise)
    np.testing.assert_allclose(*principal(wide)[1:], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("data", ["one row", "a constant column", "a line", "few rows"])
def test_degenerate_data_makes_no_nan(make, data):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(20, N))
    match data:
        case "one row":
            X = np.tile(X[:1], (20, 1))
        case "a constant column":
            X[:, 1] = 1e6
        case "a line":
            X = X[:, :1] * np.array([1.0, -2.0, 3.0, 0.5]) + 7
        case "few rows":
            X = np.concatenate([X[:3]] * 6 + [X[:2]])
    model, history = em(make(rng), Batch(X), steps=150, tolerance=-np.inf)
    assert np.isfinite(history).all()
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(model))
    assert np.all(model.noises > 0)


def test_a_tiny_noise_with_equal_loadings_makes_no_nan(make):
    model = make(np.random.default_rng(12))
    column = np.array([1.0, 2.0, -1.0, 0.3])
    same = np.stack([column, column * (1 + 1e-9)], axis=1)
    model = type(model)(np.zeros(N), same, np.full_like(model.noise, 1e-22))
    assert np.isfinite(model.log_likelihood(Batch(column[None]))).all()


def test_thirty_two_bits_stay(pair):
    _, both, X, observed, _ = pair
    single = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), both)
    batch = Batch(X.astype(np.float32), observed=observed)

    @quick
    def everything(model, batch, key):
        data, _ = model.expected_statistics(batch)
        own = model.own_statistics(Extent(jnp.asarray(1.0, jnp.float32)))
        turned = model.maximize(own.merge(data)).aligned_to(model).principal_axes()
        rest = (model.log_likelihood(batch), model.posterior(batch), model.cross_entropy(own), model.covariance)
        return turned, data, own, rest, model.sample_joint(key, (2,)), model.impute(batch, key)

    leaves = jax.tree.leaves(everything(single, batch, jax.random.key(0)))
    assert all(leaf.dtype == jnp.float32 and np.isfinite(leaf).all() for leaf in leaves)


def test_gradients_of_the_likelihood_are_those_of_the_marginal(pair):
    members, _, X, _, _ = pair
    model = members[0]

    def dense(model):
        away = X - model.mean
        precise = jnp.linalg.inv(model.covariance)
        return -0.5 * jnp.sum((away @ precise) * away) - 0.5 * ROWS * jnp.linalg.slogdet(model.covariance)[1]

    found = quick(jax.grad(lambda m: jnp.sum(m.log_likelihood(Batch(X)))))(model)
    expected = quick(jax.grad(dense))(jax.tree.map(jnp.asarray, model))
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


def test_start_works_on_batches_and_under_jit(make):
    kind = type(make(np.random.default_rng(0)))
    rng = np.random.default_rng(13)
    root = rng.normal(size=(2, N, N))
    covariance = root @ root.swapaxes(-1, -2)
    both = kind.from_moments(np.zeros((2, N)), covariance, Q)
    traced = quick(lambda c: kind.from_moments(jnp.zeros((2, N)), c, Q))(covariance)
    for a, b in zip(jax.tree.leaves(both), jax.tree.leaves(traced), strict=True):
        assert isinstance(a, np.ndarray)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    zero = kind.from_moments(np.zeros(N), np.zeros((N, N)), Q)
    assert np.all(zero.noises > 0)


@pytest.mark.parametrize("kind", [FactorAnalysis, ProbabilisticPCA])
def test_errors_say_what_is_wrong(kind):
    noise = np.ones(3) if kind is FactorAnalysis else 1.0
    with pytest.raises(ValueError, match=r"loadings has shape \(2, 1\): mean has 3 columns"):
        kind(np.zeros(3), np.ones((2, 1)), noise)
    with pytest.raises(ValueError, match=r"loadings has shape \(3,\): it needs at least two axes"):
        kind(np.zeros(3), np.ones(3), noise)
    with pytest.raises(ValueError, match=r"noise.* is -1: it must be positive"):
        kind(np.zeros(3), np.ones((3, 1)), -np.asarray(noise))
    with pytest.raises(ValueError, match=r"loadings\[0, 1\] is nan: it must be finite"):
        kind(np.zeros(3), [[1.0, np.nan], [1.0, 1.0], [1.0, 1.0]], noise)
    with pytest.raises(ValueError, match="leading axes do not fit"):
        kind(np.zeros((2, 3)), np.ones((4, 3, 1)), noise)
    with pytest.raises(ValueError, match="q is 3: with 3 columns it must be from 1 to 2"):
        kind.from_moments(np.zeros(3), np.eye(3), 3)
    with pytest.raises(ValueError, match="covariance has shape"):
        kind.from_moments(np.zeros(3), np.eye(2), 1)
    with pytest.raises(ValueError, match=r"covariance\[0, 0\] is nan: it must be finite"):
        kind.from_moments(np.zeros(2), np.full((2, 2), np.nan), 1)
    with pytest.raises(ValueError, match=r"covariance is not symmetric: covariance\[0, 1\] is 0.5"):
        kind.from_moments(np.zeros(2), [[1.0, 0.5], [0.0, 1.0]], 1)
    with pytest.raises(ValueError, match="factors can only be turned"):
        kind(np.zeros(3), np.ones((3, 1)), noise).aligned_to(kind(np.zeros(3), np.ones((3, 2)), noise))
