"""The joint, the guess and their draws, against all states of a small machine."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from contracts.quick import quick
from kullback.core import Batch
from kullback.models import HelmholtzMachine, average_weights
from kullback.models.helmholtz._layers import draw
from models.helmholtz.small_machine import (
    HIDDEN,
    VISIBLE,
    exact_machine,
    joint_table,
    places,
    random_machine,
    recognition_table,
)

MACHINE = random_machine()
PAIRS = np.repeat(VISIBLE, len(HIDDEN), axis=0), np.tile(HIDDEN, (len(VISIBLE), 1))
JOINT, GUESS = joint_table(MACHINE), recognition_table(MACHINE)


@quick
def laws(machine, v, h):
    return machine.log_prob(v, h), machine.energy(v, h), machine.recognition_log_prob(v, h), machine.energy(v)


def test_both_networks_are_normalized_and_as_they_are_written():
    joint, energy, guess, free = (np.asarray(part).reshape(JOINT.shape) for part in laws(MACHINE, *PAIRS))
    np.testing.assert_allclose(np.exp(joint), JOINT, rtol=1e-12)
    np.testing.assert_allclose(np.exp(guess), GUESS, rtol=1e-12)
    np.testing.assert_allclose(np.exp(joint).sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(guess).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(energy, -joint)
    np.testing.assert_allclose(free[:, 0], -np.log(JOINT.sum(axis=1)), rtol=1e-12)


def test_the_mean_weight_is_the_likelihood_and_more_draws_tighten_the_bound():
    joint, _, guess, _ = (np.asarray(part).reshape(JOINT.shape) for part in laws(MACHINE, *PAIRS))
    weight, q = np.exp(joint - guess), np.exp(guess)
    likelihood = JOINT.sum(axis=1)
    np.testing.assert_allclose(np.sum(q * weight, axis=1), likelihood, rtol=1e-10)
    both = (weight[:, :, None] + weight[:, None]) / 2
    pairs = q[:, :, None] * q[:, None]
    np.testing.assert_allclose(np.sum(pairs * both, axis=(1, 2)), likelihood, rtol=1e-10)
    one, two = np.sum(q * np.log(weight), axis=1), np.sum(pairs * np.log(both), axis=(1, 2))
    assert np.all(one < two)
    assert np.all(two < np.log(likelihood))


DRAWS = 20_000


@quick
def draws(machine, v, key):
    found = machine.recognize(key, v, DRAWS)
    h = found.hidden
    wide = jnp.broadcast_to(v[:, None], (*h.shape[:2], v.shape[1]))
    ratio = machine.log_prob(wide, h) - machine.recognition_log_prob(wide, h)
    return h, found.log_weight, ratio, machine.sample_joint(jax.random.fold_in(key, 1), (DRAWS,)), found.weights


def fits(counts, law):
    """Return the probability of counts as far from a law as these: rare states are put together."""
    expected = counts.sum() * law
    rare = expected < 5
    counts, expected = (np.append(part[~rare], part[rare].sum()) for part in (counts, expected))
    return stats.chisquare(counts[expected > 0], expected[expected > 0]).pvalue


def test_draws_have_the_laws_of_both_networks_and_the_weights_of_their_states():
    here = [0, 11]
    h, log_weight, ratio, (dreamt, v), weights = jax.tree.map(
        np.asarray, draws(MACHINE, VISIBLE[here], jax.random.key(0))
    )
    for row, place in enumerate(here):
        assert fits(np.bincount(places(h[row]), minlength=len(HIDDEN)), GUESS[place]) > 1e-3
    states = places(np.concatenate([v, dreamt], axis=1))
    assert fits(np.bincount(states, minlength=JOINT.size), JOINT.ravel()) > 1e-3
    np.testing.assert_allclose(log_weight, ratio, atol=1e-12)
    np.testing.assert_allclose(weights, np.exp(ratio) / np.exp(ratio).sum(axis=1, keepdims=True), rtol=1e-10)


def test_a_guess_that_is_the_posterior_has_the_likelihood_as_its_weight():
    machine = exact_machine()
    found = quick(lambda m, key: m.recognize(key, VISIBLE, 8))(machine, jax.random.key(0))
    exact = np.log(joint_table(machine).sum(axis=1))
    np.testing.assert_allclose(found.log_weight, np.broadcast_to(exact[:, None], (16, 8)), rtol=1e-12)
    np.testing.assert_allclose(found.effective_size(), 8, rtol=1e-12)
    np.testing.assert_allclose(found.log_likelihood().value, exact, rtol=1e-12)


SEEN = np.random.default_rng(2).random((16, 4)) < 0.6


@quick
def estimates(machine, key):
    whole = machine.estimate_log_likelihood(Batch(VISIBLE), key, 1024)
    parts = machine.estimate_log_likelihood(Batch(VISIBLE, observed=SEEN), key, 1024)
    return whole, parts, machine.log_likelihood(Batch(VISIBLE, observed=SEEN))


def test_estimates_lie_as_far_from_the_likelihood_as_their_standard_errors_say():
    whole, parts, exact_parts = jax.tree.map(np.asarray, estimates(MACHINE, jax.random.key(0)))
    likelihood = JOINT.sum(axis=1)
    agree = np.all((VISIBLE[:, None] == VISIBLE[None]) | ~SEEN[:, None], axis=2)
    expected = np.log(agree @ likelihood)
    np.testing.assert_allclose(exact_parts, expected, rtol=1e-12)
    for found, exact in ((whole, np.log(likelihood)), (parts, expected)):
        z = (found.value - exact) / found.standard_error
        assert np.all(np.abs(z) < 5)
        assert 0.5 < np.sqrt(np.mean(z**2)) < 2


def test_the_standard_error_is_that_of_the_mean_weight():
    log_weight = np.random.default_rng(0).normal(size=(3, 50)) + 800.0
    found = average_weights(jnp.asarray(log_weight))
    weight = np.exp(log_weight - 800)
    np.testing.assert_allclose(found.value, 800 + np.log(weight.mean(axis=1)), rtol=1e-14)
    np.testing.assert_allclose(found.standard_error, stats.sem(weight, axis=1) / weight.mean(axis=1), rtol=1e-10)
    alone = average_weights(jnp.asarray(log_weight[:, :1]))
    np.testing.assert_allclose(alone.value, log_weight[:, 0])
    assert np.all(np.isposinf(alone.standard_error))  # of one draw nobody knows how far it is


@pytest.mark.slow
def test_a_unit_that_is_next_to_impossible_is_never_on_in_32_bits():
    """Uniform numbers of 32 bits are 0 once in 8 million: as draws these would have weights without any bound."""
    key = jax.random.key(3)
    assert np.any(np.asarray(jax.random.uniform(key, (2**23,), jnp.float32)) == 0)
    never, always = (np.asarray(draw(key, jnp.full(2**23, odds, jnp.float32))) for odds in (-40.0, 40.0))
    assert not never.any()
    assert always.all()
    rare = np.asarray(draw(key, jnp.full(2**23, -14.0, jnp.float32))).sum()
    assert abs(rare - 2**23 * np.exp(-14)) < 5 * np.sqrt(2**23 * np.exp(-14))


@pytest.mark.slow
def test_a_start_has_the_means_as_its_biases_and_the_precision_that_is_asked_for():
    machine = HelmholtzMachine.start([0.9, 0.0, 0.5], (4, 2), 0, np.float32)
    assert machine.sizes == (3, 4, 2)
    assert {leaf.dtype.name for leaf in jax.tree.leaves(machine)} == {"float32"}
    np.testing.assert_allclose(machine.generation[0][-1], [np.log(9), np.log(0.01 / 0.99), 0], rtol=1e-6)
    wide = HelmholtzMachine.start(np.full(400, 0.5), (300,), 1)
    for weights in (*wide.generation, *wide.recognition):
        z = (np.var(np.asarray(weights)[:-1]) * (len(weights) - 1) - 1) / np.sqrt(2 / weights[:-1].size)
        assert abs(z) < 5


def test_means_go_up_and_down_layer_by_layer():
    up = MACHINE.upward_means(VISIBLE)
    first = 1 / (1 + np.exp(-(VISIBLE @ MACHINE.recognition[0][:-1] + MACHINE.recognition[0][-1])))
    np.testing.assert_allclose(up[0], first, rtol=1e-12)
    second = 1 / (1 + np.exp(-(first @ MACHINE.recognition[1][:-1] + MACHINE.recognition[1][-1])))
    np.testing.assert_allclose(up[1], second, rtol=1e-12)
    # one layer down the probabilities are those of the model: nothing is put in place of units
    down = MACHINE.downward_means(np.array([[0.0, 1.0, 1.0]]), 1)
    given = np.all(HIDDEN[:, :3] == [0, 1, 1], axis=1)
    law = JOINT[:, given].sum(axis=1) / JOINT[:, given].sum()
    np.testing.assert_allclose(down[0], law @ VISIBLE, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], np.zeros(4), []), "generation is empty: a Helmholtz machine has one hidden layer at least"),
        (([np.zeros((3, 4))], np.zeros((2, 1)), [np.zeros((5, 2))]), "one bias for each unit of the top layer"),
        (([np.zeros((3, 4))], np.zeros(2), []), "there must be as many of both"),
        (([np.zeros(4)], np.zeros(2), [np.zeros((5, 2))]), "they must be matrices"),
        (([np.zeros((3, 4))], np.zeros(3), [np.zeros((5, 3))]), r"generation\[0\] has shape \(3, 4\)"),
        (([np.zeros((3, 4))], np.zeros(2), [np.zeros((4, 2))]), r"recognition\[0\] has shape \(4, 2\)"),
        (([np.full((3, 4), np.nan)], np.zeros(2), [np.zeros((5, 2))]), r"generation\[0\] has entries that are not"),
        (([np.zeros((3, 4))], np.array([0, np.inf]), [np.zeros((5, 2))]), "top has entries that are not finite"),
        (([np.zeros((1, 4))], np.zeros(0), [np.zeros((5, 0))]), "a layer of 0 units"),
    ],
)
def test_what_is_no_machine_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        HelmholtzMachine(*arguments)


def test_a_machine_without_hidden_units_or_too_large_is_refused():
    large = r"hidden is \(1000000000000,\), of 2 columns: the matrices would have 5,000,000,000,002 entries"
    for hidden, words in (((), "one hidden layer at least"), ((3, 0), "a layer of 0 units"), ((10**12,), large)):
        with pytest.raises(ValueError, match=words):
            HelmholtzMachine.start([0.5, 0.5], hidden, 0)
