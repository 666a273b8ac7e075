import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kullback
from kullback.families import DiagonalGaussian, Gaussian, SphericalGaussian
from kullback.search import XNES
from kullback.search.methods._ranking import positive_weights
from kullback.search.methods._root_method import RootState
from tiers import slow


@pytest.mark.parametrize("covariance", ["full", "diagonal", slow("spherical")])
def test_a_short_step_is_the_natural_gradient_by_autodiff(covariance):
    # of Σ uᵢ log p(xᵢ) in source coordinates, divided by the Fisher matrix of the family
    rng = np.random.default_rng(0)
    search = XNES(np.zeros(3), 1.0, population=8, covariance=covariance)
    root = {"full": rng.normal(size=(3, 3)) + 2 * np.eye(3), "diagonal": np.array([0.5, 1.0, 2.0]), "spherical": 0.7}
    state = RootState(jax.random.key(0), jnp.array([1.0, -2.0, 0.5]), jnp.asarray(root[covariance]))
    points, values = np.asarray(search.ask(state)[0]), rng.normal(size=8)
    utilities = (positive_weights(8) - 1 / 8)[np.argsort(np.argsort(values))]

    before = search.distribution(state)
    family = {"full": Gaussian, "diagonal": DiagonalGaussian, "spherical": SphericalGaussian}[covariance]

    @jax.jit
    def oracle(source):
        slope = jax.grad(lambda source: jnp.sum(utilities * family.from_source(source).log_prob(points)))(source)
        return family.from_source(source).fisher("source"), slope

    natural = np.linalg.solve(*oracle(before.source))
    after = search.distribution(jax.jit(lambda *args: search.tell(*args))(state, points, values))
    np.testing.assert_allclose(after.mean - before.mean, natural[:3], rtol=1e-9)
    # the covariance goes along an exponential: its logarithm is the rate times the natural gradient
    if covariance == "full":
        inverse = np.linalg.inv(root["full"])
        values, basis = np.linalg.eigh(inverse @ after.covariance @ inverse.T)
        taken = root["full"] @ (basis * np.log(values)) @ basis.T @ root["full"].T
        i, j = np.triu_indices(3, 1)
        taken = np.concatenate([np.diagonal(taken), taken[i, j]])
    else:
        taken = before.variance * np.log(np.asarray(after.variance / before.variance))
    np.testing.assert_allclose(np.atleast_1d(taken), search.rate * natural[3:], rtol=1e-8)


def test_errors():
    with pytest.raises(ValueError, match="covariance is 'round': it must be 'full' or 'diagonal' or 'spherical'"):
        XNES([0.0, 0.0], covariance="round")
    with pytest.raises(ValueError, match=r"scale goes from 1.0 to 2.0: a sphere has one"):
        XNES([0.0, 0.0], [1.0, 2.0], covariance="spherical")


def test_the_earlier_name_keeps_working():
    assert kullback.search.Exponential is XNES
