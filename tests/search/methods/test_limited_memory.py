import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.search import XNES, LimitedMemoryCMA
from kullback.search.methods._limited_memory import apply_inverse, apply_shape, factors
from search.helpers import best_values, rosenbrock, rotated_ellipsoid


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 60])  # fewer coordinates than directions, and more
def test_the_short_form_is_the_product_of_the_factors(n):
    search = LimitedMemoryCMA(np.zeros(n), np.linspace(0.5, 2.0, n))
    k = len(search.init(jax.random.key(0)).directions)
    directions = np.random.default_rng(0).normal(size=(k, n))
    state = search.init(jax.random.key(0))._replace(directions=jnp.asarray(directions), generation=jnp.array(5))
    dense = np.eye(n)
    for j in range(5):  # five generations: five directions have joined
        rate = min(1 / n / 1.5**j, 0.25)
        dense = ((1 - rate) * np.eye(n) + rate * np.outer(directions[j], directions[j])) @ dense
    z = jnp.asarray(np.random.default_rng(1).normal(size=(4, n)))
    shape = jax.jit(factors)(state)
    np.testing.assert_allclose(apply_shape(state, shape, z), z @ dense.T, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(apply_inverse(state, shape, z @ dense.T), z, rtol=1e-8, atol=1e-10)
    root = np.linspace(0.5, 2.0, n)[:, None] * dense
    np.testing.assert_allclose(search.distribution(state).covariance, root @ root.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(search.spread(state), np.sqrt(np.sum(root**2, axis=1)), rtol=1e-10)
    lengths = np.linalg.svd(dense, compute_uv=False)
    assert float(search.condition(state)) == pytest.approx((lengths[0] / lengths[-1]) ** 2, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("f", [rotated_ellipsoid(100), rosenbrock], ids=["ellipsoid", "rosenbrock"])
def test_it_beats_a_diagonal_covariance_where_coordinates_depend_on_each_other(f):
    start = np.full(100, 0.5)
    mine, diagonal = (
        best_values(search, f, 60_000).min()
        for search in (LimitedMemoryCMA(start, 0.5), XNES(start, 0.5, covariance="diagonal"))
    )
    assert mine < 0.5 * diagonal


@pytest.mark.slow
def test_a_thousand_coordinates():
    search = LimitedMemoryCMA(np.ones(1000), 0.3)
    best = best_values(search, lambda x: jnp.sum(x**2, axis=-1), 1500)[0]
    assert np.isfinite(best).all()
    assert best[-1] < best[0]
