"""Linear algebra over the rationals: what floats propose is proved here."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

#: Denominators of free coordinates, from plain numbers to fine ones: the first that proves the claim is taken.
_DENOMINATORS = (6, 60, 5_040, 10**6, 10**9, 10**12)

Row = Sequence[Fraction]


def as_fraction(name: str, value: Any) -> Fraction:
    """Return a number as a fraction; a float is the fraction with a denominator up to 10⁶ that rounds to it.

    >>> as_fraction("prior[0]", 0.1), as_fraction("prior[0]", 2)
    (Fraction(1, 10), Fraction(2, 1))
    """
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Real) and math.isfinite(value):
        found = Fraction(float(value)).limit_denominator(10**6)
        if float(found) == float(value):
            return found
        raise ValueError(f"{name} is {float(value)!r}: give it as a Fraction, for the answer is exact.")
    raise ValueError(f"{name} is {value!r}: it must be a rational number.")


def reduced_rows(matrix: Sequence[Row]) -> tuple[list[list[Fraction]], list[int]]:
    """Return the reduced row echelon form without its zero rows, and its pivot columns."""
    rows = [list(row) for row in matrix]
    done: list[list[Fraction]] = []
    pivots: list[int] = []
    for column in range(len(rows[0]) if rows else 0):
        chosen = next((row for row in rows if row[column]), None)
        if chosen is None:
            continue
        rows.remove(chosen)
        chosen = [entry / chosen[column] for entry in chosen]
        rows = [_cleared(row, chosen, column) for row in rows]
        done = [_cleared(row, chosen, column) for row in done]
        done.append(chosen)
        pivots.append(column)
    return done, pivots


def _cleared(row: list[Fraction], pivot: list[Fraction], column: int) -> list[Fraction]:
    factor = row[column]
    return [a - factor * b for a, b in zip(row, pivot, strict=True)] if factor else row


def rank(matrix: Sequence[Row]) -> int:
    """Return the rank.

    >>> rank([[Fraction(1), Fraction(2)], [Fraction(2), Fraction(4)]])
    1
    """
    return len(reduced_rows(matrix)[1])


def solutions_near(matrix: Sequence[Row], right: Row, near: Sequence[float]) -> Iterator[list[Fraction]]:
    """Yield exact solutions x of matrix · x = right, closer and closer to `near`: its free coordinates are rounded.

    >>> x = next(solutions_near([[Fraction(3), Fraction(0)]], [Fraction(1)], [0.3333, 0.5001]))
    >>> x
    [Fraction(1, 3), Fraction(1, 2)]
    """
    size = len(near)
    rows, pivots = reduced_rows([[*row, value] for row, value in zip(matrix, right, strict=True)])
    if size in pivots:
        return  # no solution
    for denominator in _DENOMINATORS:
        x = [Fraction(float(value)).limit_denominator(denominator) for value in near]
        free = [i for i in range(size) if i not in pivots]
        for row, pivot in zip(rows, pivots, strict=True):
            x[pivot] = row[size] - sum((row[i] * x[i] for i in free), Fraction(0))
        yield x
        if not free:
            return


def dot(a: Sequence[Any], b: Sequence[Any]) -> Fraction:
    """Return Σ a_i·b_i, exactly."""
    return sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction(0))
