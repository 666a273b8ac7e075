"""Targets learned from inputs in blocks: the fit of one machine, however many workers there are."""

import numpy as np
import pytest

from kullback import Classifier, Regressor
from tiers import slow

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


def counts(rows=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)) * [1, 10, 0.1] + [5, 0, 0]
    y = rng.poisson(np.exp(0.3 * (X[:, 0] - 5) - 0.02 * X[:, 1] + 1))
    return X, y.astype(float), rng.random(rows)


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize(("blocks", "alpha"), [(500, 0.0), slow(70, 0.0), slow(70, 5.0)])
def test_blocks_are_fitted_as_one_table(blocks, alpha):
    X, y, weight = counts()
    y[3], weight[200:280] = np.nan, 0  # a missing target, and a block without a row that counts
    one = Regressor("poisson", alpha=alpha).fit(X, y, weight)
    arrays = [da.from_array(each, chunks=(blocks, *each.shape[1:])) for each in (X, y, weight)]
    found = Regressor("poisson", alpha=alpha).fit(*arrays)
    np.testing.assert_allclose(found.free_coefficients_, one.free_coefficients_, rtol=1e-9, atol=1e-9)
    assert found.n_points_seen_ == pytest.approx(one.n_points_seen_)
    np.testing.assert_allclose(found.predict(X), one.predict(X), rtol=1e-9)


@pytest.mark.slow
def test_dispersion_and_several_targets():
    X, y, _ = counts()
    rng = np.random.default_rng(1)
    Y = np.column_stack([rng.normal(X[:, 0], np.exp(0.1 * X[:, 2])), y])
    settings = {"family": ["gaussian", "poisson"], "dispersion": "linear"}
    one = Regressor(**settings).fit(X, Y)
    found = Regressor(**settings).fit(da.from_array(X, chunks=(90, 2)), da.from_array(Y, chunks=(90, 1)))
    np.testing.assert_allclose(found.free_coefficients_, one.free_coefficients_, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_more_rows_than_a_start_looks_at(monkeypatch):
    X, y, _ = counts(4000)
    monkeypatch.setattr("kullback.estimators.data._start_rows.MOST_ROWS", 500)
    one = Regressor("poisson", tol=1e-13).fit(X, y)
    found = Regressor("poisson", tol=1e-13).fit(da.from_array(X, chunks=(700, 3)), da.from_array(y, chunks=700))
    np.testing.assert_allclose(found.free_coefficients_, one.free_coefficients_, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_classes_of_all_blocks_are_known():
    X, _, _ = counts()
    y = np.where(X[:, 0] > 5, "high", "low").astype("U9")
    y[np.random.default_rng(2).random(500) < 0.3] = "low"
    y[-5:] = "rare"  # the last block alone has it
    one = Classifier().fit(X, y)
    found = Classifier().fit(da.from_array(X, chunks=(70, 3)), da.from_array(y, chunks=70))
    assert found.classes_.tolist() == ["high", "low", "rare"]
    np.testing.assert_allclose(found.predict_proba(X), one.predict_proba(X), rtol=1e-8)


@pytest.mark.slow
def test_frames_with_categories():
    pandas, frames = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y, _ = counts()
    frame = pandas.DataFrame({"a": X[:, 0], "c": pandas.Categorical(np.where(X[:, 1] > 0, "up", "down")), "y": y})
    one = Regressor("poisson").fit(frame[["a", "c"]], frame["y"])
    blocks = frames.from_pandas(frame, npartitions=4)
    found = Regressor("poisson").fit(blocks[["a", "c"]], blocks["y"])
    assert found.design_names_ == one.design_names_ == ["a", "c=up"]
    np.testing.assert_allclose(found.free_coefficients_, one.free_coefficients_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.predict(frame[["a", "c"]]), one.predict(frame[["a", "c"]]), rtol=1e-9)


def test_what_cannot_be_learned_in_blocks_is_refused():
    X, y, _ = counts()
    blocks, targets = da.from_array(X, chunks=(70, 3)), da.from_array(y, chunks=70)
    with pytest.raises(ValueError, match="method='trees' learns from tables that are here"):
        Regressor("poisson", method="trees").fit(blocks, targets)
    with pytest.raises(ValueError, match="estimator is a Regressor, which learns targets"):
        pytest.importorskip("kullback.distributed").fit_and_combine(Regressor("poisson"), blocks, None)
    with pytest.raises(ValueError, match="y has 5 blocks: X has 8"):
        Regressor("poisson").fit(blocks, da.from_array(y, chunks=100))
    with pytest.raises(ValueError, match="must be a count"):
        Regressor("poisson").fit(blocks, targets - 0.5)
    with pytest.raises(ValueError, match="no row that counts"):
        Regressor("poisson").fit(blocks, targets, np.zeros(500))
    lacking = X.copy()
    lacking[400, 1] = np.nan
    with pytest.raises(ValueError, match="lacks its entry in column 1"):
        Regressor("poisson").fit(da.from_array(lacking, chunks=(70, 3)), targets)
