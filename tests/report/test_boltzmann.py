"""The page of a restricted Boltzmann machine."""

import numpy as np
import pytest

import kullback
from kullback.report import write_report


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["BernoulliRBM", "GaussianRBM"])
def test_the_page_has_filters_samples_usage_and_log_z(kind, tmp_path):
    rng = np.random.default_rng(0)
    X = (rng.random((60, 16)) < np.where(rng.random((60, 1)) < 0.5, 0.2, 0.8)).astype(float)
    if kind == "GaussianRBM":
        X = X + rng.normal(0, 0.1, X.shape)
    machine = getattr(kullback, kind)(3, n_iter=4, batch_size=20, random_state=0).fit(X)
    write_report(machine, tmp_path / "page.html", X)
    page = (tmp_path / "page.html").read_text()
    for each in (
        "Filters",
        "Samples",
        "Usage of hidden units",
        "Log Z",
        "all states counted",
        "standard errors of log Z",
    ):
        assert each in page
    what = "log odds" if kind == "BernoulliRBM" else "mean"
    assert f"add to the {what} of each column" in page
