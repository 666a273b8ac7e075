"""What every method must do, asked of each one in the registry."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import ExponentialFamily
from kullback.search import METHODS

START = np.array([1.0, -0.5, 2.0])


def sphere(points):
    return jnp.sum(jnp.square(points), axis=-1)


def run(search, f, generations, state):
    """Run the search on f; return the last state and all points."""

    def generation(state, _):
        points, state = search.ask(state)
        return search.tell(state, points, f(points)), points

    return jax.lax.scan(generation, state, None, length=generations)


def told_once(search, values, key=0):
    points, state = search.ask(search.init(jax.random.key(key)))
    return jax.jit(lambda state: search.tell(state, points, values))(state)


def numbers(state):
    """Return the arrays of a state, keys as numbers."""
    leaves = jax.tree.leaves(state)
    return [np.asarray(jax.random.key_data(a) if jnp.issubdtype(a.dtype, jax.dtypes.prng_key) else a) for a in leaves]


def all_finite(state):
    return all(np.isfinite(a).all() for a in numbers(state))


each = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)


@each
def test_state_is_a_tree_of_arrays_and_the_sizes_are_plain_numbers(method):
    search = method(START, 0.5)
    state = search.init(jax.random.key(0))
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(state))
    assert isinstance(search.population, int)
    assert search.dimension == 3
    points, state = search.ask(state)
    assert points.shape == (search.population, 3)
    larger = search.with_population(3 * search.population)
    assert type(larger) is method
    assert larger.ask(larger.init(jax.random.key(0)))[0].shape == (3 * search.population, 3)


@each
def test_a_population_is_drawn_from_the_distribution(method):
    search = method(START, np.array([0.5, 1.0, 0.25]), population=4000)
    state = search.init(jax.random.key(1))
    points, _ = search.ask(state)
    p = search.distribution(state)
    assert isinstance(p, ExponentialFamily)
    error = search.spread(state) / np.sqrt(4000)
    assert (np.abs(points.mean(axis=0) - START) < 4 * error).all()
    np.testing.assert_allclose(points.std(axis=0), search.spread(state), rtol=4 / np.sqrt(2 * 4000))
    drawn = p.sample(jax.random.key(2), (4000,))
    np.testing.assert_allclose(drawn.std(axis=0), search.spread(state), rtol=4 / np.sqrt(2 * 4000))
    assert float(search.condition(state)) >= 1


@each
def test_compiled_is_the_same_as_not(method):
    search = method(START, 0.5)
    state = search.init(jax.random.key(0))
    points, after = search.ask(state)
    plain = search.tell(after, points, sphere(points))
    compiled_points, after = jax.jit(lambda state: search.ask(state))(state)
    np.testing.assert_allclose(compiled_points, points, rtol=1e-12, atol=1e-12)
    compiled = jax.jit(lambda *args: search.tell(*args))(after, points, sphere(points))
    for a, b in zip(numbers(plain), numbers(compiled), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@each
def test_many_runs_at_once_are_the_runs_one_by_one(method):
    search = method(START, 0.5)
    keys = jax.random.split(jax.random.key(3), 3)
    one = jax.jit(lambda key: run(search, sphere, 3, search.init(key))[1])
    together = jax.jit(jax.vmap(one))(keys)
    for key, points in zip(keys, together, strict=True):
        np.testing.assert_allclose(one(key), points, rtol=1e-6, atol=1e-8)


@each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_run_finds_the_minimum_in_the_dtype_of_the_mean(method, dtype):
    search = method(START.astype(dtype), 0.5)
    state, points = jax.jit(lambda state: run(search, sphere, 150, state))(search.init(jax.random.key(0)))
    floats = [leaf for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    assert {leaf.dtype for leaf in floats} == {np.dtype(dtype)}
    assert points.dtype == dtype
    assert float(sphere(points).min()) < 1e-3
    assert all_finite(state)


@each
def test_one_dimension(method):
    search = method(np.array([3.0]), 1.0)
    _, points = jax.jit(lambda state: run(search, sphere, 150, state))(search.init(jax.random.key(0)))
    assert float(sphere(points).min()) < 1e-6


@each
def test_values_that_are_not_numbers_leave_a_sound_state(method):
    search = method(START, 0.5)
    state, _ = jax.jit(lambda state: run(search, lambda x: jnp.full(len(x), jnp.nan), 50, state))(
        search.init(jax.random.key(0))
    )
    assert all_finite(state)
    assert (np.asarray(search.spread(state)) > 0).all()


@each
def test_failed_points_count_as_the_worst(method):
    search = method(START, 0.5)
    order = np.arange(search.population, dtype=float)
    nan, inf, large = (np.where(order > search.population / 2, bad, order) for bad in (np.nan, np.inf, 1e9))
    expected = numbers(told_once(search, large))
    for values in (nan, inf):
        for a, b in zip(numbers(told_once(search, values)), expected, strict=True):
            np.testing.assert_array_equal(a, b)


@each
def test_only_the_order_of_the_values_counts(method):
    search = method(START, 0.5)
    start = search.init(jax.random.key(4))
    _, points = jax.jit(lambda state: run(search, sphere, 20, state))(start)
    for transform in (lambda v: v**3 * 1e6 - 7, lambda v: -1 / (1 + v)):
        _, same = jax.jit(lambda state: run(search, lambda x: transform(sphere(x)), 20, state))(start)  # noqa: B023
        np.testing.assert_array_equal(points, same)


@each
def test_a_moved_function_gives_the_moved_run(method):
    shift = np.array([16.0, -32.0, 8.0])  # powers of two: rounding stays small
    here, there = method(START, 0.5), method(START + shift, 0.5)
    _, points = jax.jit(lambda state: run(here, sphere, 8, state))(here.init(jax.random.key(5)))
    _, moved = jax.jit(lambda state: run(there, lambda x: sphere(x - shift), 8, state))(there.init(jax.random.key(5)))
    np.testing.assert_allclose(moved - shift, points, atol=1e-6)


@each
@pytest.mark.parametrize("rows", [2, 5, 40])
def test_points_that_were_not_asked_for(method, rows):
    search = method(START, 0.5)
    points = np.random.default_rng(0).normal(size=(rows, 3)) * 100
    points[0] = 1e12
    state = jax.jit(lambda state: search.tell(state, points, sphere(points)))(search.init(jax.random.key(0)))
    assert all_finite(state)
    # no step of the mean is longer than a few standard deviations, wherever the points are
    assert np.linalg.norm(np.asarray(search.distribution(state).mean) - START) < 0.5 * (np.sqrt(3) + 3) * 1.0001
    points[1, 0] = np.nan
    assert all_finite(search.tell(state, points, sphere(points)))


@each
def test_bad_arguments_get_one_sentence(method):
    for arguments, name in [
        (([[1.0]], 0.5), "mean has shape"),
        (([], 0.5), "mean has shape"),
        (([1.0, np.nan], 0.5), r"mean\[1\] is nan"),
        (([1.0, 2.0], 0.0), "scale is 0.0"),
        (([1.0, 2.0], [1.0, -1.0]), "scale is -1.0 for coordinate 1"),
        (([1.0, 2.0], [1.0, 1.0, 1.0]), "scale has shape"),
        (([1.0, 2.0], 0.5, 1), "population is 1"),
    ]:
        with pytest.raises(ValueError, match=name):
            method(*arguments)
    search = method(START, 0.5)
    state = search.init(jax.random.key(0))
    with pytest.raises(ValueError, match="values has shape"):
        search.tell(state, np.zeros((4, 3)), np.zeros(3))
    with pytest.raises(ValueError, match="points has shape"):
        search.tell(state, np.zeros((4, 2)), np.zeros(4))
    with pytest.raises(ValueError, match="points has 1 row"):
        search.tell(state, np.zeros((1, 3)), np.zeros(1))
