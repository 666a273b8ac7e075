"""The laws that kernels of binary states leave as they are, against probabilities of all states."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.models.boltzmann._path import Base, Path
from kullback.models.kernels import (
    Proposal,
    annealed_importance,
    flip_one,
    gibbs,
    mean_weight,
    metropolis_hastings,
    parallel_tempering,
)
from models.boltzmann.small import excess, law, machine, number_of, states
from tiers import slow

CHAINS = 20_000


@pytest.fixture(autouse=True)
def _in_64_bits():
    with jax.enable_x64(True):
        yield


def from_law(p, units, seed=0):
    return states(units)[np.random.default_rng(seed).choice(len(p), CHAINS, p=p)]


def counts(v):
    return np.bincount(number_of(np.asarray(v)), minlength=2 ** v.shape[-1])


def flip_matrix(model, temperature):
    """Return the probabilities of one step of Metropolis by single flips, from free energies."""
    free = -np.log(law(model)) / temperature
    units = len(model.visible_bias)
    T = np.zeros((2**units, 2**units))
    for state in range(2**units):
        for unit in range(units):
            other = state ^ (1 << unit)
            T[state, other] = min(1, np.exp(free[state] - free[other])) / units
        T[state, state] = 1 - T[state].sum()
    return T, np.exp(-free) / np.exp(-free).sum()


@pytest.mark.parametrize("temperature", [1.0, slow(2.0)])
def test_metropolis_steps_have_the_probabilities_of_single_flips(temperature):
    model = machine(3, 3)
    T, p = flip_matrix(model, temperature)
    np.testing.assert_allclose(p @ T, p, rtol=1e-12)
    start = np.repeat(states(3), 4000, axis=0)
    found = metropolis_hastings(model.energy, flip_one, start, jax.random.key(0), 1, temperature)
    for row, expected in zip(number_of(np.asarray(found.x)).reshape(8, 4000), T, strict=True):
        assert abs(excess(np.bincount(row, minlength=8), 4000 * expected)) < 4.5
    np.testing.assert_allclose(found.energy, model.energy(found.x), rtol=1e-12)
    taken = np.mean(1 - np.diag(T))
    assert abs(found.acceptance - taken) < 0.01


@pytest.mark.slow
def test_proposals_that_go_one_way_more_often_are_corrected():
    model = machine(3, 3)
    up = 0.9  # to set an entry that is chosen to 1; otherwise to 0

    def propose(key, x):
        first, second = jax.random.split(key)
        chosen = jax.nn.one_hot(jax.random.randint(first, x.shape[:1], 0, 3), 3)
        value = (jax.random.uniform(second, x.shape[:1]) < up).astype(x.dtype)
        there = jnp.where(chosen > 0, value[:, None], x)
        log_odds = np.log(up / (1 - up))
        return Proposal(there, log_odds * jnp.sum(x - there, axis=1))

    p = law(model)
    found = metropolis_hastings(model.energy, propose, from_law(p, 3), jax.random.key(1), 3)
    assert abs(excess(counts(found.x), CHAINS * p)) < 4


@pytest.mark.slow
def test_gibbs_leaves_the_law_and_comes_to_it():
    model = machine(4, 3)
    p = law(model)
    for start in (from_law(p, 4), np.zeros((CHAINS, 4))):
        found = gibbs([model.sweep], jnp.asarray(start), jax.random.key(2), 20)
        assert abs(excess(counts(found), CHAINS * p)) < 4


def test_tempered_chains_leave_the_law_of_every_temperature():
    model = machine(3, 3, spread=1.5)
    path = Path(model, Base(jnp.array([0.3, -0.2, 0.0]), None))
    betas = np.array([0.0, 0.4, 1.0])
    laws = []
    for beta in betas:
        log_mass = np.asarray(path.log_density(jnp.asarray(beta), jnp.asarray(states(3))))
        laws.append(np.exp(log_mass) / np.exp(log_mass).sum())
    np.testing.assert_allclose(laws[-1], law(model), rtol=1e-12)
    start = np.stack([from_law(p, 3, seed) for seed, p in enumerate(laws)])
    found = parallel_tempering(path.log_density, path.kernel, betas, start, jax.random.key(3), 4)
    for x, p in zip(found.x, laws, strict=True):
        assert abs(excess(counts(x), CHAINS * p)) < 4
    # exchanges happen as often as Metropolis says, on average over independent states of both laws
    for place, (lower, upper) in enumerate([(0, 1), (1, 2)]):
        ratio = laws[lower][None] * laws[upper][:, None] / (laws[lower][:, None] * laws[upper][None])
        expected = np.sum(laws[lower][:, None] * laws[upper][None] * np.minimum(1, ratio))
        assert abs(found.exchanges[place] - expected) < 0.02


def test_the_ends_of_the_path_are_the_base_and_the_machine():
    model = machine(4, 3)
    path = Path(model, Base(jnp.array([0.3, -0.2, 0.0, 1.0]), None))
    every = jnp.asarray(states(4))
    at_0 = np.asarray(path.log_density(jnp.asarray(0.0), every))
    np.testing.assert_allclose(np.log(np.exp(at_0).sum()), path.log_partition, rtol=1e-12)
    np.testing.assert_allclose(path.log_density(jnp.asarray(1.0), every), -model.energy(every), rtol=1e-12)


@pytest.mark.slow
def test_weights_of_annealing_average_to_the_ratio_of_constants():
    """The mean weight itself, not its logarithm, is unbiased: even with three temperatures."""
    model = machine(4, 3)
    path = Path(model, Base(jnp.zeros(4), None))
    start = path.start(jax.random.key(4), (CHAINS,))
    found = annealed_importance(path.log_density, path.kernel, np.array([0.0, 0.5, 1.0]), start, jax.random.key(5))
    exact = float(model.exact_log_partition() - path.log_partition)
    weights = np.exp(np.asarray(found.log_weight) - exact)
    assert abs(weights.mean() - 1) < 4 * weights.std() / np.sqrt(CHAINS)
    assert abs(found.value - exact) < 4 * found.standard_error
    alone = mean_weight(jnp.array([1.5]))
    assert alone.value == 1.5
    assert np.isinf(alone.standard_error)  # of one chain nobody knows it
