"""The front door of spins."""

import concurrent.futures

import numpy as np
import pytest

import kullback
from kullback import minimize_binary
from kullback.families import Ising
from tiers import slow

RING = [(i, (i + 1) % 10) for i in range(10)]


def complete(seed, n=10):
    """Return a random pairwise energy and its minimum."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(n, 1)
    h, J = rng.normal(size=n), rng.normal(size=len(first))

    def energy(x):
        return x @ h + (x[..., first] * x[..., second]) @ J

    states = 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1
    return energy, float(energy(states).min())


def ring(x):
    return float(sum(x[i] * x[j] for i, j in RING) + 0.3 * x[0] - 0.1 * x[4])


@pytest.mark.parametrize("interactions", ["none", "all", slow("auto")])
def test_the_minimum_of_ten_spins_is_found(interactions):
    for seed in range(2):
        energy, least = complete(seed)
        result = minimize_binary(energy, 10, interactions, target=least + 1e-9, seed=seed, vectorized=True)
        assert result.stopped == "target"
        assert result.success
        assert energy(result.x) == pytest.approx(result.fun, abs=1e-12)
        assert isinstance(result.distribution, Ising)


def test_no_point_is_evaluated_twice_and_all_are_counted():
    seen = []

    def f(x):
        seen.append(tuple(x))
        return ring(x)

    result = minimize_binary(f, 10, RING, budget=300)
    assert len(seen) == len(set(seen)) == result.nfev <= 300
    assert all(set(x) <= {-1.0, 1.0} for x in seen)
    assert result.fun == min(map(ring, seen))
    assert np.all(np.diff(result.history.evaluations) >= 0)


def test_only_the_order_of_values_matters():
    plain, bent = (
        minimize_binary(f, 10, RING, budget=400, seed=3, restarts=None)
        for f in (ring, lambda x: np.exp(ring(x)) * 1e9 - 5)
    )
    assert np.array_equal(plain.x, bent.x)
    assert np.array_equal(plain.history.evaluations, bent.history.evaluations)
    assert np.any(plain.distribution.biases != 0)
    assert np.array_equal(plain.distribution.biases, bent.distribution.biases)


def test_the_seed_decides_and_a_map_or_a_batch_changes_nothing():
    one = minimize_binary(ring, 10, RING, budget=300, seed=1, restarts=None)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        others = [
            minimize_binary(ring, 10, RING, budget=300, seed=1, restarts=None),
            minimize_binary(
                lambda X: np.array([ring(x) for x in X]), 10, RING, budget=300, seed=1, restarts=None, vectorized=True
            ),
            minimize_binary(ring, 10, RING, budget=300, seed=1, restarts=None, map=pool.map),
        ]
    for other in others:
        assert np.array_equal(one.x, other.x)
        assert np.array_equal(one.distribution.couplings, other.distribution.couplings)
    different = minimize_binary(ring, 10, RING, budget=300, seed=2, restarts=None)
    assert not np.array_equal(one.distribution.couplings, different.distribution.couplings)


@pytest.mark.parametrize("method", ["natural-gradient", "pbil", "cross-entropy"])
def test_failures_come_last(method):
    def f(x):
        if x[0] > 0:
            raise RuntimeError("no")
        return float("nan") if x[1] > 0 else -float(np.sum(x))

    result = minimize_binary(f, 12, method=method, target=-8)
    assert result.x.tolist() == [-1, -1] + [1] * 10
    assert result.nfailed > 0


def test_a_function_without_values_says_why():
    def broken(x):
        raise RuntimeError("no license")

    result = minimize_binary(broken, 12, budget=200)
    assert result.stopped == "failed"
    assert not result.success
    assert "no license" in result.message


@pytest.mark.parametrize("interactions", ["none", "auto"])
def test_few_spins_are_exhausted(interactions):
    result = minimize_binary(lambda x: x[0], 1, interactions)
    assert (result.x.tolist(), result.fun, result.nfev, result.stopped) == ([-1], -1, 2, "exhausted")
    assert result.success
    assert minimize_binary(lambda x: x[0] * x[1] + x[2], 3).nfev == 8


def test_a_run_that_is_resumed_goes_the_same_way(tmp_path):
    path = tmp_path / "run.safetensors"
    calls = []

    def f(x):
        calls.append(1)
        return ring(x)

    whole = minimize_binary(f, 10, RING, budget=300, restarts=None)
    needed = len(calls)
    calls.clear()
    minimize_binary(f, 10, RING, budget=300, restarts=None, checkpoint=path, callback=lambda seen: seen.nit == 2)
    resumed = minimize_binary(f, 10, RING, budget=300, restarts=None, checkpoint=path, resume=True)
    assert len(calls) == needed
    assert resumed.nfev == whole.nfev
    assert np.any(whole.distribution.couplings != 0)
    assert np.array_equal(resumed.distribution.couplings, whole.distribution.couplings)
    # one that is stopped while it goes the same way loses nothing
    minimize_binary(
        f, 10, RING, budget=300, restarts=None, checkpoint=path, resume=True, callback=lambda seen: seen.nit == 1
    )
    minimize_binary(f, 10, RING, budget=300, restarts=None, checkpoint=path, resume=True)
    assert len(calls) == needed
    with pytest.raises(ValueError, match="another seed"):
        minimize_binary(f, 10, RING, seed=1, checkpoint=path, resume=True)
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="is not a saved run"):
        minimize_binary(f, 10, RING, checkpoint=path, resume=True)


BAD = [
    ({"n": 0}, ValueError, "n is 0: it must be 1 or more"),
    ({"n": 2.5}, TypeError, "n is 2.5: it must be a whole number"),
    ({"interactions": "some"}, ValueError, "interactions is 'some': it must be 'none', 'all', 'auto'"),
    ({"interactions": 3}, TypeError, "interactions is 3: it must be"),
    (
        {"interactions": [(0, 10)]},
        ValueError,
        r"interactions\[0\] is \(0, 10\): it must be two different spins in 0…9",
    ),
    ({"interactions": [(0, 1), (2, 2)]}, ValueError, r"interactions\[1\] is \(2, 2\): it must be two different"),
    ({"interactions": [(0, 1), (1, 0)]}, ValueError, r"interactions\[1\] is \(1, 0\): the pair is listed twice"),
    ({"method": "bfgs"}, ValueError, "method is 'bfgs': it must be one of 'natural-gradient', 'pbil'"),
    ({"method": "pbil", "interactions": "all"}, ValueError, "leave interactions at 'none'"),
    ({"budget": 10}, ValueError, "budget is 10: one population takes 50 evaluations"),
    ({"population": 1}, ValueError, "population is 1"),
    ({"rate": 0}, ValueError, "rate is 0: it must be above 0"),
    ({"rate": 2.0, "method": "pbil"}, ValueError, "rate is 2.0: it must be above 0 and at most 1"),
    ({"target": float("nan")}, ValueError, "target is nan"),
    ({"target": float("inf")}, ValueError, "target is inf: every value is that small"),
    ({"budget": float("inf")}, ValueError, "budget is inf: it must be a whole number of evaluations, 50 or more"),
    ({"seed": -1}, ValueError, "seed is -1"),
    ({"restarts": "bipop"}, ValueError, "restarts is 'bipop'"),
    ({"resume": True}, ValueError, "resume=True needs checkpoint"),
    ({"f": "ring"}, TypeError, "f is a str: it must be a function"),
    ({"f": lambda x: "low"}, TypeError, "f returned 'low'"),
    ({"f": lambda x: None}, TypeError, "f returned None"),
    ({"f": lambda x: x}, ValueError, r"f returned shape \(10,\) for one point"),
    ({"f": lambda x: x, "vectorized": True}, ValueError, r"f returned shape \(\d+, 10\) for a batch"),
]


@pytest.mark.parametrize(("options", "error", "message"), BAD, ids=[str(place) for place in range(len(BAD))])
def test_bad_input_gets_one_sentence(options, error, message):
    given = {"f": ring, "n": 10, **options}
    with pytest.raises(error, match=message):
        minimize_binary(**given)


def test_it_is_at_the_top():
    assert kullback.minimize_binary is kullback.search.minimize_binary
