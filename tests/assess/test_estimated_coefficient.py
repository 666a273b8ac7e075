"""Estimated learning coefficients: closed forms of regular models, quadrature of singular ones, and what is refused."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import polygamma

from assess.fixtures_coefficient import (
    held,
    mixture_fixture,
    normal_prior,
    product_fixture,
    rank_fixture,
    rank_rows,
    run,
)
from kullback.assess import (
    estimate_learning_coefficient,
    learning_coefficient_curve,
    minibatch_learning_coefficient,
)
from kullback.assess._estimated_coefficient import influence_coefficients, variance_form
from kullback.core import Batch, TimeIndex
from kullback.families import Gaussian, Poisson
from kullback.models import HiddenMarkovModel, Mixture

QUICK = {"draws": 800, "warm_up": 200, "leapfrogs": 4}


def line_rows(w, data):
    x, y = data
    return -0.5 * jnp.square(y - w["slope"] * x - w["level"])


def line_prior(w):
    return -0.5 * (w["slope"] ** 2 + w["level"] ** 2)


@functools.cache
def line_data(n=400):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    return x, 0.5 * x + rng.normal(size=n)


def test_a_regular_model_has_the_coefficients_of_its_gaussian_posterior():
    """A tree of parameters; with a quadratic loss both forms are closed: traces of H·Σ and (H·Σ)²."""
    x, y = line_data()
    found = estimate_learning_coefficient(
        line_rows, {"slope": 0.0, "level": 0.0}, data=(x, y), log_prior=line_prior, prior="N(0, I)", **QUICK
    )
    beta, design = 1 / np.log(400), np.stack([np.ones_like(x), x], axis=1)
    hessian = design.T @ design
    covariance = np.linalg.inv(np.eye(2) + beta * hessian)
    best = np.linalg.solve(hessian, design.T @ y)
    away = covariance @ (beta * design.T @ y) - best
    product = hessian @ covariance
    anchored = beta / 2 * (np.trace(product) + away @ hessian @ away)
    variance = beta**2 * (np.trace(product @ product) / 2 + away @ hessian @ covariance @ hessian @ away)
    assert found.problem is None
    assert abs(found.anchored - anchored) < 4 * found.anchored_error
    assert abs(found.value - variance) < 4 * found.chain_error
    assert found.parameters == 2
    assert found.rows == 400
    assert "N(0, I)" in str(found)
    assert "at n = 400, of 2 parameters" in str(found)
    assert found.remark is None
    # the jackknife's closed form would be that of the rows' third moments; here only that it is there and in the bar
    assert found.standard_error == pytest.approx(np.hypot(found.jackknife_error, found.chain_error))


@pytest.mark.slow
def test_a_prior_at_odds_with_the_data_takes_the_coefficient_above_half_the_parameters():
    """The variance of a normal, whose precision is a Gamma variable at every temperature: nothing is asymptotic."""
    x = np.random.default_rng(0).normal(size=400)
    shape, rate = 1.5, 15.0  # as if the prior had seen three rows that are wider by far
    found = estimate_learning_coefficient(
        lambda w, x: -0.5 * (w[0] + jnp.square(x) * jnp.exp(-w[0])),
        np.zeros(1),
        data=x,
        log_prior=lambda w: -shape * w[0] - rate * jnp.exp(-w[0]),
        **QUICK,
    )
    rows, squares = 400 / np.log(400), np.sum(x * x) / np.log(400)
    alpha, share = shape + rows / 2, squares / 2 / (rate + squares / 2)
    known = (rows / 2) ** 2 * polygamma(1, alpha) + share**2 * alpha - rows * share
    assert known > 2  # and d/2 is 1/2
    assert abs(found.value - known) < 4 * found.chain_error
    assert str(found).splitlines()[2] == found.remark
    assert found.remark.startswith("2λ̂ is above the number of parameters, 1, by more than two standard errors")


def test_the_influence_of_a_row_is_the_slope_of_the_variance_form_in_its_weight():
    """Draws are weighted again as if a row counted a little more, or less."""
    rng = np.random.default_rng(0)
    rows = rng.gamma(2.0, size=(3, 400, 5)) + rng.normal(size=5)
    losses, beta = rows.sum(axis=-1), 0.3
    influence = np.einsum("t,ti->i", influence_coefficients(losses, beta), rows.reshape(-1, 5))

    def form(row, by):
        total = losses + by * rows[..., row]
        weight = np.exp(-beta * by * rows[..., row])
        weight /= weight.sum()
        return beta**2 * np.sum(weight * np.square(total - np.sum(weight * total)))

    known = [(form(row, 1e-4) - form(row, -1e-4)) / 2e-4 for row in range(5)]
    np.testing.assert_allclose(influence, known, rtol=1e-5)
    once = variance_form(losses, influence, np.ones(5), beta)
    assert once.value == pytest.approx(beta**2 * losses.var())
    assert once.jackknife_error == pytest.approx(np.sqrt(np.sum(np.square(known - np.mean(known)))), rel=1e-4)
    twice = variance_form(losses, np.repeat(influence, 2), np.ones(10), beta)
    assert variance_form(losses, influence, 2 * np.ones(5), beta).jackknife_error == pytest.approx(
        twice.jackknife_error
    )


def test_chains_that_are_too_short_give_a_sentence_and_no_number():
    short = {"draws": 20, "warm_up": 8, "leapfrogs": 1}
    found = estimate_learning_coefficient(
        line_rows, {"slope": 0.0, "level": 0.0}, data=line_data(), log_prior=line_prior, **short
    )
    assert found.value is found.standard_error is found.anchored is found.wbic is None
    assert str(found) == found.problem
    assert "not 1.01 or less and 400 or more: ask for more draws or a longer warm_up." in found.problem


@pytest.mark.slow
def test_the_curve_has_a_coefficient_for_each_temperature():
    curve = learning_coefficient_curve(
        line_rows, {"slope": 0.0, "level": 0.0}, [0.1, 0.2], data=line_data(), log_prior=line_prior, **QUICK
    )
    assert [each.inverse_temperature for each in curve] == [0.1, 0.2]
    for each in curve:
        assert abs(each.value - 1) < 4 * each.chain_error + 0.1
    with pytest.raises(ValueError, match="give one or more, each above the one before"):
        learning_coefficient_curve(
            line_rows, {"slope": 0.0, "level": 0.0}, [0.2, 0.1], data=line_data(), log_prior=line_prior
        )


def refused(match, subject, given, **options):
    with pytest.raises((ValueError, TypeError), match=match):
        estimate_learning_coefficient(subject, given, **options)


def test_bad_input_is_refused_with_one_sentence():
    x, y = line_data()
    start = {"slope": 0.0, "level": 0.0}
    prior = {"log_prior": line_prior}
    refused("log_prior is missing", line_rows, start, data=(x, y))
    refused("parameters is empty", line_rows, {}, data=(x, y), **prior)
    refused("parameters are not all finite", line_rows, {"slope": np.nan, "level": 0.0}, data=(x, y), **prior)
    refused(
        "row 3 has log-likelihood nan", line_rows, start, data=(x, np.where(np.arange(400) == 3, np.nan, y)), **prior
    )
    refused("it must give one number for each row", lambda w: -(w["slope"] ** 2), start, **prior)
    refused("the data has 1 row:", line_rows, start, data=(x[:1], y[:1]), **prior)
    refused(
        r"weight has shape \(3,\): log_likelihoods gives 400", line_rows, start, data=(x, y), weight=np.ones(3), **prior
    )
    refused("negative or not finite", line_rows, start, data=(x, y), weight=-np.ones(400), **prior)
    refused("total gives 0, and", line_rows, start, data=(x, y), total=lambda w, data: 0.0 * w["slope"], **prior)
    refused("inverse_temperature is -1", line_rows, start, data=(x, y), inverse_temperature=-1, **prior)
    refused("the first argument is a int: give a model", 3, start)
    model = Mixture([0.5, 0.5], Gaussian(np.zeros((2, 2)), np.tile(np.eye(2), (2, 1, 1))))
    rng = np.random.default_rng(0)
    refused("the data has 5 rows and the model 11 parameters", model, rng.normal(size=(5, 2)))
    refused("column 1 of the data is constant", model, np.stack([rng.normal(size=50), np.ones(50)], axis=1))
    refused("the data has 1 column and the model 2: give the columns of the fit", model, rng.normal(size=(50, 1)))
    refused("the data has 1 column and the model 2", model, rng.normal(size=50))
    refused(
        r"data\[3, 1\] is inf: entries must be finite", model, np.where(np.arange(100).reshape(50, 2) == 7, np.inf, 0)
    )
    refused("draws is nan: it must be a whole number", model, rng.normal(size=(50, 2)), draws=np.nan)
    refused("warm_up is 'long': it must be", model, rng.normal(size=(50, 2)), warm_up="long")
    refused("data, weight and total are for functions", model, rng.normal(size=(50, 2)), weight=np.ones(50))
    refused("give a Batch or a table of numbers", model, np.array(["a", "b"]))
    refused("nearest to the data lies at the edge", Mixture([0.5, 0.5], Poisson([1.0, 2.0])), np.zeros(50, int))


@pytest.mark.slow
def test_models_with_time_and_missing_entries_have_a_coefficient_and_print_their_prior():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(120, 1)) + 3 * (np.arange(120) // 5 % 2)[:, None]
    values[7] = np.nan
    model = HiddenMarkovModel([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], Gaussian([[0.0], [3.0]], [[[1.0]], [[1.0]]]))
    batch = Batch(values, observed=~np.isnan(values), time=TimeIndex.of_lengths([10] * 12))
    found = estimate_learning_coefficient(model, batch, draws=500, warm_up=200, leapfrogs=6)
    assert found.rows == 12  # the unit is a sequence
    assert found.parameters == 7
    assert "Dirichlet(1) for probabilities; normal for means" in found.prior
    assert found.problem is not None or 1 < found.value < 7


# --- coverage: seeds are fixed, targets by quadrature


@pytest.mark.slow
def test_bars_hold_the_population_coefficient_of_a_product():
    fixture = product_fixture(draws=12000)
    assert fixture.population == pytest.approx(0.325, abs=1e-3)  # the asymptotic one is .5
    forms = run(fixture)
    assert sum(form is not None for form in forms) >= 38
    assert held(forms, fixture.population, lambda form: form.standard_error) >= 38


@pytest.mark.slow
def test_bars_hold_the_population_coefficient_of_a_mixture_and_need_the_jackknife():
    fixture = mixture_fixture()
    assert fixture.population == pytest.approx(0.67, abs=2e-3)  # the asymptotic one is .75
    forms = run(fixture)
    assert sum(form is not None for form in forms) >= 38
    assert held(forms, fixture.population, lambda form: form.standard_error) >= 32
    assert held(forms, fixture.population, lambda form: form.chain_error) < 32  # a bar that leaves it out does not


@pytest.mark.slow
def test_reduced_rank_regression_is_within_3_percent_of_its_population_coefficient():
    fixture = rank_fixture()
    assert fixture.population == pytest.approx(5.904, abs=1e-3)  # the asymptotic one is 6.5
    forms = run(fixture)
    assert all(form is not None for form in forms)
    assert abs(np.mean([form.value for form in forms]) / fixture.population - 1) < 0.03
    assert held(forms, fixture.population, lambda form: form.standard_error) >= 15


@pytest.mark.slow
def test_a_step_that_is_too_large_is_refused():
    fixture = rank_fixture(sets=1)
    data = {name: fixture.data[name][0] for name in ("x", "y")}
    start = 0.1 * np.random.default_rng(0).normal(size=30)
    options = {"log_prior": lambda w: normal_prior(w, None), "batch_size": 128, "draws": 600, "warm_up": 300}
    found = minibatch_learning_coefficient(rank_rows, start, data, step_size=4e-3, steps_between=4, **options)
    assert found.value is None
    assert "step_size 0.004 is too large: halving it changes the coefficient by" in found.problem
    wild = minibatch_learning_coefficient(rank_rows, start, data, step_size=1.0, steps_between=4, **options)
    assert "diverge with step_size 1" in wild.problem
    with pytest.raises(ValueError, match="its first axis must be the 1000 rows"):
        minibatch_learning_coefficient(rank_rows, start, data | {"xx": np.eye(5)}, step_size=1e-3, **options)
    with pytest.raises(ValueError, match="batch_size is 2000: it must be 1 or more"):
        minibatch_learning_coefficient(rank_rows, start, data, step_size=1e-3, **options | {"batch_size": 2000})


@pytest.mark.slow
def test_a_small_step_is_near_to_what_exact_chains_say():
    x, y = line_data()
    start = {"slope": 0.5, "level": 0.0}
    found = minibatch_learning_coefficient(
        line_rows,
        start,
        (x, y),
        log_prior=line_prior,
        step_size=1e-3,
        batch_size=200,
        steps_between=20,
        draws=300,
        warm_up=50,
    )
    assert found.problem is None, found.problem
    assert abs(found.value - 1) < 2 * found.standard_error + 0.1
