"""True processes: what they say of themselves against enumeration of words, and draws."""

import itertools

import numpy as np
import pytest

from kullback.models import FiniteProcess, even_process, golden_mean, nonunifilar, second_order
from models.process.fixtures import ENTROPY_RATES, TRUTHS


def word_law(truth, length):
    """Return the probability of each word, by products of matrices."""
    found = {}
    for word in itertools.product(range(truth.symbols), repeat=length):
        row = truth.stationary
        for symbol in word:
            row = row @ truth.transition[:, symbol]
        found[word] = row.sum()
    return found


def entropy(law):
    p = np.array([chance for chance in law.values() if chance > 0])
    return -(p * np.log(p)).sum()


@pytest.mark.parametrize("name", TRUTHS)
def test_entropy_rates_are_those_that_are_known(name):
    assert abs(TRUTHS[name].entropy_rate - ENTROPY_RATES[name]) < 1e-8


@pytest.mark.slow
def test_the_entropy_rate_of_a_process_that_hides_its_state_is_that_of_long_words():
    rng = np.random.default_rng(0)
    truth = FiniteProcess(rng.dirichlet(np.ones(4), 2).reshape(2, 2, 2))
    blocks = [entropy(word_law(truth, length)) for length in (11, 12)]
    gap = blocks[1] - blocks[0] - truth.entropy_rate
    assert 0 <= gap < 1e-6


@pytest.mark.parametrize("name", TRUTHS)
def test_the_stationary_law_stays(name):
    truth = TRUTHS[name]
    np.testing.assert_allclose(truth.stationary @ truth.transition.sum(axis=1), truth.stationary, atol=1e-15)
    assert truth.stationary.sum() == pytest.approx(1, abs=1e-15)


def test_states_that_are_left_for_ever_are_taken_out():
    even = even_process()
    table = np.zeros((3, 2, 3))
    table[1:, :, 1:], table[0, 0, 1], table[0, 1, 0] = even.transition, 0.5, 0.5
    found = FiniteProcess(table)
    assert found.states == 2
    np.testing.assert_array_equal(found.transition, even.transition)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUTHS)
def test_draws_have_the_law_of_words(name):
    truth, length, blocks = TRUTHS[name], 3, 40
    drawn = np.asarray(truth.sample(1, 40_000))
    words = np.lib.stride_tricks.sliding_window_view(drawn, length)
    for word, chance in word_law(truth, length).items():
        hit = (words == word).all(axis=1)[: len(words) // blocks * blocks].reshape(blocks, -1).mean(axis=1)
        assert abs(hit.mean() - chance) <= 4 * hit.std(ddof=1) / blocks**0.5 + 1e-12


def test_a_golden_mean_is_a_chain_and_a_zero_is_followed_by_a_one():
    drawn = np.asarray(golden_mean().sample(0, 1000))
    assert (drawn[1:][drawn[:-1] == 0] == 1).all()


def test_what_is_no_process_is_refused():
    with pytest.raises(ValueError, match="transition has shape"):
        FiniteProcess(np.ones((2, 2)))
    with pytest.raises(ValueError, match="sums to"):
        FiniteProcess(np.full((2, 2, 2), 0.3))
    with pytest.raises(ValueError, match=r"must be in \[0, 1\]"):
        FiniteProcess(np.full((1, 2, 1), np.nan))
    with pytest.raises(ValueError, match="2 sets of states"):
        FiniteProcess(np.eye(2)[:, None, :])
    with pytest.raises(ValueError, match="four numbers"):
        second_order([0.5, 0.5])
    with pytest.raises(ValueError, match="never left"):
        nonunifilar(0.0, 0.5)
    with pytest.raises(ValueError, match="length is 0"):
        even_process().sample(0, 0)
