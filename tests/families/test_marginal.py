"""Marginals against the families themselves: by drawing from them."""

import jax
import numpy as np
import pytest

from kullback import models
from kullback.families import (
    Beta,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Independent,
    Ising,
    Multinomial,
    SphericalGaussian,
    VonMises,
)
from kullback.runtime import computing
from report.reports import BITS, COUNTS, SYMBOLS
from tiers import slow_among

TWO = np.array([[2.0, 3.0], [5.0, 1.5]])
COMPONENTS = {
    "bits": BITS,
    "symbols": SYMBOLS,
    "counts": COUNTS,
    "angles": Independent(VonMises(np.array([[-1.0], [2.0]]), np.full((2, 1), 4.0))),
    "gamma": Independent(Gamma(TWO, TWO + 1)),
    "beta": Independent(Beta(TWO, TWO[::-1])),
    "exponential": Independent(Exponential(TWO)),
    "gaussian": Gaussian(TWO, np.array([[[2.0, 0.5], [0.5, 1.0]]] * 2)),
    "spheres": SphericalGaussian(TWO, np.array([1.0, 4.0])),
    "dirichlet": Dirichlet(TWO),
    "ising": Ising(np.array([[0.2, -0.5], [0.0, 0.4]]), np.array([[0.3], [-0.6]])),
    "multinomial": Multinomial(12, np.array([[0.3, 0.7], [0.5, 0.5]])),
    "compound": models.CompoundDirichlet(TWO, 12),
}
DRAWS = 4000


@pytest.mark.parametrize("name", slow_among(COMPONENTS, "angles", "compound", "dirichlet", "ising", "multinomial"))
def test_densities_are_those_of_what_is_drawn(name):
    components = COMPONENTS[name]
    drawn = np.asarray(components.sample(jax.random.key(0), (DRAWS,)), dtype=float)  # (draws, components, columns)
    columns, moments = components.marginals(None if name != "compound" else np.array([12.0])), components.moments()
    assert len(columns) == drawn.shape[-1]
    for place, column in enumerate(columns):
        for member in range(drawn.shape[1]):
            assert (
                column.words.format(**{key: float(each[member]) for key, each in column.parameters.items()})
                or column.codes
            )
            values = drawn[:, member, place]
            if column.angle:
                values = np.mod(values + np.pi, 2 * np.pi) - np.pi
            check(column, member, values)
            if moments is not None:
                mean, variance = moments[0][member, place], moments[1][member, place, place]
                assert abs(values.mean() - mean) < 5 * np.sqrt(variance / DRAWS)
                assert values.var() == pytest.approx(variance, rel=0.25)
    if not any(column.angle for column in columns):
        error = drawn.std(axis=0) / np.sqrt(DRAWS)
        with computing():
            assert np.all(np.abs(drawn.mean(axis=0) - np.asarray(components.column_means)) < 5 * error)


def check(column, member, values):
    """Compare the distribution function at some points; five standard errors of the draws are allowed."""
    low, high = column.span
    if column.discrete:
        x = np.arange(low, high + 1)
        mass = column.density(x)[member]
        expected, found = np.cumsum(mass), np.mean(values[:, None] <= x, axis=0)
    else:
        x = np.linspace(low, high, 2001)
        density = column.density(x)[member]
        density = np.where(np.isfinite(density), density, 0)
        below = np.mean(values < low)
        areas = (density[1:] + density[:-1]) / 2 * np.diff(x)
        expected, found = below + np.cumsum(areas), np.mean(values[:, None] <= x[1:], axis=0)
    beyond = 0.002  # what lies outside of the span
    np.testing.assert_array_less(np.abs(expected - found), 5 * 0.5 / np.sqrt(DRAWS) + beyond)
