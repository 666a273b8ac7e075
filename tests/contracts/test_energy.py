"""The laws of the energy, for every model: what is hidden is summed out, and Gibbs's identity.

Sums over labels and paths are enumerated. Integrals over what is hidden and real are sums over a grid in NumPy: of
smooth functions that vanish at its ends, and of angles, such sums have nearly all digits.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from contracts.models import CASES, ENERGIES, K, each_model
from contracts.quick import quick
from kullback.core import Batch, TimeIndex
from kullback.models import (
    CompoundDirichlet,
    HelmholtzMachine,
    HiddenMarkovModel,
    LinearDynamicalSystem,
    Mixture,
    RestrictedBoltzmannMachine,
    energy_moments,
)
from models.helmholtz.small_machine import all_states, joint_table, places

STEPS = 3


@pytest.fixture(
    params=each_model(ENERGIES, quick=("FactorAnalysis", "HelmholtzMachine", "RestrictedBoltzmannMachine")),
    scope="module",
)
def model(request):
    return ENERGIES[request.param].make(np.random.default_rng(7))


def some_v(model):
    """Return one visible point, or one sequence."""
    if isinstance(model, HiddenMarkovModel):
        return np.asarray(model.sample_sequence(0, STEPS)[1])
    v = np.asarray(model.sample(0))
    return v[None] if isinstance(model, LinearDynamicalSystem) else v


def grid(center, spread, count=241, reach=12.0):
    """Return points of the plane around a center, and what each counts for in an integral."""
    line = np.linspace(-reach, reach, count)
    z = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    root = np.linalg.cholesky(spread)
    return center + z @ root.T, (line[1] - line[0]) ** 2 * np.prod(np.diagonal(root))


def simplex(count=48):
    """Return points of the simplex of four categories, and what each counts for: sticks are broken at sin²."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    t, weights = (nodes + 1) / 2, weights / 2
    stick, slope = np.sin(np.pi * t / 2) ** 2, np.pi * np.sin(np.pi * t / 2) * np.cos(np.pi * t / 2) * weights
    u = np.stack(np.meshgrid(stick, stick, stick, indexing="ij"), axis=-1).reshape(-1, 3)
    weight = np.prod(np.stack(np.meshgrid(slope, slope, slope, indexing="ij"), axis=-1).reshape(-1, 3), axis=1)
    rest = np.cumprod(1 - u, axis=1)
    h = np.column_stack([u[:, 0], u[:, 1] * rest[:, 0], u[:, 2] * rest[:, 1], rest[:, 2]])
    return h, weight * rest[:, 0] * rest[:, 1]


def hidden_points(model, v):
    """Return values of h that a sum or an integral over h goes through, and what each counts for."""
    match model:
        case Mixture():
            return np.arange(K), 1.0
        case HiddenMarkovModel():
            return np.array(list(itertools.product(range(K), repeat=len(v)))), 1.0
        case CompoundDirichlet():
            return simplex()
        case HelmholtzMachine():
            return all_states(sum(model.sizes[1:])), 1.0
        case RestrictedBoltzmannMachine():
            return all_states(len(model.hidden_bias)), 1.0
        case LinearDynamicalSystem():
            h, weight = grid(model.initial_mean, model.initial_covariance)
            return h[:, None], weight
    return grid(np.zeros(2), np.eye(2))


@quick
def energies(model, v, h):
    shape = (len(h), *v.shape)
    return model.energy(v), model.energy(jnp.broadcast_to(v, shape), h)


def test_what_is_hidden_is_summed_out_of_the_energy(model):
    v = some_v(model)
    h, weight = hidden_points(model, v)
    free, each = map(np.asarray, energies(model, v, h))
    lowest = each.min()
    assert free.shape == ()
    np.testing.assert_allclose(free, lowest - np.log(np.sum(weight * np.exp(lowest - each))), rtol=1e-7)


def gibbs_terms(model, v, key):
    """Return the mean energy and the entropy of the posterior, each by itself, and the error of the mean."""
    time = TimeIndex.of_lengths([len(v)]) if isinstance(model, HiddenMarkovModel | LinearDynamicalSystem) else None
    found = model.posterior(Batch(v if time is not None else v[None], time=time))
    if isinstance(model, CompoundDirichlet):
        posterior = stats.dirichlet(np.asarray(found.concentration)[0])
        h = posterior.rvs(20_000, random_state=key)
        return h, np.full(len(h), 1 / len(h)), posterior.entropy()
    if isinstance(model, HelmholtzMachine):  # draws of the guess: the posterior itself has all states
        share = joint_table(model)[places(v)]
        share = share / share.sum()
        return all_states(sum(model.sizes[1:])), share, stats.entropy(share)
    if isinstance(model, RestrictedBoltzmannMachine):  # hidden units are independent given v
        h, odds = all_states(len(model.hidden_bias)), np.asarray(found)[0]
        share = np.prod(np.where(h > 0, odds, 1 - odds), axis=1)
        return h, share, stats.entropy(share)
    if isinstance(model, Mixture):
        share = np.asarray(found)[0]
        return np.arange(K), share, stats.entropy(share)
    if isinstance(model, HiddenMarkovModel):  # one step: the posterior of paths of more is no table
        share = np.asarray(found)[0]
        return np.arange(K)[:, None], share, stats.entropy(share)
    # an energy that is quadratic in h has its mean from three nodes in each direction
    mean, spread = np.asarray(found.mean)[0], np.asarray(found.covariance)[0]
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    z = np.array(list(itertools.product(nodes, repeat=2)))
    share = np.prod(np.array(list(itertools.product(weights, repeat=2))), axis=1) / (2 * np.pi)
    h = mean + z @ np.linalg.cholesky(spread).T
    entropy = stats.multivariate_normal(mean, spread).entropy()
    return (h[:, None] if time is not None else h), share, entropy


def test_mean_energy_less_the_entropy_of_the_posterior_is_the_free_energy(model):
    v = some_v(model)[:1] if isinstance(model, HiddenMarkovModel) else some_v(model)
    h, share, entropy = gibbs_terms(model, v, 3)
    free, each = map(np.asarray, energies(model, v, h))
    mean = share @ each
    error = 4.5 * np.std(each) / np.sqrt(len(each)) if isinstance(model, CompoundDirichlet) else 1e-9
    assert abs(mean - entropy - free) < error


@pytest.mark.slow
def test_mean_and_variance_of_the_energy_are_derivatives_in_the_inverse_temperature():
    """Over all paths of a chain, against sums in NumPy and a difference of means."""
    model = CASES["HiddenMarkovModel"].make(np.random.default_rng(7))
    v = some_v(model)
    h, _ = hidden_points(model, v)
    each = np.asarray(energies(model, v, h)[1])
    prior = np.random.default_rng(0).dirichlet(np.ones(len(h)))
    for beta, log_prior, law in (
        (0.0, np.log(prior), prior),  # the mean and the variance over the prior
        (1.0, 0.0, np.exp(-each) / np.exp(-each).sum()),  # the posterior
        (0.3, np.log(prior), prior * np.exp(-0.3 * each) / np.sum(prior * np.exp(-0.3 * each))),
    ):
        found = energy_moments(each, log_prior, beta)
        mean = law @ each
        np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
        np.testing.assert_allclose(found.variance, law @ (each - mean) ** 2, rtol=1e-9)
    both = jax.vmap(lambda beta: energy_moments(each, 0.0, beta).mean)(np.array([1.0 - 1e-4, 1.0 + 1e-4]))
    slope = (both[1] - both[0]) / 2e-4
    np.testing.assert_allclose(-slope, energy_moments(each, 0.0, 1.0).variance, rtol=1e-5)
