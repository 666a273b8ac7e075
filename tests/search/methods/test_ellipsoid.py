"""Every method with a full covariance matrix learns a quadratic with axes askew, of condition 10⁶."""

import numpy as np
import pytest

from kullback.search import CMA, XNES, CrossEntropy, NaturalGradient
from search.helpers import best_values, rotated_ellipsoid
from tiers import slow

START = np.ones(10)

#: With how many evaluations it is solved to 1e-8: about a third more than the median.
FULL = {
    "cma": (CMA(START, 0.5), 5000),
    "exponential": (XNES(START, 0.5), 11500),
    "natural": (NaturalGradient(START, 0.5), 29000),
    "expectation": (NaturalGradient(START, 0.5, coordinates="expectation"), 38000),
    "cross_entropy": (CrossEntropy(START, 0.5), 37000),
}


@pytest.mark.parametrize(
    "name",
    [name if evaluations < 20_000 else slow(name) for name, (_, evaluations) in FULL.items()],
)
def test_rotated_ellipsoid(name):
    search, evaluations = FULL[name]
    assert best_values(search, rotated_ellipsoid(10), evaluations).min() < 1e-8


def test_a_diagonal_covariance_does_not_learn_it():
    search = XNES(START, 0.5, covariance="diagonal")
    assert best_values(search, rotated_ellipsoid(10), 11500).min() > 1e-2
