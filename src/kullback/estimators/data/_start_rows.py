"""Rows that a start looks at: all of a short table, some of a long one. They are the same wherever the table lies.

Rows are drawn by their number in the whole table, with a seed of their own, so that a fit here and one over blocks
elsewhere start alike, and a start that needs no chance has none.
"""

from typing import NamedTuple

import numpy as np

#: Of more rows than this so many are drawn.
MOST_ROWS = 65_536
#: A long sequence is drawn in pieces of so many rows.
PIECE = 1024
_SEED = 0


class Pieces(NamedTuple):
    """Parts of sequences, in order: where each begins, how many rows it has, and of which sequence it is."""

    begins: np.ndarray
    sizes: np.ndarray
    sequences: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The places of all rows."""
        return np.concatenate([np.arange(begin, begin + size) for begin, size in zip(*self[:2], strict=True)])

    def chosen(self, places: np.ndarray) -> "Pieces":
        """Return some of the pieces."""
        return Pieces(*(part[places] for part in self))


def is_long(count: int) -> bool:
    """Say whether a start looks at some of so many rows only."""
    return count > MOST_ROWS


def sample_rows(count: int) -> np.ndarray | None:
    """Return the places of rows of a table with so many, in order; None for all.

    >>> sample_rows(100) is None, len(sample_rows(10**9))
    (True, 65536)
    """
    if not is_long(count):
        return None
    return np.sort(np.random.default_rng(_SEED).choice(count, MOST_ROWS, replace=False))


def sample_pieces(lengths: np.ndarray, weight: np.ndarray) -> Pieces | None:
    """Return pieces of sequences with these lengths and weights; None for all. Those of weight 0 are left out.

    >>> sample_pieces(np.array([2, 3, 1]), np.array([1.0, 0.0, 2.0])).rows.tolist()
    [0, 1, 5]
    """
    begins = np.cumsum(lengths) - lengths
    counts = np.flatnonzero(weight > 0)
    if not is_long(int(lengths[counts].sum())):
        return None if len(counts) == len(lengths) else Pieces(begins, lengths, np.arange(len(lengths))).chosen(counts)
    cut = _cut(begins, lengths, min(PIECE, MOST_ROWS))
    cut = cut.chosen(np.flatnonzero(weight[cut.sequences] > 0))
    order = np.random.default_rng(_SEED).permutation(len(cut.sizes))
    return cut.chosen(np.sort(order[np.cumsum(cut.sizes[order]) <= MOST_ROWS]))


def _cut(begins: np.ndarray, lengths: np.ndarray, most: int) -> Pieces:
    """Return all sequences in pieces of at most so many rows."""
    many = -(-lengths // most)
    sequences = np.repeat(np.arange(len(lengths)), many)
    inside = (np.arange(len(sequences)) - np.repeat(np.cumsum(many) - many, many)) * most
    return Pieces(begins[sequences] + inside, np.minimum(lengths[sequences] - inside, most), sequences)
