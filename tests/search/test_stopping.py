"""Each rule, and that it says which one fired."""

import numpy as np
import pytest

from kullback import minimize
from kullback.search._stopping import SENTENCES, StoppingView, ending_rule


def sphere(x):
    return float(x @ x)


def look(best, values=None, level=0, spread=1e-3, condition=10.0, median=None):
    """A run of 8 points in 4 dimensions."""
    values = np.sort(best[-1] + np.arange(8.0) if values is None else np.asarray(values, dtype=float))
    median = [one + 1 for one in best] if median is None else median
    return StoppingView(list(best), list(median), values, level, np.ones(4), np.full(4, spread), condition)


def rule(seen, tolerance=1e-11, whole=None):
    return ending_rule(seen, np.ones(4), np.zeros(4, dtype=bool) if whole is None else whole, tolerance)


def test_rules_of_a_run():
    falling = list(np.linspace(1, 0.5, 30))
    assert rule(look(falling)) is None
    assert rule(look(falling, level=2)) == "flat"
    assert rule(look(falling, level=2), whole=np.array([True, False, False, False])) is None
    assert rule(look(falling, spread=1e-12)) == "small steps"
    assert rule(look(falling, spread=1e-12), whole=np.ones(4, dtype=bool)) is None
    assert rule(look(falling, spread=1e-17), tolerance=0) == "small steps"
    assert rule(look(falling, condition=1e15)) == "condition"
    assert rule(look([np.inf] * 3, values=[np.inf] * 8)) == "failed"
    assert rule(look([1.0, np.inf, np.inf], values=[np.inf] * 8)) is None
    equal = [0.5] * 40
    assert rule(look(equal)) == "flat"
    near = [0.5 + 2e-12 * (k % 2) for k in range(40)]
    assert rule(look(near, values=np.full(8, 0.5))) == "flat"
    assert rule(look(near)) is None  # the best values are within the tolerance, those of the last population are not


def test_stagnation_needs_time_and_values_that_do_not_fall():
    rng = np.random.default_rng(0)
    level = list(1 + 0.1 * rng.random(700))
    worse = [one + 0.001 * k for k, one in enumerate(level)]
    assert rule(look(worse, median=worse)) == "stagnation"
    assert rule(look(worse[:400], median=worse[:400])) is None
    better = [one - 0.001 * k for k, one in enumerate(level)]
    assert rule(look(better, median=better)) is None


@pytest.mark.parametrize(
    ("stopped", "success", "options"),
    [
        ("target", True, {"target": 1e-3}),
        ("budget", False, {"budget": 50}),
        ("flat", True, {"restarts": None}),
        ("small steps", True, {"restarts": None, "tolerance": 0.0}),
        ("flat", False, {"restarts": None, "target": -1.0}),
    ],
)
def test_which_rule_fired(stopped, success, options):
    result = minimize(sphere, [1.0, -2.0], **options)
    assert result.stopped == stopped
    assert result.success is success
    assert SENTENCES[stopped][1:] in result.message
    assert result.status == list(SENTENCES).index(stopped)
    assert result.nfev <= options.get("budget", 10_000)


def test_a_flat_function_ends_a_run():
    assert minimize(lambda x: 0.0, [1.0, 2.0], restarts=None).stopped == "flat"


def test_minus_infinity():
    result = minimize(lambda x: -np.inf if x[0] > 2 else -float(x[0]), [1.0, 2.0])
    assert result.stopped == "unbounded"
    assert result.fun == -np.inf


@pytest.mark.parametrize("how", ["returns", "raises"])
def test_a_callback_may_stop(how):
    seen = []

    def callback(intermediate):
        seen.append(intermediate.nfev)
        assert intermediate.fun == sphere(intermediate.x)
        if len(seen) == 5:
            if how == "raises":
                raise StopIteration
            return True
        return None

    result = minimize(sphere, [1.0, -2.0], callback=callback)
    assert result.stopped == "callback"
    assert result.nit == 5
    assert seen == result.history.evaluations.tolist()
