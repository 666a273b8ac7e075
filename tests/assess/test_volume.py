import numpy as np
import pytest

from assess.exact.quadrature import level_area
from kullback.assess import volume

UNIT = [(0, 1), (0, 1)]


def product_of_squares(w):
    return np.prod(w**2, axis=1)


def check(found, exact, most):
    """Hold an estimate to 4 of its standard errors, and those to a share of the value."""
    assert np.all(np.abs(found.value - exact) < 4 * found.standard_error)
    assert np.all(found.standard_error < most * exact)


def test_two_lines_that_cross():
    epsilon = np.array([1e-2, 1e-10, 1e-5])  # in any order
    check(volume(product_of_squares, epsilon, UNIT, draws=500), np.sqrt(epsilon) * (1 - np.log(epsilon) / 2), 0.12)


@pytest.mark.slow
def test_a_ball_and_an_ellipsoid():
    ball = volume(lambda w: np.sum(w**2, axis=1), 1e-4, [(-1, 1)] * 3, draws=500)
    check(ball, 4 / 3 * np.pi * 1e-6 / 8, 0.1)
    thin = np.array([1.0, 1e1, 1e3])
    ellipsoid = volume(lambda w: np.sum((thin * w) ** 2, axis=1), 1e-2, [(-1, 1)] * 3, draws=500)
    check(ellipsoid, 4 / 3 * np.pi * 1e-3 / thin.prod() / 8, 0.1)


@pytest.mark.slow
def test_a_curve_with_a_cusp():
    """x² − y³ with λ = 5/12, against the area of |x² − y³| < √ε by roots of polynomials."""

    def cusp(x, y):
        return x**2 - y**3

    epsilon = np.array([1e-6, 1e-10, 1e-14])
    exact = np.array([level_area(cusp, lambda x: [-1, 0, 0, x**2], delta) for delta in np.sqrt(epsilon)])
    found = volume(lambda w: cusp(*w.T) ** 2, epsilon, [(-0.5, 0.5)] * 2)
    check(found, exact, 0.05)
    slope = np.log(exact[2] / exact[1]) / np.log(epsilon[2] / epsilon[1])
    assert slope == pytest.approx(5 / 12, abs=0.01)


def test_another_prior_comes_in_by_its_quantiles():
    """b uniform, a with the density 2a on [0, 1]: V(ε) of a²b² is 2√ε − ε."""
    found = volume(lambda u: u[:, 0] * u[:, 1] ** 2, 1e-4, UNIT, draws=500)
    check(found, 2e-2 - 1e-4, 0.06)


def test_chance_begins_with_the_seed():
    runs = [volume(product_of_squares, 0.01, UNIT, draws=100, seed=seed).value for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0.0}, "epsilon is 0.0: it must be positive"),
        ({"epsilon": float("nan")}, "it must be positive"),
        ({"epsilon": []}, "it must be positive"),
        ({"bounds": [(0, 1), (1, 1)]}, "bounds must have a pair"),
        ({"bounds": [0, 1]}, "bounds must have a pair"),
        ({"bounds": [(0, np.inf)]}, "bounds must have a pair"),
        ({"draws": 10}, "draws is 10: it must be 100 or more"),
        ({"K": lambda w: np.where(w[:, 0] < 0.5, np.nan, 1.0)}, "K is NaN at w = "),
        ({"K": lambda w: w}, r"K has answered with shape \(100, 2\)"),
        ({"K": lambda w: 1 + w[:, 0]}, "No point with K < 0.01 was found"),
        ({"K": lambda w: np.ones(len(w))}, "No point with K < 0.01 was found"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, message):
    arguments = {"K": product_of_squares, "epsilon": 0.01, "bounds": UNIT, "draws": 100, **change}
    with pytest.raises(ValueError, match=message):
        volume(**arguments)
