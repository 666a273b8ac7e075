"""Zeros of the polynomials of a compact face off the axes: a Newton polyhedron says the truth where there are none.

Off the axes w_i = ε_i·e^{x_i} with signs ε, and a monomial w^α is a sign times e^{α·x}. What is decided exactly:

- in an orthant where a combination of the polynomials has coefficients of one sign they have no common zero (and the
  combination is found by a linear program, whose answer is proved in fractions), nor where one of them is a positive
  definite form of square roots of monomials;
- where the monomials are affinely independent all positive values of them are taken, so that a positive solution of
  the linear equations is a zero; zeros of one such polynomial are simple;
- on an edge there is one variable, the monomial of the edge's direction: Sturm counts real roots, and common and
  multiple roots are roots of greatest common divisors.

What remains is searched for zeros, and says so.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
import scipy.optimize

from kullback.assess.exact._face_check import Exponent, FaceCheck
from kullback.assess.exact._faces import Face
from kullback.assess.exact._orthant import check_orthant
from kullback.assess.exact._univariate import (
    Polynomial,
    count_nonzero_roots,
    derivative,
    greatest_common_divisor,
    real_root,
    trimmed,
)

Generator = dict[Exponent, Fraction]

#: Starts of a search in each orthant, and where its residuals count as zero.
_STARTS = 12
_ZERO = 1e-9
#: Faces with more orthants than 2 to this power are searched in so many of them only.
_MOST_SIGNS = 10


def find_zero(face: Face, generators: Sequence[Generator]) -> FaceCheck:
    """Return whether the polynomials of a face have a common zero off the axes."""
    parts = _parts(face, generators)
    if any(len(part) == 1 for part in parts):
        return FaceCheck(face.monomials, None, "a single monomial has no zero off the axes", True)
    independent = len(face.monomials) == face.dimension + 1
    orthants, complete = _orthants(face.monomials)
    open_orthants = []
    for signs in orthants:
        sign = [int(np.prod(signs[np.array(e) % 2 == 1])) for e in face.monomials]
        rows = [[s * part.get(e, Fraction(0)) for s, e in zip(sign, face.monomials, strict=True)] for part in parts]
        empty, solution = check_orthant(face.monomials, rows)
        if independent and solution is not None:
            zero = _point(face.monomials, signs, np.log(np.array(solution, float)))
            return FaceCheck(face.monomials, zero, "independent monomials take all positive values", True)
        if not empty:
            open_orthants.append(signs)
    if not open_orthants:
        return FaceCheck(face.monomials, None, "one sign in every orthant", complete)
    if face.dimension == 1:
        common = reduce(greatest_common_divisor, (_along(face.monomials, part) for part in parts))
        return _edge_check(face.monomials, common, "has no real root", "has a real root")
    terms = [_Terms(part) for part in parts]
    return _searched(face, open_orthants, lambda x, signs: [each(x, signs).sum() for each in terms])


def find_multiple_zero(face: Face, generator: Generator) -> FaceCheck:
    """Return whether the polynomial of a face has a zero off the axes where its gradient is 0 too."""
    (part,) = _parts(face, [generator])
    if len(part) == face.dimension + 1:
        return FaceCheck(face.monomials, None, "zeros of independent monomials are simple", True)
    if face.dimension == 1:
        p = _along(face.monomials, part)
        return _edge_check(
            face.monomials, greatest_common_divisor(p, derivative(p)), "has simple roots", "has a multiple root"
        )
    offsets = np.array(list(part), float) - np.mean(list(part), axis=0)
    terms_at = _Terms(part)

    def residuals(x: np.ndarray, signs: np.ndarray) -> list[float]:
        terms = terms_at(x, signs)
        return [terms.sum(), *(terms @ offsets)]

    return _searched(face, _orthants(face.monomials)[0], residuals)


def _parts(face: Face, generators: Sequence[Generator]) -> list[Generator]:
    """Return what the generators have on a face, those that have something."""
    inside = set(face.monomials)
    parts = [{e: c for e, c in generator.items() if e in inside} for generator in generators]
    return [part for part in parts if part]


def _orthants(monomials: Sequence[Exponent]) -> tuple[list[np.ndarray], bool]:
    """Return one orthant for each pattern of signs of the monomials, up to a common sign, and whether these are all."""
    parity = np.array(monomials) % 2
    chosen: dict[bytes, np.ndarray] = {}
    reach: list[int] = []
    for i in range(parity.shape[1]):  # coordinates whose sign changes the pattern in a new way
        if any(_same(parity[:, i], parity[:, list(part)].sum(1) % 2) for part in _subsets(reach)):
            continue
        reach.append(i)
        if len(reach) == _MOST_SIGNS:
            break
    for part in _subsets(reach):
        signs = np.ones(parity.shape[1])
        signs[list(part)] = -1
        pattern = parity[:, list(part)].sum(1) % 2
        chosen.setdefault(((pattern + pattern[0]) % 2).tobytes(), signs)
    return list(chosen.values()), len(reach) < _MOST_SIGNS


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return len(set((a + b) % 2)) == 1


def _subsets(items: list[int]) -> Iterator[tuple[int, ...]]:
    for mask in range(1 << len(items)):
        yield tuple(item for i, item in enumerate(items) if mask >> i & 1)


def _point(monomials: Sequence[Exponent], signs: np.ndarray, logs: np.ndarray) -> tuple[float, ...]:
    """Return the point of an orthant whose monomials have these logarithms, up to a common one."""
    exponents = np.array(monomials, float)
    x, *_ = np.linalg.lstsq(exponents[1:] - exponents[0], logs[1:] - logs[0], rcond=None)
    return _rounded(signs * np.exp(x))


def _rounded(w: np.ndarray) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in w)


def _along(monomials: Sequence[Exponent], part: Generator) -> Polynomial:
    """Return the polynomial of an edge in the monomial of its direction."""
    base, step = _direction(monomials)
    axis = next(i for i, entry in enumerate(step) if entry)
    powers = {(e[axis] - base[axis]) // step[axis]: c for e, c in part.items()}
    return trimmed([powers.get(i, Fraction(0)) for i in range(max(powers) + 1)])


def _direction(monomials: Sequence[Exponent]) -> tuple[Exponent, Exponent]:
    """Return an end of an edge, and the least step of whole numbers from it to the other."""
    base, end = min(monomials), max(monomials)
    whole = [b - a for a, b in zip(base, end, strict=True)]
    return base, tuple(entry // math.gcd(*whole) for entry in whole)


def _edge_check(monomials: tuple[Exponent, ...], p: Polynomial, without: str, with_root: str) -> FaceCheck:
    """Return the check of an edge whose polynomial may have no root other than 0."""
    if not count_nonzero_roots(p):
        return FaceCheck(monomials, None, f"the polynomial of an edge {without} (Sturm)", True)
    root, (_, step) = real_root(p), _direction(monomials)
    signs = np.ones(len(step))
    if root < 0:
        signs[next(i for i, entry in enumerate(step) if entry % 2)] = -1
    direction = np.array(step, float)
    w = signs * np.exp(np.log(abs(root)) * direction / (direction @ direction))
    return FaceCheck(monomials, _rounded(w), f"the polynomial of an edge {with_root} (Sturm)", True)


class _Terms:
    """The terms of a polynomial at signs · e^x, in units of the largest."""

    def __init__(self, part: Generator) -> None:
        self.exponents = np.array(list(part), float)
        self.odd = self.exponents % 2
        values = np.array([float(c) for c in part.values()])
        self.signs, self.logs = np.sign(values), np.log(np.abs(values))

    def __call__(self, x: np.ndarray, signs: np.ndarray) -> np.ndarray:
        logs = self.logs + self.exponents @ x
        parity = 1 - 2 * (self.odd @ (signs < 0) % 2)
        return self.signs * parity * np.exp(logs - logs.max())


def _searched(
    face: Face, orthants: Sequence[np.ndarray], residuals: Callable[[np.ndarray, np.ndarray], list[float]]
) -> FaceCheck:
    """Return a zero of residuals(x, signs) over all orthants, or that none was found."""
    exponents = np.array(face.monomials, float)
    _, _, axes = np.linalg.svd(exponents - exponents.mean(axis=0), full_matrices=False)
    axes = axes[: face.dimension]
    random = np.random.default_rng(0)
    for signs in orthants:
        starts = np.vstack([np.zeros(face.dimension), 2 * random.standard_normal((_STARTS, face.dimension))])
        for start in starts:
            solved = scipy.optimize.least_squares(
                lambda z, signs=signs: residuals(z @ axes, signs),
                start,
                bounds=(-30, 30),
                xtol=1e-15,
                ftol=1e-15,
                gtol=1e-15,
            )
            if np.max(np.abs(solved.fun)) < _ZERO:
                return FaceCheck(face.monomials, _rounded(signs * np.exp(solved.x @ axes)), "found by search", True)
    return FaceCheck(face.monomials, None, f"none found by search from {_STARTS + 1} points of each orthant", False)
