"""Geodesics by integration: against closed forms, a solver of boundary value problems, and their own laws."""

import functools

import jax
import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.special import polygamma

from kullback.families import (
    Beta,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Independent,
    Ising,
    Poisson,
    Product,
    VonMises,
)
from kullback.geometry import (
    exponential_map,
    fisher_rao_distance,
    geodesic,
    jeffreys,
    logarithm_map,
)
from kullback.geometry._numerical_geodesic import connect, shoot
from tiers import slow

#: Two batches of members of families with a closed form.
KNOWN = {
    "Poisson": (Poisson([1.5, 100.0, 0.02]), Poisson([6.0, 3.0, 0.5])),
    "Exponential": (Exponential([0.7, 30.0]), Exponential([5.0, 0.1])),
    "Categorical": (Categorical([0.1, 0.2, 0.3, 0.4]), Categorical([0.5, 0.05, 0.4, 0.05])),
    "DiagonalGaussian": (DiagonalGaussian([0.0, 1.0], [2.0, 0.5]), DiagonalGaussian([3.0, 1.0], [1.0, 4.0])),
    "Gaussian": (Gaussian([0.0, 1.0], [[2, 0.3], [0.3, 1]]), Gaussian([2.0, -1.0], [[1, -0.3], [-0.3, 3]])),
}
#: And of families without.
UNKNOWN = {
    "Gamma": (Gamma([1.0, 2.0, 0.01, 3.0], [2.0, 1.0, 1.0, 1e-3]), Gamma([3.0, 0.3, 50.0, 4.0], [1.0, 5.0, 20.0, 1e3])),
    "Dirichlet": (Dirichlet([[1.0, 2.0, 3.0], [1e-2, 1.0, 1e2]]), Dirichlet([[5.0, 0.5, 0.2], [50.0, 0.1, 1.0]])),
    "VonMises": (VonMises([0.0, 0.0, 0.0], [2.0, 1e-3, 1e-9]), VonMises([2.5, 3.0, 1.0], [0.5, 30.0, 3.0])),
    "Ising": (Ising([0.1, 0.2], [0.3]), Ising([-1.0, 0.5], [-0.5])),
}


@pytest.mark.parametrize("name", ["Poisson", *map(slow, list(KNOWN)[1:])])
def test_it_finds_what_the_closed_forms_say(name):
    p, q = KNOWN[name]
    line = connect(p, q)
    assert np.all(line.found)
    np.testing.assert_allclose(np.sqrt(line.square), fisher_rao_distance(p, q), rtol=1e-10)
    of_source = functools.partial(p.kind.at, "source")
    _, known = jax.jvp(lambda s: of_source(s).natural, (p.source,), (logarithm_map(p, q),))
    np.testing.assert_allclose(line.first, known, rtol=1e-8, atol=1e-9 * np.max(np.abs(known)))
    shot = shoot(p, 0.5 * line.first)
    middle = exponential_map(p, 0.5 * logarithm_map(p, q)).natural
    np.testing.assert_allclose(shot.end, middle, rtol=1e-9, atol=1e-9 * np.max(np.abs(middle)))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(UNKNOWN))
def test_it_is_a_shortest_way_at_constant_speed(name):
    p, q = UNKNOWN[name]
    there, back = connect(p, q), connect(q, p)
    assert np.all(there.found & back.found)
    np.testing.assert_allclose(there.square, back.square, rtol=1e-8)
    assert np.all(there.square < jeffreys(p, q))
    end, middle = shoot(p, there.first).end, shoot(p, 0.5 * there.first).end
    np.testing.assert_allclose(end, q.natural, rtol=1e-7, atol=1e-8 * np.max(np.abs(q.natural)))
    half = connect(p.at("natural", middle), q)
    np.testing.assert_allclose(half.square, there.square / 4, rtol=1e-7)


@pytest.mark.slow
def test_gamma_against_a_solver_of_boundary_value_problems():
    """In k and log r the metric is trigamma(k) dk² − 2 dk dρ + k dρ², and all symbols of Christoffel are elementary."""
    p, q = Gamma(1.0, 2.0), Gamma(3.0, 1.0)

    def equation(_, state):
        k, _, dk, dr = state
        slack = k * polygamma(1, k) - 1
        # Euler's equations of the energy: g (k̈, ρ̈) = (½(dr² − trigamma′ dk²), −dk dr)
        first, second = 0.5 * (np.square(dr) - polygamma(2, k) * np.square(dk)), -dk * dr
        return np.stack([dk, dr, (k * first + second) / slack, (first + polygamma(1, k) * second) / slack])

    def ends(a, b):
        return np.array([a[0] - 1, a[1] - np.log(2), b[0] - 3, b[1] - 0])

    t = np.linspace(0, 1, 41)
    guess = np.stack([1 + 2 * t, np.log(2) * (1 - t), 2 + 0 * t, -np.log(2) + 0 * t])
    solution = solve_bvp(equation, ends, t, guess, tol=1e-9, max_nodes=100_000)
    assert solution.success
    k, _, dk, dr = solution.sol(0)
    length = np.sqrt(polygamma(1, k) * dk**2 - 2 * dk * dr + k * dr**2)
    np.testing.assert_allclose(fisher_rao_distance(p, q), length, rtol=1e-8)
    k, rho, *_ = solution.sol(0.5)
    middle = geodesic(p, q)(0.5)
    np.testing.assert_allclose([middle.shape, middle.rate], [k, np.exp(rho)], rtol=1e-7)


@pytest.mark.slow
def test_parts_that_have_no_closed_form_and_the_gradient_of_the_distance():
    p, q = Gamma(1.0, 2.0), Gamma(3.0, 1.0)
    alone = fisher_rao_distance(p, q)
    many = Product([Poisson(1.0), p]), Product([Poisson(4.0), q])
    np.testing.assert_allclose(fisher_rao_distance(*many), np.hypot(2, alone), rtol=1e-12)
    table = Independent(Gamma([1.0, 1.0], [2.0, 2.0])), Independent(Gamma([3.0, 1.0], [1.0, 2.0]))
    np.testing.assert_allclose(fisher_rao_distance(*table), alone, rtol=1e-10)
    # the first variation: the distance to q grows along the velocity at p, at unit speed
    slope = jax.grad(lambda source: fisher_rao_distance(p.kind.at("source", source), q))(p.source)
    velocity = logarithm_map(p, q)
    np.testing.assert_allclose(slope, -p.fisher("source") @ velocity / alone, rtol=1e-8)


def test_what_is_not_found_is_refused():
    with pytest.raises(ValueError, match="the concentration of p is 0: it must be positive"):
        fisher_rao_distance(VonMises(0.0, 0.0), VonMises(1.0, 1.0))
    with pytest.raises(ValueError, match="of one family"):
        geodesic(Gamma(1.0, 1.0), Beta(1.0, 1.0))


@pytest.mark.slow
def test_too_far_is_refused():
    with pytest.raises(ValueError, match='too far apart for the geodesic .* float64.* kind="e"'):
        fisher_rao_distance(Gamma(1e-200, 1.0), Gamma(1e200, 1.0))
    with pytest.raises(ValueError, match="before t = 1 in float64. Take a shorter velocity"):
        exponential_map(Gamma(1.0, 2.0), [-50.0, 3.0])
