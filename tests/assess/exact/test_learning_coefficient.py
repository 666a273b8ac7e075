import dataclasses
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from assess.exact.quadrature import level_area, slope
from kullback.assess import learning_coefficient
from kullback.assess.exact._faces import facets

#: generators, exponents of the prior, λ, m
WORKED = [
    ([(1, 1)], None, Fraction(1, 2), 2),
    ([(1, 1), (2, 0)], None, Fraction(1, 2), 2),
    ([(2, 0), (0, 3)], None, Fraction(5, 12), 1),
    ([(1, 1)], (1, 0), Fraction(1, 2), 1),
    ([(1, 1)], (Fraction(-1, 2), 0), Fraction(1, 4), 1),
    ([(1, 0), (0, 1)], None, Fraction(1), 1),
    ([(2, 1), (1, 2)], None, Fraction(1, 3), 1),
]


def pair(coefficient):
    return coefficient.value, coefficient.multiplicity


def check_certificate(found):
    """Recheck value, multiplicity and both halves of the proof by themselves, in fractions."""
    proof = found.certificate
    shift = [tau + 1 for tau in proof.prior]
    numbers = [*proof.weights, *proof.normal, proof.distance]
    assert all(isinstance(number, Fraction) for number in numbers)
    assert found.value == 1 / (2 * proof.distance)
    # c is a point of the polyhedron below t·(τ + 1)
    assert min(proof.weights) >= 0
    assert sum(proof.weights) == 1
    for i, s in enumerate(shift):
        assert sum(c * alpha[i] for c, alpha in zip(proof.weights, proof.monomials, strict=True)) <= proof.distance * s
    # y is a half space that holds the polyhedron and not what is before t·(τ + 1)
    assert min(proof.normal) >= 0
    assert sum(y * s for y, s in zip(proof.normal, shift, strict=True)) == 1
    for alpha in proof.monomials:
        assert sum(y * a for y, a in zip(proof.normal, alpha, strict=True)) >= proof.distance


@pytest.mark.parametrize(("generators", "prior", "value", "multiplicity"), WORKED)
def test_worked_values_are_proved_and_are_slopes_of_the_laplace_integral(generators, prior, value, multiplicity):
    found = learning_coefficient(generators, prior)
    assert pair(found) == (value, multiplicity)
    check_certificate(found)
    for log_n in (40, 90):
        expected = float(value) - (multiplicity - 1) / log_n
        assert slope(generators, log_n, prior, step=0.1) == pytest.approx(expected, abs=2 / log_n**2)


def test_a_corner_of_the_polyhedron_has_the_multiplicity_of_its_edges():
    corner = [(3, 0), (1, 1), (0, 3)]
    assert pair(learning_coefficient(corner)) == (Fraction(1, 2), 2)
    # the slope is λ − (m − 1)/(log n + b) with a b that is not small
    distances = [1 / (0.5 - slope(corner, log_n, step=0.1)) for log_n in (40, 90)]
    assert distances[1] - distances[0] == pytest.approx(50, abs=0.5)


def test_three_factors_meet_at_one_pole():
    found = learning_coefficient([(1, 1, 1)])
    assert pair(found) == (Fraction(1, 2), 3)
    check_certificate(found)
    assert slope([(1, 1, 1)], 40, step=0.5, deepest=30) == pytest.approx(0.5 - 2 / 40, abs=2 / 40**2)


@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_a_regular_model_has_half_its_dimension_and_multiplicity_one(size):
    generators = np.eye(size, dtype=int)
    assert pair(learning_coefficient(generators)) == (Fraction(size, 2), 1)


def random_monomials(random):
    size, count = random.integers(2, 5), random.integers(1, 8)
    monomials = random.integers(0, 5, (count, size))
    return [tuple(map(int, row)) for row in monomials if row.any()] or [(1,) * size]


@pytest.mark.parametrize("seed", range(40))
def test_the_program_agrees_with_the_facets_of_the_polyhedron(seed):
    random = np.random.default_rng(seed)
    monomials = random_monomials(random)
    prior = [Fraction(int(a), 2) for a in random.integers(-1, 4, len(monomials[0]))]
    found = learning_coefficient(monomials, prior)
    check_certificate(found)
    poles = {}
    for facet in facets(sorted(set(monomials))):
        if facet.least > 0:
            pole = sum(y * (tau + 1) for y, tau in zip(facet.normal, prior, strict=True)) / (2 * facet.least)
            poles.setdefault(pole, []).append(facet.normal)
    assert found.value == min(poles)
    assert found.multiplicity == np.linalg.matrix_rank(np.array(poles[min(poles)]))


@pytest.mark.parametrize("seed", range(6))
def test_names_of_coordinates_factors_and_redundant_generators_change_nothing(seed):
    random = np.random.default_rng(100 + seed)
    monomials = random_monomials(random)[:4]
    size = len(monomials[0])
    expected = pair(learning_coefficient(monomials))
    for order in list(permutations(range(size)))[:6]:
        assert pair(learning_coefficient([[row[i] for i in order] for row in monomials])) == expected
    assert pair(learning_coefficient([{row: Fraction(-7, 3)} for row in monomials])) == expected
    inside = tuple(int(a) for a in np.array(monomials[0]) + random.integers(0, 2, size))
    assert pair(learning_coefficient([*monomials, inside])) == expected


def test_it_is_never_above_half_the_dimension_unless_the_prior_avoids_the_origin():
    for seed in range(40):
        monomials = random_monomials(np.random.default_rng(seed))
        assert learning_coefficient(monomials).value <= Fraction(len(monomials[0]), 2)
    assert learning_coefficient([(1,)], prior=[5]).value == 3


# --- polynomials


def test_a_form_without_real_zeros_is_accepted():
    found = learning_coefficient([{(2, 0): 1, (1, 1): -1, (0, 2): 1}])
    assert pair(found) == (Fraction(1, 2), 1)
    assert found.certificate.proved


def test_combinations_of_generators_show_that_they_have_no_common_zero():
    found = learning_coefficient([{(1, 0): 1, (0, 1): 1}, {(1, 0): 1, (0, 1): -2}])
    assert pair(found) == (Fraction(1), 1)
    assert found.certificate.proved


#: f, the coefficients of f(x, ·), λ of f², m; the area of |f| < δ is the oracle
CURVES = {
    "x − y": ({(1, 0): 1, (0, 1): -1}, lambda x: [-1, x], Fraction(1, 2), 1),
    "x² − y²": ({(2, 0): 1, (0, 2): -1}, lambda x: [-1, 0, x**2], Fraction(1, 2), 2),
    "x² − y³": ({(2, 0): 1, (0, 3): -1}, lambda x: [-1, 0, 0, x**2], Fraction(5, 12), 1),
    # (1, 1) is a corner: two axes meet there, and the curve meets each of them, but not both at once
    "xy + x³ + y³": ({(1, 1): 1, (3, 0): 1, (0, 3): 1}, lambda x: [1, 0, x, x**3], Fraction(1, 2), 2),
    "x²y − y³": ({(2, 1): 1, (0, 3): -1}, lambda x: [-1, 0, x**2, 0], Fraction(1, 3), 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CURVES)
def test_simple_zeros_off_the_axes_are_counted_as_the_area_says(name):
    polynomial, powers, value, multiplicity = CURVES[name]
    found = learning_coefficient([polynomial])
    assert pair(found) == (value, multiplicity)
    assert found.certificate.proved

    def f(x, y):
        return sum(c * x**i * y**j for (i, j), c in polynomial.items())

    deltas = np.array([1e-5, 1e-7, 1e-9])
    scaled = np.array([level_area(f, powers, delta) for delta in deltas]) / deltas ** float(2 * value)
    first, second = np.diff(scaled)
    if multiplicity == 2:  # V/δ grows with log 1/δ, at a steady rate
        assert first > 0.1 * scaled[0]
        assert second == pytest.approx(first, rel=0.01)
    elif value == Fraction(1, 2):
        assert scaled == pytest.approx(scaled[0], rel=1e-6)
    elif value == Fraction(1, 3):  # the next pole, that of the curve at 1, is far
        assert scaled[2] == pytest.approx(scaled[1], rel=0.02)
    else:  # it is near
        assert first / second == pytest.approx(100 ** float(1 - 2 * value), rel=0.05)


def test_zeros_of_a_curve_may_meet_an_axis_that_is_not_exceptional():
    assert pair(learning_coefficient([{(1, 0, 1): 1, (0, 1, 1): -1}])) == (Fraction(1, 2), 2)  # z(x − y) ~ zu
    assert pair(learning_coefficient([{(1, 1, 0, 0): 1, (0, 0, 1, 1): 1}])) == (Fraction(1, 2), 1)  # a cone


def test_factors_in_other_variables_multiply_zeta_functions():
    """So where both have the pole at 1 its orders add: x² − y² has order 2, x − y order 1, each further factor 1."""
    assert pair(learning_coefficient([{(2, 0, 1): 1, (0, 2, 1): -1}])) == (Fraction(1, 2), 3)
    assert pair(learning_coefficient([{(1, 0, 1, 1): 1, (0, 1, 1, 1): -1}])) == (Fraction(1, 2), 3)
    two_nodes = {(2, 0, 2, 0): 1, (0, 2, 2, 0): -1, (2, 0, 0, 2): -1, (0, 2, 0, 2): 1}  # (x² − y²)(u² − v²)
    assert pair(learning_coefficient([{(1, 1, 1, 1): 1}])) == (Fraction(1, 2), 4)
    with pytest.raises(ValueError, match="multiple zero"):  # two curves of zeros cross off the axes
        learning_coefficient([two_nodes])


def test_multiples_of_a_generator_are_one_generator():
    line = {(1, 0): 1, (0, 1): -1}
    assert pair(learning_coefficient([line, {(1, 0): -3, (0, 1): 3}])) == pair(learning_coefficient([line]))


@pytest.mark.parametrize("factor", [10**12, Fraction(1, 10**12)])
def test_coefficients_of_very_different_sizes_are_decided_too(factor):
    with pytest.raises(ValueError, match="vanish together"):
        learning_coefficient([{(1, 0): 1, (0, 1): -factor}, (2, 0)])
    both = [{(1, 0): 1, (0, 1): -factor}, {(1, 0): 1, (0, 1): -2 * factor}]
    found = learning_coefficient(both)
    assert pair(found) == (Fraction(1), 1)
    assert found.certificate.proved
    alike = [{(1, 0): 1, (0, 1): -1}, {(1, 0): 10**12, (0, 1): -(10**12) - 1}]  # nearly one generator
    assert pair(learning_coefficient(alike)) == (Fraction(1), 1)


def test_definite_forms_are_proved_on_faces_of_any_dimension():
    form = {(2, 0, 0): 1, (0, 2, 0): 1, (0, 0, 2): 1, (1, 1, 0): -1, (0, 1, 1): Fraction(6, 5)}
    found = learning_coefficient([form])
    assert pair(found) == (Fraction(3, 4), 1)
    assert found.certificate.proved
    assert "search" not in repr(found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_quadratic_forms_follow_their_eigenvalues(seed):
    """A definite form has K ~ |w|⁴ and λ = 3/4; an indefinite one has smooth zeros off the origin, and λ = 1/2."""
    random = np.random.default_rng(seed)
    form = random.integers(-3, 4, (3, 3))
    form = form + form.T + (8 * np.eye(3, dtype=int) if seed % 2 else 0)
    terms = {}
    for i, j in np.ndindex(3, 3):
        monomial = tuple(int(a) for a in np.eye(3, dtype=int)[i] + np.eye(3, dtype=int)[j])
        terms[monomial] = terms.get(monomial, 0) + int(form[i, j])
    values = np.linalg.eigvalsh(form)
    assert abs(np.prod(values)) > 1e-6
    for i, j in ((0, 1), (0, 2), (1, 2)):  # no edge has a double root
        assert form[i, j] == 0 or form[i, i] * form[j, j] != form[i, j] ** 2
    definite = np.all(values > 0) or np.all(values < 0)
    found = learning_coefficient([terms])
    assert pair(found) == (Fraction(3, 4) if definite else Fraction(1, 2), 1)


def test_what_cannot_be_proved_is_marked():
    """x⁶ + y⁶ + z⁶ − 2x²y²z² is positive by the inequality of means, which no pair of terms shows."""
    form = {(6, 0, 0): 1, (0, 6, 0): 1, (0, 0, 6): 1, (2, 2, 2): -2}
    found = learning_coefficient([form])
    assert pair(found) == (Fraction(1, 4), 1)
    assert not found.certificate.proved
    assert "by search only" in repr(found)
    with pytest.raises(ValueError, match=r"multiple zero at w = \(1.0, 1.0, 1.0\)"):
        learning_coefficient([{**form, (2, 2, 2): -3}])


DEGENERATE = {
    "two generators": ([{(1, 0): 1, (0, 1): -1}, (2, 0)], r"face of \(0, 1\), \(1, 0\) .* w = \(1.0, 1.0\)"),
    "a double line": ([{(2, 0): 1, (1, 1): -2, (0, 2): 1}], r"\(0, 2\), \(1, 1\), \(2, 0\) .* w = \(1.0, 1.0\)"),
    "(x² − 2y)², whose zero has no rational point": (
        [{(4, 0): 1, (2, 1): -4, (0, 2): 4}],
        r"multiple zero at w = \(1.31951, 0.870551\)",
    ),
    "an orthant with a sign": ([{(1, 0): 1, (0, 1): 1}, (2, 0)], r"w = \(-1.0, 1.0\)"),
    "a face of dimension 2": (
        [{(2, 0, 0): 1, (0, 2, 0): 1, (0, 0, 2): 1, (1, 1, 0): -1, (1, 0, 1): -1, (0, 1, 1): -1}],
        r"multiple zero at w = \(1.0, 1.0, 1.0\)",
    ),
    "planes through a line": (
        [{(1, 0, 0): 1, (0, 1, 0): -1}, {(0, 1, 0): 1, (0, 0, 1): -1}],
        r"vanish together at w = \(1.0, 1.0\b",
    ),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_faces_are_refused_with_face_and_point(name):
    generators, message = DEGENERATE[name]
    with pytest.raises(ValueError, match=message):
        learning_coefficient(generators)


BAD = {
    "no generators": ([], None, "no generator other than 0"),
    "only zeros": ([{(1, 1): 0}], None, "no generator other than 0"),
    "not a list of generators": ((1, 1), None, r"exponents\[0\] is 1"),
    "one polynomial, bare": ({(1, 1): 1}, None, "must be a list of generators"),
    "a constant": ([(1, 1), (0, 0)], None, r"exponents\[1\] does not vanish at the origin"),
    "a negative exponent": ([(1, -1)], None, "0 or more"),
    "half an exponent": ([(1.5, 1)], None, "whole numbers"),
    "NaN": ([(float("nan"), 1)], None, "whole numbers"),
    "lengths that differ": ([(1, 1), (1,)], None, r"exponents\[1\] has 1 coord"),
    "no coordinates": ([()], None, "one for each coordinate"),
    "a coefficient that is NaN": ([{(1, 1): float("nan")}], None, "must be a rational number"),
    "a coefficient with too many digits": ([{(1, 1): np.pi}], None, "as a Fraction"),
    "a short prior": ([(1, 1)], (0,), "each of the 2 coordinates"),
    "a prior without integral": ([(1, 1)], (0, -1), r"prior\[1\] is -1: it must be above −1"),
    "a prior that is NaN": ([(1, 1)], (0, float("nan")), r"prior\[1\] is nan"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_one_sentence(name):
    generators, prior, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        learning_coefficient(generators, prior)


def test_a_certificate_that_was_changed_does_not_hold():
    proof = learning_coefficient([(2, 0), (0, 3)]).certificate
    proof.verify()
    for change in ({"distance": proof.distance + 1}, {"codimension": 2}, {"weights": proof.weights[::-1]}):
        with pytest.raises(ArithmeticError):
            dataclasses.replace(proof, **change).verify()
