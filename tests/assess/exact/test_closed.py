"""Closed forms against each other, against Newton polyhedra, and against quadrature where weights integrate out."""

import functools
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import mpmath
import numpy as np
import pytest
from scipy.special import expit, log_expit

from kullback.assess import (
    deep_linear_coefficient,
    learning_coefficient,
    mixture_coefficient,
    naive_bayes_coefficient,
    reduced_rank_coefficient,
    tanh_coefficient,
)
from tiers import slow_among


def pair(coefficient):
    return coefficient.value, coefficient.multiplicity


def refined_slope(terms, first, others, cut, parts):
    """Return the mean of a slope under a density, both of them terms(points), by the trapezoid rule.

    The first axis has `first`, the others have `others`; cells with a density less than `cut` nats below the highest
    are divided into `parts` along each axis.
    """
    width = first[1] - first[0]
    grid = [each.ravel() for each in np.meshgrid(*others, indexing="ij")]
    count = len(grid[0]) if grid else 1
    kept, heights = [], []
    for value in first:
        points = np.array([np.full(count, value), *grid])
        height, _ = terms(points)
        kept.append(points[:, height > height.max() - cut])
        heights.append(height[height > height.max() - cut])
    points, heights, total, weighted = np.concatenate(kept, axis=1), np.concatenate(heights), 0.0, 0.0
    points = points[:, heights > heights.max() - cut]
    for offset in product((np.arange(parts) / parts - 0.5) * width, repeat=len(points)):
        height, value = terms(points + np.array(offset)[:, None])
        weight = np.exp(height - heights.max())
        total, weighted = total + weight.sum(), weighted + weight @ value
    return float(weighted / total)


# --- linear networks


def test_reduced_rank_has_the_published_values():
    found = [pair(reduced_rank_coefficient(5, 5, 3, rank)) for rank in range(4)]
    assert found == [(Fraction(13, 2), 2), (8, 1), (Fraction(19, 2), 2), (Fraction(21, 2), 1)]


def test_a_deep_network_with_one_hidden_layer_is_reduced_rank():
    cases = 0
    for inputs, outputs, hidden in product(range(1, 8), repeat=3):
        for rank in range(min(inputs, outputs, hidden) + 1):
            shallow = reduced_rank_coefficient(inputs, outputs, hidden, rank)
            assert pair(deep_linear_coefficient([inputs, hidden, outputs], rank)) == pair(shallow)
            # a part of rank r is regular: it leaves a smaller problem with the truth 0
            if rank < min(inputs, outputs, hidden):
                rest = reduced_rank_coefficient(inputs - rank, outputs - rank, hidden - rank, 0)
                assert pair(shallow) == (rest.value + Fraction(rank * (inputs + outputs - rank), 2), rest.multiplicity)
            assert shallow.value <= Fraction(hidden * (inputs + outputs), 2)
            if rank == hidden:  # regular up to gauge: the dimension of matrices of that rank
                assert pair(shallow) == (Fraction(hidden * (inputs + outputs - hidden), 2), 1)
            cases += 1
    assert cases == 1127


def test_a_layer_that_is_wide_enough_changes_nothing():
    for widths in ([2, 1, 3], [3, 2, 2], [2, 2, 2, 2]):
        expected = pair(deep_linear_coefficient(widths, 0))
        assert pair(deep_linear_coefficient([*widths[:1], 40, *widths[1:]], 0)) == expected


@pytest.mark.parametrize("depth", slow_among([1, 2, 3, 4], 3, 4))
def test_hidden_layers_of_one_unit_are_monomials(depth):
    """The product of layers is c_j · b₁ ⋯ b_(depth − 1) · a_i."""
    for inputs, outputs in product(range(1, 5), repeat=2):
        generators = np.zeros((inputs, outputs, inputs + outputs + depth - 1), int)
        for i, j in product(range(inputs), range(outputs)):
            generators[i, j, [i, inputs + j]] = 1
        generators[:, :, inputs + outputs :] = 1
        newton = learning_coefficient(generators.reshape(inputs * outputs, -1))
        assert pair(deep_linear_coefficient([inputs, *[1] * depth, outputs], 0)) == pair(newton)


def wishart_slope(inputs, outputs, hidden, log_n):
    """Return −d log Z / d log n for the true map 0: Z = E_A det(1 + nAAᵀ)^(−outputs/2), in log eigenvalues of AAᵀ."""
    least, most = sorted((inputs, hidden))
    s = np.arange(-6.0, log_n + 12, 0.2)[:, None]  # −log of the largest
    logs = [-s]
    if least == 2:
        v = np.arange(-log_n - 12, log_n + 12, 0.2)  # the other is the largest times expit(v)
        logs.append(log_expit(v) - s)
    log_weight = sum((most - least + 1) / 2 * each - np.exp(each) / 2 for each in logs)
    if least == 2:  # their difference, and d log expit(v) = expit(−v) dv
        log_weight = log_weight - s + 2 * log_expit(-v)
    log_z = log_weight - outputs / 2 * sum(np.logaddexp(0, log_n + each) for each in logs)
    weight = np.exp(log_z - log_z.max())
    return float(np.sum(weight * outputs / 2 * sum(expit(log_n + each) for each in logs)) / np.sum(weight))


SHAPES = [
    (1, 1, 1),
    (2, 1, 1),
    (1, 2, 1),
    (3, 3, 1),
    (1, 1, 3),
    (4, 2, 1),
    (2, 2, 2),
    (3, 2, 2),
    (2, 4, 2),
    (2, 3, 3),
    (2, 5, 4),
    (4, 4, 2),
    (2, 1, 5),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_reduced_rank_is_the_slope_of_an_integral_over_eigenvalues(shape):
    found = reduced_rank_coefficient(*shape, rank=0)
    expected = float(found.value) - (found.multiplicity - 1) / 60
    assert wishart_slope(*shape, log_n=60) == pytest.approx(expected, abs=1e-3)


def three_layers_terms(log_n, points):
    """Return log φ·det(1 + nMMᵀ)^(−1) with M = BA of 2 × 2 matrices, and −d/d log n of it.

    Points: −log of the largest eigenvalue of BᵀB, v with the other as that times expit(v), the same of AAᵀ, and t with
    cos² = expit(t) of the angle between them.
    """
    log_weight = (log_expit(points[4]) + log_expit(-points[4])) / 2
    logs = []
    for s, v in (points[:2], points[2:4]):
        pair_ = (-s, log_expit(v) - s)
        log_weight = log_weight + sum(each / 2 - np.exp(each) / 2 for each in pair_) - s + 2 * log_expit(-v)
        logs.append(pair_)
    (p, p_), (q, q_) = logs
    along = log_expit(points[4]) + np.logaddexp(p + q, p_ + q_)
    across = log_expit(-points[4]) + np.logaddexp(p + q_, p_ + q)
    terms = np.array([0 * p, log_n + np.logaddexp(along, across), 2 * log_n + p + p_ + q + q_])
    top = terms.max(axis=0)
    terms = np.exp(terms - top)
    total = terms.sum(axis=0)
    return log_weight - top - np.log(total), np.array([0, 1, 2]) @ terms / total


@pytest.mark.slow
def test_three_square_layers_are_the_slope_of_an_integral_over_eigenvalues_and_an_angle():
    found = deep_linear_coefficient([2, 2, 2, 2], 0)
    assert pair(found) == (Fraction(3, 2), 3)
    first, rest = np.arange(-4.0, 24, 2), np.arange(-28.0, 12, 2)
    slope = refined_slope(functools.partial(three_layers_terms, 20), first, [rest, first, rest, rest], cut=10, parts=2)
    assert slope == pytest.approx(1.5 - 2 / 20, abs=2 / 20**2)


# --- mixtures and hidden causes


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("concentration", [Fraction(1, 4), Fraction(1, 2), 1, Fraction(3, 2)])
def test_two_components_are_a_newton_polyhedron(dimension, concentration):
    """Coordinates: the mean u of the mixture, the difference of means, the weight with the prior weight^(φ − 1)."""
    size = 2 * dimension + 1
    generators = [np.eye(size, dtype=int)[i] for i in range(dimension)]
    for i, j in combinations_with_replacement(range(dimension), 2):
        generators.append(np.eye(size, dtype=int)[[dimension + i, dimension + j, -1]].sum(axis=0))
    newton = learning_coefficient(generators, prior=[*[0] * (size - 1), concentration - 1])
    assert pair(mixture_coefficient(dimension, concentration)) == pair(newton)


@pytest.mark.parametrize("features", range(2, 7))
def test_a_hidden_cause_is_a_newton_polyhedron(features):
    size = 2 * features + 1
    generators = [np.eye(size, dtype=int)[i] for i in range(features)]
    for i, j in combinations(range(features), 2):
        generators.append(np.eye(size, dtype=int)[[features + i, features + j, -1]].sum(axis=0))
    newton = learning_coefficient(generators)
    assert pair(naive_bayes_coefficient(features)) == pair(newton)


# --- tanh


def tanh_terms(hidden, log_n, points):
    """Return log φ·det(1 + nG)^(−1/2) at points, and −d/d log n of it.

    Points are −log b_1² of the largest b, and v_h with b_(h+1)² = b_h²·expit(v_h).
    """
    first, *steps = points
    below = np.cumsum([np.zeros(len(first)), *map(log_expit, steps)], axis=0)  # log b_h²/b_1²
    gaps = [below[h] + log_expit(-v) for h, v in enumerate(steps)]  # log (b_h² − b_(h+1)²)/b_1²
    squares = {
        (h, k): 2 * np.logaddexp.reduce(gaps[h:k], axis=0) for h, k in combinations(range(hidden), 2)
    }  # log of (b_h² − b_k²)²
    sizes, logs = [0], [np.zeros(len(first))]
    for size in range(1, hidden + 1):
        for units in combinations(range(hidden), size):
            sizes.append(size)
            log_gram = sum(below[h] for h in units) + sum(squares[two] for two in combinations(units, 2))
            logs.append(size * log_n + log_gram - size**2 * first)
    top = np.max(logs, axis=0)
    terms = np.exp(np.array(logs) - top)
    total = terms.sum(axis=0)
    log_volume = sum((gap + log_expit(v) for gap, v in zip(gaps, steps, strict=True)), -below.sum(axis=0) / 2)
    log_prior = -np.exp(-first) - first * hidden / 2
    return log_prior + log_volume - (top + np.log(total)) / 2, np.array(sizes) @ terms / total / 2


def tanh_slope(hidden, log_n, cut):
    """Return −d log Z / d log n of Σ_h a_h·tanh(b_h·x) with the truth 0, by the trapezoid rule in logarithms.

    The a_h integrate out: Z = E_b det(1 + nG)^(−1/2) with G_hk = E_x[tanh(b_h·x)·tanh(b_k·x)], and
    det(1 + nG) = Σ_S n^|S| det G_S over sets S of units. det G_S is Π b_h²·Π (b_h² − b_k²)² up to a factor between
    two positive bounds (the next test), and such factors change neither λ nor m.
    """
    steps = np.arange(-0.7 * log_n - 10, 0.45 * log_n + 12, 2.0)
    first = np.arange(-4.0, (0.62 if hidden > 1 else 1) * log_n + 12, 2.0)
    return refined_slope(functools.partial(tanh_terms, hidden, log_n), first, [steps] * (hidden - 1), cut, parts=4)


@pytest.mark.slow
def test_gram_determinants_of_tanh_are_those_of_the_integral_up_to_bounded_factors():
    random = np.random.default_rng(0)
    with mpmath.workdps(400):
        inputs = [mpmath.mpf(i) / 4 for i in range(1, 8)]  # x has any law with so many values
        for hidden in (2, 3, 4):
            ratios = []
            for _ in range(60):
                b = [mpmath.mpf(10) ** float(random.uniform(-6, 0))]
                for _ in range(hidden - 1):  # far apart, or nearly alike
                    nearby = random.random() < 0.5
                    gap = mpmath.mpf(10) ** float(random.uniform(-6, -1))
                    b.append(b[-1] * (1 - gap if nearby else gap))
                table = mpmath.matrix([[mpmath.tanh(each * x) for x in inputs] for each in b])
                gram = mpmath.det(table * table.T) / len(inputs) ** hidden
                product_ = mpmath.fprod(each**2 for each in b)
                for first, second in combinations(b, 2):
                    product_ *= (first**2 - second**2) ** 2
                ratios.append(float(mpmath.log(gram / product_)))
            assert np.ptp(ratios) < 3 * hidden**2  # where the determinants themselves differ by hundreds of nats


@pytest.mark.parametrize(("hidden", "tolerance"), [(1, 2 / 60**2), (2, 1e-4), (3, 1e-3)])
def test_tanh_is_the_slope_of_the_laplace_integral(hidden, tolerance):
    found = tanh_coefficient(hidden)
    expected = float(found.value) - (found.multiplicity - 1) / 60
    assert tanh_slope(hidden, 60, cut=25) == pytest.approx(expected, abs=tolerance)


@pytest.mark.slow
def test_four_tanh_units_have_coefficient_one_and_multiplicity_two():
    assert pair(tanh_coefficient(4)) == (1, 2)
    # the slope is 1 − 1/(log n + b), with a b near 9
    distances = [1 / (1 - tanh_slope(4, log_n, cut=12)) for log_n in (40, 60)]
    assert distances[1] - distances[0] == pytest.approx(20, abs=0.5)
    assert distances[0] == pytest.approx(49.3, abs=0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reduced_rank_coefficient(3, 3, 2, 3), "rank is 3: no layer may be narrower"),
        (lambda: reduced_rank_coefficient(3, 0, 2, 0), "each layer must have 1 or more"),
        (lambda: reduced_rank_coefficient(3, 3, 2.5, 1), "hidden is 2.5: it must be a whole number"),
        (lambda: reduced_rank_coefficient(3, 3, 2, -1), "rank is -1"),
        (lambda: deep_linear_coefficient([3], 0), "those of the input"),
        (lambda: deep_linear_coefficient(3, 0), "those of the input"),
        (lambda: deep_linear_coefficient([3, float("nan"), 3], 0), r"widths\[1\] is nan"),
        (lambda: deep_linear_coefficient([3, 2, 3], 3), "the least width is 2"),
        (lambda: mixture_coefficient(0), "both must be positive"),
        (lambda: mixture_coefficient(2, 0), "both must be positive"),
        (lambda: mixture_coefficient(2, float("nan")), "concentration is nan"),
        (lambda: naive_bayes_coefficient(1), "2 or more"),
        (lambda: tanh_coefficient(0), "1 to 4 units"),
        (lambda: tanh_coefficient(5), "1 to 4 units"),
    ],
)
def test_what_is_out_of_range_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
