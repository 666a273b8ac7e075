"""Rows on two columns: which columns, which rows, and what stands at the axes."""

import numpy as np
import pytest
from scipy import integrate, stats

import kullback
from kullback.families import Categorical, DiagonalGaussian, Independent, Poisson, Product
from kullback.models import Mixture
from kullback.plots import panels
from kullback.report import write_report
from kullback.report._components import chosen_columns, describe_choice, information
from kullback.report._context import ReportContext
from kullback.report._scatter import Scatter
from report.reports import chain, fitted, holes, mixture

WORDS = {"1": ["run", "idle", "warm"]}
SHARES = np.array([[[0.6, 0.3, 0.1]], [[0.1, 0.1, 0.8]]])
PARTS = Product(
    [
        DiagonalGaussian(np.array([[0.0], [1.0]]), np.ones((2, 1))),
        Independent(Categorical(SHARES)),
        Independent(Poisson(np.array([[2.0], [9.0]]))),
    ]
)


def rows(count=300):
    rng = np.random.default_rng(0)
    return np.stack([rng.normal(size=count), rng.integers(0, 3, count), rng.poisson(4, count)], axis=1).astype(float)


def test_what_a_column_tells_is_its_mutual_information():
    context = ReportContext(mixture(kullback.Mixture, PARTS), rows())
    weights = np.array([0.4, 0.6])

    def entropy(p):
        p = p[p > 0]
        return -np.sum(p * np.log(p))

    counts = stats.poisson([[2.0], [9.0]]).pmf(np.arange(60))
    for place, p in ((1, SHARES[:, 0]), (2, counts)):
        expected = entropy(weights @ p) - weights @ [entropy(row) for row in p]
        assert information(context, place) == pytest.approx(expected, rel=1e-3)

    def integrand(x):
        p = stats.norm([0.0, 1.0], 1.0).pdf(x)
        return float(weights @ (p * np.log(p / (weights @ p))))

    assert information(context, 0) == pytest.approx(integrate.quad(integrand, -8, 9)[0], rel=2e-2)
    found = Scatter.of(context)
    assert (found.x.name, found.y.name) == ("column 1", "column 2")  # the first tells the least


def test_missing_values_are_not_drawn_and_equal_values_are_spread(tmp_path):
    X = holes(rows())
    context = ReportContext(mixture(kullback.Mixture, PARTS), X, words=WORDS)
    found = Scatter.of(context)
    known = np.isfinite(X[:, 1:]).all(axis=1)
    assert found.known == len(found.rows) == known.sum() < len(X)
    for side, place in ((found.x, 1), (found.y, 2)):
        assert side.spread
        np.testing.assert_array_equal(np.round(side.values), X[known, place])
        assert len(np.unique(side.values)) > 100
    assert found.x.ticks == {0.0: "run", 1.0: "idle", 2.0: "warm"}
    axes = panels()[1]
    found.draw(axes, context)
    labels = context.labels[known]
    for line, label in zip(axes.lines, np.unique(labels), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), found.x.values[labels == label])
        assert line.get_label() == str(label)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["run", "idle", "warm"]
    text = write_report(context.estimator, tmp_path / "page.html", X, words=WORDS).read_text(encoding="utf-8")
    assert f"Rows that lack either value are not shown ({(~known).sum()} of 300)." in text
    assert "Equal values are spread out slightly" in text


def test_without_two_columns_or_whole_rows_there_is_no_picture():
    one = mixture(kullback.GaussianMixture, DiagonalGaussian(np.zeros((2, 1)), np.ones((2, 1))))
    assert Scatter.of(ReportContext(one, np.zeros((5, 1)))) is None
    two = mixture(kullback.Mixture, PARTS)
    assert Scatter.of(ReportContext(two)) is None
    never = np.where(np.arange(12).reshape(4, 3) % 2, np.nan, 1.0)
    assert Scatter.of(ReportContext(two, never)) is None


def test_states_color_rows_by_their_path():
    states = chain(kullback.HMM, PARTS)
    X = rows(60)
    context = ReportContext(states, X, lengths=[20, 40])
    axes = panels()[1]
    found = Scatter.of(context)
    found.draw(axes, context)
    path = states.predict(X, [20, 40])
    assert [len(line.get_xdata()) for line in axes.lines] == np.bincount(path)[np.unique(path)].tolist()


def test_of_many_columns_those_are_shown_that_tell_components_apart():
    means = np.zeros((2, 40))
    means[1, [3, 17, 31]] = 4.0
    model = Mixture(np.array([0.5, 0.5]), DiagonalGaussian(means, np.ones((2, 40))))
    context = ReportContext(kullback.GaussianMixture.from_model(model))
    assert set(chosen_columns(context, 3)) == {3, 17, 31}
    assert chosen_columns(context, 40) == list(range(40))
    assert describe_choice(context, 12) == "The 12 of 40 columns that say the most about a row's component."
    assert describe_choice(context, 40) == ""
    single, X = fitted("CompoundDirichlet")
    assert chosen_columns(ReportContext(single, X), 1) == [0]
