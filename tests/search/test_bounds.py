"""Folding into bounds, and minima on them and inside."""

import numpy as np
import pytest
from scipy.optimize import Bounds

from kullback import minimize
from kullback.search._bounds import check_box

ONES = np.ones(4)


@pytest.mark.parametrize(
    "bounds",
    [(-1, 2), [(-1, 2), (None, 3), (0, None), (None, None)], Bounds([-1, -np.inf, 0, -np.inf], [2, 3, np.inf, np.inf])],
    ids=["one pair", "pairs", "scipy"],
)
def test_every_point_is_folded_inside_and_points_inside_come_back(bounds):
    box = check_box(bounds, 0.2 * ONES)
    rng = np.random.default_rng(0)
    far = rng.normal(0, 50, (200, 4))
    inside = box.fold(far)
    assert box.contains(inside).all()
    np.testing.assert_allclose(box.fold(box.unfold(inside)), inside, atol=1e-9)
    corners = np.clip(np.where(rng.random((20, 4)) < 0.5, -1e9, 1e9), box.lower, box.upper)
    np.testing.assert_allclose(box.fold(box.unfold(corners)), corners, rtol=1e-12)


def test_folding_is_smooth_and_leaves_the_middle_alone():
    box = check_box((0, 1), 5.0 * np.ones(1))
    y = np.linspace(-3, 4, 700_001)[:, None]
    x = box.fold(y)
    slope = np.diff(x, axis=0) / 1e-5
    assert np.abs(np.diff(slope, axis=0)).max() < 1e-3  # no kink: the slope itself is continuous
    middle = (y >= 0.1) & (y <= 0.9)
    np.testing.assert_array_equal(x[middle], y[middle])


def test_no_bound_at_all_is_none():
    assert check_box([(None, None), (-np.inf, np.inf)], np.ones(2)) is None


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((1, 0), "bounds has 1 and 0 for coordinate 0"),
        ([(0, 1), (2, 2)], "bounds has 2 and 2 for coordinate 1"),
        ([(0, 1)] * 3, "one for each of the 2"),
        ("ab", "one for each of the 2"),
        (3.0, "one for each of the 2"),
        ([(0, np.nan), (0, 1)], "coordinate 0"),
        (Bounds([0, 0, 0], [1, 1, 1]), "x0 has 2 coordinates"),
    ],
)
def test_bad_bounds_get_one_sentence(bounds, words):
    with pytest.raises(ValueError, match=words):
        minimize(np.sum, [0.5, 0.5], bounds=bounds)


def weighted(center):
    """An ellipsoid of condition 100 around a center that may be outside of [0, 1]; its least value inside is 0."""
    weights = np.logspace(0, 2, len(center))
    least = np.sum(weights * (np.clip(center, 0, 1) - center) ** 2)

    def f(x):
        assert np.all((x >= 0) & (x <= 1))
        return float(np.sum(weights * (x - center) ** 2) - least)

    return f


@pytest.mark.parametrize("place", [-0.5, 0.3], ids=["on the bounds", "inside"])
def test_minimum_on_the_bounds_and_inside(place):
    center = np.array([place, 0.5, 1 - place, place, 0.4])
    result = minimize(weighted(center), np.full(5, 0.6), 0.3, bounds=(0, 1), target=1e-9, budget=3000)
    assert result.stopped == "target"
    np.testing.assert_allclose(result.x, np.clip(center, 0, 1), atol=1e-4)
