"""What free coordinates are: seen by what becomes of them when the columns of the points get other units."""

import numpy as np
import pytest

from kullback.families import (
    REGISTRY,
    DiagonalGaussian,
    Gamma,
    Gaussian,
    Independent,
    Poisson,
    Product,
    Role,
    SphericalGaussian,
)
from tiers import slow

RNG = np.random.default_rng(0)
X = RNG.normal([1.0, -2.0, 0.5], 1.0, (30, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])
UNITS = np.array([1e-3, 10.0, 1e6])


def roles_of(member):
    return np.array(member.kind.roles)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "units"), [slow(Gaussian, UNITS), (DiagonalGaussian, UNITS), slow(SphericalGaussian, np.full(3, 1e6))]
)
def test_linear_coordinates_are_in_their_units_and_log_scales_shift(family, units):
    one, other = family.fit(X), family.fit(X * units)
    linear, scales = (roles_of(one) == role for role in (Role.LINEAR, Role.LOG_SCALE))
    assert np.all(linear | scales)

    def in_units(member):
        return np.asarray(member.free * np.sqrt(np.diagonal(np.asarray(member.fisher("free")))))[linear]

    np.testing.assert_allclose(in_units(other), in_units(one), rtol=1e-9)
    shifts = np.asarray(other.free - one.free)[scales]
    np.testing.assert_allclose(shifts, np.log(units)[: len(shifts)], rtol=1e-9)


@pytest.mark.slow
def test_a_log_shape_is_the_same_in_all_units_and_the_relative_variance():
    one, other = Gamma.fit(np.abs(X[:, 0])), Gamma.fit(1e6 * np.abs(X[:, 0]))
    place = np.flatnonzero(roles_of(one) == Role.LOG_SHAPE)
    np.testing.assert_allclose(other.free[place], one.free[place], rtol=1e-6)
    relative = one.variance / one.mean**2
    assert float(np.exp(-one.free[place[0]])) == pytest.approx(float(relative), rel=1e-9)


def test_those_of_composites_are_those_of_their_parts():
    product = Product([Gamma(2.0, 1.0), DiagonalGaussian([0.0, 1.0], [1.0, 2.0]), Poisson(2.0)])
    expected = [Role.PLAIN, Role.LOG_SHAPE, Role.LINEAR, Role.LINEAR, Role.LOG_SCALE, Role.LOG_SCALE, Role.PLAIN]
    assert list(product.kind.roles) == expected
    assert list(Independent(Gamma([2.0, 3.0], [1.0, 1.0])).kind.roles) == [Role.PLAIN, Role.LOG_SHAPE] * 2


def test_other_families_have_plain_ones():
    others = [
        family
        for family in REGISTRY
        if family not in (Gaussian, DiagonalGaussian, SphericalGaussian, Gamma, Product, Independent)
    ]
    assert len(others) >= 8
    for family in others:
        assert family.free_roles(3) == (Role.PLAIN,) * 3
