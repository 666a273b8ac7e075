"""Runs in files: they go on bit for bit, and what is no run is refused."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from kullback import minimize, minimize_binary

START = [2.0, 2.5, -1.0]
COMMON = {"budget": 1500, "bounds": (-5, 5), "seed": 3}


def rastrigin(x):
    return float(np.sum(x**2 - 10 * np.cos(2 * np.pi * x) + 10))


class Dies:
    """f, until it has been called so often."""

    def __init__(self, calls):
        self.calls = calls

    def __call__(self, x):
        self.calls -= 1
        if self.calls < 0:
            raise KeyboardInterrupt
        return rastrigin(x)


def same(a, b):
    np.testing.assert_array_equal(a.x, b.x)
    assert (a.fun, a.nfev, a.stopped, a.runs) == (b.fun, b.nfev, b.stopped, b.runs)
    for one, other in zip(a.history, b.history, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(a.distribution.mean, b.distribution.mean)
    np.testing.assert_array_equal(a.distribution.covariance, b.distribution.covariance)


@pytest.mark.parametrize("options", [{}, {"integers": [0], "restarts": "bipop"}], ids=["plain", "integers"])
def test_an_interrupted_run_goes_on_bit_for_bit(tmp_path, options):
    path = tmp_path / "run.safetensors"
    whole = minimize(rastrigin, START, **COMMON, **options)
    assert whole.restarts > 0
    for calls in (10, 700):  # in the first run, after a restart
        with pytest.raises(KeyboardInterrupt):
            minimize(Dies(calls), START, checkpoint=path, resume=True, **COMMON, **options)
    same(minimize(rastrigin, START, checkpoint=path, resume=True, **COMMON, **options), whole)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_a_run_that_is_done_is_read_again_and_may_get_a_larger_budget(tmp_path):
    path = tmp_path / "run.safetensors"
    done = minimize(rastrigin, START, checkpoint=path, **COMMON)
    same(minimize(Dies(0), START, checkpoint=path, resume=True, **COMMON), done)
    longer = COMMON | {"budget": 2500}
    same(minimize(rastrigin, START, checkpoint=path, resume=True, **longer), minimize(rastrigin, START, **longer))
    minimize(rastrigin, START, checkpoint=path, budget=100)  # what is done may be overwritten


@pytest.fixture
def unfinished(tmp_path):
    path = tmp_path / "run.safetensors"
    with pytest.raises(KeyboardInterrupt):
        minimize(Dies(200), START, checkpoint=path, **COMMON)
    return path


def test_a_run_that_is_not_done_is_not_overwritten(unfinished):
    with pytest.raises(ValueError, match="holds a run that is not done: pass resume=True"):
        minimize(rastrigin, START, checkpoint=unfinished, **COMMON)


@pytest.mark.parametrize(
    ("name", "changed"), [("seed", {"seed": 4}), ("bounds", {"bounds": (-5, 6)}), ("method", {"method": "snes"})]
)
def test_another_run_is_refused(unfinished, name, changed):
    with pytest.raises(ValueError, match=f"holds a run with another {name}"):
        minimize(rastrigin, START, checkpoint=unfinished, resume=True, **(COMMON | changed))


def opened(path):
    with safe_open(path, framework="numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata())  # noqa: SIM118


def test_a_run_with_the_earlier_name_of_its_method_goes_on(tmp_path):
    path, options = tmp_path / "run.safetensors", COMMON | {"budget": 300, "method": "xnes"}
    with pytest.raises(KeyboardInterrupt):
        minimize(Dies(100), START, checkpoint=path, **options)
    arrays, metadata = opened(path)
    assert "XNES(population=7" in metadata["header"]
    metadata["header"] = metadata["header"].replace("XNES(", "Exponential(")
    save_file(arrays, path, metadata=metadata)
    same(minimize(rastrigin, START, checkpoint=path, resume=True, **options), minimize(rastrigin, START, **options))
    with pytest.raises(ValueError, match="holds a run with another method"):
        minimize(rastrigin, START, checkpoint=path, resume=True, **(options | {"method": "cma"}))


def shorter(arrays, metadata):
    arrays["state.1"] = arrays["state.1"][:-1]


def missing(arrays, metadata):
    del arrays["spread"]


def negative(arrays, metadata):
    arrays["counts"] = arrays["counts"] * np.int64(-1)


def many(arrays, metadata):
    arrays["counts"][4] = 10**9


def not_finite(arrays, metadata):
    arrays["mean"] = arrays["mean"] * np.nan


def other_type(arrays, metadata):
    arrays["points"] = arrays["points"].astype(np.float16).view(np.int16)


def no_counts(arrays, metadata):
    del arrays["counts"]


def other_rule(arrays, metadata):
    arrays["runs"] = np.full((1, 7), 99.0)
    arrays["counts"][7] = 1


def unknown_rule(arrays, metadata):
    metadata["header"] = json.dumps(json.loads(metadata["header"]) | {"stopped": "__import__('os')"})


@pytest.mark.parametrize(
    "forge", [shorter, missing, negative, many, not_finite, other_type, no_counts, other_rule, unknown_rule]
)
def test_a_forged_file_is_refused(unfinished, forge):
    arrays, metadata = opened(unfinished)
    forge(arrays, metadata)
    save_file(arrays, unfinished, metadata=metadata)
    with pytest.raises(ValueError, match="is damaged"):
        minimize(rastrigin, START, checkpoint=unfinished, resume=True, **COMMON)


def test_a_foreign_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a run")
    for resume in (False, True):
        with pytest.raises(ValueError, match="is not a saved run"):
            minimize(rastrigin, START, checkpoint=path, resume=resume)
    assert path.read_text() == "not a run"
    with pytest.raises(ValueError, match="is not a saved run"):
        minimize(rastrigin, START, checkpoint=tmp_path, resume=True)
    save_file({"x": np.zeros(3)}, path)
    with pytest.raises(ValueError, match="is not a saved run"):
        minimize(rastrigin, START, checkpoint=path, resume=True)


def test_no_place_for_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a directory"):
        minimize(rastrigin, START, checkpoint=tmp_path / "no" / "run.safetensors")
    with pytest.raises(ValueError, match="resume=True needs checkpoint"):
        minimize(rastrigin, START, resume=True)


def test_a_value_of_minus_infinity_in_a_file_is_asked_for_again(tmp_path):
    """A run ends at −∞, and a damaged file must not say that f has reached it; where f has, it says so again."""
    path, options = tmp_path / "run.safetensors", {"budget": 300, "seed": 3, "population": 50}

    def total(x):
        return float(x.sum())

    whole = minimize_binary(total, 12, **options)
    calls = []

    def dies(x):
        calls.append(1)
        if len(calls) > 120:
            raise KeyboardInterrupt
        return total(x)

    with pytest.raises(KeyboardInterrupt):
        minimize_binary(dies, 12, checkpoint=path, **options)
    arrays, metadata = opened(path)
    arrays["values"][:3] = -np.inf
    save_file(arrays, path, metadata=metadata)
    found = minimize_binary(total, 12, checkpoint=path, resume=True, **options)
    assert (found.fun, found.nfev) == (whole.fun, whole.nfev)
    np.testing.assert_array_equal(found.x, whole.x)
