"""Rows that are too unlikely, and the columns that make them so."""

import numpy as np
import pytest
from scipy import stats

import kullback
from kullback.estimators import Anomalies
from kullback.estimators._anomalies import row_surprises
from kullback.families import Batch, Categorical, Independent
from kullback.models import CompoundDirichlet, Mixture

MEAN, COVARIANCE = np.array([0.0, 100.0, -1.0]), np.array([[1.0, 9.5, 0.0], [9.5, 100.0, 0.0], [0.0, 0.0, 1e-4]])


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(0).multivariate_normal(MEAN, COVARIANCE, 2000)


@pytest.fixture(scope="module")
def gaussian(table):
    return kullback.GaussianMixture(1, reg_covar=1e-9, random_state=0).fit(table)


def test_a_share_of_the_rows_lies_below_the_threshold(gaussian, table):
    # −2 log p + constant is a χ² with a degree of freedom for each column
    constant = -0.5 * np.linalg.slogdet(2 * np.pi * gaussian.covariances_[0])[1]
    for share in (0.01, 0.2):
        exact = constant - 0.5 * stats.chi2(3).ppf(1 - share)
        density = 2 * stats.chi2(3).pdf(stats.chi2(3).ppf(1 - share))  # of the log-likelihood, at the threshold
        error = np.sqrt(share * (1 - share) / 10_000) / density
        assert gaussian.threshold(share) == pytest.approx(exact, abs=4.5 * error)
    flagged = gaussian.predict_outlier(table, contamination=0.05)
    assert flagged.dtype == bool
    assert abs(flagged.mean() - 0.05) < 4.5 * np.sqrt(0.05 * 0.95 * (1 / 2000 + 1 / 10_000))


def test_rows_with_missing_entries_are_compared_with_rows_that_lack_the_same(gaussian, table):
    lacking = table.copy()
    lacking[::2, 1], lacking[0] = np.nan, np.nan
    flagged = gaussian.predict_outlier(lacking, 0.05)
    assert not flagged[0]
    assert abs(flagged[2::2].mean() - 0.05) < 4.5 * np.sqrt(0.05 * 0.95 * (1 / 999 + 1 / 10_000))


def test_a_model_that_is_slow_answers_for_the_most_common_patterns_only(gaussian, table, monkeypatch):
    lacking = table[:12].copy()
    lacking[:5, 0], lacking[5:9, 1], lacking[9:11, 2] = np.nan, np.nan, np.nan
    all_of_them = Anomalies(gaussian).thresholds(lacking)
    monkeypatch.setattr(type(gaussian), "_most_patterns", 2)
    with pytest.warns(UserWarning, match="in more than 2 ways, and 2 of them are compared with nothing"):
        found = Anomalies(gaussian).thresholds(lacking)
    np.testing.assert_array_equal(found, np.where(np.isin(np.arange(12), [9, 10]), -np.inf, all_of_them))


@pytest.mark.parametrize("contamination", [-0.1, 1.0, np.nan, "auto"])
def test_a_share_is_less_than_all(gaussian, contamination):
    with pytest.raises(ValueError, match="contamination is .*: it must be 0 or more, and less than 1"):
        gaussian.threshold(contamination)


def test_surprises_are_conditional_densities(gaussian, table):
    rows = table[:5].copy()
    rows[3, 0], rows[4] = np.nan, np.nan
    anomalies = Anomalies(gaussian)
    contributions = anomalies.contributions(rows)
    mean, covariance = gaussian.means_[0], gaussian.covariances_[0]
    for place, row in enumerate(rows):
        for column in range(3):
            rest = [i for i in range(3) if i != column and not np.isnan(row[i])]
            if np.isnan(row[column]):
                assert contributions[place, column] == 0
                continue
            gain = np.linalg.solve(covariance[np.ix_(rest, rest)], covariance[rest, column])
            center = mean[column] + gain @ (row[rest] - mean[rest])
            width = np.sqrt(covariance[column, column] - gain @ covariance[rest, column])
            expected = -stats.norm(center, width).logpdf(row[column])
            assert contributions[place, column] == pytest.approx(expected - anomalies.usual[column], rel=1e-9)
    # what is usual is the entropy of a column given the others, up to the error of 10,000 draws (the variance is 1/2)
    widths = 1 / np.diagonal(np.linalg.inv(covariance))
    np.testing.assert_allclose(
        anomalies.usual, 0.5 * np.log(2 * np.pi * np.e * widths), atol=4.5 * np.sqrt(0.5 / 10_000)
    )


def test_of_a_correlated_pair_the_column_that_is_off_stands_out(gaussian, table):
    # usual entries are about as surprising as usual, in columns of any units
    usual = gaussian.contributions(table)
    assert np.all(np.abs(usual.mean(axis=0)) < 4.5 * usual.std(axis=0) * np.sqrt(1 / 2000 + 1 / 10_000))
    # both entries of the pair are ordinary by themselves, but not together; the third is not concerned
    found = gaussian.contributions([[1.5, 85.0, -1.0]])[0]
    assert min(found[:2]) > 20 > 2 > found[2]
    # a third column that belongs to one of the pair shows which of the two is off
    rng = np.random.default_rng(1)
    level = rng.normal(size=(2000, 1))
    three = kullback.GaussianMixture(1, random_state=0).fit(level + 0.1 * rng.normal(size=(2000, 3)))
    off = three.contributions([[1.0, 1.0, -1.0]])[0]
    assert off.argmax() == 2
    assert off[2] > 2 * off[:2].max()


@pytest.mark.slow
def test_a_rare_category_stands_out():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.choice(3, 3000, p=[0.6, 0.398, 0.002]), rng.choice(2, 3000), rng.poisson(4, 3000)])
    model = kullback.Mixture(1, family=["categorical", "categorical", "poisson"], random_state=0).fit(X.astype(float))
    found = model.contributions([[2.0, 1.0, 4.0], [0.0, 1.0, 4.0]])
    assert found[0].argmax() == 0
    assert np.abs(found[1]).max() < 1
    share = np.mean(X[:, 0] == 2)
    entropy = stats.entropy(np.bincount(X[:, 0]) / 3000)
    assert found[0, 0] == pytest.approx(-np.log(share) - entropy, abs=0.1)


def test_what_an_entry_that_makes_no_difference_or_rules_a_row_out_contributes():
    # of counts of one total one is missing: the others say nothing
    lacking = Batch(np.array([[0.0, 6.0, 9.0]]), observed=np.array([[False, True, True]]))
    assert np.isnan(row_surprises(CompoundDirichlet([2.0, 3.0, 5.0]), lacking)).all()
    never = Mixture([1.0], Independent(Categorical([[[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]])))
    found = np.asarray(row_surprises(never, Batch(np.array([[2.0, 2.0], [2.0, 1.0], [0.0, 1.0]]))))
    np.testing.assert_allclose(found, [[np.nan, np.nan], [np.inf, np.nan], [np.log(2), np.log(4 / 3)]])


@pytest.mark.slow
def test_rows_of_a_series_are_surprising_given_those_before():
    rng = np.random.default_rng(3)
    walk = np.cumsum(rng.normal(size=(400, 2)), axis=0)
    system = kullback.LinearDynamicalSystem(2, max_iter=5, random_state=0).fit(walk)
    jump = walk.copy()
    jump[200:, 1] += 30
    found = system.contributions(jump)
    assert np.unravel_index(found.argmax(), found.shape) == (200, 1)


@pytest.mark.slow
def test_states_that_seldom_change_make_the_change_surprising():
    rng = np.random.default_rng(4)
    states = np.repeat([0, 1, 0, 1], 150)
    X = rng.normal(8.0 * states[:, None], 1.0, (600, 2))
    chain = kullback.GaussianHMM(2, random_state=0).fit(X)
    flagged = chain.predict_outlier(X, contamination=0.03)
    assert flagged[[150, 300, 450]].all()
    assert flagged.mean() < 0.06
    assert chain.threshold() == pytest.approx(np.quantile(chain.score_next(X).log_likelihood, 0.01), abs=1.5)
    # piece by piece it is the same
    anomalies, first = Anomalies(chain), chain.score_next(X[:350])
    pieces = [anomalies.contributions(X[:350]), anomalies.contributions(X[350:], carry=first.carry)]
    np.testing.assert_allclose(np.concatenate(pieces), chain.contributions(X), rtol=1e-7, atol=1e-9)
