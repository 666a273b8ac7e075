"""Numbers that are too large or too small to compute with are refused in a sentence, in data, weights and files."""

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import kullback
from kullback import families, models

HUGE = np.full((4, 3), 1e300)
TOO_LARGE = r"X is so large in column 0 that its variance is not finite: scale the column\."


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "name", ["FactorAnalysis", "ProbabilisticPCA", "GaussianMixture", "GaussianHMM", "LinearDynamicalSystem", "Mixture"]
)
def test_data_without_a_finite_variance_is_refused(name, learn):
    estimator = getattr(kullback, name)(1)
    with pytest.raises(ValueError, match=TOO_LARGE):
        getattr(estimator, learn)(HUGE)
    assert vars(estimator) == vars(getattr(kullback, name)(1))


def forge(path, source, **attributes):
    """Write another file with other attributes_."""
    with safe_open(source, framework="numpy") as file:
        metadata = file.metadata()
    changed = {f"attributes.{name}": np.array(value) for name, value in attributes.items()}
    save_file({**load_file(source), **changed}, path, metadata)


DIAGONAL = models.Mixture([0.5, 0.5], families.DiagonalGaussian(np.zeros((2, 2)), np.ones((2, 2))))
FACTORS = models.FactorAnalysis(np.zeros(3), np.ones((3, 1)), np.ones(3))
RATES = models.Mixture([0.5, 0.5], families.Independent(families.Gamma(np.ones((2, 1)), np.ones((2, 1)))))


@pytest.mark.parametrize(
    ("name", "model", "attributes"),
    [
        ("GaussianMixture", DIAGONAL, {"means_": [[0, 1e200], [0, 0]]}),
        ("GaussianMixture", DIAGONAL, {"covariances_": [[1, 1], [1, 1.7e308]]}),
        ("GaussianMixture", DIAGONAL, {"covariances_": [[1, 1], [1, 5e-324]]}),
        ("FactorAnalysis", FACTORS, {"components_": [[1, -1e300, 1]]}),
        ("FactorAnalysis", FACTORS, {"noise_variance_": [1, 5e-324, 1]}),
        ("Mixture", RATES, {"rate_": [[1], [-1.0]]}),
    ],
)
def test_a_file_whose_model_cannot_be_computed_with_is_refused(name, model, attributes, tmp_path):
    fitted, good, bad = getattr(kullback, name).from_model(model), tmp_path / "good", tmp_path / "bad"
    fitted.save(good)
    forge(bad, good, **attributes)
    assert kullback.load(good).n_features_in_ == fitted.n_features_in_
    with pytest.raises(ValueError, match="bad is damaged"):
        kullback.load(bad)
    for attribute, value in attributes.items():
        setattr(fitted, attribute, np.array(value))
    with pytest.raises(ValueError, match="cannot be saved, for its file could not be read"):
        fitted.save(good)


@pytest.mark.parametrize("name", ["GaussianMixture", "FactorAnalysis", "GaussianHMM", "LinearDynamicalSystem"])
def test_weights_without_a_finite_sum_are_refused(name):
    X = np.arange(12.0).reshape(4, 3)
    lengths = {"lengths": [2, 2]} if name in ("GaussianHMM", "LinearDynamicalSystem") else {}
    weight = np.full(2 if lengths else 4, 1.7e308)
    with pytest.raises(ValueError, match="sample_weight is so large that its sum is not finite"):
        getattr(kullback, name)(1).fit(X, sample_weight=weight, **lengths)


def test_the_points_that_a_stream_has_seen_stay_finite():
    mixture = kullback.PoissonMixture.from_model(
        models.Mixture([0.5, 0.5], families.Independent(families.Poisson([[1.0], [5.0]])))
    )
    mixture.n_points_seen_, mixture.n_batches_seen_ = 1.7e308, 1
    with pytest.raises(ValueError, match="no finite sum"):
        mixture.partial_fit([[1.0], [2.0]], sample_weight=[5e307, 5e307])
    assert (mixture.n_points_seen_, mixture.n_batches_seen_) == (1.7e308, 1)


@pytest.mark.parametrize("value", [1e4, 1e6, 1e9, 1e19, 1e300])
@pytest.mark.parametrize(
    "estimator",
    [
        kullback.CategoricalMixture(2),
        kullback.CategoricalHMM(2),
        kullback.HMM(2, family="categorical"),
        kullback.Mixture(2, family=["categorical"]),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_number_that_is_too_large_for_a_category_is_refused(estimator, value):
    with pytest.raises(ValueError, match=rf"X holds {value:.6g}: categories are 0, 1, 2, …".replace("+", r"\+")):
        estimator.fit([[0], [1], [value], [2]])


@pytest.mark.parametrize("name", ["PoissonMixture", "PoissonHMM", "MultinomialHMM", "CompoundDirichlet"])
def test_a_count_beyond_which_numbers_have_gaps_is_refused(name):
    with pytest.raises(ValueError, match=r"up to 2\^53|nonnegative integers"):
        getattr(kullback, name)().fit([[0, 1], [1, 1e19], [2, 3]])


def test_many_categories_have_few_features():
    column = np.array([0.0, 9_999.0, 0.0, 1_234.5, 17.0])
    seen = families.Categorical.cluster_view(column, 10_000)
    assert seen.shape == (5, 256)
    np.testing.assert_array_equal(seen[0], seen[2])
    assert not seen[3].any()
    lengths = np.linalg.norm(seen[[0, 1, 4]], axis=1)
    np.testing.assert_allclose(lengths, 1, atol=0.2)
    np.testing.assert_allclose(seen[0] @ seen[[1, 4]].T, 0, atol=0.25)


def test_only_a_collapse_is_called_one(monkeypatch):
    def fail(*_):
        raise ValueError("something else")

    monkeypatch.setattr(kullback.GaussianMixture, "_mixture", fail)
    given = {"weights_init": [1.0], "means_init": [[0.0]], "precisions_init": [[[1.0]]]}
    with pytest.raises(ValueError, match="something else"):
        kullback.GaussianMixture(1, **given).fit([[0.0], [1.0]])


def test_tiny_data_is_learned_from_where_underflow_raises():
    X = np.random.default_rng(0).normal(size=(16, 2)) * 1e-200
    with np.errstate(all="raise"):
        mixture = kullback.GaussianMixture(1, max_iter=2, tol=1e9).fit(X)
        assert np.geterr()["under"] == "raise"
    np.testing.assert_allclose(mixture.covariances_[0], 1e-6 * np.eye(2), rtol=1e-12)


def test_tiny_covariances_may_differ_by_rounding():
    half = np.array([[1.0, 0.5], [np.nextafter(0.5, 1), 1.0]]) * 1e-302
    families.Gaussian(np.zeros(2), half)
    with pytest.raises(ValueError, match="not symmetric"):
        families.Gaussian(np.zeros(2), half * [[1, 1.1], [1, 1]])
