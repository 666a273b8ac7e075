import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.search import CMA
from kullback.search._cma import axes, rates
from kullback.search._steps import mean_length


def rosenbrock(x):
    return jnp.sum(100 * (x[..., 1:] - x[..., :-1] ** 2) ** 2 + (1 - x[..., :-1]) ** 2, axis=-1)


def test_rates_are_those_of_the_trusted_implementation():
    cma = pytest.importorskip("cma")
    for n, m in [(2, 6), (10, 10), (10, 80), (40, 15)]:
        strategy = cma.CMAEvolutionStrategy(np.zeros(n), 1.0, {"popsize": m, "verbose": -9})
        mine, theirs = rates(n, m), strategy.sp
        np.testing.assert_allclose(mine.weights, theirs.weights, rtol=1e-12)
        np.testing.assert_allclose([mine.one, mine.many, mine.path], [theirs.c1, theirs.cmu, theirs.cc], rtol=1e-12)
        assert mine.effective == pytest.approx(theirs.weights.mueff)


def test_mean_length_is_that_of_a_standard_normal_vector():
    from scipy.stats import chi

    np.testing.assert_allclose([mean_length(n) for n in (1, 2, 10, 300)], chi.mean([1, 2, 10, 300]), rtol=1e-10)


@pytest.mark.parametrize("start", ["zero", "random"])
def test_rosenbrock_in_ten_dimensions(start):
    def evaluations(key):
        first, key = jax.random.split(key)
        search = CMA(np.zeros(10), 0.3)
        state = search.init(key)
        if start == "random":
            state = state._replace(mean=jax.random.uniform(first, (10,), minval=-1.0, maxval=1.0))

        def generation(state, _):
            points, state = search.ask(state)
            values = rosenbrock(points)
            return search.tell(state, points, values), jnp.min(values)

        _, best = jax.lax.scan(generation, state, None, length=799)
        return jnp.where(best.min() < 1e-12, (jnp.argmax(best < 1e-12) + 1) * search.population, 10**6)

    counts = jax.jit(jax.vmap(evaluations))(jax.random.split(jax.random.key(0), 15))
    assert np.median(counts) < 8000


def test_a_matrix_that_rounding_made_indefinite_is_lifted():
    covariance, basis, lengths = axes(jnp.diag(jnp.array([1.0, -1e-9, 4.0])))
    assert (lengths > 0).all()
    np.testing.assert_allclose(basis @ jnp.diag(lengths**2) @ basis.T, covariance, atol=1e-14)
    np.testing.assert_allclose(covariance, np.diag([1.0, 0.0, 4.0]), atol=2e-9)


def test_the_gaussian_is_that_of_the_state():
    search = CMA([0.0, 0.0], [1.0, 3.0])
    p = search.distribution(search.init(jax.random.key(0)))
    np.testing.assert_allclose(p.covariance, np.diag([1.0, 9.0]), rtol=1e-12)
