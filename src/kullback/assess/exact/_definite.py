"""Polynomials that are positive where all coordinates are, proved by a positive definite matrix."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from kullback.assess.exact._face_check import Exponent


def is_positive(terms: Mapping[Exponent, Fraction]) -> bool:
    """Whether it is proved that Σ c·w^α > 0 for all w > 0. False says nothing.

    Each negative term lies halfway between pairs of positive ones, and is shared out among these pairs: the polynomial
    is at least vᵀGv with v = w^(α/2) over the positive terms. It is positive where G is positive definite.

    >>> is_positive({(2, 0): Fraction(1), (1, 1): Fraction(-1), (0, 2): Fraction(1)})
    True
    >>> is_positive({(2, 0): Fraction(1), (1, 1): Fraction(-2), (0, 2): Fraction(1)})
    False
    """
    positive = [monomial for monomial, value in terms.items() if value > 0]
    place = {monomial: i for i, monomial in enumerate(positive)}
    matrix = [[terms[a] if a == b else Fraction(0) for b in positive] for a in positive]
    halfway: dict[Exponent, list[tuple[Exponent, Exponent]]] = {}
    for a, b in combinations(positive, 2):
        total = tuple(x + y for x, y in zip(a, b, strict=True))
        halfway.setdefault(total, []).append((a, b))
    for monomial, value in terms.items():
        if value >= 0:
            continue
        pairs = halfway.get(tuple(2 * x for x in monomial), [])
        for a, b in pairs:
            matrix[place[a]][place[b]] += value / (2 * len(pairs))
            matrix[place[b]][place[a]] += value / (2 * len(pairs))
        if not pairs:
            return False
    return bool(positive) and _is_definite(matrix)


def _is_definite(matrix: Sequence[Sequence[Fraction]]) -> bool:
    """Whether a symmetric matrix is positive definite: all pivots of Gaussian elimination are positive."""
    rows = [list(row) for row in matrix]
    for i, pivot in enumerate(rows):
        if pivot[i] <= 0:
            return False
        for row in rows[i + 1 :]:
            factor = row[i] / pivot[i]
            if factor:
                row[:] = [x - factor * y for x, y in zip(row, pivot, strict=True)]
    return True
