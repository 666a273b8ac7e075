"""Fisher scoring against other libraries' fits, from far starts, on separable classes, in streams and across sites."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from sklearn.linear_model import GammaRegressor, LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.linear_model import Ridge as Penalty

from kullback.families import Batch, Bernoulli, Categorical, DiagonalGaussian, Gamma, Poisson, VonMises
from kullback.learning import (
    CONVERGED,
    AllAtOnce,
    Epochs,
    FisherScoring,
    GainBelow,
    PointRate,
    Stream,
    begin,
    combine,
    fisher_scoring,
    fit,
)
from kullback.models import LinearConditional, Ridge
from kullback.runtime import in_float64
from tiers import slow

B = np.array([0.3, -0.2, 0.25, 0.1])
NORMAL = DiagonalGaussian([0.0], [1.0])


def inputs(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 4)) * [1.0, 2.0, 0.5, 1.0] + [0.0, 1.0, 0.0, 3.0]


def targets(name, x, seed=1):
    rng, linear = np.random.default_rng(seed), x @ B
    match name:
        case "Poisson":
            return rng.poisson(np.exp(linear))
        case "Bernoulli":
            return (rng.random(len(x)) < 1 / (1 + np.exp(-linear))).astype(int)
        case "Categorical":
            odds = np.exp(np.stack([linear, x @ B[::-1], np.zeros(len(x))], axis=1))
            return (rng.random(len(x))[:, None] > (odds / odds.sum(1, keepdims=True)).cumsum(1)).sum(1)
        case "Gamma":
            return rng.gamma(np.exp(0.3 + 0.2 * x[:, 0]), np.exp(linear))
        case "VonMises":
            return rng.vonmises(np.arctan2(linear, 1.0), np.hypot(linear, 1.0))
    return 10 * linear + np.exp(0.3 * x[:, 0]) * rng.normal(size=len(x))


LIKE = {
    "Poisson": Poisson(2.0),
    "Bernoulli": Bernoulli(0.5),
    "Categorical": Categorical([0.3, 0.3, 0.4]),
    "Gamma": Gamma(1.0, 1.0),
    "VonMises": VonMises(0.0, 1.0),
    "DiagonalGaussian": NORMAL,
}


def fitted(name, x, y, varies=None, prior=None):
    model, history = fisher_scoring(LinearConditional.start(LIKE[name], 4, varies), Batch(y, inputs=x), prior=prior)
    assert np.all(np.diff(history) >= -1e-12)
    return model


def intercept_first(found):
    return np.concatenate([np.atleast_1d(found.intercept_)[:, None], np.atleast_2d(found.coef_)], axis=1)


# --- the same coefficients as others ------------------------------------------------------------------


def test_gaussians_with_constant_variance_are_the_least_squares():
    x = inputs(300)
    y = targets("DiagonalGaussian", x)
    model, expected = fitted("DiagonalGaussian", x, y, (True, False)), LinearRegression().fit(x, y)
    np.testing.assert_allclose(model.coefficients[:1], intercept_first(expected), atol=1e-9)
    np.testing.assert_allclose(model.coefficients[1, 0], np.log(np.std(y - expected.predict(x))), atol=1e-9)


@pytest.mark.slow
def test_ridge_is_that_of_scikit_learn():
    x = inputs(300)
    y = targets("Poisson", x)
    expected = PoissonRegressor(alpha=0.05, solver="newton-cholesky", tol=1e-10).fit(x, y)
    model = fitted("Poisson", x, y, prior=Ridge(0.05 * 300))
    np.testing.assert_allclose(model.coefficients, intercept_first(expected), atol=1e-7)


@pytest.mark.parametrize("name", [*map(slow, ("Poisson", "Bernoulli", "Categorical", "Gamma"))])
def test_coefficients_are_those_of_scikit_learn_and_statsmodels(name):
    import statsmodels.api as sm

    x = inputs(2000)
    y = targets(name, x)
    constant = np.concatenate([np.ones((2000, 1)), x], axis=1)
    model = fitted(name, x, y, (True, False) if name == "Gamma" else None)
    match name:
        case "Poisson":
            found = intercept_first(PoissonRegressor(alpha=0, solver="newton-cholesky", tol=1e-10).fit(x, y))
            other = sm.GLM(y, constant, family=sm.families.Poisson()).fit(tol=1e-12).params
        case "Bernoulli":
            found = intercept_first(LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(x, y))
            other = sm.GLM(y, constant, family=sm.families.Binomial()).fit(tol=1e-12).params
        case "Gamma":
            found = intercept_first(GammaRegressor(alpha=0, solver="newton-cholesky", tol=1e-12).fit(x, y))
            link = sm.families.links.Log()
            other = sm.GLM(y, constant, family=sm.families.Gamma(link)).fit(tol=1e-14, maxiter=200).params
        case "Categorical":
            table = intercept_first(LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(x, y))
            found = table[:2] - table[2:]
            other = -sm.MNLogit(2 - y, constant).fit(disp=False, method="newton", tol=1e-12).params.T[::-1]
            other = -other
    rows = model.coefficients[: len(found)]
    np.testing.assert_allclose(rows, found, atol=1e-6)
    np.testing.assert_allclose(rows, np.reshape(other, rows.shape), atol=1e-6)
    if name == "Gamma":  # the shape of greatest likelihood, given the means
        mean = np.exp(constant @ rows[0])
        shape = scipy.optimize.minimize_scalar(
            lambda k: -scipy.stats.gamma.logpdf(y, k, scale=mean / k).sum(), bounds=(0.1, 10), options={"xatol": 1e-10}
        ).x
        np.testing.assert_allclose(np.exp(model.coefficients[1, 0]), shape, rtol=1e-6)


@pytest.mark.parametrize("name", [*map(slow, ("DiagonalGaussian", "Gamma", "VonMises"))])
def test_dispersion_that_depends_on_inputs_is_that_of_direct_maximization(name):
    x = inputs(1000)
    y = targets(name, x)
    model = fitted(name, x, y)

    @jax.jit
    def minus(parameters):
        return -jnp.mean(model.at(parameters).log_likelihood(Batch(y, inputs=x)))

    with jax.enable_x64(True):
        slope, hessian = jax.jit(jax.grad(minus)), jax.jit(jax.hessian(minus))
        start = np.asarray(model.parameters) + 0.02 * np.random.default_rng(0).normal(size=model.parameters.shape)
        found = scipy.optimize.minimize(
            minus, start, jac=slope, hess=hessian, method="trust-exact", options={"gtol": 1e-10}
        )
    np.testing.assert_allclose(model.parameters, found.x, atol=1e-6)


# --- it never overshoots ------------------------------------------------------------------------------


def test_counts_are_fitted_from_80_far_starts_and_no_step_lowers_the_likelihood():
    x = inputs(300)
    y = targets("Poisson", x)
    expected = fitted("Poisson", x, y).coefficients
    rng, batch = np.random.default_rng(5), Batch(y, inputs=x)
    for _ in range(80):
        start = LinearConditional(rng.normal(size=(1, 5)) * rng.choice([1.0, 3.0]), LIKE["Poisson"])
        model, history = fisher_scoring(start, batch, steps=400)
        assert np.all(np.diff(history) >= -1e-11 * np.abs(history[:-1]))
        np.testing.assert_allclose(model.coefficients, expected, atol=1e-6)


@pytest.mark.slow
def test_a_step_that_lowers_the_likelihood_is_taken_back():
    # the whole step leads from the far side of a well of log σ to where the density is nothing
    x = inputs(300)
    y = targets("DiagonalGaussian", x)
    start = LinearConditional([[50.0, 0, 0, 0, 0], [-3.0, 0.5, 0.5, -0.5, 0.5]], NORMAL)
    model, history = fisher_scoring(start, Batch(y, inputs=x), steps=400)
    assert np.all(np.diff(history) >= -1e-11 * np.abs(history[:-1]))
    np.testing.assert_allclose(model.coefficients, fitted("DiagonalGaussian", x, y).coefficients, atol=1e-5)


@pytest.mark.slow
def test_classes_that_can_be_separated_end_with_finite_coefficients():
    x = inputs(300)
    y = (x[:, 0] > 0).astype(int)
    batch, rule = Batch(y, inputs=x), GainBelow(1e-6, 100)
    learner, data = FisherScoring(), AllAtOnce(batch)

    @in_float64
    def run():
        return fit(learner, begin(learner, LinearConditional.start(LIKE["Bernoulli"], 4), data, rule), data, rule)

    place, reason = run()
    assert reason == CONVERGED
    assert np.all(np.isfinite(place.model.coefficients))
    assert place.model.log_likelihood(batch).sum() > -0.01
    assert np.abs(place.model.coefficients).max() < 1e3


@pytest.mark.slow
def test_columns_that_repeat_and_constants_leave_the_fit_as_it_is():
    x = inputs(300)
    y = targets("Poisson", x)
    twice = np.concatenate([x[:, :3], x[:, :1]], axis=1)
    model = fitted("Poisson", twice, y)
    alone = PoissonRegressor(alpha=0, solver="newton-cholesky", tol=1e-10).fit(x[:, :3], y)
    np.testing.assert_allclose(model.free(twice)[:, 0], np.log(alone.predict(x[:, :3])), atol=1e-6)


def test_targets_outside_of_the_support_move_nothing_and_are_reported():
    x = inputs(300)
    start = LinearConditional.start(LIKE["Poisson"], 4)
    learner, data, rule = FisherScoring(), AllAtOnce(Batch(np.full(300, -1), inputs=x)), GainBelow(1e-9, 50)
    place, reason = in_float64(fit)(learner, in_float64(begin)(learner, start, data, rule), data, rule)
    assert "not finite" in reason
    assert eqx.tree_equal(place.model.coefficients, start.coefficients)


# --- streams and sites --------------------------------------------------------------------------------


def standard_errors(model, n):
    return np.sqrt(np.diag(np.linalg.inv(model.information)) / n)


@in_float64
def followed(name, x, y, rows, rate, varies=None):
    batches = [Batch(y[at : at + rows], inputs=x[at : at + rows]) for at in range(0, len(y), rows)]
    learner, data, rule = FisherScoring(rate=rate), Stream.of(batches), Epochs(1)
    place, _ = fit(learner, begin(learner, LinearConditional.start(LIKE[name], 4, varies), data, rule), data, rule)
    return place.model


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["Poisson", *map(slow, ("Bernoulli", "Categorical", "Gamma", "VonMises", "DiagonalGaussian"))]
)
def test_one_pass_ends_near_the_batch_fit(name):
    x = np.random.default_rng(7).normal(size=(30_000, 4))
    y = targets(name, x)
    whole, online = fitted(name, x, y), followed(name, x, y, 100, PointRate())
    away = (online.parameters - whole.parameters) / standard_errors(whole, 30_000)
    assert np.abs(away).max() < 0.5
    np.testing.assert_allclose(standard_errors(online, 1), standard_errors(whole, 1), rtol=0.1)


@pytest.mark.slow
def test_few_rows_a_step_and_separable_streams_stay_finite():
    x = inputs(60)
    for name, y in (("Poisson", targets("Poisson", x)), ("Bernoulli", (x[:, 0] > 0).astype(int))):
        model = followed(name, x, y, 2, PointRate())
        assert np.all(np.isfinite(model.coefficients))
        assert np.mean(model.log_likelihood(Batch(y, inputs=x))) > np.mean(
            LinearConditional.start(LIKE[name], 4).log_likelihood(Batch(y, inputs=x))
        )


@pytest.mark.slow
def test_a_constant_rate_follows_drift():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(20_000, 4))
    slope = np.where(np.arange(20_000) < 10_000, 0.5, -0.5)
    y = rng.poisson(np.exp(slope * x[:, 0]))
    follows, stays = (followed("Poisson", x, y, 100, rate).coefficients[0, 1] for rate in (0.05, PointRate()))
    assert abs(follows + 0.5) < 0.1
    assert abs(stays) < 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "scales"),
    [
        slow((3000, 3000, 3000), (1, 1, 1)),
        slow((27_000, 2700, 300), (1, 1, 1)),
        ((3000, 3000, 3000), (1.0, 0.1, 1.0)),
    ],
)
def test_three_sites_combine_to_the_pooled_fit_and_nearer_than_averages_do(sizes, scales):
    rng = np.random.default_rng(9)
    tables = [scale * rng.normal(size=(n, 4)) for n, scale in zip(sizes, scales, strict=True)]
    y = [targets("Poisson", x, seed) for seed, x in enumerate(tables)]
    pooled = fitted("Poisson", np.concatenate(tables), np.concatenate(y))
    sites = [fitted("Poisson", *site) for site in zip(tables, y, strict=True)]

    def away(parameters):
        return np.abs((parameters - pooled.parameters) / standard_errors(pooled, sum(sizes))).max()

    together = away(combine(sites, sizes).parameters)
    assert together < 0.2
    if len(set(sizes)) > 1 or len(set(scales)) > 1:
        assert together < 0.5 * away(np.mean([site.parameters for site in sites], axis=0))


def test_combining_a_model_with_itself_is_the_identity_and_strangers_are_refused():
    x = inputs(300)
    model = fitted("Poisson", x, targets("Poisson", x))
    np.testing.assert_allclose(combine([model, model], [1, 5]).coefficients, model.coefficients, rtol=1e-14)
    with pytest.raises(ValueError, match=r"models\[1\] has no information: fit it"):
        combine([model, LinearConditional.start(LIKE["Poisson"], 4)])
    with pytest.raises(ValueError, match=r"models\[1\] is of Bernoulli"):
        combine([model, fitted("Bernoulli", x, targets("Bernoulli", x))])


@pytest.mark.slow
def test_penalties_of_scikit_learn_and_precisions_are_one_thing_for_gaussians():
    x = inputs(300)
    y = x @ B + np.random.default_rng(0).normal(size=300)
    fixed = np.array([[0.0, 3.0, 3.0, 3.0, 3.0], [1e12, 0, 0, 0, 0]])  # log σ stays at 0
    model = fitted("DiagonalGaussian", x, y, (True, False), Ridge(fixed))
    np.testing.assert_allclose(model.coefficients[:1], intercept_first(Penalty(3.0).fit(x, y)), atol=1e-7)
