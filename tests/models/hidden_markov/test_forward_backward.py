"""The recursion of hidden chains against the sum over all paths, with likelihoods from everyday to absurd."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.models.hidden_markov._chain import Chain, Observed
from kullback.models.hidden_markov._forward_backward import filter_states, smooth_states

K, T = 3, 6
PATHS = np.array(list(itertools.product(range(K), repeat=T)))
RNG = np.random.default_rng(3)
INITIAL, TRANSITIONS = RNG.dirichlet(np.ones(K)), RNG.dirichlet(np.ones(K), K)
LEFT_TO_RIGHT = np.array([[0.5, 0.5, 0.0], [0.0, 0.7, 0.3], [0.0, 0.0, 1.0]])
SCORES = RNG.normal(size=(T, K))

forward = quick(filter_states)
both = quick(smooth_states)


def given(scores, first=(True, *(False,) * (T - 1)), before=INITIAL):
    return Observed(jnp.asarray(scores), jnp.asarray(first), jnp.asarray(before))


def by_enumeration(initial, transitions, scores):
    """Return the log-likelihood, the posterior and the transitions: sums over paths, from the largest term."""
    with np.errstate(divide="ignore"):
        joint = np.log(initial)[PATHS[:, 0]] + np.log(transitions)[PATHS[:, :-1], PATHS[:, 1:]].sum(axis=1)
    joint = joint + scores[np.arange(T), PATHS].sum(axis=1)
    total = np.logaddexp.reduce(joint)
    weight = np.exp(joint - total)
    states = np.stack([np.bincount(PATHS[:, t], weight, K) for t in range(T)])
    pairs = sum(np.bincount(PATHS[:, t] * K + PATHS[:, t + 1], weight, K * K) for t in range(T - 1))
    return total, states, pairs.reshape(K, K)


def crossing():
    """Return scores under which a path that has long been hopeless wins in the end."""
    scores = np.full((T, K), -2000.0)
    scores[:2, 0], scores[:2, 1] = 0.0, -400.0
    scores[2:, 0], scores[2:, 1] = -300.0, 0.0
    return scores


CASES = {
    "everyday": (INITIAL, TRANSITIONS, SCORES),
    "far below": (INITIAL, TRANSITIONS, SCORES - 1e5),
    "far apart": (INITIAL, TRANSITIONS, 1e5 * SCORES),
    "zeros": (np.array([1.0, 0.0, 0.0]), LEFT_TO_RIGHT, SCORES),
    "zeros where the data is likely": (np.array([1.0, 0.0, 0.0]), LEFT_TO_RIGHT, 1e3 * (SCORES - 10 * np.arange(K))),
    "a first state that cannot be": (np.array([1.0, 0.0, 0.0]), LEFT_TO_RIGHT, SCORES + 1e4 * np.array([-1, 1, 0])),
    "paths that never meet": (np.array([0.5, 0.5, 0.0]), np.eye(K), crossing()),
}


@pytest.mark.parametrize("name", CASES)
def test_the_recursion_is_the_sum_over_all_paths(name):
    initial, transitions, scores = CASES[name]
    total, states, pairs = by_enumeration(initial, transitions, scores)
    chain = Chain(jnp.asarray(initial), jnp.asarray(transitions))
    found = both(chain, given(scores), np.ones(T), np.asarray(T - 1))
    assert float(found.evidence.sum()) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(found.share, states, rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(found.transitions, pairs, rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(found.states, states[-1], rtol=1e-8, atol=1e-300)
    alone = forward(chain, given(scores))
    assert float(alone.evidence.sum()) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(alone.states[-1], states[-1], rtol=1e-8, atol=1e-300)


@pytest.mark.parametrize("scores", [np.full(K, -np.inf), np.array([-np.inf, -np.inf, 0.0])])
def test_a_row_that_cannot_be_says_nothing_of_the_states(scores):
    """All states exclude it, or only those that can be reached."""
    rows = SCORES.copy()
    rows[1] = scores
    initial, transitions = np.array([1.0, 0.0, 0.0]), LEFT_TO_RIGHT
    _, states, pairs = by_enumeration(initial, transitions, np.where(np.arange(T)[:, None] == 1, 0, rows))
    chain = Chain(jnp.asarray(initial), jnp.asarray(transitions))
    found = both(chain, given(rows), np.ones(T), np.asarray(T - 1))
    assert found.evidence[1] == -np.inf
    assert np.isfinite(np.delete(found.evidence, 1)).all()
    np.testing.assert_allclose(found.share, states, rtol=1e-10)
    np.testing.assert_allclose(found.transitions, pairs, rtol=1e-10)
    np.testing.assert_allclose(forward(chain, given(rows)).states[-1], states[-1], rtol=1e-10)


def test_a_chain_that_has_ended_begins_anew():
    """State 2 leads nowhere: what comes after it cannot be, and is no reason for NaN."""
    chain = Chain(jnp.array([0.0, 0.0, 1.0]), jnp.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 0.0]]))
    found = both(chain, given(SCORES), np.ones(T), np.asarray(T - 1))
    assert np.isfinite(found.share).all()
    assert np.isfinite(found.transitions).all()
    np.testing.assert_allclose(found.share.sum(axis=1), 1, rtol=1e-12)
    assert found.evidence[1] == -np.inf


@pytest.mark.parametrize("name", ["everyday", "far apart"])
def test_32_bits_stay_32_bits(name):
    initial, transitions, scores = (np.asarray(part, np.float32) for part in CASES[name])
    total, states, pairs = by_enumeration(initial, transitions, scores)
    chain = Chain(jnp.asarray(initial), jnp.asarray(transitions))
    found = both(chain, given(scores, before=initial), np.ones(T, np.float32), np.asarray(T - 1))
    assert {part.dtype for part in found} == {jnp.dtype("float32")}
    assert float(found.evidence.sum()) == pytest.approx(total, rel=1e-5)
    np.testing.assert_allclose(found.share, states, rtol=1e-4, atol=1e-30)
    np.testing.assert_allclose(found.transitions, pairs, rtol=1e-4, atol=1e-30)
