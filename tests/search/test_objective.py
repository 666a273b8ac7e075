"""What f may be, what it may answer, and who may evaluate it."""

from concurrent.futures import ThreadPoolExecutor

import jax.numpy as jnp
import numpy as np
import pytest

from kullback import minimize, minimize_binary

START = [1.0, -2.0, 0.5]
COMMON = {"budget": 200, "restarts": None}


def sphere(x):
    return float(x @ x)


def test_points_batches_maps_and_futures_give_the_same_run():
    plain = minimize(sphere, START, **COMMON)
    with ThreadPoolExecutor(2) as pool:
        others = [
            minimize(lambda x: np.einsum("ij,ij->i", x, x), START, vectorized=True, **COMMON),
            minimize(sphere, START, map=map, **COMMON),
            minimize(sphere, START, map=pool.map, **COMMON),
            minimize(sphere, START, map=lambda f, rows: [pool.submit(f, row) for row in rows], **COMMON),
        ]
    for other in others:
        assert other.nfev == plain.nfev
        np.testing.assert_allclose(other.x, plain.x, rtol=1e-9)
        np.testing.assert_allclose(other.fun, plain.fun, rtol=1e-9)


@pytest.mark.slow
def test_a_dask_client_and_joblib():
    from joblib import Parallel, delayed

    from distributed import Client

    plain = minimize(sphere, START, **COMMON)
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        by_dask = minimize(sphere, START, map=client.map, **COMMON)
    by_joblib = minimize(
        sphere, START, map=lambda f, rows: Parallel(2, backend="threading")(delayed(f)(row) for row in rows), **COMMON
    )
    assert by_dask.fun == by_joblib.fun == plain.fun


@pytest.mark.parametrize("wrap", [lambda v: v, np.asarray, lambda v: np.array([v]), np.float32, jnp.asarray])
def test_one_number_in_any_wrapping(wrap):
    assert minimize(lambda x: wrap(sphere(x)), START, **COMMON).fun < 0.1


def test_a_traceable_function():
    result = minimize(lambda x: jnp.sum(jnp.square(x)), START, **COMMON)
    assert result.fun < 0.1


def test_points_that_fail_are_the_worst_and_counted():
    def f(x):
        if x[0] < 0:
            raise ZeroDivisionError("left")
        return np.nan if x[1] < 0 else float(x @ x)

    result = minimize(f, [1.0, 1.0], target=1e-6, budget=3000)
    assert result.success
    assert result.nfailed > 10
    assert (result.x >= 0).all()
    assert np.isfinite(result.fun)


def test_all_points_fail():
    def f(x):
        raise ZeroDivisionError("nothing here")

    result = minimize(f, START)
    assert result.stopped == "failed"
    assert not result.success
    assert result.fun == np.inf
    assert result.nfev < 100
    assert "ZeroDivisionError: nothing here" in result.message
    np.testing.assert_array_equal(result.x, START)


def test_a_batch_that_fails():
    def f(x):
        if (x[:, 0] > 2).any():
            raise ValueError("far")
        return (x**2).sum(axis=1)

    assert minimize(f, [1.5, 0.0], vectorized=True, target=1e-6).success


def test_an_interrupt_passes_through():
    def f(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        minimize(f, START)


@pytest.mark.parametrize("answer", ["a", None, 1j, [1.0, "b"], object()])
def test_what_is_no_number_is_an_error(answer):
    with pytest.raises(TypeError, match="f returned .*: it must return a real number"):
        minimize(lambda x: answer, START)


def test_a_wrong_shape_is_an_error():
    with pytest.raises(ValueError, match=r"f returned shape \(3,\) for one point"):
        minimize(lambda x: x, START)
    with pytest.raises(ValueError, match=r"f returned shape \(\) for a batch of shape \(7, 3\)"):
        minimize(lambda x: 1.0, START, vectorized=True)
    with pytest.raises(ValueError, match=r"f returned shape \(7, 1\) for a batch"):
        minimize(lambda x: x[:, :1], START, vectorized=True)
    with pytest.raises(ValueError, match="map returned 1 answers for 7 points"):
        minimize(sphere, START, map=lambda f, rows: [1.0])


def test_f_may_spoil_its_argument():
    def f(x):
        value = float(x @ x)
        x[:] = 1e9
        return value

    np.testing.assert_array_equal(minimize(f, START, **COMMON).x, minimize(sphere, START, **COMMON).x)


def backwards(f, points):
    return [f(point) for point in points][::-1]


def test_a_map_that_changes_the_order_is_found_out():
    def f(x):
        return float(x @ x)

    with pytest.warns(RuntimeWarning, match="map must return values in the order of the points"):
        result = minimize(f, START, map=backwards, **COMMON)
    assert result.fun == f(result.x)
    assert not result.success
    assert "in the order of the points" in result.message
    with pytest.warns(RuntimeWarning, match="map must return values in the order of the points"):
        spins = minimize_binary(lambda x: float(x @ np.arange(12)), 12, map=backwards, budget=300)
    assert spins.fun == spins.x @ np.arange(12)


def test_a_map_in_order_costs_one_call_more_and_changes_nothing():
    calls = []

    def f(x):
        calls.append(x)
        return float(x @ x)

    alone = minimize(f, START, **COMMON)
    assert len(calls) == alone.nfev
    mapped = minimize(f, START, map=map, **COMMON)
    assert len(calls) == 2 * alone.nfev + 1
    assert (mapped.fun, mapped.nfev, mapped.message) == (alone.fun, alone.nfev, alone.message)
    np.testing.assert_array_equal(mapped.x, alone.x)


@pytest.mark.parametrize("restarts", ["ipop", None])
def test_values_that_are_3_sigma_away_are_found(tmp_path, restarts):
    def f(x):
        return float((x - 2) @ (x - 2)) if np.max(np.abs(x)) > 0.9 else np.nan

    path = tmp_path / "run.safetensors"
    options = {"target": 1e-8, "budget": 3000, "restarts": restarts}
    result = minimize(f, [0.0, 0.0], 0.3, **options)
    assert result.success
    assert result.restarts == 0  # it is still the first run
    minimize(f, [0.0, 0.0], 0.3, checkpoint=path, callback=lambda seen: seen.nit == 4, **options)  # it has widened once
    resumed = minimize(f, [0.0, 0.0], 0.3, checkpoint=path, resume=True, **options)
    np.testing.assert_array_equal(resumed.x, result.x)
    assert (resumed.nfev, resumed.runs) == (result.nfev, result.runs)


def test_a_function_without_values_far_away_either_ends_soon():
    result = minimize(lambda x: np.nan, START)
    assert result.stopped == "failed"
    assert result.nfev <= 9 * 7  # three populations, and one for each doubling
    assert result.history.spread[-1] > 10  # from .3
    assert "also with steps 64 times as long" in result.message
