"""Online EM on several workers, all threads of this process: what their models become together."""

import numpy as np
import pytest

import kullback
from kullback.distributed import fit_and_combine

distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

RNG = np.random.default_rng(0)
CENTERS = np.array([[-4.0, 0.0], [0.0, 3.0], [4.0, -1.0]])
POINTS = CENTERS[RNG.integers(3, size=4000)] + RNG.normal(size=(4000, 2))


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="inproc://"
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


def common_start(**parameters):
    return kullback.GaussianMixture(3, random_state=0, **parameters).partial_fit(POINTS[:200])


def averaged(fitted):
    """Return the mixture with the plain averages of the parameters, whatever their labels."""
    new = kullback.GaussianMixture(3)
    for name in ("weights_", "means_", "covariances_"):
        setattr(new, name, np.mean([getattr(one, name) for one in fitted], axis=0))
    return new


@pytest.mark.slow
def test_from_a_common_model_workers_together_make_the_step_of_one(client):
    """Own statistics of a model are those it came from: combining loses nothing."""
    blocks = da.from_array(POINTS, chunks=(500, 2))
    start = common_start(rate=0.2)
    before = start.means_.copy()
    found = fit_and_combine(start, blocks, client, synchronize_every=1)
    one = common_start(rate=0.2)
    for place in range(0, 2000, 500):  # the two workers have a half each
        one.partial_fit(np.concatenate([POINTS[place : place + 500], POINTS[place + 2000 : place + 2500]]))
    np.testing.assert_allclose(found.means_, one.means_, atol=1e-9)
    np.testing.assert_allclose(found.covariances_, one.covariances_, atol=1e-9)
    assert (found.n_points_seen_, found.n_batches_seen_) == (4200, 9)
    np.testing.assert_array_equal(start.means_, before)


@pytest.mark.slow
def test_own_starts_end_near_the_pooled_fit_and_above_averaged_parameters(client):
    blocks = da.from_array(POINTS, chunks=(250, 2)).persist()
    found = fit_and_combine(kullback.GaussianMixture(3, random_state=0), blocks, client, synchronize_every=2)
    pooled = kullback.GaussianMixture(3, random_state=0).fit(POINTS)
    apart = [
        kullback.GaussianMixture(3, random_state=seed).fit(half)
        for seed, half in enumerate((POINTS[::2], POINTS[1::2]))
    ]
    order = np.array([1, 2, 0])
    for name in ("weights_", "means_", "covariances_"):  # no two machines number their components alike
        setattr(apart[1], name, getattr(apart[1], name)[order])
    assert found.score(POINTS) > pooled.score(POINTS) - 0.02
    assert found.score(POINTS) > averaged(apart).score(POINTS) + 0.1
    assert found.n_points_seen_ == 4000


def test_weights_passes_and_frames(client):
    frame = dd.from_pandas(pytest.importorskip("pandas").DataFrame(POINTS, columns=["a", "b"]), npartitions=4)
    weight = da.ones(4000, chunks=1000) * 2
    mixture = kullback.GaussianMixture(2, random_state=0, covariance_type="diag")
    found = fit_and_combine(mixture, frame, client, passes=2, sample_weight=weight)
    assert found.n_points_seen_ == 2 * 2 * 4000
    assert found.feature_names_in_.tolist() == ["a", "b"]
    assert np.isfinite(found.lower_bound_)


@pytest.mark.slow
def test_factors_are_lined_up(client):
    X = RNG.normal(size=(3000, 1)) * [2.0, 1.0, -1.0] + 0.3 * RNG.normal(size=(3000, 3))
    found = fit_and_combine(kullback.ProbabilisticPCA(1), da.from_array(X, chunks=(300, 3)), client, 2)
    assert found.score(X) > kullback.ProbabilisticPCA(1).fit(X).score(X) - 0.02


@pytest.mark.slow
def test_each_block_is_a_series_of_its_own(client):
    states = np.cumsum(RNG.random(2000) < 0.02) % 2
    X = (np.where(states, 3.0, -3.0) + RNG.normal(size=2000))[:, None]
    start = kullback.GaussianHMM(2, random_state=0)
    found = fit_and_combine(start, da.from_array(X, chunks=(250, 1)), client, 2)
    np.testing.assert_allclose(np.sort(found.means_.ravel()), [-3, 3], atol=0.3)
    assert found.n_sequences_seen_ == 8


def test_what_cannot_be_is_told(client):
    blocks = da.from_array(POINTS, chunks=(500, 2))
    mixture = kullback.GaussianMixture(2)
    with pytest.raises(ValueError, match="synchronize_every is 0"):
        fit_and_combine(mixture, blocks, client, 0)
    with pytest.raises(ValueError, match="passes is 0"):
        fit_and_combine(mixture, blocks, client, passes=0)
    with pytest.raises(ValueError, match="must be a Dask array or frame"):
        fit_and_combine(mixture, POINTS, client)
    with pytest.raises(ValueError, match="no row that counts"):
        fit_and_combine(mixture, blocks, client, sample_weight=np.zeros(4000))
