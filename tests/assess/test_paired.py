"""Comparing candidates row by row."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_rel

from kullback.assess._paired import Mean, choose_simplest, gap, mean_of

RNG = np.random.default_rng(0)


def test_the_error_is_that_of_a_paired_t_test():
    hard = RNG.normal(scale=10.0, size=200)
    one, other = hard + RNG.normal(size=200), hard - 0.3 + RNG.normal(size=200)
    found = gap(one, other)
    assert found.value / found.standard_error == pytest.approx(ttest_rel(one, other).statistic, rel=1e-12)
    assert found.standard_error < 0.2 * math.hypot(mean_of(one).standard_error, mean_of(other).standard_error)


def test_an_impossible_row_is_infinitely_far_behind():
    one = np.zeros(5)
    assert gap(one, np.array([0, 0, -np.inf, 0, 0])) == Mean(math.inf, math.inf)
    worst = np.full(5, -np.inf)
    assert gap(worst, worst) == Mean(0.0, 0.0)
    assert mean_of(np.array([1.0])) == Mean(1.0, math.inf)


@pytest.mark.parametrize(
    ("gaps", "complexities", "chosen"),
    [
        ([(0, 0), (0.1, 0.2), (0.3, 0.2)], [5, 3, 1], 1),
        ([(0, 0), (0.1, 0.2), (0.15, 0.2)], [5, 3, 3], 1),
        ([(0, 0), (0.1, 0.05)], [5, 3], 0),
        ([(0.1, 0.2), (0, 0)], [7, 5], 1),
        ([(0, 0), (0.1, 0.2)], [5, None], 0),
        ([(0, 0), (0.5, 0.2)], [5, None], 0),
        ([(0, 0), (math.inf, math.inf)], [5, 1], 0),
    ],
)
def test_the_simplest_within_one_error_is_chosen(gaps, complexities, chosen):
    assert choose_simplest([Mean(*each) for each in gaps], complexities) == chosen
