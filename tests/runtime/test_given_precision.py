"""Numbers that were given in 64 bits are computed with in 64 bits, outside of 64-bit mode too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import Batch, Gamma, Gaussian, Poisson
from kullback.geometry import centroid, fisher_rao_distance, geodesic, relative_entropy
from kullback.models import Mixture


@pytest.fixture(autouse=True)
def _short():
    with jax.enable_x64(False):
        yield


def check(*answers):
    for answer in answers:
        assert isinstance(answer, np.ndarray | np.generic)
        assert answer.dtype == np.float64


def test_what_was_given_in_64_bits_is_answered_in_64_bits():
    p, q = Poisson(1.0), Poisson(1.0 + 1e-12)
    check(p.natural, p.entropy, Poisson.from_natural([0.5]).rate, fisher_rao_distance(p, q))
    np.testing.assert_allclose(fisher_rao_distance(p, q), 1e-12, rtol=1e-3)  # 32 bits would see one rate


@pytest.mark.slow
def test_everything_is_answered_in_64_bits():
    p, q = Poisson(1.0), Poisson(1.0 + 1e-12)
    g = Gaussian([0.0, 1.0], [[2.0, 0.3], [0.3, 1.0]])
    mixture = Mixture([0.5, 0.5], Poisson([1.0, 9.0]))
    check(
        p.log_prob(3),
        g.fisher("natural"),
        g.sample(0, 2),
        Gaussian.from_natural(g.natural).covariance,
        Gamma.from_expectation([-0.5, 1.0]).shape,
        Gamma.fit([1.0, 2.0, 4.0]).rate,
        mixture.log_likelihood(Batch([3.0, 15.0])),
        relative_entropy(p, q),
        centroid([p, q]).rate,
        geodesic(p, q)(0.5).rate,
        geodesic(p, q, "m")([0.5]).rate,
    )


def test_arrays_of_jax_are_computed_with_as_jax_is_set():
    p = Poisson(jnp.array(2.0))
    for answer in (p.natural, p.log_prob(np.array([3.0])), relative_entropy(p, Poisson(1.0))):
        assert isinstance(answer, jax.Array)
        assert answer.dtype == jnp.float32


def test_numbers_of_32_bits_stay_so():
    assert Poisson(np.array(2.0, np.float32)).natural.dtype == np.float32


def test_inside_of_transformations_the_users_mode_holds():
    p = Poisson(2.0)
    assert jax.jit(lambda: p.entropy)().dtype == jnp.float32
    assert jax.vmap(p.log_prob)(jnp.arange(3.0)).dtype == jnp.float32
    np.testing.assert_allclose(jax.grad(lambda rate: Poisson(rate).log_prob(3.0))(2.0), 0.5, rtol=1e-6)


def test_the_mode_is_left_as_it_was():
    Poisson(2.0).entropy
    assert not jax.config.read("jax_enable_x64")
    assert jnp.zeros(()).dtype == jnp.float32
