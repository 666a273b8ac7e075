from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

from kullback.assess import Coefficient, learning_coefficient, zeta


def test_charts_have_the_least_pole_and_the_most_coordinates_of_one_chart():
    found = Coefficient.of_charts(k=[[1, 2, 1], [1, 1, 0], [3, 0, 0]], h=[[0, 1, 3], [0, 0, 0], [5, 0, 0]])
    assert (found.value, found.multiplicity) == (Fraction(1, 2), 2)
    assert found.certificate.chart == 0
    assert found.certificate.coordinates == (0, 1)  # (0 + 1)/2 and (1 + 1)/4


@pytest.mark.parametrize(("k", "h"), [((1, 1), (0, 0)), ((1, 2), (1, 0)), ((2, 3, 1), (0, 1, 0))])
def test_a_single_chart_is_a_monomial_with_its_prior(k, h):
    chart, newton = Coefficient.of_charts(k, h), learning_coefficient([k], prior=h)
    assert learning_coefficient.of_charts(k, h) == chart
    assert (chart.value, chart.multiplicity) == (newton.value, newton.multiplicity)


def test_a_blow_up_in_two_charts_is_its_newton_polyhedron():
    """w₁⁴ + w₂⁶ by the weights (3, 2): w = (u³, u²v) and (u³v, u²) have K = u^12 · unit, and the Jacobian u^4."""
    charts = Coefficient.of_charts(k=[[6, 0], [6, 0]], h=[[4, 0], [4, 0]])
    newton = learning_coefficient([(2, 0), (0, 3)])
    assert (charts.value, charts.multiplicity) == (newton.value, newton.multiplicity)


def test_zeta_is_the_integral_of_a_power():
    for z in (-0.2, 0.5, 2.0):
        expected, _ = integrate.dblquad(lambda v, u, z=z: (u**2 * v**4) ** z * v, 0, 1, 0, 1, epsabs=1e-11)
        assert zeta(z, k=[1, 2], h=[0, 1]) == pytest.approx(expected, rel=1e-6)
    both = zeta(0.5, k=[[1, 2], [1, 1]], h=[[0, 1], [0, 0]])
    assert both == pytest.approx(zeta(0.5, [1, 2], [0, 1]) + zeta(0.5, [1, 1], [0, 0]))


def test_zeta_has_its_largest_pole_at_minus_the_coefficient_with_its_order():
    k, h = [[1, 2, 1], [1, 1, 0]], [[0, 1, 3], [0, 0, 0]]
    found = Coefficient.of_charts(k, h)
    near = np.array([1e-4, 1e-5])
    values = zeta(-float(found.value) + near, k, h)
    assert np.log(values[1] / values[0]) / np.log(10) == pytest.approx(found.multiplicity, abs=1e-2)
    assert np.isfinite(zeta(np.array([-0.49 + 2j]), k, h)).all()


def test_evidence_and_error_follow_from_the_coefficient():
    found = learning_coefficient([(1, 1)])
    n = np.array([10, 1_000])
    np.testing.assert_allclose(found.log_evidence(n), -0.5 * np.log(n) + np.log(np.log(n)))
    np.testing.assert_allclose(found.bayes_error(n), 0.5 / n)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Coefficient.of_charts([0, 0], [0, 0]), "K vanishes nowhere"),
        (lambda: Coefficient.of_charts([1, 1], [0]), "different shapes"),
        (lambda: Coefficient.of_charts([[1, 1], [1]], [[0, 0], [0]]), "one row of numbers for each chart"),
        (lambda: Coefficient.of_charts([], []), "one row of numbers for each chart"),
        (lambda: Coefficient.of_charts(1, 0), "one row of numbers for each chart"),
        (lambda: Coefficient.of_charts([1, -1], [0, 0]), "k has the entry -1"),
        (lambda: Coefficient.of_charts([1, 0.5], [0, 0]), "k has the entry 1/2"),
        (lambda: Coefficient.of_charts([1, 1], [0, -1]), "h has the entry -1"),
        (lambda: Coefficient.of_charts([1, 1], [0, float("nan")]), "h is nan"),
        (lambda: zeta(float("nan"), [1], [0]), "z has an entry"),
        (lambda: zeta(-0.5, [1], [0]), "z is -0.5: the zeta function has a pole"),
        (lambda: learning_coefficient([(1,)]).log_evidence(1), "n is 1: it must be 2 or more"),
        (lambda: learning_coefficient([(1,)]).log_evidence(float("nan")), "n is nan"),
        (lambda: learning_coefficient([(1,)]).bayes_error([5, 0]), "n is 0: it must be 1 or more"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
