"""Pages of networks: images, learning curves with bands, and what is hidden in Helmholtz machines."""

import itertools
import re

import numpy as np
import pytest

import kullback
from kullback import models
from kullback.report import write_report
from kullback.report._context import ReportContext
from kullback.report._helmholtz import _recognize
from kullback.report._images import find_shape, rows_as_seen
from report.reports import Page
from report.test_report import check_page

HIDDEN = (3, 2)


def machine(columns=16, **attributes):
    """Return a machine that has learned nothing, and says that it has: no page needs a fit."""
    network = models.HelmholtzMachine.start(np.linspace(0.1, 0.9, columns), HIDDEN, 1, np.float32)
    found = kullback.HelmholtzMachine(HIDDEN, random_state=0)
    curve = np.array([[2, 64, -9.0, 64], [4, 128, -8.0, 64]])
    held = {"network_": network, "n_features_in_": columns, "seed_": 3, "n_steps_": 4, "n_points_seen_": 128.0}
    for name, value in {**held, "n_batches_seen_": 4, "learning_curve_": curve, **attributes}.items():
        setattr(found, name, value)
    return found


FIT = {
    "lower_bounds_": [-9.0, -8.0, -7.5],
    "validation_scores_": [-9.5, -8.5, -8.75],
    "validation_errors_": [0.2, 0.25, 0.1],
    "n_iter_": 3,
    "converged_": True,
}


def bits(rows=30, columns=16, holes=0.0):
    rng = np.random.default_rng(0)
    X = (rng.random((rows, columns)) < np.linspace(0.1, 0.9, columns)).astype(float)
    return np.where(rng.random(X.shape) < holes, np.nan, X)


def page_of(estimator, path, *arguments, **options):
    text = write_report(estimator, path, *arguments, **options).read_text(encoding="utf-8")
    page = Page(text)
    check_page(page, text)
    return page, text


def test_a_machine_has_images_and_says_how_well_it_did(tmp_path):
    page, text = page_of(machine(**FIT), tmp_path / "page.html", bits(holes=0.2))
    images = {"data", "samples", "completed", "filters", "least-likely-rows"}
    assert set(page.figures) == {*images, "usage", "effective-size", "learning", "learning-stream"}
    assert text.count("<image") == len(images)
    facts = page.facts
    assert facts["Layers"] == "16 – 3 – 2"
    assert facts["Steps"] == "4 of 32 rows"
    assert facts["Epochs"] == "3, converged"
    assert facts["Log-likelihood of rows held out"] == "−8.5 ± 0.25 nats per row"  # the best one, which is kept
    assert "the one after epoch 2," in text


@pytest.mark.slow
def test_a_page_of_a_combination_needs_neither_data_nor_a_curve(tmp_path):
    combined = machine(combination_excess_=[0.25, 0.03], learning_curve_=np.zeros((0, 4)), n_iter_=0, converged_=True)
    page, _ = page_of(combined, tmp_path / "page.html")
    assert set(page.figures) == {"samples", "filters", "usage", "effective-size"}
    assert page.facts["Distance from the mixture of what was combined"] == "0.25 ± 0.03 nats per row"
    assert "Epochs" not in page.facts


def test_hidden_units_are_those_of_the_exact_posterior():
    X = bits(holes=0.3)
    context = ReportContext(machine(), X)
    found = _recognize(context)
    states = np.array(list(itertools.product([0.0, 1.0], repeat=sum(HIDDEN))))
    low, high = np.split(states, [HIDDEN[0]], axis=1)
    first, second = (np.asarray(weights, dtype=float) for weights in context.model.generation)

    def each_log_prob(units, log_odds):
        return units * log_odds - np.logaddexp(0, log_odds)

    prior = each_log_prob(high, np.asarray(context.model.top, dtype=float)).sum(axis=1)
    prior = prior + each_log_prob(low, high @ second[:-1] + second[-1]).sum(axis=1)
    entries = each_log_prob(X[:, None], low @ first[:-1] + first[-1])
    joint = prior + np.nansum(entries, axis=-1)  # what is missing sums to 1
    posterior = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    exact = (posterior @ states).mean(axis=0)
    np.testing.assert_allclose(found.rows, exact, atol=0.03)  # 30 rows of 100 draws
    assert np.ptp(exact) > 0.1
    assert ((found.sizes >= 1) & (found.sizes <= 100)).all()


def test_rows_that_are_no_square_are_lines_of_a_matrix(tmp_path):
    X = bits(columns=6)
    axes = kullback.plot(machine(6), X)
    assert axes.get_xlabel() == "column"
    assert [image.get_array().shape for image in axes.images] == [(20, 6, 4), (20, 6, 4)]
    given = kullback.plot(machine(6), X, image_shape=(2, 3))
    assert given.images[0].get_array().shape == (6 * 3 - 1, 4 * 4 - 1, 4)
    assert not given.get_xticks().size
    assert [text.get_text() for text in given.texts] == ["data", "model"]


def test_grays_are_shown_as_the_machine_sees_them():
    estimator, X = machine(), bits(holes=0.2)
    estimator.binarize = 7.5
    grays = np.where(X == 1, 7.75, 7.5)
    grays[np.isnan(X)] = np.nan
    np.testing.assert_array_equal(rows_as_seen(ReportContext(estimator, grays), np.arange(30)), X)


def test_grays_are_shown_as_they_were_drawn_for_their_scores():
    estimator, grays = machine(), bits(20, holes=0.2) * 0.8 + 0.1
    estimator.binarize = "sample"
    rows, context = np.array([3, 4, 17]), ReportContext(estimator, grays)
    scores, shown = estimator.score_samples(grays), rows_as_seen(context, rows)
    np.testing.assert_array_equal(np.isnan(shown), np.isnan(grays[rows]))
    np.testing.assert_allclose(machine().score_samples(shown), scores[rows], rtol=1e-6)  # other draws: whole nats away


def test_shapes_of_images():
    assert find_shape(None, 784, "HelmholtzMachine", True) == (28, 28)
    assert find_shape(None, 9, "HelmholtzMachine", True) is None
    assert find_shape(None, 17, "HelmholtzMachine", True) is None
    assert find_shape(None, 64, "GaussianMixture", False) is None
    with pytest.raises(ValueError, match=r"image_shape is \(3, 5\): .* whose product is 16 columns"):
        find_shape((3, 5), 16, "HelmholtzMachine", True)
    with pytest.raises(ValueError, match="image_shape is given for a GaussianMixture: it is for networks"):
        find_shape((4, 4), 16, "GaussianMixture", False)


@pytest.mark.slow
def test_pages_of_fits_streams_and_combinations(tmp_path):
    X = bits(200)
    fitted = kullback.HelmholtzMachine(HIDDEN, max_iter=2, n_iter_no_change=2, random_state=0)
    with pytest.warns(UserWarning, match="has not converged"):
        fitted.fit(X)
    stream = kullback.HelmholtzMachine(HIDDEN, random_state=0).fit_stream(np.array_split(X, 4))
    combined = kullback.combine([fitted, stream])
    page, _ = page_of(combined, tmp_path / "page.html", X, before=[fitted, stream])
    assert {"combination-0", "combination-1", "combination-2", "learning-before"} <= set(page.figures)
    assert re.fullmatch(r"−?[\d.]+ ± [\d.]+ nats per row", page.facts["Distance from the mixture of what was combined"])
    page, _ = page_of(stream, tmp_path / "page.html")
    assert "learning" not in page.figures
    assert "learning-stream" in page.figures
