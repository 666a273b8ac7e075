"""Newton's method from expectation to natural coordinates, on a potential with a known answer."""

import jax
import jax.numpy as jnp
import numpy as np

from contracts.quick import quick
from kullback.families import Categorical
from kullback.numerics import natural_from_expectation


def member(theta):
    return Categorical.from_natural(theta)


def solve(eta, start=None):
    return natural_from_expectation(member, jnp.zeros_like(eta) if start is None else start, eta)


def test_answer_and_derivative():
    p = np.array([[0.2, 0.3, 0.5], [1e-5, 0.9, 0.1 - 1e-5], [0.98, 0.01, 0.01]])
    theta, slope = quick(lambda e: (solve(e), jax.vmap(jax.jacfwd(solve))(e)))(p[:, :2])
    np.testing.assert_allclose(theta, np.log(p[:, :2] / p[:, 2:]), rtol=1e-9, atol=1e-12)
    inverse = np.stack([np.diag(1 / row[:2]) + 1 / row[2] for row in p])
    np.testing.assert_allclose(slope, inverse, rtol=1e-8)


def test_the_start_does_not_matter():
    p = np.array([0.2, 0.3, 0.5])
    for start in ([4.0, -4.0], [-3.0, 5.0]):
        found = quick(solve)(p[:2], np.array(start))
        np.testing.assert_allclose(found, np.log(p[:2] / p[2]), rtol=1e-10)


def test_what_no_member_has_is_nan():
    found = quick(solve)(np.array([[0.7, 0.6], [-0.1, 0.2], [0.2, 0.3]]))
    assert np.isnan(found).all(axis=-1).tolist() == [True, True, False]


def test_reverse_mode():
    eta = np.array([0.2, 0.3])
    forward, reverse = quick(lambda e: (jax.jacfwd(solve)(e), jax.jacrev(solve)(e)))(eta)
    np.testing.assert_allclose(forward, reverse, rtol=1e-12)
