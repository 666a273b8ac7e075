"""Learners in turn against the same moves made by hand; numbers that are leaves; keys that are used once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import Batch
from kullback.learning import (
    EM,
    AllAtOnce,
    Alternate,
    Averaged,
    Epochs,
    Gradient,
    Loss,
    NaturalGradientEM,
    OnlineEM,
    Only,
    Optimizer,
    SampledInertia,
    begin,
    em_step,
    fit,
    online_em,
    online_em_step,
)
from kullback.runtime import is_array
from learning.learner_cases import CASES, POINTS, gaussian, mixture, points, stepwise_rate
from learning.proof_data import GivenSteps
from tiers import slow

KEYS = 6


@pytest.mark.parametrize("rate", [slow(np.asarray(0.3)), stepwise_rate], ids=["a number", "a function"])
def test_turns_are_those_of_moves_by_hand(rate):
    batches, model = points()[:12], mixture()
    learner, data, rule = Alternate(OnlineEM(rate), EM(), turns=(2, 1)), GivenSteps(batches), Epochs(1)
    place, _ = fit(learner, begin(learner, model, data, rule), data, rule)
    for step, batch in enumerate(batches):
        if step % 3 < 2:
            model, _, _ = online_em_step(model, batch, rate(step) if callable(rate) else rate)
        else:
            model, _ = em_step(model, batch)
    for one, other in zip(jax.tree.leaves(place.model), jax.tree.leaves(model), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def means(model):
    return model.components.mean


def test_only_a_part_moves_and_what_is_shown_is_what_the_other_learner_shows():
    batches = points()[:12]
    learner, data, rule = Only(Averaged(OnlineEM(np.asarray(0.3))), means), GivenSteps(batches), Epochs(1)
    place, _ = fit(learner, begin(learner, mixture(), data, rule), data, rule)
    assert np.array_equal(place.model.weights, mixture().weights)
    assert np.array_equal(place.model.components.covariance, mixture().components.covariance)
    shown = learner.result(place.model, place.state)
    assert np.array_equal(shown.weights, mixture().weights)
    assert np.array_equal(means(shown), means(place.state.center))
    assert not np.array_equal(means(shown), means(place.model))


def test_an_average_of_one_gaussian_is_that_of_its_means():
    # with rate 1 each model is that of its batch, and the center of Gaussians has the mean of their means
    batches = [Batch(part) for part in POINTS[:8]]
    model, _ = online_em(gaussian(), batches, rate=1.0, average=True)
    np.testing.assert_allclose(model.mean, POINTS[:8].mean(axis=(0, 1)), rtol=1e-12)


@pytest.mark.parametrize(
    "learner", [OnlineEM(0.2), NaturalGradientEM(0.2), SampledInertia(0.2, 10), Averaged(OnlineEM(0.2))]
)
def test_numbers_of_python_become_arrays_so_that_another_one_traces_nothing(learner):
    leaves = jax.tree.leaves(learner)
    assert leaves
    assert all(is_array(leaf) for leaf in leaves)


def no_keys(model, start, key):
    """Remember the key that a memory begins with, and have room for those of the steps."""
    return jnp.zeros((KEYS, 2), jnp.uint32).at[-1].set(jax.random.key_data(key))


def remember_key(model, batch, memory, key):
    loss = -jnp.mean(model.log_likelihood(batch))
    return Loss(loss, jnp.concatenate([memory[1:], jax.random.key_data(key)[None]]))


@pytest.mark.parametrize("whole", [False, True], ids=["a step each", "one step of several"])
def test_no_two_draws_have_the_same_key(whole):
    batches = points()[: KEYS - 1]
    data = AllAtOnce(batches) if whole else GivenSteps(batches)
    learner, rule = Gradient(remember_key, Optimizer(learning_rate=0.01), no_keys), Epochs(1)
    place, _ = fit(learner, begin(learner, CASES["Gradient"].model(), data, rule, seed=5), data, rule, seed=5)
    keys = {tuple(key) for key in np.asarray(place.memories[0]).tolist()}
    assert len(keys) == KEYS
