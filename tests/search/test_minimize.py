"""The front door: what it finds, in how many evaluations, and what it says about bad input."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from kullback import minimize
from kullback.search import CMA, METHODS, NaturalGradient
from kullback.search._registry import choose_method
from tiers import slow_among


def sphere(x):
    return float(x @ x)


def rosenbrock(x):
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def test_the_result_is_scipys_and_consistent():
    result = minimize(rosenbrock, np.zeros(3), target=1e-10)
    assert isinstance(result, OptimizeResult)
    assert result.success
    assert result.fun == rosenbrock(result.x) <= 1e-10
    np.testing.assert_allclose(result.x, 1, atol=1e-4)
    history = result.history
    assert result.nit == len(history.best)
    assert result.nfev == history.evaluations[-1]
    assert history.best.min() == result.fun
    assert (history.best <= history.median).all()
    np.testing.assert_allclose(history.spread[-1] ** 2, result.distribution.covariance.diagonal().max())
    assert isinstance(result.distribution.mean, np.ndarray)
    assert result.distribution.mean.dtype == np.float64


@pytest.mark.slow
def test_rosenbrock_in_10_dimensions_in_fewer_than_8000_evaluations():
    counts = [minimize(rosenbrock, np.zeros(10), target=1e-12, budget=20_000, seed=seed).nfev for seed in range(5)]
    assert np.median(counts) < 8000


def test_float64_in_a_session_of_32_bits():
    with jax.enable_x64(False):
        inside = []

        def f(x):
            inside.append(jax.config.jax_enable_x64)
            assert x.dtype == np.float64
            return float((x - np.pi) @ (x - np.pi))

        result = minimize(f, [3.0, 3.0], target=1e-20, budget=2000)
        assert jnp.zeros(1).dtype == np.float32
    assert result.success
    assert not any(inside)
    np.testing.assert_allclose(result.x, np.pi, atol=1e-9)


def test_the_same_seed_gives_the_same_bits_and_another_does_not():
    a, b, c = (minimize(rosenbrock, np.zeros(3), budget=200, seed=seed) for seed in (5, 5, 2**40 + 5))
    np.testing.assert_array_equal(a.x, b.x)
    assert not np.array_equal(a.x, c.x)


def test_runs_do_not_change_under_increasing_transforms_of_f():
    a = minimize(rosenbrock, np.zeros(3), budget=400, restarts=None)
    b = minimize(lambda x: float(np.log(rosenbrock(x))), np.zeros(3), budget=400, restarts=None)
    np.testing.assert_array_equal(a.x, b.x)


@pytest.mark.parametrize("name", slow_among(METHODS, *METHODS.keys() - {"snes", "natural-gradient"}))
def test_methods_by_name(name):
    result = minimize(sphere, [1.0, -0.5], method=name, target=1e-4, budget=4000)
    assert result.success, result.message


def test_one_dimension():
    result = minimize(lambda x: float((x[0] - 3) ** 2), 0.0, 0.5, target=1e-12)
    assert result.success
    assert result.x.shape == (1,)


def test_classes_and_searches_as_methods():
    mean, scale = np.zeros(3), np.ones(3)
    assert isinstance(choose_method("auto", mean, scale, None, None), CMA)
    assert choose_method("auto", np.zeros(1000), np.ones(1000), None, None).dimension == 1000
    assert not isinstance(choose_method("auto", np.zeros(1000), np.ones(1000), None, None), CMA)
    sparse = choose_method("auto", mean, scale, None, [(0, 1)])
    assert isinstance(sparse, NaturalGradient)
    assert sparse.interactions == ((0, 1),)
    assert choose_method(CMA, mean, scale, 11, None).population == 11
    given = NaturalGradient([5.0, 5.0, 5.0], population=33, utility="values")
    taken = choose_method(given, mean, scale, None, None)
    assert (taken.population, taken.utility) == (33, "values")
    np.testing.assert_array_equal(taken.mean, mean)
    assert dataclasses.asdict(taken).keys() == dataclasses.asdict(given).keys()


def test_interactions_reach_the_search():
    def chain(x):
        return float(np.sum(x**2) + 0.9 * np.sum(x[1:] * x[:-1]))

    result = minimize(chain, np.ones(3), interactions=[(0, 1), (1, 2)], target=1e-6, restarts=None)
    assert result.success
    precision = np.linalg.inv(result.distribution.covariance)
    scale = np.sqrt(np.outer(precision.diagonal(), precision.diagonal()))
    assert abs(precision / scale)[0, 2] < 1e-8 < abs(precision / scale)[0, 1]


def test_a_guess_goes_with_the_first_population():
    goal = np.array([3.0, -4.0, 5.0])
    seen = []

    def f(x):
        seen.append(x)
        return float((x - goal) @ (x - goal))

    result = minimize(f, np.zeros(3), 0.1, guesses=[goal + 0.01, [1.0, 1.0, 1.0]], budget=9)
    np.testing.assert_array_equal(seen[:2], [goal + 0.01, [1.0, 1.0, 1.0]])
    assert result.nfev == 9
    np.testing.assert_array_equal(result.x, goal + 0.01)
    assert (result.distribution.mean * goal > 0).all()  # and the distribution has moved towards it


def test_a_line_that_says_how_far_it_has_come(capsys):
    minimize(sphere, [1.0, 2.0], budget=60, verbose=True)
    line = capsys.readouterr().err
    assert "60/60" in line
    assert "best" in line
    minimize(sphere, [1.0, 2.0], budget=60)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (([[1.0]],), {}, r"x0 has shape \(1, 1\)"),
        (([],), {}, r"x0 has shape \(0,\)"),
        (([1.0, np.nan],), {}, r"x0\[1\] is nan"),
        ((["a"],), {}, "x0 is"),
        (([1.0, 2.0], 0.0), {}, "sigma0 is 0.0 for coordinate 0"),
        (([1.0, 2.0], -1.0), {}, "sigma0 is -1.0"),
        (([1.0, 2.0], np.inf), {}, "sigma0 is inf"),
        (([1.0, 2.0], [1.0, np.nan]), {}, "sigma0 is nan for coordinate 1"),
        (([1.0, 2.0], [1.0] * 3), {}, r"sigma0 has shape \(3,\)"),
        (([1.0, 2.0], "a"), {}, "sigma0 is 'a'"),
        (([1.0, 2.0],), {"bounds": (0, 1.5)}, r"x0\[1\] is 2: it must be within its bounds, 0 and 1.5"),
        (([1.0, 2.0],), {"budget": 5}, "budget is 5: one population takes 6 evaluations"),
        (([1.0, 2.0],), {"budget": 6, "guesses": [[0.0, 0.0]]}, "one population takes 7 evaluations"),
        (([1.0, 2.0],), {"guesses": [[0.0]]}, r"guesses has shape \(1, 1\)"),
        (([1.0, 2.0],), {"guesses": [[9.0, 0.0]], "bounds": (-3, 3)}, r"guesses\[0\]\[0\] is 9"),
        (([1.0, 2.0],), {"method": "newton"}, "method is 'newton'"),
        (([1.0, 2.0],), {"method": "cma", "interactions": [(0, 1)]}, "interactions needs method='natural-gradient'"),
        (([1.0, 2.0],), {"target": np.nan}, "target is nan"),
        (([1.0, 2.0],), {"target": np.inf}, "target is inf: every value is that small"),
        (([1.0, 2.0],), {"budget": np.inf}, "budget is inf: it must be a whole number of evaluations, 6 or more"),
        (([1.0, 2.0],), {"budget": "all"}, "budget is 'all': it must be a whole number"),
        (([1.0, 2.0],), {"tolerance": -1.0}, "tolerance is -1"),
        (([1.0, 2.0],), {"seed": -1}, "seed is -1"),
        (([1.0, 2.0],), {"seed": None}, "seed is None"),
        (([1.0, 2.0],), {"budget": 100.5}, "budget is 100.5"),
        (([1.0, 2.0],), {"target": "low"}, "target is 'low'"),
        (([1.0, 2.0],), {"population": 1}, "population is 1"),
        (([1.0, 2.0],), {"vectorized": True, "map": map}, "give one of the two"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        minimize(sphere, *arguments, **options)


def test_what_must_be_a_function():
    with pytest.raises(TypeError, match="f is an int"):
        minimize(3, [1.0])
    with pytest.raises(TypeError, match="map is an int"):
        minimize(sphere, [1.0], map=3)
    with pytest.raises(TypeError, match="callback is an int"):
        minimize(sphere, [1.0], callback=3)


def test_a_budget_in_powers_of_ten():
    assert minimize(sphere, [1.0, 2.0, 3.0], budget=1e2).nfev == 98
