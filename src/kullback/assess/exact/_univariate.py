"""Polynomials in one variable over the rationals: greatest common divisors, and real roots counted by Sturm."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

#: Coefficients, the constant first; the last is not 0. The zero polynomial is empty.
Polynomial = list[Fraction]


def trimmed(p: Sequence[Fraction]) -> Polynomial:
    """Return a polynomial without leading zeros."""
    size = len(p)
    while size and not p[size - 1]:
        size -= 1
    return list(p[:size])


def remainder(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return p mod q."""
    p = list(p)
    while len(p) >= len(q):
        factor = p[-1] / q[-1]
        shift = len(p) - len(q)
        for i, value in enumerate(q):
            p[shift + i] -= factor * value
        p = trimmed(p[:-1])
    return p


def greatest_common_divisor(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return the greatest common divisor, up to a factor.

    >>> [int(c) for c in greatest_common_divisor([Fraction(-1), Fraction(0), Fraction(1)], [Fraction(-1), Fraction(1)])]
    [-1, 1]
    """
    while q:
        p, q = q, remainder(p, q)
    return p


def derivative(p: Polynomial) -> Polynomial:
    """Return p′."""
    return [i * value for i, value in enumerate(p)][1:]


def count_nonzero_roots(p: Polynomial) -> int:
    """Return the number of different real roots other than 0 (Sturm).

    >>> count_nonzero_roots([Fraction(0), Fraction(-2), Fraction(0), Fraction(1)])  # z³ − 2z
    2
    """
    while p and not p[0]:
        p = p[1:]
    if len(p) < 2:
        return 0
    chain = [p, derivative(p)]
    while chain[-1]:
        chain.append([-value for value in remainder(chain[-2], chain[-1])])
    chain.pop()
    below = [(-1) ** (len(q) - 1) * q[-1] for q in chain]  # signs at −∞; 0 is no root of p
    return _changes(below) - _changes([q[-1] for q in chain])


def _changes(values: list[Fraction]) -> int:
    signs = [value > 0 for value in values if value]
    return sum(a != b for a, b in pairwise(signs))


def real_root(p: Polynomial) -> float:
    """Return a real root other than 0 of a polynomial that has one, to the digits of floats."""
    while not p[0]:
        p = p[1:]
    shared = greatest_common_divisor(p, derivative(p))
    if len(shared) > 1:  # without its multiplicities, roots are well conditioned
        p = _quotient(p, shared)
    scale = max(abs(value) for value in p)
    roots = np.roots([float(value / scale) for value in reversed(p)])
    return float(min(roots, key=lambda root: abs(root.imag)).real)


def _quotient(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return p / q, where q divides p."""
    p, result = list(p), []
    while len(p) >= len(q):
        factor = p[-1] / q[-1]
        result.append(factor)
        for i, value in enumerate(q):
            p[len(p) - len(q) + i] -= factor * value
        p = p[:-1]
    return result[::-1]
