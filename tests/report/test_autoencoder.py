"""The page of an autoencoder: hidden numbers, what comes back, and imputed entries."""

import numpy as np
import pytest

import kullback
from kullback import models
from kullback.core import Batch
from kullback.families import Bernoulli, DiagonalGaussian, Independent, Poisson, Product
from kullback.report import write_report
from kullback.report._autoencoder import imputed_levels
from kullback.report._context import ReportContext
from report.reports import Page
from report.test_report import check_page

RNG = np.random.default_rng(0)


def autoencoder(marginal, family, rows, latents=2):
    """Return one that has learned nothing but the marginal, and says that it has: no page needs a fit."""
    network = models.VariationalAutoencoder.start(marginal, latents, (4,), rows=Batch(rows))
    found = kullback.VariationalAutoencoder(latents, family=family, hidden=(4,), random_state=0)
    columns = rows.shape[1]
    held = {"network_": network, "n_features_in_": columns, "seed_": 3, "n_steps_": 4, "n_points_seen_": 128.0}
    held |= {"n_categories_": np.zeros(columns, int), "n_trials_": 0, "family_": family, "n_batches_seen_": 4}
    for name, value in held.items():
        setattr(found, name, value)
    return found


def mixed(rows=60):
    X = np.column_stack([RNG.normal(1, 2, rows), RNG.poisson(3.0, rows)]).astype(float)
    member = Product([DiagonalGaussian([1.0], [4.0]), Independent(Poisson(np.array([3.0])))])
    return autoencoder(member, ["gaussian", "poisson"], X), X


@pytest.mark.slow
def test_tables_have_hidden_numbers_and_calibrated_imputations(tmp_path):
    model, X = mixed()
    text = write_report(model, tmp_path / "page.html", X).read_text(encoding="utf-8")
    page = Page(text)
    check_page(page, text)
    assert {"latents", "effective-size", "imputed-coverage", "samples-0", "samples-1"} <= set(page.figures)
    assert page.facts["Families"] == "1 gaussian, 1 poisson"
    assert page.facts["Hidden numbers"] == "2"
    levels = imputed_levels(ReportContext(model, X))
    assert len(levels) == pytest.approx(0.2 * X.size, abs=15)
    # entries come from the marginal that draws them: their places are uniform
    assert abs(levels.mean() - 0.5) < 4 * np.sqrt(1 / 12 / len(levels))


@pytest.mark.slow
def test_images_come_back_as_images(tmp_path):
    X = (RNG.random((40, 16)) < 0.4).astype(float)
    model = autoencoder(Independent(Bernoulli(np.full(16, 0.4))), "bernoulli", X)
    text = write_report(model, tmp_path / "page.html", X).read_text(encoding="utf-8")
    page = Page(text)
    check_page(page, text)
    assert {"data", "samples", "reconstructions", "latents", "effective-size"} <= set(page.figures)
    few = Page(write_report(model, tmp_path / "few.html", X[:3]).read_text(encoding="utf-8"))  # no line of images
    assert "samples" in few.figures
    assert "reconstructions" not in few.figures
