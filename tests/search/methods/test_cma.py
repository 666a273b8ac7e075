import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.search import CMA
from kullback.search.methods._cma import axes, rates
from kullback.search.methods._steps import mean_length
from search.helpers import best_values, rosenbrock, rotated_ellipsoid


def test_rates_and_updates_are_those_of_the_trusted_implementation():
    cma = pytest.importorskip("cma")
    n = 6
    search = CMA(np.full(n, 0.5), 0.3, population=20)
    theirs = cma.CMAEvolutionStrategy(np.full(n, 0.5), 0.3, {"popsize": 20, "verbose": -9, "seed": 1})
    mine = rates(n, 20)
    np.testing.assert_allclose(mine.weights, theirs.sp.weights, rtol=1e-12)
    np.testing.assert_allclose([mine.one, mine.many, mine.path], [theirs.sp.c1, theirs.sp.cmu, theirs.sp.cc])
    tell, f = jax.jit(lambda *told: search.tell(*told)), rotated_ellipsoid(n, 100.0)
    # it starts from a matrix that is not quite the identity, and changes it in place
    first = (theirs.sm.C, theirs.sm.B, theirs.sm.D)
    state = search.init(jax.random.key(0))._replace(
        **dict(zip(("covariance", "basis", "lengths"), map(jnp.array, first), strict=True))
    )
    assert mine.wait == 1
    for _ in range(5):
        points = np.array(theirs.ask())
        values = np.asarray(f(points))
        theirs.tell(points, values)
        state = tell(state, points, values)
        np.testing.assert_allclose(state.mean, theirs.mean, rtol=1e-9)
        np.testing.assert_allclose(state.covariance, theirs.sm.C, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(state.shape_path, theirs.pc, rtol=1e-8, atol=1e-10)
        theirs.sigma = float(state.step)  # its rate of the step has changed since the tutorial


def test_a_step_on_a_slope_and_at_the_minimum():
    # steps get longer while all points agree on where to go, and shorter when the mean is the best place
    search = CMA(np.zeros(4), 1.0)
    ask, tell = jax.jit(lambda state: search.ask(state)), jax.jit(lambda *told: search.tell(*told))
    ends = []
    for f in (lambda x: x[:, 0], lambda x: np.sum(x**2, axis=1)):
        state = search.init(jax.random.key(1))
        for _ in range(30):
            points, state = ask(state)
            state = tell(state, points, f(np.asarray(points)))
        ends.append(float(state.step))
    assert ends[0] > 5
    assert ends[1] < 0.2


def test_mean_length_is_that_of_a_standard_normal_vector():
    from scipy.stats import chi

    np.testing.assert_allclose([mean_length(n) for n in (1, 2, 10, 300)], chi.mean([1, 2, 10, 300]), rtol=1e-10)


@pytest.mark.parametrize("start", [np.zeros(10), np.random.default_rng(1).uniform(-1, 1, 10)], ids=["zero", "random"])
def test_rosenbrock_in_ten_dimensions(start):
    search = CMA(start, 0.3)
    best = best_values(search, rosenbrock, 7990, seeds=15)
    reached = (best < 1e-12).any(axis=1)
    assert np.median(np.where(reached, np.argmax(best < 1e-12, axis=1) * search.population, 10**6)) < 8000


def test_a_matrix_that_rounding_made_indefinite_is_lifted():
    covariance, basis, lengths = axes(jnp.diag(jnp.array([1.0, -1e-9, 4.0])))
    assert (lengths > 0).all()
    np.testing.assert_allclose(basis @ jnp.diag(lengths**2) @ basis.T, covariance, atol=1e-14)
    np.testing.assert_allclose(covariance, np.diag([1.0, 0.0, 4.0]), atol=2e-9)


def test_the_first_gaussian_has_the_scales_that_were_given():
    search = CMA([0.0, 0.0], [1.0, 3.0])
    state = search.init(jax.random.key(0))
    np.testing.assert_allclose(search.distribution(state).covariance, np.diag([1.0, 9.0]), rtol=1e-12)
    np.testing.assert_allclose(search.spread(state), [1.0, 3.0], rtol=1e-12)
    assert float(search.condition(state)) == pytest.approx(9.0)
