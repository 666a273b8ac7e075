import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import Beta, Categorical, Dirichlet, Gamma, Gaussian, Poisson, VonMises
from kullback.geometry import fisher_rao_distance, geodesic

PAIRS = [
    (Gaussian([0.0, 1.0], [[1.0, 0.2], [0.2, 0.5]]), Gaussian([2.0, -1.0], [[0.3, 0.0], [0.0, 2.0]])),
    (Gamma(2.0, 3.0), Gamma(0.5, 1.0)),
    (Beta(2.0, 3.0), Beta(0.5, 1.0)),
    (VonMises(0.3, 2.0), VonMises(1.5, 0.5)),
    (Categorical([0.2, 0.5, 0.3]), Categorical([0.6, 0.1, 0.3])),
]
TIMES = np.linspace(0, 1, 5)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda m: type(m[0]).__name__)
@pytest.mark.parametrize(("kind", "coordinates"), [("e", "natural"), ("m", "expectation")])
def test_e_and_m_geodesics_are_straight_in_their_coordinates(pair, kind, coordinates):
    p, q = pair
    start, end = p.coordinates(coordinates), q.coordinates(coordinates)
    straight = start + TIMES[:, None] * (end - start)
    found = geodesic(p, q, kind)(TIMES).coordinates(coordinates)
    np.testing.assert_allclose(found, straight, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(geodesic(p, q, kind)(0.25).coordinates(coordinates), straight[1], rtol=1e-9)


@pytest.mark.parametrize("pair", [PAIRS[0], PAIRS[4]], ids=lambda m: type(m[0]).__name__)
def test_the_fisher_rao_geodesic_has_constant_speed(pair):
    p, q = pair
    curve = geodesic(p, q)
    np.testing.assert_allclose(curve(1.0).source, q.source, rtol=1e-7, atol=1e-9)
    whole = float(fisher_rao_distance(p, q))
    for t in (0.3, 0.8):
        assert float(fisher_rao_distance(p, curve(t))) == pytest.approx(t * whole, rel=1e-7)
        assert float(fisher_rao_distance(curve(t), q)) == pytest.approx((1 - t) * whole, rel=1e-7)


def test_the_m_geodesic_of_gaussians_far_from_the_origin_keeps_its_digits():
    p, q = Gaussian([1e8], [[1.0]]), Gaussian([1e8 + 2], [[1.0]])
    middle = geodesic(p, q, "m")(0.5)
    assert float(middle.covariance[0, 0]) == pytest.approx(2.0, rel=1e-12)


def test_geodesic_says_what_is_wrong():
    with pytest.raises(ValueError, match="kind is 'x'"):
        geodesic(Poisson(1.0), Poisson(2.0), "x")
    with pytest.raises(ValueError, match="must be of one family"):
        geodesic(Poisson(1.0), Gamma(1.0, 2.0), "e")
    with pytest.raises((TypeError, ValueError), match="Dirichlet"):
        geodesic(Dirichlet([1.0, 2.0]), Dirichlet([2.0, 2.0]))
    assert jnp.isfinite(geodesic(Poisson(1.0), Poisson(2.0))(0.5).rate)
