"""Gradients of an autoencoder: two estimates of one number against quadrature, and rows that lack entries."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.core import Batch
from kullback.families import (
    Bernoulli,
    Beta,
    Categorical,
    DiagonalGaussian,
    Exponential,
    Gamma,
    Independent,
    Poisson,
    Product,
    VonMises,
)
from kullback.learning import EvidenceBound, ImportanceBound
from kullback.models import VariationalAutoencoder


def columns(kind, *parameters):
    return Independent(kind(*(np.array([parameter]) for parameter in parameters)))


MIXED = Product(
    [
        DiagonalGaussian([1.0], [4.0]),
        columns(Poisson, 3.0),
        columns(Categorical, [0.2, 0.3, 0.5]),
        columns(Gamma, 2.0, 1.0),
        columns(Beta, 2.0, 3.0),
        columns(VonMises, 1.0, 2.0),
        columns(Bernoulli, 0.3),
        columns(Exponential, 0.5),
    ]
)
TABLE = np.array([[0.3, 2.0, 1.0, 1.5, 0.4, 2.0, 1.0, 0.7], [4.0, 0.0, 2.0, 0.2, 0.9, -1.0, 0.0, 3.0]] * 5, np.float32)


def parts(model):
    return eqx.partition(model, model.trainable())


def slope(objective, model, batch):
    """Return the gradient of an objective in the parameters."""
    parameters, rest = parts(model)

    @quick
    def gradient(parameters, batch):
        return jax.grad(lambda p: objective(eqx.combine(p, rest), batch, None, jax.random.key(0)).value)(parameters)

    return gradient(parameters, batch)


@pytest.mark.parametrize("objective", [EvidenceBound(), pytest.param(ImportanceBound(3), marks=pytest.mark.slow)])
def test_eight_families_with_entries_missing_have_finite_gradients(objective):
    model = VariationalAutoencoder.start(MIXED, 2, (4,), rows=Batch(TABLE))
    observed = np.random.default_rng(0).random(TABLE.shape) > 0.2
    observed[:, 3] = False  # nothing is known of the Gamma column
    found = slope(objective, model, Batch(np.where(observed, TABLE, np.nan), observed=observed))
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(found))
    last = found.decoder.layers[-1]
    of_gamma = slice(5, 7)  # after two coordinates of the Gaussian, one of counts, two of categories
    assert MIXED.kind.roles[of_gamma.start - 1 : of_gamma.stop + 1] == (
        *columns(Categorical, [0.2, 0.3, 0.5]).kind.roles[-1:],
        *columns(Gamma, 2.0, 1.0).kind.roles,
        *columns(Beta, 2.0, 3.0).kind.roles[:1],
    )
    assert not np.any(last.weight[of_gamma])
    assert not np.any(last.bias[of_gamma])
    others = np.delete(np.asarray(last.bias), of_gamma)
    assert np.all(others != 0)


class Point(eqx.Module):
    """An encoder of one row: its mean and its log scale are the parameters."""

    mean: jax.Array
    log_scale: jax.Array

    def __call__(self, v, observed=None):
        return jnp.stack([self.mean, self.log_scale])[None]


def test_score_function_and_reparametrized_gradient_agree_with_quadrature():
    """Gauss-Hermite quadrature of E_q[log p(v, z) − log q(z)], one hidden number, differentiated; both by draws."""
    with jax.enable_x64(True):
        start = VariationalAutoencoder.start(
            Independent(Bernoulli(np.array([0.3, 0.6, 0.5]))), 1, (3,), rows=Batch(np.eye(3)), dtype=np.float64
        )
        decoder = eqx.tree_at(lambda d: d.layers[-1].weight, start.decoder, replace_fn=lambda w: 20 * w)
        v, at = np.array([[1.0, 0.0, 1.0]]), jnp.array([0.4, -0.7])

        def model(at):
            return VariationalAutoencoder(Point(*at), decoder, start.kind, 1)

        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        share = jnp.asarray(weights / np.sqrt(2 * np.pi))

        def log_q(z, at):
            return -0.5 * jnp.square((z - at[0]) * jnp.exp(-at[1])) - at[1] - 0.5 * np.log(2 * np.pi)

        def by_quadrature(at):
            z = at[0] + jnp.exp(at[1]) * nodes
            return jnp.sum(share * (model(at).log_prob(v, z[:, None]) - log_q(z, at)))

        def by_path(key):
            return jax.grad(lambda at: model(at).recognize(key, Batch(v)).log_weight[0, 0])(at)

        def by_bound(key):
            return jax.grad(lambda at: model(at).bound(key, Batch(v))[0])(at)

        def by_score(key):
            z = at[0] + jnp.exp(at[1]) * jax.random.normal(key, (), at.dtype)
            weight = model(at).log_prob(v, z[None, None])[0] - log_q(z, at)
            return weight * jax.grad(lambda at: log_q(z, at))(at)

        draws = 20_000
        expected = quick(jax.grad(by_quadrature))(at)
        keys = jax.random.split(jax.random.key(0), draws)
        found = [np.asarray(quick(jax.vmap(way))(keys)) for way in (by_path, by_bound, by_score)]
    for each in found:
        assert np.all(np.abs(each.mean(axis=0) - expected) < 4 * each.std(axis=0) / np.sqrt(draws))
    assert np.all(found[2].var(axis=0) > 4 * found[0].var(axis=0))  # why nobody takes the score function here
    assert np.abs(expected).min() > 0.01


def test_an_encoder_sees_what_is_missing():
    rows = Batch(TABLE[:, :3], observed=np.ones((len(TABLE), 3), bool))
    model = VariationalAutoencoder.start(DiagonalGaussian(np.zeros(3), np.ones(3)), 1, (4,), rows=rows)
    v = np.zeros((1, 3), np.float32)
    seen, lacking = np.ones((1, 3), bool), np.array([[True, False, True]])
    whole, same, other = (np.asarray(model.encoder(v, observed)) for observed in (None, seen, lacking))
    np.testing.assert_array_equal(whole, same)
    assert np.any(whole != other)
    filler = np.asarray(model.encoder(np.array([[0.0, 7.0, 0.0]], np.float32), lacking))
    np.testing.assert_array_equal(filler, other)
