"""One picture of every kind of estimator."""

import numpy as np
import pytest
from matplotlib.patches import Circle, Ellipse
from sklearn.exceptions import ConvergenceWarning

import kullback
from contracts.estimators import each_estimator
from estimators.small_autoencoder import SmallAutoencoder
from kullback.families import DiagonalGaussian
from kullback.plots import panels
from report.reports import MAKE, blobs, fitted, mixture

#: What is drawn with rows: points or lines, and shapes.
ELLIPSES = {"GaussianMixture", "PoissonMixture", "ProbabilisticPCA", "FactorAnalysis"}


@pytest.mark.parametrize("kind", each_estimator(MAKE.keys(), slow=("GaussianHMM", "LinearDynamicalSystem")))
def test_every_kind_has_a_picture(kind):
    estimator, X = fitted(kind)
    given = panels()[1]
    axes = kullback.plot(estimator, X, axes=given)
    assert axes is given
    assert any(isinstance(patch, Ellipse) for patch in axes.patches) == (kind in ELLIPSES)
    lines = [line.get_xdata() for line in axes.lines]
    drawn = np.ravel(axes.images[0].get_array()) if kind == "SpikingNetwork" else np.concatenate(lines)
    assert np.isfinite(drawn).sum() > 10
    assert axes.get_xlabel()
    assert axes.get_ylabel()


def test_rows_are_not_needed():
    assert any(isinstance(patch, Circle) for patch in kullback.plot(fitted("GaussianHMM")[0]).patches)
    axes = kullback.plot(fitted("LinearDynamicalSystem")[0])
    assert axes.get_xlabel() == "real part"
    assert len(kullback.plot(fitted("GaussianMixture")[0]).lines) == 2  # the dots of the means alone


def test_one_column_is_its_density():
    one = mixture(kullback.GaussianMixture, DiagonalGaussian(np.array([[0.0], [5.0]]), np.ones((2, 1))))
    axes = kullback.plot(one, np.random.default_rng(0).normal(size=(50, 1)))
    assert axes.get_ylabel() == "density"
    assert len(axes.lines) == 3
    assert axes.get_xlabel() == "column 0"


def test_a_model_that_is_not_known_shows_what_it_draws():
    X = blobs(rows=20)
    network = SmallAutoencoder(4, max_iter=2, n_iter_no_change=2, random_state=0, validation_fraction=0)
    with pytest.warns(ConvergenceWarning):
        network.fit(X)
    assert len(kullback.plot(network, X).lines) == 1


def test_says_what_is_wrong():
    with pytest.raises(ValueError, match="data has 3 columns: the model has 2"):
        kullback.plot(fitted("GaussianMixture")[0], blobs(columns=3))
