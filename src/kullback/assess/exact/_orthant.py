"""Polynomials in one orthant, as linear equations of the values of their monomials there, which are positive."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.optimize

from kullback.assess.exact._definite import is_positive
from kullback.assess.exact._face_check import Exponent
from kullback.assess.exact._rational import dot, solutions_near

Rows = Sequence[Sequence[Fraction]]


class OrthantCheck(NamedTuple):
    """What is proved of one orthant. Where neither holds nothing is known."""

    #: the polynomials have no common zero
    empty: bool
    #: positive values of the monomials that make all polynomials 0
    solution: list[Fraction] | None


def check_orthant(monomials: Sequence[Exponent], rows: Rows) -> OrthantCheck:
    """Return what is proved of the zeros of polynomials where all coordinates are positive.

    `rows` has the coefficients of each polynomial. In another orthant those of monomials that are negative there have
    the other sign.

    >>> row = [Fraction(1), Fraction(-2)]
    >>> check_orthant([(1, 0), (0, 1)], [row]).solution
    [Fraction(2, 3), Fraction(1, 3)]
    >>> check_orthant([(1, 0), (0, 1)], [row, [Fraction(1), Fraction(-3)]]).empty  # their difference has one sign
    True
    """
    if any(_one_sign(row) or _is_definite(monomials, row) for row in rows):
        return OrthantCheck(True, None)
    matrix = np.array(rows, float)
    matrix /= np.max(np.abs(matrix), axis=0)  # values in units that make all monomials count alike
    matrix /= np.max(np.abs(matrix), axis=1, keepdims=True)
    solution = _positive_solution(rows, matrix)
    return OrthantCheck(solution is None and _has_one_sign_combination(rows, matrix), solution)


def _one_sign(row: Sequence[Fraction]) -> bool:
    return any(row) and (all(value >= 0 for value in row) or all(value <= 0 for value in row))


def _is_definite(monomials: Sequence[Exponent], row: Sequence[Fraction]) -> bool:
    """Whether a polynomial is proved to be positive, or negative."""
    return any(is_positive({e: sign * c for e, c in zip(monomials, row, strict=True) if c}) for sign in (1, -1))


def _positive_solution(rows: Rows, matrix: np.ndarray) -> list[Fraction] | None:
    """Return u > 0 with rows · u = 0 and Σu = 1, exactly, if it is found: the least entry as large as it can be."""
    count = matrix.shape[1]
    solved = scipy.optimize.linprog(
        [*np.zeros(count), -1],
        A_ub=np.hstack([-np.eye(count), np.ones((count, 1))]),
        b_ub=np.zeros(count),
        A_eq=[*([*row, 0] for row in matrix), [*np.ones(count), 0]],
        b_eq=[*np.zeros(len(rows)), 1],
        bounds=(0, None),
    )
    if not solved.success or solved.x[-1] < 1e-9:
        return None
    near = solved.x[:-1] / np.max(np.abs(np.array(rows, float)), axis=0)
    one = [Fraction(1)] * count
    equations = [*rows, one]
    right = [*[Fraction(0)] * len(rows), Fraction(1)]
    return next((u for u in solutions_near(equations, right, near / near.sum()) if min(u) > 0), None)


def _has_one_sign_combination(rows: Rows, matrix: np.ndarray) -> bool:
    """Whether a combination of the rows is proved to have one sign (Stiemke): a float program proposes it."""
    solved = scipy.optimize.linprog(
        np.zeros(len(matrix)),
        A_ub=-matrix.T,
        b_ub=np.zeros(matrix.shape[1]),
        A_eq=[matrix.sum(axis=1)],
        b_eq=[1],
        bounds=(None, None),
    )
    if not solved.success:
        return False
    exact = np.array(rows, float)
    scale = np.max(np.abs(exact / np.max(np.abs(exact), axis=0)), axis=1)
    columns = [list(column) for column in zip(*rows, strict=True)]
    tight = [column for column, value in zip(columns, solved.x @ matrix, strict=True) if value < 1e-9]
    zero = [Fraction(0)] * len(rows)
    candidates = solutions_near(tight or [zero], [Fraction(0)] * max(len(tight), 1), solved.x / scale)
    return any(_one_sign([dot(v, column) for column in columns]) for v in candidates)
