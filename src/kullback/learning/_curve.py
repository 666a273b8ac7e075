"""What steps were worth before the model moved: a curve whose length stays bounded."""

import numpy as np

#: Rows of a curve at most.
MOST_OF_CURVE = 512


def extend_curve(curve: np.ndarray, *row: float) -> np.ndarray:
    """Return the curve with a row more: counts such as steps and points seen, then a mean value, and its points.

    Of one row too many, the two neighbors that hold the fewest points become one. So a mean of several steps is over
    at most a 256th of all points: the curve is about as fine at its beginning as at its end, however long it gets.

    >>> extend_curve(np.array([[10.0, -2.0, 10.0]]), 30.0, -1.5, 20.0).tolist()
    [[10.0, -2.0, 10.0], [30.0, -1.5, 20.0]]
    """
    if not (np.isfinite(row[-2]) and row[-1] > 0):  # a batch that cannot be, or no batch: it has no place on a curve
        return curve
    count = len(curve)
    longer = np.empty((count + 1, len(row)))
    longer[:count], longer[count] = curve, row
    if count < MOST_OF_CURVE:
        return longer
    held = longer[:, -1]
    place = int((held[:-1] + held[1:]).argmin())
    (*_, one, few), (*counts, other, more) = longer[place : place + 2].tolist()
    longer[place] = *counts, (few * one + more * other) / (few + more), few + more
    longer[place + 1 : -1] = longer[place + 2 :]
    return longer[:-1]
