"""What pages show of missing values, words, whole numbers and families that they do not know."""

import re

import numpy as np
import pytest
from scipy import stats

import kullback
from kullback.families import Categorical, Gaussian, Independent, Poisson
from kullback.report import write_report
from kullback.report._columns import Column
from kullback.report._components import draw_plane, plane_of, rows_to_draw
from kullback.report._context import ReportContext
from kullback.report._grid import MOST_BARS, grid
from report.reports import blobs, chain, fitted, holes, mixture

WORDS = ["run", "idle", "<b>warm</b>"]


def two_gaussians(columns):
    means = np.stack([np.full(columns, m) for m in (-4.0, 4.0)])
    return mixture(kullback.GaussianMixture, Gaussian(means, np.stack([np.eye(columns)] * 2)))


def dots(axes):
    return np.concatenate([np.stack(line.get_data(), axis=1) for line in axes.lines if line.get_markersize() < 3])


@pytest.mark.parametrize("columns", [2, 3])
def test_rows_with_missing_values_are_not_drawn(columns):
    X = holes(blobs(columns=columns))
    context = ReportContext(two_gaussians(columns), X)
    plane = plane_of(context)
    axes = kullback.plots.panels()[1]
    draw_plane(axes, context, plane, rows_to_draw(context))
    whole = X[~np.isnan(X).any(axis=1)]
    drawn = dots(axes)
    assert len(drawn) == len(whole) < len(X)
    expected = (whole - plane.center) @ plane.axes.T
    np.testing.assert_allclose(np.sort(drawn, axis=0), np.sort(expected, axis=0))


def test_a_page_says_how_many_rows_have_missing_values(tmp_path):
    X = holes(blobs())
    absent = int(np.isnan(X).any(axis=1).sum())
    model = two_gaussians(2)
    text = write_report(model, tmp_path / "page.html", X, before=[model, model]).read_text(encoding="utf-8")
    assert text.count(f"{absent} of 80 rows have missing values and are not shown.") >= 2  # components, combination
    assert f"{int(np.isnan(X[:, 0]).sum())} of 80 values are missing." in text
    whole = write_report(model, tmp_path / "whole.html", blobs()).read_text(encoding="utf-8")
    assert "missing values" not in whole
    nothing = np.where(np.arange(160).reshape(80, 2) % 2, np.nan, blobs())  # no row is complete
    text = write_report(model, tmp_path / "none.html", nothing).read_text(encoding="utf-8")
    assert "80 of 80 rows have missing values and are not shown." in text


def test_a_series_says_where_its_gaps_come_from(tmp_path):
    model, X = fitted("LinearDynamicalSystem")
    text = write_report(model, tmp_path / "page.html", X).read_text(encoding="utf-8")
    gaps = int(np.isnan(X[1:]).sum())
    assert f"{gaps} of 119 rows have missing values, which are gaps." in text


def of_words():
    """Return a mixture of two columns that was learned from words, as the command leaves it."""
    shares = np.array([[[0.75, 0.25, 0.0], [0.2, 0.3, 0.5]], [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]])
    model = mixture(kullback.CategoricalMixture, Independent(Categorical(shares)))
    model.feature_names_in_ = np.array(["status", "code"], dtype=object)
    return model, np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)


def test_words_of_a_category_are_shown_and_escaped(tmp_path):
    model, X = of_words()
    text = write_report(model, tmp_path / "page.html", X, words={"status": WORDS}).read_text(encoding="utf-8")
    assert "<b>" not in text
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", text)
    assert "run: 0.75, idle: 0.25" in cells  # the table of components
    assert "idle: 0.5, &lt;b&gt;warm&lt;/b&gt;: 0.5" in cells
    assert "0: 0.2, 1: 0.3, 2: 0.5" in cells  # no words are known of the other column
    assert cells.count("run") + cells.count("idle") + cells.count("&lt;b&gt;warm&lt;/b&gt;") == 10  # least likely rows


def test_words_stand_at_the_axes():
    model, X = of_words()
    context = ReportContext(model, X, words={"status": WORDS})
    at = grid(context.columns[0], context.weights, X[:, 0])
    assert at.labels == tuple(WORDS)
    np.testing.assert_allclose(at.densities(context.columns[0]), [[0.75, 0.25, 0.0], [0.0, 0.5, 0.5]])
    np.testing.assert_array_equal(at.bar_positions(X[:, 0]), X[:, 0])


def test_of_many_words_the_commonest_have_bars():
    shares = np.random.default_rng(0).dirichlet(np.full(100, 0.3), 2)
    (marginal,) = Independent(Categorical(shares[:, None])).marginals()
    column = Column.of(marginal, 2, [f"w{k}" for k in range(100)])
    at = grid(column, np.array([0.5, 0.5]), None)
    order = np.argsort(-shares.mean(axis=0))
    assert set(at.labels) == {f"w{k}" for k in order[:MOST_BARS]}
    values = np.arange(100.0)
    assert np.isin(at.bar_positions(values), at.x).sum() == MOST_BARS
    assert column.words[0].endswith(f"… {(shares[0] > 0).sum() - 8} more")


def test_states_of_words_have_words_in_time(tmp_path):
    model = chain(kullback.CategoricalHMM, Independent(Categorical(np.array([[[0.75, 0.25, 0]], [[0, 0.5, 0.5]]]))))
    model.feature_names_in_ = np.array(["status"], dtype=object)
    X = np.random.default_rng(0).integers(0, 3, (60, 1)).astype(float)
    text = write_report(model, tmp_path / "page.html", X, words={"status": WORDS}).read_text(encoding="utf-8")
    timeline = text[text.index("timeline") : text.index("The states")]
    assert "run" in timeline
    assert "&lt;b&gt;warm" in timeline


@pytest.mark.parametrize("rate", [3.0, 60.0, 40_000.0])
def test_counts_have_bars_of_whole_numbers(rate):
    values = np.random.default_rng(0).poisson(rate, 500).astype(float)
    (marginal,) = Independent(Poisson(np.array([[rate]]))).marginals()
    column = Column.of(marginal, 1)
    at = grid(column, np.ones(1), values)
    assert len(at.x) <= MOST_BARS
    assert at.width == int(at.width) >= 1
    np.testing.assert_array_equal(at.first, np.round(at.first))
    law = stats.poisson(rate)
    expected = law.cdf(at.first + at.width - 1) - law.cdf(at.first - 1)
    np.testing.assert_allclose(at.densities(column)[0], expected, atol=1e-3 if rate > 1000 else 1e-12)
    counted = [np.mean((values >= one) & (values < one + at.width)) for one in at.first]
    seen = at.bar_positions(values)
    np.testing.assert_allclose([np.mean(seen == x) for x in at.x], counted)
    np.testing.assert_allclose(sum(counted), 1)


def test_a_page_of_wide_counts_says_what_a_bar_is(tmp_path):
    model = mixture(kullback.PoissonMixture, Independent(Poisson(np.array([[2.0, 40.0], [8.0, 1500.0]]))))
    text = write_report(model, tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.search(r"Each bar is a group of \d\d whole numbers\.", text)
