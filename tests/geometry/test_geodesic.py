import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.families import Beta, Categorical, Gamma, Gaussian, Poisson, VonMises
from kullback.geometry import fisher_rao_distance, geodesic

PAIRS = [
    (Gaussian([0.0, 1.0], [[1.0, 0.2], [0.2, 0.5]]), Gaussian([2.0, -1.0], [[0.3, 0.0], [0.0, 2.0]])),
    (Gamma(2.0, 3.0), Gamma(0.5, 1.0)),
    (Beta(2.0, 3.0), Beta(0.5, 1.0)),
    (VonMises(0.3, 2.0), VonMises(1.5, 0.5)),
    (Categorical([0.2, 0.5, 0.3]), Categorical([0.6, 0.1, 0.3])),
]
TIMES = np.linspace(0, 1, 5)


def on_the_way(p, q, times):
    """Coordinates in which each kind of geodesic should be straight: along it, and at its ends."""
    found = {}
    for kind, coordinates in (("e", "natural"), ("m", "expectation")):
        curve, ends = geodesic(p, q, kind), (p.coordinates(coordinates), q.coordinates(coordinates))
        found[kind] = curve(times).coordinates(coordinates), ends
    return found


@pytest.mark.parametrize("pair", PAIRS, ids=lambda m: type(m[0]).__name__)
def test_e_and_m_geodesics_are_straight_in_their_coordinates(pair):
    for found, (start, end) in quick(on_the_way)(*pair, TIMES).values():
        straight = start + TIMES[:, None] * (end - start)
        np.testing.assert_allclose(found, straight, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("pair", [PAIRS[0], PAIRS[4]], ids=lambda m: type(m[0]).__name__)
def test_a_geodesic_takes_one_time_or_several(pair):
    for found, (start, end) in quick(on_the_way)(*pair, 0.25).values():
        np.testing.assert_allclose(found, start + 0.25 * (end - start), rtol=1e-9)


@pytest.mark.parametrize("pair", [PAIRS[0], PAIRS[4]], ids=lambda m: type(m[0]).__name__)
def test_the_fisher_rao_geodesic_has_constant_speed(pair):
    p, q = pair
    times = np.array([0.3, 0.8, 1.0])

    @quick
    def answers(p, q):
        there = geodesic(p, q)(times)
        starts, ends = (jax.tree.map(lambda leaf: jnp.stack([jnp.asarray(leaf)] * 3), m) for m in (p, q))
        whole, gone, left = (fisher_rao_distance(*ab) for ab in ((p, q), (starts, there), (there, ends)))
        return there.source, whole, gone, left

    source, whole, gone, left = answers(p, q)
    np.testing.assert_allclose(source[-1], q.source, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(gone[:2], times[:2] * whole, rtol=1e-7)
    np.testing.assert_allclose(left[:2], (1 - times[:2]) * whole, rtol=1e-7)


def test_the_m_geodesic_of_gaussians_far_from_the_origin_keeps_its_digits():
    p, q = Gaussian([1e8], [[1.0]]), Gaussian([1e8 + 2], [[1.0]])
    middle = geodesic(p, q, "m")(0.5)
    assert float(middle.covariance[0, 0]) == pytest.approx(2.0, rel=1e-12)


def test_geodesic_says_what_is_wrong():
    with pytest.raises(ValueError, match="kind is 'x'"):
        geodesic(Poisson(1.0), Poisson(2.0), "x")
    with pytest.raises(ValueError, match="must be of one family"):
        geodesic(Poisson(1.0), Gamma(1.0, 2.0), "e")
    assert jnp.isfinite(geodesic(Poisson(1.0), Poisson(2.0))(0.5).rate)
