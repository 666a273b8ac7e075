"""Exact EM over blocks is EM over the whole: compared with the fit of one machine, from the same start."""

import numpy as np
import pytest
from sklearn.base import clone

import kullback
from kullback.estimators.data import _fit_data as fit_data
from tiers import slow_among

pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

import dask  # noqa: E402
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

RNG = np.random.default_rng(0)
POINTS = np.concatenate([RNG.normal(m, 1, (300, 3)) for m in (-2, 0, 3)])
RNG.shuffle(POINTS)
HOLES = np.where(RNG.random(POINTS.shape) < 0.1, np.nan, POINTS)
COUNTS = RNG.poisson(np.repeat([[1, 9, 2], [12, 3, 2]], 450, axis=0)).astype(float)
CASES = {
    "full, with missing entries": (kullback.GaussianMixture(3, random_state=0), HOLES),
    "tied": (kullback.GaussianMixture(3, covariance_type="tied", random_state=0), POINTS),
    "diagonal": (kullback.GaussianMixture(3, covariance_type="diag", random_state=0), POINTS),
    "spherical, two starts": (
        kullback.GaussianMixture(3, covariance_type="spherical", n_init=2, random_state=0),
        POINTS,
    ),
    "counts": (kullback.PoissonMixture(2, random_state=0), COUNTS),
    "categories": (kullback.CategoricalMixture(2, smoothing=1.0, random_state=0), COUNTS),
    "mixed columns": (kullback.Mixture(2, family=["gaussian", "poisson", "poisson"], random_state=0), COUNTS),
    "principal components": (kullback.ProbabilisticPCA(1), HOLES),
    "factors": (kullback.FactorAnalysis(1), POINTS),
    "compound": (kullback.CompoundDirichlet(max_iter=500), COUNTS),
}
LONG = ("full, with missing entries", "categories", "mixed columns", "principal components", "compound")


def assert_same(one, other):
    for name in one._attributes(one.to_model()):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-9, atol=1e-9, err_msg=name)
    assert (other.n_iter_, other.n_points_seen_) == (one.n_iter_, one.n_points_seen_)
    assert other.n_features_in_ == one.n_features_in_
    np.testing.assert_allclose(other.lower_bounds_, one.lower_bounds_, rtol=1e-9)


@pytest.mark.parametrize("case", slow_among(CASES, *LONG))
def test_blocks_of_an_array_are_the_array(case):
    estimator, X = CASES[case]
    blocks = da.from_array(X, chunks=(200, 2))
    assert_same(clone(estimator).fit(X), clone(estimator).fit(blocks))


def test_more_blocks_than_one_task_puts_together():
    estimator = kullback.GaussianMixture(2, random_state=0, tol=1e-2)
    assert_same(clone(estimator).fit(POINTS), clone(estimator).fit(da.from_array(POINTS, chunks=(11, 3))))


def test_partitions_of_a_frame_keep_the_names_of_columns():
    frame = pd.DataFrame(POINTS, columns=["a", "b", "c"])
    estimator = kullback.GaussianMixture(2, random_state=0, tol=1e-2)
    fitted = clone(estimator).fit(dd.from_pandas(frame, npartitions=4))
    assert_same(clone(estimator).fit(frame), fitted)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["Dask", "NumPy"])
def test_weights_and_a_block_that_does_not_count(kind):
    weight = np.random.default_rng(1).integers(0, 3, len(POINTS)).astype(float)
    weight[:200] = 0
    estimator = kullback.GaussianMixture(2, random_state=0, tol=1e-2)
    given = da.from_array(weight, chunks=200) if kind == "Dask" else weight
    fitted = clone(estimator).fit(da.from_array(POINTS, chunks=(200, 3)), sample_weight=given)
    assert_same(clone(estimator).fit(POINTS, sample_weight=weight), fitted)


def test_blocks_of_unknown_size_some_of_them_empty():
    X = da.from_array(POINTS, chunks=(100, 3))
    some = X[X[:, 0] > 2]
    assert np.isnan(some.shape[0])
    estimator = kullback.GaussianMixture(2, random_state=0, tol=1e-2)
    assert_same(clone(estimator).fit(POINTS[POINTS[:, 0] > 2]), clone(estimator).fit(some))
    sparse = da.from_array(np.sort(POINTS, axis=0), chunks=(100, 3))
    assert_same(
        clone(estimator).fit(np.sort(POINTS, axis=0)[::-1][:250][::-1]),
        clone(estimator).fit(sparse[sparse[:, 0] >= np.sort(POINTS[:, 0])[-250]]),
    )


def test_a_fit_that_goes_on():
    start = kullback.GaussianMixture(2, random_state=0, tol=0, max_iter=1, warm_start=True)
    with pytest.warns(match="did not converge"):
        one, other = clone(start).fit(POINTS[:300]), clone(start).fit(POINTS[:300])
    for fitted, X in ((one, POINTS), (other, da.from_array(POINTS, chunks=(200, 3)))):
        with pytest.warns(match="did not converge"):
            fitted.set_params(max_iter=5).fit(X)
    assert_same(one, other)


@pytest.mark.slow
def test_factors_of_a_long_table_start_from_all_of_it():
    X = np.random.default_rng(0).normal(size=(70_000, 3)) @ np.array([[2.0, 1, 0], [0, 1, 0.5], [0, 0, 1]])
    X[0, 0] = np.nan
    estimator = kullback.ProbabilisticPCA(1, tol=1e-4)
    assert_same(clone(estimator).fit(X), clone(estimator).fit(da.from_array(X, chunks=(30_000, 3))))


def test_a_long_table_starts_from_some_rows_and_knows_all_categories():
    X = np.random.default_rng(0).integers(0, 3, size=(70_000, 2)).astype(float)
    X[69_999] = 7
    blocks = da.from_array(X, chunks=(20_000, 2))
    fitted = kullback.CategoricalMixture(2, random_state=0, tol=1e-2).fit(blocks)
    assert fitted.n_categories_.tolist() == [8, 8]
    assert fitted.n_points_seen_ == 70_000
    again = kullback.CategoricalMixture(2, random_state=0, tol=1e-2).fit(blocks)
    np.testing.assert_array_equal(again.probabilities_, fitted.probabilities_)


@pytest.mark.parametrize(
    ("X", "weight", "message"),
    [
        (da.zeros((4, 2, 2)), None, "must be a Dask array or frame of rows and columns"),
        (dask.delayed(np.zeros)((4, 2)), None, "data is a Delayed"),
        (da.from_array(POINTS, chunks=(200, 3)), da.ones(900, chunks=300), "has 3 blocks: X has 5"),
        (da.from_array(POINTS, chunks=(200, 3)), da.ones(905, chunks=(181,) * 5), "sample_weight has shape"),
        (da.from_array(POINTS, chunks=(200, 3)), np.ones(800), "X has 900 rows"),
        (da.from_array(POINTS, chunks=(200, 3)), np.full(900, -1.0), "not negative"),
        (da.from_array(POINTS, chunks=(200, 3)), np.zeros(900), "no row that counts"),
    ],
)
def test_what_cannot_be_learned_from_is_told(X, weight, message):
    with pytest.raises(ValueError, match=message):
        kullback.GaussianMixture(2).fit(X, sample_weight=weight)


def test_weights_of_blocks_of_unknown_size_must_be_blocks():
    X = da.from_array(POINTS, chunks=(200, 3))
    with pytest.raises(ValueError, match="sizes of the blocks of X are not known"):
        kullback.GaussianMixture(2).fit(X[X[:, 0] > 0], sample_weight=np.ones(10))


def test_a_bad_entry_is_told_with_its_block():
    X = np.random.default_rng(0).poisson(3, size=(70_000, 2)).astype(float)
    bad = X.copy()
    bad[60_001:60_003, 1] = 0.5
    with pytest.raises(ValueError, match=r"In 65,536 rows that were drawn from X: X\[\d+, 1\] is 0.5"):
        kullback.PoissonMixture(2, random_state=0).fit(da.from_array(bad, chunks=(20_000, 2)))
    blocks = da.from_array(X, chunks=(20_000, 2))
    fitted = kullback.PoissonMixture(2, random_state=0, warm_start=True, tol=1e-2).fit(blocks)
    before = fitted.rate_
    with pytest.raises(ValueError, match=r"In block 3 of X: X\[1, 1\] is 0.5"):
        fitted.fit(da.from_array(bad, chunks=(20_000, 2)))
    assert fitted.rate_ is before


def test_a_collection_that_nobody_provides_is_refused_and_not_fetched(monkeypatch):
    fit_data._load.cache_clear()
    monkeypatch.setattr(fit_data, "entry_points", lambda **_: [])
    with pytest.raises(ValueError, match="X is a collection of dask, and nothing that is installed provides"):
        kullback.GaussianMixture(2).fit(da.zeros((10, 2)))
    fit_data._load.cache_clear()


def test_a_fit_that_goes_on_refuses_other_columns():
    mixture = kullback.GaussianMixture(2, random_state=0, warm_start=True).fit(da.from_array(POINTS[:, :2], chunks=50))
    with pytest.raises(ValueError, match="X has 3 features, but GaussianMixture is expecting 2 features"):
        mixture.fit(da.from_array(POINTS[:, :3], chunks=50))
