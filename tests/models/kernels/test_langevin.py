"""Laws that chains must have, known in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from kullback.models.kernels import langevin

K = 4.0


@pytest.fixture(autouse=True)
def _in_64_bits():
    with jax.enable_x64(True):
        yield


def quadratic(x):
    return 0.5 * K * x @ x


def variance_and_error(draws):
    """The second moment about 0, and its standard error from chains that do not know of each other."""
    moments = np.square(np.asarray(draws)).mean(axis=(0, 2))
    return moments.mean(), moments.std(ddof=1) / np.sqrt(len(moments))


@pytest.mark.parametrize(
    ("adjusted", "temperature", "expected"),
    [(True, 1.0, 1 / K), (False, 1.0, 1 / (K * (1 - 0.1 * K))), (True, 3.0, 3 / K)],
)
def test_the_variance_of_a_quadratic_energy(adjusted, temperature, expected):
    step = 0.2
    chains = jax.jit(langevin, static_argnums=(0, 3, 4, 7))(
        quadratic, jnp.zeros((256, 1)), jax.random.key(0), 2000, 50 if adjusted else 0, step, temperature, adjusted
    )
    found, error = variance_and_error(chains.draws[100:])
    assert abs(found - expected) < 4 * error
    assert error < 0.01 * expected


@pytest.mark.slow
def test_a_law_that_is_not_gaussian_in_every_quantile():
    """−log of a logistic density; the last draws of chains that do not know of each other."""

    def energy(x):
        return jnp.sum(x + 2 * jnp.logaddexp(0, -x))

    start = jnp.full((3000, 1), 2.0)
    chains = jax.jit(langevin, static_argnums=(0, 3, 4))(energy, start, jax.random.key(1), 1, 300)
    assert stats.kstest(np.asarray(chains.draws[-1, :, 0]), "logistic").pvalue > 1e-3


@pytest.mark.slow
def test_the_warm_up_finds_the_step_and_then_lets_it_be():
    for step in (1e-4, 10.0):
        chains = langevin(quadratic, jnp.zeros((32, 10)), jax.random.key(2), 200, 400, step)
        assert 0.45 < chains.acceptance < 0.7
    fixed = langevin(quadratic, jnp.zeros((4, 2)), jax.random.key(2), 10, 0, 0.03)
    assert fixed.step == pytest.approx(0.03)


def test_what_is_not_finite_is_not_taken():
    def wall(x):
        return jnp.where(x[0] > 0, x[0], jnp.nan)

    chains = langevin(wall, jnp.ones((64, 1)), jax.random.key(3), 500, 200)
    draws = np.asarray(chains.draws)
    assert np.all(draws > 0)
    assert np.all(np.isfinite(chains.energies))


def test_energies_are_those_of_the_draws():
    chains = langevin(quadratic, jnp.zeros((3, 2)), jax.random.key(4), 5, temperature=2.0)
    np.testing.assert_allclose(chains.energies, jax.vmap(jax.vmap(quadratic))(chains.draws), rtol=1e-12)
