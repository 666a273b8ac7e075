"""What tables, weights and answers of networks must be: numbers that are left after rounding, and finite."""

from typing import Any, TypeVar

import jax
import numpy as np

Answers = TypeVar("Answers")

#: The share of its spread that a column may lose by rounding.
_LOST = 0.05
#: Squares of what is far out are so much more than a variance, and still numbers.
_FAR = 1e4


def check_column(column: np.ndarray, place: int, dtype: Any) -> None:
    """Raise where the entries of a column of numbers are all the same, or are so after rounding to the dtype."""
    if np.ptp(column) == 0:
        raise ValueError(
            f"Column {place} of X is {column[0]:.6g} in all rows: leave it out, for a density cannot be learned from "
            "one value."
        )
    variance, limits = np.var(column.astype(float)), np.finfo(dtype)
    if not limits.tiny < variance < limits.max / _FAR:
        raise ValueError(
            f"Column {place} of X has a variance of {variance:.3g}, with which {dtype} cannot compute: use other units."
        )
    with np.errstate(over="ignore"):
        lost = np.max(np.abs(column - column.astype(dtype)))
    if not lost <= _LOST * np.std(column):
        raise ValueError(
            f"Column {place} of X loses its differences when it is rounded to {dtype}: subtract a constant or use "
            "other units, or dtype='float64'."
        )


def check_columns(X: np.ndarray, dtype: Any, constants: bool = False) -> None:
    """Raise where a column of numbers says nothing. Entries may be missing; of one entry nothing can be said.

    With `constants` columns may have one value.
    """
    for place in range(X.shape[1]):
        column = X[~np.isnan(X[:, place]), place]
        if len(column) > 1 and not (constants and np.ptp(column) == 0):
            check_column(column, place, dtype)


def check_weight(weight: np.ndarray | None, dtype: Any) -> None:
    """Raise where weights of rows, or their sum, are no ordinary numbers of the dtype."""
    if weight is None:
        return
    limits, some = np.finfo(dtype), weight[weight > 0]
    if np.sum(some, dtype=float) > limits.max or np.any(some < limits.tiny):
        odd = np.max(some) if np.sum(some, dtype=float) > limits.max else np.min(some)
        raise ValueError(
            f"sample_weight has values such as {odd:.3g}, with which {dtype} cannot compute: multiply them all by a "
            "number that brings them near 1."
        )


def check_answers(answers: Answers, logarithms: bool = False) -> Answers:
    """Return what a network has answered; raise unless it is finite. A logarithm may be −∞: that of what cannot be."""
    for answer in jax.tree.leaves(answers):
        if not np.all(np.isfinite(answer) | (logarithms & (np.asarray(answer) < 0))):
            raise ValueError(
                "The network has no answer that is finite: its parameters, or the entries of X, are too large to "
                "compute with. Fit it anew with a smaller learning_rate, or scale the data."
            )
    return answers


def check_errors(errors: Answers) -> Answers:
    """Return standard errors of what a network has answered; raise if one is no number.

    That of a single draw is infinite: nobody knows it.
    """
    check_answers(-np.asarray(errors), logarithms=True)
    return errors
