"""What every method must do, asked of each one in the registry. One compiled run per method serves most questions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import ExponentialFamily
from kullback.search import METHODS, minimize
from search.method_cases import CASES, each_method

START = np.array([1.0, -0.5, 2.0])
GENERATIONS = 25

#: What the one compiled run answers, and what needs more to be compiled.
each, each_for_long = each_method(), each_method(slow=CASES.keys() - {"cma"})


def test_every_method_has_a_case_and_a_place_in_the_docstring():
    assert list(CASES) == list(METHODS)
    assert {name for name in METHODS if f'"{name}"' not in minimize.__doc__} == set()


def sphere(points):
    return jnp.sum(jnp.square(points), axis=-1)


TRANSFORMS = {
    "plain": lambda v: v,
    "increasing": lambda v: v**3 * 1e6 - 7,
    "bounded": lambda v: -1 / (1 + v),
    "failing": lambda v: jnp.full_like(v, jnp.nan),
}


def made(name, mean=START, **options):
    return METHODS[name](mean, 0.5, **options)


@functools.cache
def runner(name, n=3):
    """Return a compiled run of 25 generations on the sphere around `shift`, transformed, in n dimensions."""
    search = made(name, np.resize(START, n))

    def run(state, shift, transform):
        def generation(state, _):
            points, state = search.ask(state)
            values = jax.lax.switch(transform, list(TRANSFORMS.values()), sphere(points - shift))
            return search.tell(state, points, values), points

        return jax.lax.scan(generation, state, None, length=GENERATIONS)

    return jax.jit(run)


def run(name, search, shift=0.0, transform="plain", repeat=1):
    """Return the last state and all points of the last run."""
    state, kind = search.init(jax.random.key(7)), list(TRANSFORMS).index(transform)
    shift = jnp.broadcast_to(jnp.asarray(shift, state.mean.dtype), state.mean.shape)
    for _ in range(repeat):
        state, points = runner(name, search.dimension)(state, shift, kind)
    return state, points


def numbers(state):
    """Return the arrays of a state, keys as numbers."""
    leaves = jax.tree.leaves(state)
    return [np.asarray(jax.random.key_data(a) if jnp.issubdtype(a.dtype, jax.dtypes.prng_key) else a) for a in leaves]


def all_finite(state):
    return all(np.isfinite(a).all() for a in numbers(state))


@each
def test_state_is_a_tree_of_arrays_and_the_sizes_are_plain_numbers(name):
    search = made(name)
    state = search.init(jax.random.key(0))
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(state))
    assert isinstance(search.population, int)
    assert search.dimension == 3
    larger = search.with_population(3 * search.population)
    assert type(larger) is type(search)
    assert jax.eval_shape(larger.ask, state)[0].shape == (3 * search.population, 3)


@each
def test_a_population_is_drawn_from_the_distribution(name):
    search = made(name, population=4000)
    state, _ = run(name, made(name))  # by now the covariance is no longer the first one
    points, _ = search.ask(state)
    p = search.distribution(state)
    assert isinstance(p, ExponentialFamily)
    spread = np.asarray(search.spread(state))
    np.testing.assert_allclose(spread**2, np.diagonal(np.atleast_2d(_covariance(p))), rtol=1e-8)
    assert (np.abs(points.mean(axis=0) - p.mean) < 4.5 * spread / np.sqrt(4000)).all()
    whitened = np.linalg.solve(np.linalg.cholesky(_covariance(p)), (np.asarray(points) - p.mean).T)
    np.testing.assert_allclose(np.cov(whitened), np.eye(3), atol=4.5 * np.sqrt(2 / 4000))
    lengths = np.linalg.eigvalsh(_covariance(p))
    np.testing.assert_allclose(search.condition(state), lengths[-1] / lengths[0], rtol=1e-6)


def _covariance(p):
    if hasattr(p, "covariance"):
        return np.asarray(p.covariance)
    return np.diag(np.broadcast_to(p.variance, p.mean.shape))


@each_for_long
def test_compiled_is_the_same_as_not(name):
    search = made(name)
    state = plain = search.init(jax.random.key(7))
    points, plain = search.ask(plain)
    plain = search.tell(plain, points, sphere(points))
    compiled_points, compiled = jax.jit(lambda state: search.ask(state))(state)
    compiled = jax.jit(lambda *args: search.tell(*args))(compiled, compiled_points, sphere(compiled_points))
    np.testing.assert_allclose(compiled_points, points, rtol=1e-12, atol=1e-12)
    for a, b in zip(numbers(plain), numbers(compiled), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@each_for_long
def test_many_runs_at_once_are_the_runs_one_by_one(name):
    keys = jax.random.split(jax.random.key(3), 2)
    states = [made(name).init(key) for key in keys]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    _, together = jax.jit(jax.vmap(runner(name), in_axes=(0, None, None)))(stacked, jnp.zeros(3), 0)
    for state, points in zip(states, together, strict=True):
        np.testing.assert_allclose(runner(name)(state, jnp.zeros(3), 0)[1][:5], points[:5], rtol=1e-6, atol=1e-8)


@each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_run_finds_the_minimum_in_the_dtype_of_the_mean(name, dtype):
    state, points = run(name, made(name, START.astype(dtype)), repeat=6)
    floats = [leaf for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    assert {leaf.dtype for leaf in floats} == {np.dtype(dtype)}
    assert points.dtype == dtype
    assert float(sphere(points).min()) < 1e-3
    assert all_finite(state)


@each_for_long
def test_one_dimension(name):
    _, points = run(name, made(name, np.array([1.0])), repeat=8)
    assert float(sphere(points).min()) < 1e-6


@each
def test_values_that_are_not_numbers_leave_a_sound_state(name):
    search = made(name)
    state, _ = run(name, search, transform="failing", repeat=2)
    assert all_finite(state)
    assert (np.asarray(search.spread(state)) > 0).all()


@each
def test_only_the_order_of_the_values_counts(name):
    _, points = run(name, made(name))
    for transform in ("increasing", "bounded"):
        np.testing.assert_array_equal(points, run(name, made(name), transform=transform)[1])


@each
def test_a_moved_function_gives_the_moved_run(name):
    shift = np.array([16.0, -32.0, 8.0])  # powers of two: rounding stays small
    _, points = run(name, made(name))
    _, moved = run(name, made(name, START + shift), shift)
    np.testing.assert_allclose(moved[:8] - shift, points[:8], atol=1e-6)


@each_for_long
@pytest.mark.parametrize("rows", [2, 40])
def test_points_that_were_not_asked_for(name, rows):
    search = made(name)
    tell = jax.jit(lambda *args: search.tell(*args))
    points = np.random.default_rng(0).normal(size=(rows, 3)) * 100
    points[0] = 1e12
    first = search.init(jax.random.key(0))
    state = tell(first, points, np.arange(rows, dtype=float))
    assert all_finite(state)
    # no step of the mean is longer than a few standard deviations, wherever the points are
    assert np.linalg.norm(np.asarray(search.distribution(state).mean) - START) < 0.5 * (np.sqrt(3) + 3) * 1.0001
    order = np.arange(rows, dtype=float)
    nan, inf, large = (np.where(order > rows / 2, bad, order) for bad in (np.nan, np.inf, 1e9))
    expected = numbers(tell(first, points, large))
    for failed in (nan, inf):
        for a, b in zip(numbers(tell(first, points, failed)), expected, strict=True):
            np.testing.assert_array_equal(a, b)
    points[1, 0] = np.nan
    assert all_finite(tell(state, points, order))


@each
def test_bad_arguments_get_one_sentence(name):
    for arguments, message in [
        (([[1.0]], 0.5), "mean has shape"),
        (([], 0.5), "mean has shape"),
        (([1.0, np.nan], 0.5), r"mean\[1\] is nan"),
        (([1.0, 2.0], 0.0), "scale is 0.0"),
        (([1.0, 2.0], [1.0, -1.0]), "scale is -1.0 for coordinate 1"),
        (([1.0, 2.0], [1.0, 1.0, 1.0]), "scale has shape"),
        (([1.0, 2.0], 0.5, 1), "population is 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            METHODS[name](*arguments)
    search = made(name)
    state = search.init(jax.random.key(0))
    with pytest.raises(ValueError, match="values has shape"):
        search.tell(state, np.zeros((4, 3)), np.zeros(3))
    with pytest.raises(ValueError, match="points has shape"):
        search.tell(state, np.zeros((4, 2)), np.zeros(4))
    with pytest.raises(ValueError, match="points has 1 row"):
        search.tell(state, np.zeros((1, 3)), np.zeros(1))
