"""Linear fits of sites with different inputs and sizes, combined without their data."""

import numpy as np
import pandas as pd
import pytest

from kullback import Classifier, Regressor, combine
from kullback.estimators.conditional._combination import in_units_of
from tiers import slow

SITES = [(3000, 0.0, 1.0), (300, 3.0, 0.5), (1500, -1.0, 2.0)]


def sites(family, seed=0):
    rng = np.random.default_rng(seed)
    for rows, mean, spread in SITES:
        X = rng.normal(mean, spread, (rows, 2)) * [1, 10] + [100, 0]
        level = 0.2 + 0.3 * (X[:, 0] - 100) - 0.02 * X[:, 1]
        yield X, rng.poisson(np.exp(level)) if family == "poisson" else rng.normal(level, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "dispersion"), [("poisson", "constant"), slow("gaussian", "constant"), slow("gaussian", "linear")]
)
def test_sites_in_other_units_are_near_the_pooled_fit(family, dispersion):
    data = list(sites(family))
    fits = [Regressor(family, dispersion=dispersion).fit(X, y) for X, y in data]
    pooled = Regressor(family, dispersion=dispersion).fit(*(np.concatenate(parts) for parts in zip(*data, strict=True)))
    found = combine(fits)
    errors = np.sqrt(np.diag(np.linalg.inv(pooled.information_ * pooled.n_points_seen_)))
    moved = in_units_of(found.to_model(), found.design, pooled.design)
    away = np.asarray(moved.parameters - pooled.to_model().parameters) / errors
    assert np.abs(away).max() < 0.2
    weight = np.array([len(y) for _, y in data]) / sum(len(y) for _, y in data)
    average = sum(share * fit.free_coefficients_ for share, fit in zip(weight, fits, strict=True))
    plain = np.abs(average - pooled.free_coefficients_).max()
    assert np.abs(found.free_coefficients_ - pooled.free_coefficients_).max() < plain
    assert found.n_points_seen_ == 4800
    assert not hasattr(found, "calibration_levels_")


def test_other_units_are_another_way_to_say_the_same():
    (X, y), (other, _), _ = sites("poisson")
    one, two = Regressor("poisson").fit(X, y), Regressor("poisson").fit(other, np.arange(len(other)) % 3)
    there = in_units_of(one.to_model(), one.design, two.design)
    np.testing.assert_allclose(
        np.asarray(there.free(two.design_matrix(X))), one.predict_distribution(X).free, rtol=1e-9
    )
    rates = one.predict(X)  # the information is Σ rate·(1, z)(1, z)ᵀ in both
    z = np.column_stack([np.ones(len(X)), two.design_matrix(X)])
    np.testing.assert_allclose(there.information, (z * rates[:, None]).T @ z / len(X), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_fits_that_differ_are_not_combined():
    (X, y), *_ = sites("poisson")
    one = Regressor("poisson").fit(X, y)
    with pytest.raises(ValueError, match="has family='gaussian', fitted"):
        combine([one, Regressor().fit(X, y)])
    with pytest.raises(ValueError, match="linear fits can be combined"):
        combine([one, Regressor("poisson", method="trees", max_iter=1, validation_fraction=0.0).fit(X[:50], y[:50])])
    with pytest.raises(ValueError, match="n_components is for mixtures"):
        combine([one, one], n_components=2)
    a, b = (Classifier().fit(X, np.where(X[:, 0] > 100, *names)) for names in (("p", "q"), ("p", "r")))
    with pytest.raises(ValueError, match="differ in classes_"):
        combine([a, b])


def test_columns_in_another_order_are_not_combined():
    """Coefficients of one column would be averaged with those of another."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    y = frame["a"] - frame["b"] + rng.normal(size=50)
    with pytest.raises(ValueError, match=r"fitted\[1\] has the columns \['b', 'a'\].*same order"):
        combine([Regressor().fit(frame, y), Regressor().fit(frame[["b", "a"]], y)])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_networks_of_other_layers_are_not_combined():
    """An ensemble has the layers of its parameters, or its file could not be read."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    fits = [Regressor(method="network", max_iter=1, hidden_layer_sizes=size).fit(X, X[:, 0]) for size in ((2,), (3,))]
    with pytest.raises(ValueError, match=r"fitted\[1\] has hidden_layer_sizes=\[3\], fitted\[0\] \[2\]"):
        combine(fits)
