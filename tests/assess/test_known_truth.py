"""Errors under a known truth, on the normal mean (all in closed form) and on y = abx (singular)."""

import runpy
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.assess import KnownTruth, learning_coefficient

EXAMPLE = Path(__file__).parents[2] / "examples" / "large_neighborhoods.py"


def log_normal(x):
    return -0.5 * x**2 - 0.5 * jnp.log(2 * jnp.pi)


MEAN = KnownTruth(lambda w, x: log_normal(x - w[0]), log_normal, lambda w: log_normal(w[0]))
ABX = KnownTruth(lambda w, rows: log_normal(rows[1] - w[0] * w[1] * rows[0]), lambda rows: log_normal(rows[1]))


@pytest.fixture(scope="module")
def abx():
    return runpy.run_path(str(EXAMPLE))


def hermite(size):
    nodes, weights = np.polynomial.hermite_e.hermegauss(size)
    return nodes, weights / weights.sum()


# --- the normal mean


def test_training_error_and_generalized_likelihoods_are_as_written():
    x, w = np.array([0.5, -1.0, 2.0]), np.array([[0.3], [-0.4]])
    expected = [np.mean(-0.5 * x**2 + 0.5 * (x - each) ** 2) for each in w[:, 0]]
    np.testing.assert_allclose(MEAN.training_error(w, x), expected, rtol=1e-12)
    log_prior = np.asarray(log_normal(w[:, 0]))
    np.testing.assert_allclose(MEAN.generalized_ratio(w, x, 0.7), 3 * np.array(expected) - 0.7 * log_prior)
    total = [np.sum(log_normal(x - each)) + 0.7 * log_normal(each) for each in w[:, 0]]
    np.testing.assert_allclose(MEAN.generalized_log_likelihood(w, x, 0.7), total, rtol=1e-12)


def test_the_best_generalized_likelihood_shrinks_with_its_weight():
    x = np.array([0.5, -1.0, 2.0])
    grid = np.linspace(-1, 1, 2_001)[:, None]
    for a_n in (0.0, 1.0, 4.0):
        best = grid[np.argmax(MEAN.generalized_log_likelihood(grid, x, a_n)), 0]
        assert best == pytest.approx(x.sum() / (3 + a_n), abs=1e-3)
        assert best == grid[np.argmin(MEAN.generalized_ratio(grid, x, a_n)), 0]


def test_bayes_error_of_the_normal_mean_has_its_closed_form():
    """With the prior N(0, 1) the predictive density is N(μ, 1 + s²), s² = 1/(n + 1), μ = n·mean·s²."""
    nodes, weights = hermite(80)
    fresh, row_weights = hermite(60)
    x = np.array([0.8, 0.1, -0.3, 1.2, 0.4])
    s2 = 1 / 6
    mu = x.sum() * s2
    posterior = MEAN.posterior_log_weights(nodes[:, None], x, np.log(weights))
    found = MEAN.bayes_error(nodes[:, None], fresh, posterior, row_weights)
    exact = 0.5 * (np.log(1 + s2) + (1 + mu**2) / (1 + s2) - 1)
    assert found.value == pytest.approx(exact, rel=1e-9)
    assert found.standard_error == 0
    evidence = MEAN.log_evidence(nodes[:, None], x, np.log(weights))
    assert evidence == pytest.approx(0.5 * np.log(s2) + 0.5 * s2 * x.sum() ** 2, rel=1e-9)


def test_expected_bayes_error_of_the_normal_mean_nears_half_a_nat_over_n():
    fresh, row_weights = hermite(40)
    posterior_nodes, posterior_weights = hermite(40)
    means, mean_weights = hermite(20)
    for n in (10, 1_000):
        errors = []
        for mean in means / np.sqrt(n):  # the data's mean; the posterior is N(n·mean/(n + 1), 1/(n + 1))
            w = n * mean / (n + 1) + posterior_nodes[:, None] / np.sqrt(n + 1)
            errors.append(MEAN.bayes_error(w, fresh, np.log(posterior_weights), row_weights).value)
        exact = 0.5 * (np.log1p(1 / (n + 1)) + (1 + n / (n + 1) ** 2) / (1 + 1 / (n + 1)) - 1)
        assert mean_weights @ np.array(errors) == pytest.approx(exact, rel=1e-6)
    half = float(learning_coefficient([(1,)]).value)
    assert n * exact == pytest.approx(half - 1.25 / n, abs=1e-5)


def test_draws_stand_for_integrals_with_their_standard_error():
    random = np.random.default_rng(0)
    fresh = random.standard_normal(40_000)
    plug_in = MEAN.plug_in_error([[0.2], [1.0]], fresh)
    assert np.all(np.abs(plug_in.value - [0.02, 0.5]) < 4 * plug_in.standard_error)
    np.testing.assert_allclose(plug_in.standard_error, [0.2 / 200, 1 / 200], rtol=0.05)
    draws = 0.5 + 0.3 * random.standard_normal((1_000, 1))
    bayes = MEAN.bayes_error(draws, fresh[:1_000])
    exact = 0.5 * (np.log(1.09) + 1.25 / 1.09 - 1)
    assert abs(bayes.value - exact) < 4 * np.hypot(bayes.standard_error, 0.5 * 0.3 / np.sqrt(1_000))


def test_it_computes_in_64_bits_whatever_mode_jax_is_in():
    with jax.enable_x64(False):
        found = MEAN.training_error([1e-5], np.array([1.0, 2.0]))
    assert found.dtype == np.float64
    assert found == pytest.approx(0.5e-10 - 1.5e-5, rel=1e-9)


# --- y = abx


def grid_of(abx):
    products = abx["PRODUCTS"]
    return np.stack([products, np.ones_like(products)], axis=1), abx["LOG_WEIGHTS"]


@pytest.mark.slow
def test_the_prior_of_the_product_is_that_of_uniform_factors(abx):
    products, weights = abx["PRODUCTS"], np.exp(abx["LOG_WEIGHTS"])
    assert weights.sum() == pytest.approx(1, rel=1e-12)
    assert weights @ products**2 == pytest.approx(1 / 9, rel=1e-10)
    assert weights @ np.abs(products) == pytest.approx(1 / 4, rel=1e-10)


@pytest.mark.slow
def test_bayes_error_is_what_one_more_row_costs_the_evidence(abx):
    """B_g = log Z_n − E log Z_(n+1) over the next row, for each data set; the example computes it from two sums."""
    w, log_weights = grid_of(abx)
    random = np.random.default_rng(1)
    nodes, weights = hermite(12)
    fresh = tuple(each.ravel() for each in np.meshgrid(nodes, nodes))
    row_weights = np.outer(weights, weights).ravel()
    for _ in range(2):
        x, y = random.standard_normal((2, 20))
        posterior = ABX.posterior_log_weights(w, (x, y), log_weights)
        found = ABX.bayes_error(w, fresh, posterior, row_weights).value
        now = ABX.log_evidence(w, (x, y), log_weights)
        sums = np.sum(x * x), np.sum(x * y)
        assert now == pytest.approx(abx["log_evidence"](*sums), rel=1e-10)
        later = abx["log_evidence"](sums[0] + fresh[0] ** 2, sums[1] + fresh[0] * fresh[1])
        assert found == pytest.approx(now - row_weights @ later, rel=1e-8)
        one_more = ABX.log_evidence(w, (np.append(x, fresh[0][5]), np.append(y, fresh[1][5])), log_weights)
        assert one_more == pytest.approx(later[5], rel=1e-10)


@pytest.mark.slow
def test_simulated_errors_agree_with_theory(abx):
    n = 200
    plug_in, bayes, standard = abx["simulate_errors"](n, 1_500, np.random.default_rng(2))
    errors = {"R_g": plug_in, "B_g": bayes, "standard form": standard}
    expected = {
        "R_g": 0.5 / (n - 2),  # ½·E[1/Σx²]
        "B_g": abx["expected_log_evidence"](n) - abx["expected_log_evidence"](n + 1),
        "standard form": 0.5 / n,  # ¼·E[ξ²]/n with ξ ~ N(0, 2), both signs of t being there
    }
    for name, values in errors.items():
        assert abs(values.mean() - expected[name]) < 4 * values.std() / np.sqrt(len(values)), name
    # the same data: the standard form is what remains of R_g
    assert n * np.mean(plug_in - standard) == pytest.approx(0.5 * (n / (n - 2) - 1), abs=0.01)
    assert abs(np.corrcoef(plug_in, standard)[0, 1] - 1) < 0.03
    assert np.all(bayes >= 0)


@pytest.mark.slow
def test_bayes_nears_the_coefficient_from_below_and_maximum_likelihood_stays_above_it(abx):
    found = learning_coefficient([(1, 1)])
    sizes = np.array([100, 1_000, 10_000, 100_000])
    scaled = [n * (abx["expected_log_evidence"](n) - abx["expected_log_evidence"](n + 1)) for n in sizes]
    steady = float(found.value) - (found.multiplicity - 1) / np.log(sizes)
    assert np.all(np.diff(scaled) > 0)
    assert np.all(np.array(scaled) < float(found.value))
    assert np.all(np.abs(scaled - steady) < 0.6 / np.log(sizes) ** 2)
    assert float(found.bayes_error(1_000)) == 0.0005


def test_one_sign_of_the_product_halves_the_error_of_maximum_likelihood():
    """With a, b ≥ 0 only max{0, ξ} is left: n·E[R_g] → ¼, while λ stays ½."""
    random = np.random.default_rng(4)
    n = 500
    x, y = random.standard_normal((2, 4_000, n))
    estimate = np.maximum(0, np.sum(x * y, axis=1) / np.sum(x * x, axis=1))
    xi = np.sqrt(2 / n) * np.sum(x * y, axis=1)
    scaled = n * estimate**2 / 2
    assert scaled.mean() == pytest.approx(np.mean(np.maximum(0, xi) ** 2) / 4, rel=0.02)
    assert abs(scaled.mean() - 0.25) < 4 * scaled.std() / np.sqrt(len(scaled))
    w = np.sqrt(estimate[:3, None]) * np.ones(2)
    nodes, weights = hermite(6)
    fresh = tuple(each.ravel() for each in np.meshgrid(nodes, nodes))
    found = ABX.plug_in_error(w, fresh, np.outer(weights, weights).ravel())
    np.testing.assert_allclose(n * found.value, scaled[:3], atol=1e-12)


@pytest.mark.slow
def test_stochastic_steps_shrink_the_distance_of_the_squares(abx):
    """a² − b² is multiplied by 1 − η²g² at each step: e^(−η²·steps) on average, where E g² is 1 on the cross."""
    starts = np.tile([1.0, 0.0], (400, 1))
    for follow, expected in [(abx["follow_fresh_rows"], -(abx["RATE"] ** 2)), (abx["follow_training_error"], 0.0)]:
        places = follow(starts, 400, np.random.default_rng(0))
        squares = np.abs(places[..., 0] ** 2 - places[..., 1] ** 2)
        logs = np.log(squares[-1] / squares[0]) / 400
        # g = x(y − abx) has the mean square 1 + 3c²; its spread about the cross adds some percent
        assert logs.mean() == pytest.approx(expected, rel=0.2, abs=1e-5)


# --- bad input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MEAN.training_error([np.nan], np.ones(3)), "w must be finite numbers"),
        (lambda: MEAN.training_error([], np.ones(3)), "w must be finite numbers"),
        (lambda: MEAN.training_error([0.0], np.ones(0)), "rows must be arrays"),
        (lambda: ABX.training_error([0.0, 1.0], (np.ones(3), np.ones(2))), "rows must be arrays"),
        (lambda: MEAN.training_error([0.0], np.array([0.0, np.nan])), "log_q is not finite"),
        (lambda: MEAN.training_error([0.0], np.ones((3, 2))), r"log_q has answered with shape \(3, 2\) for 3 rows"),
        (lambda: KnownTruth(lambda w, x: w[0], log_normal).training_error([0.0], np.ones(3)), "log_p has answered"),
        (
            lambda: KnownTruth(lambda w, x: jnp.log(w[0]) * x, log_normal).training_error([-1.0], np.ones(3)),
            "log_p is NaN",
        ),
        (lambda: ABX.generalized_ratio([0.0, 0.0], (np.ones(3), np.ones(3)), 1.0), "log_prior is None"),
        (lambda: MEAN.generalized_ratio([0.0], np.ones(3), np.nan), "a_n is nan"),
        (lambda: MEAN.plug_in_error([0.0], np.ones(1)), "fresh has one row"),
        (lambda: MEAN.plug_in_error([0.0], np.ones(2), [0.5, 0.6]), "row_weights must have"),
        (lambda: MEAN.bayes_error([0.0], np.ones(2)), r"w must have the shape \(draws, d\)"),
        (lambda: MEAN.bayes_error([[0.0], [1.0]], np.ones(2), [0.0, 0.0]), "log_weights must have"),
        (lambda: MEAN.log_evidence([[0.0], [1.0]], np.ones(2), [np.nan, 0.0]), "log_weights must have"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
