"""The phases of wake and sleep against autodiff, and their means against sums over all states of a small machine."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.core import Batch
from kullback.learning import (
    AllAtOnce,
    Epochs,
    Gradient,
    Optimizer,
    ReweightedWakeSleep,
    Sleep,
    Wake,
    WakeSleep,
    begin,
    decaying_adam,
    fit,
    sleep,
    wake,
    wake_q,
)
from kullback.models import HelmholtzMachine, Recognition
from models.helmholtz.small_machine import (
    HIDDEN,
    VISIBLE,
    exact_machine,
    joint_table,
    random_machine,
    recognition_table,
)
from tiers import slow

MACHINE = random_machine(5)
JOINT, GUESS = joint_table(MACHINE), recognition_table(MACHINE)
DATA = np.random.default_rng(0).dirichlet(np.ones(16))
SEEN = np.random.default_rng(1).random((16, 4)) < 0.7
PAIRS = np.broadcast_to(VISIBLE[:, None], (16, 32, 4)), np.broadcast_to(HIDDEN, (16, 32, 5))


def close(found, expected, tolerance=1e-10):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def gradients(slopes):
    return [slope.gradient for slope in slopes]


def observed_log_prob(machine, v, h, seen):
    """Return log p(v, h) with the entries of v that are not seen summed out, through σ itself."""
    on = jax.nn.sigmoid(h[..., :3] @ machine.generation[0][:-1] + machine.generation[0][-1])
    each = jnp.log(jnp.where(v == 1, on, 1 - on))
    rest = machine.log_prob(v, h) - jnp.sum(each, axis=-1)
    return rest + jnp.sum(jnp.where(seen, each, 0), axis=-1)


@pytest.mark.parametrize("seen", [slow(None), SEEN], ids=["whole", "gaps"])
def test_phases_are_gradients_of_the_same_draws(seen):
    weight = np.where(np.arange(16) == 3, 0.0, DATA)  # a row that does not count
    batch = Batch(VISIBLE, weight, observed=seen)
    there = np.ones((16, 4), bool) if seen is None else seen

    @quick
    def answers(machine, key):
        awake = Wake.of(machine, batch, key, 7, weighted=True)
        v = jnp.broadcast_to(jnp.asarray(batch.values)[:, None], (16, 7, 4))
        shown = v if seen is None else jnp.broadcast_to(machine.fill(batch.values, seen)[:, None], v.shape)
        h = awake.found.hidden

        def of_p(m):
            return jnp.sum(awake.share * observed_log_prob(m, v, h, there[:, None]))

        def of_q(m):
            return jnp.sum(awake.share * m.recognition_log_prob(shown, h))

        ratio = observed_log_prob(machine, v, h, there[:, None]) - machine.recognition_log_prob(shown, h)
        generation, top = wake(machine, awake)
        found = gradients(generation), top, gradients(wake_q(machine, awake))
        p, q = jax.grad(of_p)(machine), jax.grad(of_q)(machine)
        return found, (list(p.generation), p.top, list(q.recognition)), awake.share, ratio, awake.bound(batch)

    found, expected, share, ratio, bound = answers(MACHINE, jax.random.key(0))
    close(found, expected)
    weights = np.exp(ratio) / np.sum(np.exp(ratio), axis=1, keepdims=True)
    np.testing.assert_allclose(share, weights * (weight / weight.sum())[:, None], rtol=1e-10)
    np.testing.assert_allclose(bound, weight @ np.log(np.mean(np.exp(ratio), axis=1)) / weight.sum(), rtol=1e-10)


def all_guesses(machine):
    """Return all states of what is hidden as draws of each row."""
    layers = tuple(jnp.asarray(part) for part in np.split(PAIRS[1], [3], axis=-1))
    odds = [h @ weights[:-1] + weights[-1] for h, weights in zip(layers, machine.generation, strict=True)]
    first = VISIBLE[:, None] @ machine.recognition[0][:-1] + machine.recognition[0][-1]
    second = layers[0] @ machine.recognition[1][:-1] + machine.recognition[1][-1]
    return Recognition(layers, jnp.zeros((16, 32)), tuple(odds), (first, second))


def test_without_weights_wake_q_is_0_on_average():
    @quick
    def mean(machine):
        awake = Wake(jnp.asarray(VISIBLE), all_guesses(machine), jnp.asarray(GUESS * DATA[:, None]), None)
        return gradients(wake_q(machine, awake))

    close(mean(MACHINE), [np.zeros((5, 3)), np.zeros((4, 2))], 1e-12)


def test_one_draw_has_a_weight_of_1_and_is_refused():
    found = quick(lambda m, key: m.recognize(key, VISIBLE, 1).weights)(MACHINE, jax.random.key(0))
    assert np.all(np.asarray(found) == 1)
    with pytest.raises(ValueError, match="draws is 1: one draw has nothing to be weighed against"):
        ReweightedWakeSleep(draws=1)
    assert WakeSleep().draws == 1
    assert ReweightedWakeSleep().draws == 10


def test_sleep_lowers_the_relative_entropy_of_the_guess_from_the_posterior():
    posterior, likelihood = JOINT / JOINT.sum(axis=1, keepdims=True), JOINT.sum(axis=1)

    @quick
    def both(machine):
        def apart(m):
            each = posterior * (np.log(posterior) - m.recognition_log_prob(*PAIRS))
            return likelihood @ jnp.sum(each, axis=1)

        def of_state(v, h):
            units = [v, h[:3], h[3:]]
            odds = [below @ w[:-1] + w[-1] for below, w in zip(units[:-1], machine.recognition, strict=True)]
            asleep = Sleep(tuple(part[None] for part in units), tuple(part[None] for part in odds))
            return gradients(sleep(asleep))

        each = jax.vmap(of_state)(PAIRS[0].reshape(-1, 4), PAIRS[1].reshape(-1, 5))
        found = [jnp.tensordot(JOINT.ravel(), part, axes=1) for part in each]
        return found, [-part for part in jax.grad(apart)(machine).recognition]

    close(*both(MACHINE))


# --- the objectives: means over many keys against means over all states ---------------------------------------


def expected_share(draws):
    """Return the mean share of each state among the draws of a row, and the mean bound, by all pairs of states."""
    weight = JOINT / GUESS
    if draws == 1:
        return DATA[:, None] * GUESS, DATA @ np.sum(GUESS * np.log(weight), axis=1)
    total = weight[:, :, None] + weight[:, None]
    pairs = GUESS[:, :, None] * GUESS[:, None]
    share = 2 * np.sum(pairs * weight[:, :, None] / total, axis=2)
    return DATA[:, None] * share, DATA @ np.sum(pairs * np.log(total / 2), axis=(1, 2))


KEYS = 4000


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "guessing"), [(WakeSleep(), 0.0), (ReweightedWakeSleep(2), 0.5)])
def test_objectives_have_the_gradients_and_the_bound_of_all_states_on_average(objective, guessing):
    share, bound = expected_share(objective.draws)
    batch = Batch(VISIBLE, 3 * DATA)

    @quick
    def answers(machine, keys):
        def one(key):
            return jax.value_and_grad(lambda m: objective(m, batch, None, key).value)(machine)

        def mean(m):
            q = m.recognition_log_prob(*PAIRS)
            awake = jnp.sum(share * (m.log_prob(*PAIRS) + guessing * q))
            return -awake - (1 - guessing) * jnp.sum(JOINT * q)

        found = jax.vmap(one)(keys)
        error = jax.tree.map(lambda leaf: jnp.std(leaf, axis=0, ddof=1) / np.sqrt(KEYS), found)
        return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), found), error, jax.grad(mean)(machine)

    found, error, slope = answers(MACHINE, jax.random.split(jax.random.key(0), KEYS))
    z = jax.tree.map(lambda one, other, e: np.ravel((one - other) / e), found, (jnp.asarray(-bound), slope), error)
    z = np.concatenate(jax.tree.leaves(z))
    assert z.size == 1 + 27 + 23
    assert np.all(np.abs(z) < 5)
    assert 0.5 < np.sqrt(np.mean(z**2)) < 2


@pytest.mark.slow
def test_where_the_guess_is_the_posterior_the_wake_phase_is_the_gradient_of_the_likelihood():
    """EM's gradient: shares are equal, so the mean over draws is that over the posterior."""
    machine, count = exact_machine(3), 20_000

    @quick
    def answers(machine, key):
        awake = Wake.of(machine, Batch(VISIBLE, DATA), key, count, weighted=True)
        generation, top = wake(machine, awake)
        exact = jax.grad(lambda m: DATA @ m.log_likelihood(Batch(VISIBLE)))(machine)
        return (gradients(generation), top), (list(exact.generation), exact.top), awake.share

    found, expected, share = answers(machine, jax.random.key(0))
    np.testing.assert_allclose(share, np.broadcast_to(DATA[:, None] / count, (16, count)), rtol=1e-10)
    close(found, expected, 5 * 0.5 / np.sqrt(count))  # units vary by ½ at most, each row by itself


@pytest.mark.slow
def test_many_draws_have_the_gradients_of_the_posterior():
    posterior = DATA[:, None] * JOINT / JOINT.sum(axis=1, keepdims=True)

    @quick
    def answers(machine, key):
        awake = Wake.of(machine, Batch(VISIBLE, DATA), key, 8000, weighted=True)
        generation, top = wake(machine, awake)
        p = jax.grad(lambda m: jnp.sum(posterior * m.log_prob(*PAIRS)))(machine)
        q = jax.grad(lambda m: jnp.sum(posterior * m.recognition_log_prob(*PAIRS)))(machine)
        found = gradients(generation), top, gradients(wake_q(machine, awake))
        return found, (list(p.generation), p.top, list(q.recognition))

    close(*answers(MACHINE, jax.random.key(0)), 2e-2)


# --- learning -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "nats"), [(WakeSleep(4), 0.2), (ReweightedWakeSleep(10), 0.05)])
def test_a_small_machine_learns_a_law_of_16_patterns(objective, nats):
    """Wake-sleep follows no gradient of the likelihood, and ends some way below; independent units end 0.31 below."""
    start = HelmholtzMachine.start(DATA @ VISIBLE, (6, 2), 0)
    learner = Gradient(objective, Optimizer(decaying_adam, learning_rate=3e-2, delay=200, power=0.7))
    data, rule = AllAtOnce(Batch(np.tile(VISIBLE, (8, 1)), np.tile(16 * DATA, 8))), Epochs(1000)
    place, _ = fit(learner, begin(learner, start, data, rule), data, rule)
    found, least = DATA @ place.model.log_likelihood(Batch(VISIBLE)), DATA @ np.log(DATA)
    on = np.where(VISIBLE == 1, DATA @ VISIBLE, 1 - DATA @ VISIBLE)
    assert DATA @ np.log(on).sum(axis=1) < least - 0.3
    assert least - nats < found < least
