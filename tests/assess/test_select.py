"""Choosing a number of components, against the same by hand."""

import functools
import sys

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import KFold

import kullback
from assess.stand_ins import Offset, numbered
from kullback.assess import _select, criteria, criteria_table, select
from kullback.runtime._compiled import compiled_functions

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(-4, 1, (60, 2)), RNG.normal(4, 1, (60, 2))])


def test_bic_is_that_of_each_fit():
    found = select(GaussianMixture(random_state=0), X, n_components=[3, 1, 2])
    fits = [GaussianMixture(k, random_state=0).fit(X) for k in (1, 2, 3)]
    values = [fit.bic(X) for fit in fits]
    assert [row["n_components"] for row in found.rows] == [1, 2, 3]
    np.testing.assert_allclose([row["value"] for row in found.rows], values)
    np.testing.assert_allclose([row["behind"] for row in found.rows], np.array(values) - min(values))
    assert [row["parameters"] for row in found.rows] == [5, 11, 17]
    assert found.n_components == int(np.argmin(values)) + 1 == 2
    np.testing.assert_allclose(found.estimator.means_, fits[1].means_)


@pytest.mark.slow
def test_held_out_is_cross_validation_paired_by_row():
    found = select(GaussianMixture(random_state=0), X, n_components=[1, 2, 3], criterion="held-out", folds=4, seed=3)
    losses = np.empty((3, len(X)))
    for learn, held in KFold(4, shuffle=True, random_state=3).split(X):
        for place in range(3):
            fit = GaussianMixture(place + 1, random_state=0).fit(X[learn])
            losses[place, held] = -fit.score_samples(X[held])
    np.testing.assert_allclose([row["value"] for row in found.rows], losses.mean(axis=1))
    best = losses[np.argmin(losses.mean(axis=1))]
    gaps = losses - best
    np.testing.assert_allclose([row["behind"] for row in found.rows], gaps.mean(axis=1))
    errors = gaps.std(axis=1, ddof=1) / np.sqrt(len(X))
    np.testing.assert_allclose([row["error"] for row in found.rows], errors)
    level = np.flatnonzero(gaps.mean(axis=1) <= errors)
    assert found.n_components == level[0] + 1 == 2
    assert "the least within one standard error of the best" in repr(found)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [120, 9000])
def test_eight_mixtures_share_what_is_compiled(rows):
    table = RNG.normal(RNG.choice([-4.0, 4.0], (rows, 1)), 1.0, (rows, 2))
    before = len(compiled_functions)
    found = kullback.select(kullback.GaussianMixture(random_state=0), table)
    # a start, a loop, a score; and another loop where a component becomes so narrow that digits would be lost
    assert len(compiled_functions) - before <= 4
    assert found.n_components == 2
    assert [row["parameters"] for row in found.rows] == [6 * k - 1 for k in range(1, 9)]
    alone = kullback.GaussianMixture(3, random_state=0).fit(table)
    assert found.rows[2]["value"] == pytest.approx(alone.bic(table), rel=1e-9)


def test_candidates_that_fail_are_noted():
    found = select(GaussianMixture(random_state=0), X[:20], n_components=[1, 30], verbose=False)
    assert found.n_components == 1
    assert "n_components = 30" in found.rows[1]["note"]
    assert found.rows[1]["value"] == np.inf
    with pytest.raises(ValueError, match="All 2 candidates failed; the last one because: "):
        select(GaussianMixture(random_state=0), X[:20], n_components=[30, 31])


def test_it_prints_a_table(capsys):
    found = select(GaussianMixture(random_state=0), X, n_components=[1, 2], verbose=True)
    lines = repr(found).split("\n")
    assert lines[0] == "GaussianMixture on 120 rows by bic: −2·log-likelihood + d·log n."
    assert lines[1].split() == ["n_components", "parameters", "value", "behind"]
    assert lines[3].startswith("*")
    assert lines[-1] == "Chosen (*): n_components=2, the least value."
    assert "2/2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_components": []}, "it must be numbers of components"),
        ({"n_components": 3}, "it must be numbers of components"),
        ({"n_components": [1, 2.5]}, "it must be numbers of components"),
        ({"n_components": [0, 1]}, "different numbers from 1 on"),
        ({"n_components": [2, 2]}, "different numbers from 1 on"),
        ({"criterion": "aicc"}, "criterion is 'aicc': it must be one of 'bic', 'held-out'"),
        ({"criterion": "held-out", "folds": 1}, "folds is 1"),
        ({"seed": 0.5}, "seed is 0.5"),
    ],
)
def test_bad_arguments(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        select(GaussianMixture(), X, **change)


def test_bad_tables_and_estimators():
    with pytest.raises(ValueError, match="X has 1 row: 2 or more"):
        select(GaussianMixture(), X[:1])
    with pytest.raises(ValueError, match="Offset has no n_components to choose"):
        select(Offset(), numbered(20))
    with pytest.raises(TypeError, match="has no bic: choose by criterion='held-out'"):
        select(_WithoutBic(), X, n_components=[1, 2])


class _WithoutBic(GaussianMixture):
    bic = None


class Told:
    """An estimator of nobody's, whose BIC is what it was told."""

    def __init__(self, n_components=1, bics=()):
        self.n_components, self.bics = n_components, bics

    def get_params(self, deep=True):
        return {"n_components": self.n_components, "bics": self.bics}

    def set_params(self, n_components):
        self.n_components = n_components
        return self

    def fit(self, X, y=None):
        return self

    def score_samples(self, X):
        return np.zeros(len(X))

    def bic(self, X):
        return self.bics[self.n_components - 1]

    def aic(self, X):
        return self.bics[self.n_components - 1] - self.n_components * (np.log(len(X)) - 2)


@pytest.mark.parametrize("odd", [np.nan, -np.inf, np.inf])
def test_a_criterion_that_is_no_number_is_not_chosen(odd):
    X = np.arange(20.0)[:, None]
    found = select(Told(bics=(odd, 5.0, 3.0)), X, n_components=[1, 2, 3])
    assert found.n_components == 3
    assert [row["behind"] for row in found.rows] == [np.inf, 2.0, 0.0]
    assert found.rows[0]["note"].startswith(f"its bic is {odd}: a row is impossible under the fit")
    table = criteria_table(Told(bics=(odd, 5.0, 3.0)), X, n_components=[1, 2, 3], draws=0, folds=2)
    assert table["chosen"]["bic"] == 3
    assert table["candidates"][0]["bic"] is None
    assert table["candidates"][0]["note"] == found.rows[0]["note"]


def test_bic_needs_as_many_rows_as_parameters():
    X = np.arange(2.0)[:, None]  # each row its own component would be the best by far
    few = Told(bics=(1.0, 0.0, -50.0))
    assert select(few, X, n_components=[1, 2, 3]).n_components == 2
    table = criteria_table(few, X, n_components=[1, 2, 3], draws=0, folds=2)
    assert table["chosen"]["bic"] == 2
    sentence = "the data has 2 rows and the model 3 parameters: BIC needs more rows, or a smaller model."
    assert table["candidates"][2]["note"] == sentence
    with pytest.raises(ValueError, match="All 1 candidates failed; the last one because: the data has 2 rows"):
        select(few, X, n_components=[3])


@pytest.mark.slow
def test_criteria_of_the_posterior_choose_what_the_data_has(monkeypatch):
    monkeypatch.setattr(_select, "criteria", functools.partial(criteria, draws=500, warm_up=200, leapfrogs=5))
    column = X[:, :1]
    by_row = select(kullback.GaussianMixture(random_state=0), column, n_components=[1, 2], criterion="waic")
    assert by_row.n_components == 2
    # of a regular model WAIC is AIC/2n up to higher orders, and WBIC is BIC/2 up to a constant of the prior
    alone = kullback.GaussianMixture(1, random_state=0).fit(column)
    assert by_row.rows[0]["value"] == pytest.approx(alone.aic(column) / 2 / len(column), abs=0.01)
    assert by_row.rows[0]["error"] > 0
    evidence = select(kullback.GaussianMixture(random_state=0), column, n_components=[1, 2], criterion="wbic")
    assert evidence.n_components == 2
    assert evidence.rows[0]["value"] == pytest.approx(alone.bic(column) / 2, abs=3.0)


@pytest.mark.parametrize("criterion", ["waic", pytest.param("wbic", marks=pytest.mark.slow)])
def test_criteria_of_the_posterior_say_what_they_need(criterion, monkeypatch):
    with pytest.raises(TypeError, match="GaussianMixture has no to_model and to_batch, .*: choose by criterion='bic'"):
        select(GaussianMixture(random_state=0), X, n_components=[1], criterion=criterion)
    monkeypatch.setitem(sys.modules, "blackjax", None)
    with pytest.raises(ImportError, match=r"blackjax is not installed, .*: pip install 'kullback\[sampling\]'\."):
        select(kullback.GaussianMixture(random_state=0), X, n_components=[1], criterion=criterion)
