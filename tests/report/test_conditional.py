"""Pages and pictures of models of targets given inputs."""

import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

import kullback
from kullback.estimators import coordinate_names
from kullback.families import Gamma, Gaussian, Independent, Poisson, Product
from kullback.report import ReportContext, write_report
from kullback.report.conditional import targets_of
from kullback.report.conditional._along import Along
from kullback.report.conditional._coefficients import coefficient_tables, standard_errors
from kullback.report.conditional._inputs import axis_ends, input_axis, reference_row
from report.regressors import classifier, linear, rows
from report.reports import COUNTS, Page, counts, mixture

#: The mean follows the first input alone, and σ is 0.5.
GAUSSIAN = [[2.0, 1.0, 0.0], [np.log(0.5), 0.0, 0.0]]


def gaussian(**parameters):
    return linear("gaussian", GAUSSIAN, **parameters)


def targets(X, seed=1):
    return 2 + (X[:, 0] - 1) / 2 + 0.5 * np.random.default_rng(seed).normal(size=len(X))


def page_of(path):
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL).lower()
    return page, text


def test_a_page_shows_calibration_residuals_and_predictions_along_inputs(tmp_path):
    X = rows(300)
    y = pd.Series(targets(X), name="height <cm>")
    y[::10] = np.nan
    page, text = page_of(write_report(gaussian(), tmp_path / "page.html", X, y))
    assert page.figures == ["pit-0", "coverage-0", "residuals-0", "along-0-0", "along-0-1", "learning"]
    assert page.facts["Family"] == "gaussian"
    assert page.facts["Target"] == "height <cm>"
    assert page.facts["Inputs"] == "2"
    assert "30 of 300 rows lack height &lt;cm&gt; and are left out." in text
    density = stats.norm(2 + (X[:, 0] - 1) / 2, 0.5).logpdf(y)
    shown = page.facts["Log-likelihood of these rows"].removesuffix(" nats per row").replace("−", "-")
    assert float(shown) == pytest.approx(np.nanmean(density), abs=1e-4)
    assert {"scores", "coefficients-0", "least-likely"} <= set(page.ids)


@pytest.mark.slow
def test_without_targets_or_data_there_is_what_can_be_shown(tmp_path):
    for data in (rows(50), None):
        page, text = page_of(write_report(gaussian(), tmp_path / "page.html", data))
        assert page.figures == ["along-0-0", "along-0-1", "learning"]
        assert "Dots" not in text
        assert "least-likely" not in page.ids
    nothing = np.full(50, np.nan)
    page, text = page_of(write_report(gaussian(), tmp_path / "page.html", rows(50), nothing))
    assert "pit-0" not in page.figures
    assert page.facts["Log-likelihood at the end of the fit"] == "−1 nats per row"


@pytest.mark.slow
def test_a_page_of_classes_has_reliability_and_confusion(tmp_path):
    X = rows(200)
    labels = np.where(np.random.default_rng(0).random(200) < 1 / (1 + np.exp(-(X[:, 0] - 1))), "yes", "no")
    labels = labels.astype(object)
    labels[:3] = None
    page, text = page_of(write_report(classifier(["no", "yes"], [0.0, -2.0, 0.0]), tmp_path / "page.html", X, labels))
    assert page.figures == ["reliability-0", "confusion-0", "along-0-0", "along-0-1", "learning"]
    assert "3 of 200 rows lack y and are left out." in text
    assert "Coefficients of the log odds of yes" in text
    assert page.facts["Classes"] == "2"


def test_a_classifier_has_the_sign_of_its_second_class():
    (table,) = coefficient_tables(ReportContext(classifier(["no", "yes"], [0.0, -2.0, 0.0], alpha=0.0)))
    assert [row[:2] for row in table.rows] == [["intercept", "−1"], ["input 0", "1"], ["input 1", "0"]]
    assert table.rows[1][2] == "0.025"  # 1/√400, in units of a spread of 2


def test_probability_integrals_are_those_of_the_family():
    X = rows(40)
    y = targets(X)
    (target,) = targets_of(ReportContext(gaussian(), X, y=y))
    np.testing.assert_allclose(target.pit, stats.norm(2 + (X[:, 0] - 1) / 2, 0.5).cdf(y), atol=1e-12)
    np.testing.assert_allclose(target.residuals, (y - target.center) / 0.5, atol=1e-9)
    y[0] = 1e6
    assert np.isfinite(targets_of(ReportContext(gaussian(), X, y=y))[0].residuals).all()


@pytest.mark.slow
def test_probability_integrals_of_counts_and_angles():
    X = rows(60)
    rate = np.exp(1 + 0.3 * (X[:, 0] - 1) / 2)
    y = stats.poisson(rate).rvs(random_state=0).astype(float)
    (target,) = targets_of(ReportContext(linear("poisson", [1.0, 0.3, 0.0]), X, y=y))
    assert np.all(target.pit >= stats.poisson(rate).cdf(y - 1) - 1e-9)
    assert np.all(target.pit <= stats.poisson(rate).cdf(y) + 1e-9)
    assert len(np.unique(target.pit)) == 60

    a, b = 3 * np.cos(3.0) + (X[:, 0] - 1) / 2, 3 * np.sin(3.0) * np.ones(60)
    mean, kappa = np.arctan2(b, a), np.hypot(a, b)
    angle = np.mod(mean + stats.vonmises(kappa).rvs(random_state=0) + np.pi, 2 * np.pi) - np.pi
    turned = linear("von_mises", [[3 * np.cos(3.0), 1.0, 0.0], [3 * np.sin(3.0), 0.0, 0.0]])
    for shift in (0, 2 * np.pi):
        (target,) = targets_of(ReportContext(turned, X, y=angle + shift))
        away = np.mod(angle - mean + np.pi, 2 * np.pi) - np.pi
        np.testing.assert_allclose(target.pit, stats.vonmises(kappa).cdf(away), atol=1e-8)


def test_bands_along_an_input_are_the_quantiles_of_the_family():
    X = rows(100)
    axes = kullback.plot(gaussian(), X, targets(X))
    assert axes.get_xlabel() == "input 0"  # the other one does not matter
    middle = axes.lines[-1]
    x = middle.get_xdata()
    np.testing.assert_allclose(middle.get_ydata(), 2 + (x - 1) / 2, atol=1e-12)
    wide = axes.collections[0].get_paths()[0].vertices
    at = wide[wide[:, 0] == x[60]][:, 1]
    expected = stats.norm(2 + (x[60] - 1) / 2, 0.5).ppf([0.05, 0.95])
    np.testing.assert_allclose([at.min(), at.max()], expected, atol=1e-12)


def test_levels_of_smallest_sets_are_central_where_there_is_one_piece():
    context = ReportContext(gaussian(), rows(100))
    along = Along(context)
    (target,) = targets_of(context)
    edges = np.linspace(-8, 12, 4001)
    levels = along.levels(target, along.axes[0], edges)
    middle, place = (edges[1:] + edges[:-1]) / 2, 30
    center = 2 + (along.axes[0].values[place] - 1) / 2
    expected = 2 * stats.norm.cdf(np.abs(middle - center) / 0.5) - 1
    np.testing.assert_allclose(levels[place], expected, atol=0.005)


def test_inputs_are_axes_by_their_kind():
    X = np.stack([np.arange(40) % 15, np.arange(40) % 2, np.linspace(0, 1, 40)], axis=1)
    X[0, 2] = np.nan
    coefficients = [[0.0] * 17, [0.0] * 17]
    context = ReportContext(linear("gaussian", coefficients, categories=[15, 0, 0], missing="indicator"), X)
    category, flag, number = (input_axis(context, place) for place in range(3))
    assert category.labels == tuple(map(str, [*range(10), 10, 11]))  # 3 of the first 10, 2 of the others
    assert "12 most common of 15" in category.caption
    np.testing.assert_array_equal(category.positions(np.array([2.0, 14.0])), [2, np.nan])
    assert flag.labels == ("0", "1")
    assert not number.apart
    assert number.x[0] == np.nanmin(X[:, 2])
    assert axis_ends(np.arange(1001.0)) == (5, 995)
    np.testing.assert_allclose(reference_row(context), [0, 0, np.nanmedian(X[:, 2])])
    bare = ReportContext(linear("gaussian", coefficients, categories=[15, 0, 0]))
    assert [input_axis(bare, place).values[[0, -1]].tolist() for place in (1, 2)] == [[-3, 5], [-3, 5]]
    assert reference_row(bare).tolist() == [0, 1, 1]
    few = ReportContext(gaussian(), rows(2))
    assert not input_axis(few, 0).apart  # two numbers are no categories
    assert input_axis(ReportContext(gaussian(), rows(1)), 0).values[[0, -1]].tolist() == [-3, 5]


def test_standard_errors_are_those_of_generalized_linear_models():
    X = rows(500)
    y = np.random.default_rng(0).poisson(np.exp(0.2 + 0.3 * X[:, 0]))
    peer = sm.GLM(y, sm.add_constant(X), sm.families.Poisson()).fit(tol=1e-12)
    slopes = peer.params[1:] * 2
    design = np.column_stack([np.ones(500), (X - 1) / 2])
    rate = np.exp(sm.add_constant(X) @ peer.params)
    information = (design * rate[:, None]).T @ design / 500
    ours = linear("poisson", [peer.params[0] + slopes.sum() / 2, *slopes], points=500.0, information=information)
    np.testing.assert_allclose(standard_errors(ours.to_model(), ours), [peer.bse], rtol=1e-9)
    (table,) = coefficient_tables(ReportContext(ours))
    assert [float(row[1].replace("−", "-")) for row in table.rows] == pytest.approx(peer.params, rel=1e-3)
    assert [float(row[3].replace("−", "-")) for row in table.rows] == pytest.approx(peer.tvalues, rel=1e-2)


def test_standard_errors_are_left_out_where_they_are_not_known():
    for ours, why in (
        (gaussian(rate=0.1), "a fit with a rate forgets"),
        (gaussian(information=np.zeros((4, 4))), "do not determine all coefficients"),
    ):
        (table,) = coefficient_tables(ReportContext(ours))
        assert table.headers == ["input", "coefficient"]
        assert why in table.note
    (table,) = coefficient_tables(ReportContext(gaussian()))
    assert "log σ is −0.6931 ± 0.05 everywhere." in table.note


def test_free_coordinates_have_names():
    part = Independent(Poisson([1.0, 2.0])).kind
    assert coordinate_names(part, ["a", "b"]) == ["log rate of a", "log rate of b"]
    both = Product([Gaussian([0.0, 0.0], np.eye(2)), Independent(Gamma([1.0], [1.0]))]).kind
    names = coordinate_names(both, ["a", "b", "c"])
    assert len(names) == both.size
    assert names[4:] == ["slope of b on a", "log mean of c", "log shape of c"]


def test_says_what_is_wrong():
    X = rows(30)
    with pytest.raises(ValueError, match="y is given for a PoissonMixture"):
        kullback.plot(mixture(kullback.PoissonMixture, COUNTS), counts(), np.zeros(80))
    with pytest.raises(ValueError, match="y is given for a Regressor"):
        kullback.plot(gaussian(), None, np.zeros(30))
    with pytest.raises(ValueError, match=r"y has shape \(29,\): data has 30 rows"):
        kullback.plot(gaussian(), X, np.zeros(29))
    with pytest.raises(ValueError, match="must be"):
        kullback.plot(linear("poisson", [0.0, 0.0, 0.0]), X, np.full(30, -1.0))


@pytest.mark.slow
def test_many_targets_of_all_kinds_and_many_inputs(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 30))
    Y = pd.DataFrame({f"n{place}": X[:, place] + rng.normal(size=150) for place in range(2)})
    Y["count"], Y["flag"], Y["kind"] = rng.poisson(2.0, 150), rng.random(150) < 0.5, rng.integers(0, 3, 150)
    Y = Y.astype(float)
    Y.iloc[:7, 2] = np.nan
    several = kullback.Regressor(["gaussian", "gaussian", "poisson", "bernoulli", "categorical"], alpha=1.0).fit(X, Y)
    page, text = page_of(write_report(several, tmp_path / "page.html", X, Y))
    assert "Pictures are of the first 4 of 5 targets." in text
    assert "7 of 150 rows lack count and are left out." in text
    assert sum(figure.startswith("along") for figure in page.figures) == 12
    assert {"reliability-3", "confusion-3", "pit-2"} <= set(page.figures)
    assert "The 3 of 30 inputs along which the prediction moves most." in text
    assert "Those furthest from 0 come first." in text


@pytest.mark.slow
def test_trees_show_the_curve_of_rows_that_were_held_out(tmp_path):
    X = rows(300)
    trees = kullback.Regressor(method="trees", learning_rate=0.5, random_state=0).fit(X, targets(X))
    page, text = page_of(write_report(trees, tmp_path / "page.html", X, targets(X)))
    assert "rows that were held out" in text
    assert not any(key.startswith("coefficients") for key in page.ids)
