import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import Bernoulli, Exponential, Gaussian, Ising
from kullback.geometry import descend, flow, relative_entropy
from tiers import slow


def toy(p):
    """E[x₁ + 2x₂ + 3x₁x₂] on the independence model of two ±1 variables."""
    eta = p.expectation
    return eta[0] + 2 * eta[1] + 3 * eta[0] * eta[1]


def climb(p):
    """−E[x − 3x²] under a Gaussian."""
    return 3 * (p.covariance[0, 0] + p.mean[0] ** 2) - p.mean[0]


#: The last one is close to the vertex (+1, +1), where F is flat.
STARTS = Ising([[0.1, 0.2], [-0.6, 0.3], [0.9, -0.4], [2.5, 2.5]], interactions=())


@functools.cache
def toy_flow(metric, coordinates):
    """A flow takes seconds to compile: the laws look at the same ones."""
    return flow(toy, STARTS, metric, coordinates, until=1.0, points=50)


def assert_same_curve(first, second):
    first, second = (np.asarray(path.coordinates("expectation")) for path in (first, second))
    assert np.max(np.abs(first - second)) < 1e-6
    assert np.max(np.abs(first[:, -1] - first[:, 0])) > 0.1  # and it goes somewhere


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["expectation", "source"])
def test_the_natural_flow_is_the_same_curve_in_all_coordinates(coordinates):
    assert_same_curve(toy_flow("fisher", "natural"), toy_flow("fisher", coordinates))


@pytest.mark.slow
def test_the_natural_flow_of_gaussians_is_the_same_curve_in_all_coordinates():
    start = Gaussian([[0.5], [-1.0]], [[[0.6]], [[2.0]]])
    assert_same_curve(*(flow(climb, start, "fisher", c, until=0.5, points=20) for c in ("expectation", "source")))


@pytest.mark.slow
def test_the_euclidean_flow_is_another_curve_in_other_coordinates():
    natural, other = toy_flow("euclidean", "natural"), toy_flow("euclidean", "expectation")
    tracks = [np.asarray(path.coordinates("expectation")) for path in (natural, other)]
    for i in range(3):
        # the other one stops at the boundary: where is this one at the same times?
        there = [np.interp(other.times[i], natural.times[i], tracks[0][i, :, j]) for j in range(2)]
        assert np.max(np.abs(np.stack(there, axis=-1) - tracks[1][i])) > 0.1


@pytest.mark.slow
def test_the_natural_flow_of_a_linear_objective_is_straight_in_natural_coordinates():
    # F = ⟨c, η⟩ has ∇̃_θ F = c, so θ(t) = θ(0) − ct
    start = Gaussian([0.5], [[0.6]])
    path = flow(climb, start, coordinates="source", until=2.0, points=11)
    t = path.times[:, None]
    np.testing.assert_allclose(path.coordinates("natural"), start.natural - t * np.array([-1.0, 3.0]), rtol=1e-7)
    np.testing.assert_allclose(path.values, jax.vmap(climb)(path.members), rtol=1e-12)


@pytest.mark.slow
def test_the_euclidean_flow_leaves_the_square_and_stops_at_its_edge():
    path = toy_flow("euclidean", "expectation")
    assert np.all(path.at_boundary)
    np.testing.assert_allclose(np.max(np.abs(path.coordinates("expectation")[:, -1]), axis=-1), 1, rtol=0, atol=1e-6)
    assert np.all(path.times[:, -1] < 1)
    natural = toy_flow("fisher", "expectation")
    assert not np.any(natural.at_boundary)
    assert np.all(natural.times[:, -1] == 1.0)


@pytest.mark.slow
def test_the_euclidean_flow_in_natural_coordinates_slows_down_on_the_plateau():
    assert float(toy_flow("euclidean", "natural").values[-1, -1]) > 5.5
    assert float(toy_flow("fisher", "natural").values[-1, -1]) < 0


@pytest.mark.slow
def test_a_flow_stops_when_it_is_told_to():
    path = flow(toy, Ising([0.1, 0.2], interactions=()), until=lambda p: toy(p) < -3.9)
    assert float(path.values[-1]) < -3.9
    assert float(path.values[-2]) > -3.99
    assert not bool(path.at_boundary)


@pytest.mark.slow
def test_a_flow_that_reaches_a_vertex_to_the_last_digit_stops_there():
    path = flow(toy, Ising([0.5, -0.5], interactions=()), until=1000.0)
    assert bool(path.at_boundary)
    # x₂ is faster: its θ falls by 5 in the time in which that of x₁ climbs by 2
    assert float(path.end.expectation[1]) == pytest.approx(-1, abs=1e-15)
    assert float(path.end.natural[0]) == pytest.approx(-2 / 5 * float(path.end.natural[1]), abs=1)
    assert np.isfinite(path.members.source).all()


def test_flow_says_what_is_wrong():
    p = Bernoulli(0.4)
    f = lambda p: p.expectation[0]  # noqa: E731
    with pytest.raises(ValueError, match="until is -1"):
        flow(f, p, until=-1)
    with pytest.raises(ValueError, match="points is 1"):
        flow(f, p, points=1)
    with pytest.raises(ValueError, match="metric is 'flat'"):
        flow(f, p, metric="flat")
    with pytest.raises(ValueError, match="coordinates is 'polar'"):
        flow(f, p, coordinates="polar")


# --- descent in steps -----------------------------------------------------------------------------------


def test_descent_from_100_starts_ends_at_a_vertex_that_is_a_local_minimum():
    starts = Ising(np.random.default_rng(0).uniform(-2, 2, (100, 2)), interactions=())
    path = descend(toy, starts)
    ends = np.asarray(path.end.expectation)
    vertices = np.array([[1, -1], [-1, 1]])  # the local minima: −4 and −2
    away = np.abs(ends[:, None] - vertices).max(axis=-1)
    assert away.min(axis=1).max() < 1e-3
    assert set(away.argmin(axis=1)) == {0, 1}  # both basins are there


@pytest.mark.parametrize("coordinates", [slow("natural"), "expectation", "source"])
@pytest.mark.parametrize("metric", [slow("fisher"), "euclidean"])
def test_descent_never_leaves_the_family_and_never_climbs(metric, coordinates):
    start = Gaussian([[3.0], [-2.0]], [[[0.5]], [[4.0]]])
    goal = Gaussian([0.2], [[0.1]])
    path = descend(
        lambda p: relative_entropy(p, goal), start, step=1e3, steps=60, metric=metric, coordinates=coordinates
    )
    assert np.isfinite(path.members.source).all()
    assert bool(jnp.all(path.members.interior))
    assert bool(jnp.all(jnp.diff(path.values, axis=-1) <= 0))
    assert bool(jnp.all(path.values[:, -1] < path.values[:, 0]))


def test_a_natural_step_in_expectation_coordinates_of_a_relative_entropy_is_a_convex_combination():
    # F = D(goal, p): ∇̃_η F = η − η_goal, so a step of λ moves η the fraction λ of the way
    goal, start = Exponential(0.25), Exponential(2.0)
    path = descend(lambda p: relative_entropy(goal, p), start, step=0.3, steps=1, coordinates="expectation")
    assert float(path.end.expectation[0]) == pytest.approx(0.7 * 0.5 + 0.3 * 4.0, rel=1e-12)


def test_descend_says_what_is_wrong():
    p = Bernoulli(0.4)
    with pytest.raises(ValueError, match="step is 0"):
        descend(lambda p: p.expectation[0], p, step=0)
    with pytest.raises(ValueError, match="steps is 0"):
        descend(lambda p: p.expectation[0], p, steps=0)
