"""Processes that are spawned: what travels, what one that dies leaves behind, and how many cores each has."""

import os
import pickle
import signal

import jax
import numpy as np
import pytest

import kullback
from kullback.distributed import connect, fit_and_combine, local_cluster

pytest.importorskip("distributed")

import dask
import dask.array as da

from distributed import wait

COLUMNS = 4


def made_here():
    """Return a function that travels as it is: workers cannot import a test."""

    def block(seed, rows, folder=None):
        """Draw rows; where a folder is given, the worker that makes block 1 for the fourth time dies."""
        if folder is not None and seed == 1:
            made = len(os.listdir(folder))
            open(os.path.join(folder, str(made)), "w").close()
            if made == 3:
                os.kill(os.getpid(), signal.SIGKILL)
        rng = np.random.default_rng(seed)
        return rng.choice([-2.0, 2.0], size=(rows, 1)) + rng.normal(size=(rows, COLUMNS))

    return block


block = made_here()


def blocks(count, rows, folder=None):
    parts = [dask.delayed(block)(seed, rows, folder) for seed in range(count)]
    return da.concatenate([da.from_delayed(part, (rows, COLUMNS), float) for part in parts])


def moved(client):
    """Return the bytes that workers have sent to each other."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def mixture(**parameters):
    return kullback.GaussianMixture(2, covariance_type="diag", random_state=0, tol=0, max_iter=6, **parameters)


def assert_same(one, other):
    for name in ("weights_", "means_", "covariances_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-9)


@pytest.fixture(scope="module")
def client():
    with connect("local:2") as found:
        yield found


def test_each_worker_has_one_core(client):
    assert set(client.run(lambda: os.environ["NPROC"]).values()) == {"1"}
    assert set(client.nthreads().values()) == {1}


@pytest.mark.filterwarnings("ignore:Best performing initialization")
def test_a_worker_that_dies_in_the_middle_changes_nothing(client, tmp_path):
    before = set(client.run(os.getpid).values())
    found = mixture().fit(blocks(6, 500, str(tmp_path)))
    client.wait_for_workers(2)
    assert len(os.listdir(tmp_path)) > 6
    assert before != set(client.run(os.getpid).values())
    assert_same(found, mixture().fit(np.concatenate([block(seed, 500) for seed in range(6)])))


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Best performing initialization")
def test_only_statistics_travel_however_many_rows_there_are(client):
    travelled = []
    for rows in (500, 16_000):
        data = blocks(8, rows).persist()
        wait(data)
        fitted = mixture(warm_start=True).fit(data)
        before = moved(client)
        fitted.fit(data)
        travelled.append(moved(client) - before)
    assert abs(travelled[1] - travelled[0]) < 500 * COLUMNS * 8  # less than the smallest block
    assert max(travelled) < 6 * 8 * 1000


@pytest.mark.slow
@pytest.mark.slow
def test_rows_stay_with_their_worker_in_fit_and_combine(client):
    data = blocks(8, 16_000).persist()
    wait(data)
    before = moved(client)
    found = fit_and_combine(mixture(), data, client, synchronize_every=2)
    assert moved(client) - before < 16_000 * COLUMNS * 8
    np.testing.assert_allclose(np.sort(found.means_[:, 0]), [-2, 2], atol=0.05)
    assert found.n_points_seen_ == 128_000


def test_statistics_are_small_and_survive_the_journey():
    fitted = kullback.GaussianMixture(2, random_state=0).fit(block(0, 500))
    with jax.enable_x64(True):
        statistics = jax.tree.map(np.asarray, fitted.to_model().own_statistics(kullback.families.Extent()))
    there = pickle.loads(pickle.dumps(statistics))
    assert jax.tree.structure(there) == jax.tree.structure(statistics)
    assert len(pickle.dumps(statistics)) < 2000


@pytest.mark.parametrize("address", ["local:", "local:two", "here", "10.0.0.1:8786"])
def test_addresses_are_checked(address):
    with pytest.raises(ValueError, match="it must be like 'local:2'"), connect(address):
        pass


@pytest.mark.slow
def test_a_cluster_has_workers():
    with pytest.raises(ValueError, match="workers is 0"):
        local_cluster(0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Best performing initialization")
def test_a_long_table_on_workers_goes_the_way_of_one_machine(client):
    X = blocks(4, 25_000)  # more than a start looks at
    alone, there = (
        kullback.GaussianMixture(3, random_state=0, tol=0, max_iter=25).fit(one) for one in (X.compute(), X)
    )
    np.testing.assert_allclose(there.lower_bounds_, alone.lower_bounds_, rtol=0, atol=1e-9)
    assert_same(alone, there)
