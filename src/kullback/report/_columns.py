"""A column of the components in text, and with the names of its categories."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kullback.families import Marginal
from kullback.report._text import clean, number, short

#: Categories of a component that are listed.
_CATEGORIES = 8


class Column(NamedTuple):
    """What a picture draws of a column, the parameters of each component as text, and what its codes stand for."""

    marginal: Marginal
    words: list[str]
    categories: tuple[str, ...] = ()

    @classmethod
    def of(cls, marginal: Marginal, members: int, categories: Sequence[str] | None = None) -> "Column":
        """Return the column of so many components, with the names of its categories where they are known."""
        names = tuple(map(clean, categories or ()))[: marginal.codes]
        known = marginal.codes > 0 and len(names) == marginal.codes
        if known or (marginal.codes and not marginal.parameters):
            shown = names if known else tuple(map(str, range(marginal.codes)))
            shares = cls(marginal, []).density(np.arange(marginal.codes, dtype=float))
            return cls(marginal, [_shares(row, shown) for row in shares], names if known else ())
        parameters = [
            {name: _Number(values[member]) for name, values in marginal.parameters.items()} for member in range(members)
        ]
        return cls(marginal, [marginal.words.format(**each) for each in parameters])

    @property
    def lists_categories(self) -> bool:
        """Whether its text is a list of categories and their probabilities."""
        return self.marginal.codes > 0 and (bool(self.categories) or not self.marginal.parameters)

    def density(self, x: np.ndarray) -> np.ndarray:
        """Return the density at points, of shape (components, points)."""
        assert self.marginal.density is not None
        return self.marginal.density(x)


class _Number(float):
    """A number that is written with as many significant digits as its format says, or 4."""

    def __format__(self, digits: str) -> str:
        return number(self, int(digits or 4))


def _shares(row: np.ndarray, names: tuple[str, ...]) -> str:
    """Return the names of categories and their shares: all that there are, or the largest."""
    there = np.flatnonzero(row > 0)
    largest = np.sort(there[np.argsort(-row[there], kind="stable")[:_CATEGORIES]])
    listed = ", ".join(f"{short(names[place])}: {number(row[place], 2)}" for place in largest)
    rest = len(there) - len(largest)
    return f"{listed}, … {rest:,} more" if rest else listed
