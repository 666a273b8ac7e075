"""Betting confidence sequences: the capital step by step, and coverage at every look."""

import math

import numpy as np
import pytest

from kullback.assess import BettingSequence

RNG = np.random.default_rng(0)


def test_batches_are_rows_one_by_one():
    values = RNG.uniform(-1, 3, size=40)
    whole, single = BettingSequence(-1.0, 3.0, 0.1), BettingSequence(-1.0, 3.0, 0.1)
    whole.update(values)
    for value in values:
        single.update([value])
    np.testing.assert_allclose(whole.interval, single.interval, atol=1e-12)
    assert whole.count == single.count == 40


def test_a_mean_is_out_when_a_gambler_is_rich():
    x, alpha, mean = RNG.random(200) < 0.2, 0.05, 0.4
    sequence = BettingSequence(0.0, 1.0, alpha)
    sequence.update(x)
    up = down = 1.0
    out, total, squares = False, 0.5, 0.25
    for t, value in enumerate(x.astype(float), start=1):
        stake = math.sqrt(2 * math.log(2 / alpha) / (squares / t * t * math.log(1 + t)))
        up *= 1 + min(stake, 0.5 / mean) * (value - mean)
        down *= 1 - min(stake, 0.5 / (1 - mean)) * (value - mean)
        out |= max(up, down) / 2 >= 1 / alpha
        total += value
        squares += (value - total / (t + 1)) ** 2
    assert out == (not sequence.interval[0] <= mean <= sequence.interval[1]) is True


def test_it_holds_at_every_look():
    missed = sum(_is_missed(np.random.default_rng([5, stream]).random(400) < 0.1, 0.1) for stream in range(20))
    assert missed <= 3


def _is_missed(values, mean):
    sequence = BettingSequence(0.0, 1.0, 0.05)
    sequence.update(values)  # the intersection over all looks
    return not sequence.interval[0] <= mean <= sequence.interval[1]


@pytest.mark.parametrize("arguments", [(1.0, 0.0, 0.05), (0.0, math.inf, 0.05), (0.0, 1.0, 0.0), (0.0, 1.0, 1.0)])
def test_bad_arguments(arguments):
    with pytest.raises(ValueError, match=r"low and high are|alpha is"):
        BettingSequence(*arguments)


@pytest.mark.parametrize("values", [[2.0], [-0.1], [math.nan]])
def test_values_outside_the_bounds_are_refused(values):
    with pytest.raises(ValueError, match="values must be from 0 to 1"):
        BettingSequence(0.0, 1.0, 0.05).update(values)
