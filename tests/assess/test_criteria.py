"""WAIC and LOO against closed forms, units of sequences, and losses of rows that a fit has not seen."""

import sys

import jax.numpy as jnp
import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy import stats
from scipy.special import logsumexp

import kullback
from kullback.assess import (
    RowLosses,
    compare_criteria,
    criteria,
    cross_validate,
    diagnose,
    leave_future_out,
    minibatch_learning_coefficient,
    paired_difference,
    prequential_loss,
    psis_loo,
    waic,
)
from kullback.core import Batch, TimeIndex
from kullback.families import Gaussian, Poisson
from kullback.models import HiddenMarkovModel, Mixture


def exact_draws(n=80, draws=8000):
    """Return log-likelihoods under draws of a normal mean with prior N(0, 10²), and exact leave-one-out losses."""
    rng = np.random.default_rng(0)
    x = rng.normal(1.0, 1.0, n)
    precision = 1 / 100 + n
    w = rng.normal(x.sum() / precision, precision**-0.5, draws)
    others = 1 / 100 + (n - 1)
    exact = -stats.norm((x.sum() - x) / others, np.sqrt(1 + 1 / others)).logpdf(x)
    return stats.norm(w[:, None], 1.0).logpdf(x), exact


def test_waic_and_loo_are_the_exact_leave_one_out_loss_of_a_normal_mean():
    table, exact = exact_draws()
    first, second = waic(table), psis_loo(table)
    assert abs(first.mean - exact.mean()) < 1e-3
    assert abs(second.mean - exact.mean()) < 1e-3
    np.testing.assert_allclose(second.rows, exact, atol=0.02)
    assert first.effective_parameters == pytest.approx(1, abs=0.2)
    assert second.effective_parameters == pytest.approx(1, abs=0.2)
    assert second.high_pareto_k == 0
    assert second.pareto_k.shape == (80,)


def test_the_sign_that_psislw_wants_is_that_of_log_likelihoods():
    """The negatives give a loss that is too good, and no warning: it is below that of the data the draws have seen."""
    table, exact = exact_draws()
    weights, _ = array_stats.psislw(-table.T)
    wrong = -logsumexp(weights - logsumexp(weights, axis=1, keepdims=True) + table.T, axis=1).mean()
    seen = -(logsumexp(table, axis=0) - np.log(len(table))).mean()
    assert wrong < seen < psis_loo(table).mean
    assert exact.mean() - wrong > 10 * abs(psis_loo(table).mean - exact.mean())


def test_rows_count_by_weight():
    table, _ = exact_draws()
    weight = np.arange(80) % 3 + 0.0
    repeated = np.repeat(table, weight.astype(int), axis=1)
    for criterion in (waic, psis_loo):
        one, other = criterion(table, weight), criterion(repeated)
        assert one.mean == pytest.approx(other.mean)
        assert one.standard_error == pytest.approx(other.standard_error)
        assert one.effective_parameters == pytest.approx(other.effective_parameters)


def test_weights_that_are_none_are_refused():
    table, _ = exact_draws(n=3, draws=50)
    for weight, sentence in (
        ([1.0], "each of the 3 rows needs one"),
        ([0, 0, 0], "is 0 everywhere"),
        ([1, -1, 1], "neg"),
    ):
        for call in (waic, psis_loo):
            with pytest.raises(ValueError, match=sentence):
                call(table, weight)
        with pytest.raises(ValueError, match=sentence):
            paired_difference([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], weight)


def test_differences_are_paired():
    rng = np.random.default_rng(0)
    hard = rng.normal(0, 10, 500)
    difference = paired_difference(hard + rng.normal(0.1, 0.1, 500), hard)
    assert abs(difference.value - 0.1) < 4 * difference.standard_error
    assert difference.standard_error < 0.01
    assert RowLosses(hard, np.ones(500)).standard_error == pytest.approx(hard.std(ddof=1) / np.sqrt(500))
    with pytest.raises(ValueError, match="they must be of the same rows"):
        paired_difference([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="there is 1 row"):
        paired_difference([1.0], [1.0])
    with pytest.raises(ValueError, match="not all finite"):
        paired_difference([1.0, np.nan], [1.0, 2.0])


def test_tables_that_say_nothing_are_refused():
    with pytest.raises(ValueError, match="a row for each of two draws or more"):
        waic(np.zeros((1, 5)))
    with pytest.raises(ValueError, match="not all finite"):
        psis_loo(np.full((10, 5), np.nan))
    with pytest.raises(ValueError, match="nothing is given"):
        compare_criteria({})
    with pytest.raises(ValueError, match="by row there are 'training', 'waic' and 'loo'"):
        compare_criteria({}, "bic")


def test_one_series_is_refused():
    model = HiddenMarkovModel([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], Poisson([1.0, 4.0]))
    with pytest.raises(
        ValueError, match="the data is one series: a row that is left out is foretold by those after it"
    ):
        criteria(model, Batch(np.arange(30) % 5, time=TimeIndex.of_lengths([30])))
    with pytest.raises(ValueError, match="there is one sequence: cross-validation needs several"):
        cross_validate(kullback.PoissonHMM(2), np.arange(30)[:, None] % 5, lengths=[30])


def test_cross_validation_scores_rows_by_fits_that_have_not_seen_them():
    X = np.random.default_rng(0).normal(size=(60, 1))

    class Mean:
        """An estimator of nobody's: the mean of what it has seen."""

        def get_params(self, deep=True):
            return {}

        def fit(self, X):
            self.mean_, self.seen_ = X.mean(), set(X.ravel())
            return self

        def score_samples(self, X):
            assert not self.seen_ & set(X.ravel())
            return -np.square(X[:, 0] - self.mean_)

    found = cross_validate(Mean(), X, folds=60)
    np.testing.assert_allclose(found.rows, np.square((X[:, 0] - X.mean()) * 60 / 59))
    with pytest.raises(ValueError, match="folds is 61"):
        cross_validate(Mean(), X, folds=61)


class Series:
    """An estimator of a series that remembers how much it was given: p(v_t | past) = N(rows learned, 1)."""

    def __init__(self):
        self.learned = 0

    def get_params(self, deep=True):
        return {}

    def fit(self, X, lengths=None):
        self.learned = len(X)
        return self

    def partial_fit(self, X):
        self.learned += len(X)
        return self

    def to_model(self):
        return Gaussian([float(self.learned)], [[1.0]])


@pytest.mark.parametrize("loss", [leave_future_out, prequential_loss])
def test_the_future_is_foretold_from_the_past_alone(loss):
    X = np.zeros((40, 1))
    found = loss(Series(), X, first=20, blocks=4)
    np.testing.assert_allclose(found.rows, 0.5 * np.square(np.repeat([20, 25, 30, 35], 5)) + 0.5 * np.log(2 * np.pi))
    with pytest.raises(ValueError, match="first is 40: it must be 2 or more, and less than the 40 rows"):
        loss(Series(), X, first=40)
    with pytest.raises(ValueError, match="blocks is 30"):
        loss(Series(), X, first=20, blocks=30)


class Gaps(Series):
    """The same, with missing entries, which an estimator knows of: half a unit is added to what is there."""

    def to_batch(self, X, lengths=None):
        values = np.asarray(X) + 0.5
        return Batch(values, observed=~np.isnan(values), time=TimeIndex.of_lengths(lengths))


@pytest.mark.parametrize("loss", [leave_future_out, prequential_loss])
def test_rows_are_foretold_as_the_estimator_sees_them(loss):
    X = np.zeros((10, 1))
    X[7] = np.nan
    found = loss(Gaps(), X, first=6, blocks=2)
    known = 0.5 * np.square(np.array([6.0, 6.0, 8.0, 8.0]) - 0.5) + 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(found.rows, [known[0], 0.0, *known[2:]])  # what is missing costs nothing
    with pytest.raises(ValueError, match="^row 8 has the loss nan under a fit that has not seen it: leave it out, or"):
        loss(Series(), X, first=6, blocks=2)
    halves = cross_validate(Gaps(), X, lengths=[5, 5], folds=2)  # each foretold by a fit to five rows
    each = 0.5 * np.square(5 - 0.5) + 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(halves.rows, [5 * each, 4 * each])


@pytest.mark.parametrize("loss", [leave_future_out, prequential_loss])
def test_a_model_of_independent_rows_has_no_future(loss):
    class Table(Series):
        def to_batch(self, X):
            return Batch(X)

    sentence = "^Table is a model of independent rows, not of a series: ask cross_validate without lengths.$"
    with pytest.raises(TypeError, match=sentence):
        loss(Table(), np.zeros((10, 1)))
    with pytest.raises(TypeError, match=sentence):
        cross_validate(Table(), np.zeros((10, 1)), lengths=[5, 5], folds=2)


def test_rows_without_a_loss_are_named():
    class Broken:
        def get_params(self, deep=True):
            return {}

        def fit(self, X):
            return self

        def score_samples(self, X):
            return np.where(X[:, 0] == 3, self.odd, 0.0)

    for odd, sentence in ((np.nan, "is nan at row"), (-np.inf, "^row 4 has the loss inf under a fit that has not")):
        Broken.odd = odd
        with pytest.raises(ValueError, match=sentence):
            cross_validate(Broken(), np.arange(10.0)[:, None])


def test_what_needs_the_sampler_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_stats", None)
    sentence = "^arviz-stats is not installed, and draws from the posterior need it: pip install 'kullback.sampling.'.$"
    with pytest.raises(ImportError, match=sentence):
        psis_loo(np.zeros((10, 3)))
    with pytest.raises(ImportError, match=sentence):
        diagnose(np.zeros((2, 10)))
    with pytest.raises(ImportError, match=sentence):
        minibatch_learning_coefficient(
            lambda w, x: -jnp.square(x - w), np.zeros(1), np.zeros(9), log_prior=lambda w: 0.0, step_size=0.1
        )
    assert waic(np.zeros((10, 3))).mean == 0  # needs neither
    monkeypatch.setitem(sys.modules, "blackjax", None)
    with pytest.raises(ImportError, match="^blackjax is not installed"):
        criteria(Mixture([1.0], Gaussian([[0.0]], [[[1.0]]])), np.arange(9.0)[:, None])


@pytest.mark.slow
def test_missing_entries_of_a_series_are_foretold_as_score_next_says():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)).cumsum(axis=0)
    X[::7] = np.nan
    system = kullback.LinearDynamicalSystem(1, random_state=0, max_iter=3)
    found = leave_future_out(system, X, first=40, blocks=1)
    known = system.fit(X[:40]).score_next(X).log_likelihood
    np.testing.assert_allclose(found.rows, -np.asarray(known)[40:], atol=1e-5)


@pytest.mark.slow
def test_sequences_are_held_out_whole():
    rng = np.random.default_rng(0)
    X = rng.poisson(np.where(np.arange(80) // 4 % 2, 8.0, 1.0))[:, None]
    found = cross_validate(kullback.PoissonHMM(2, random_state=0, n_iter=5), X, lengths=[8] * 10, folds=2)
    assert found.rows.shape == (10,)
    assert 10 < found.mean < 40
    future = leave_future_out(kullback.PoissonHMM(2, random_state=0, n_iter=5), X, first=60, blocks=2)
    assert future.rows.shape == (20,)


@pytest.mark.slow
def test_too_many_components_cost_the_plug_in_and_not_the_bayes_predictive():
    """Two components in truth, four in the model with its 11 parameters: p_waic follows λ and not d."""
    rng = np.random.default_rng(1)
    tenths = np.round(np.where(rng.uniform(size=200) < 0.5, rng.normal(-2, 1, 200), rng.normal(2, 1, 200)) * 5) / 5
    values, weight = np.unique(tenths, return_counts=True)
    batch = Batch(values[:, None], weight.astype(float))
    means = np.array([[-2.5], [-1.5], [1.5], [2.5]])
    model = Mixture([0.25] * 4, Gaussian(means, np.full((4, 1, 1), 0.9)))
    for _ in range(50):
        model = model.maximize(model.expected_statistics(batch)[0])
    found = criteria(model, batch, draws=3000, warm_up=400)
    assert found.problem is None, found.problem
    assert found.parameters == 11
    assert found.waic.effective_parameters < 7
    assert 2 * found.coefficient.value < 7
    assert abs(found.waic.mean - found.loo.mean) < 2e-3
    assert found.training.mean < found.waic.mean < found.wbic < found.bic
    assert "WAIC" in str(found)
    assert found.prior in str(found)
    assert compare_criteria({"four": found})["four"].value == 0
