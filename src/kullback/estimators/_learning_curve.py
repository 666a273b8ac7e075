"""What batches of a stream were worth before they were learned from: a curve whose length stays bounded."""

import numpy as np

#: Rows of a curve at most.
MOST = 512


def extended(curve: np.ndarray | None, seen: float, log_likelihood: float, points: float) -> np.ndarray:
    """Return the curve with a batch more; its rows are (points seen, mean log-likelihood, points of the mean).

    Of one row too many, the two neighbors that hold the fewest points become one. So a mean of several batches is over
    at most 2/`MOST` of all points: the curve is about as fine at its beginning as at its end, however long it gets.

    >>> extended(np.array([[10.0, -2.0, 10.0]]), 30.0, -1.5, 20.0).tolist()
    [[10.0, -2.0, 10.0], [30.0, -1.5, 20.0]]
    """
    curve = np.zeros((0, 3)) if curve is None else curve
    if not np.isfinite(log_likelihood):  # a batch that cannot be: it has no place on a curve
        return curve
    count = len(curve)
    longer = np.empty((count + 1, 3))
    longer[:count], longer[count] = curve, (seen, log_likelihood, points)
    if count < MOST:
        return longer
    mass = longer[:, 2]
    place = int((mass[:-1] + mass[1:]).argmin())
    (_, one, few), (end, other, more) = longer[place : place + 2].tolist()
    longer[place] = end, (few * one + more * other) / (few + more), few + more
    longer[place + 1 : -1] = longer[place + 2 :]
    return longer[:-1]


def check_curve(curve: np.ndarray, seen: float) -> None:
    """Raise unless this is a curve: rows of three numbers, the points never falling, and no more than were seen."""
    if np.ndim(curve) != 2 or np.shape(curve)[1] != 3 or len(curve) > MOST:
        raise ValueError(f"learning_curve_ has shape {np.shape(curve)}: it must have at most {MOST} rows of 3 numbers.")
    if not ((np.diff(curve[:, 0]) >= 0).all() and (curve[:, 2] > 0).all()):
        raise ValueError("learning_curve_ does not count points: their number cannot fall from row to row.")
    if len(curve) and curve[-1, 0] > seen * (1 + 1e-9):
        raise ValueError(f"learning_curve_ counts {curve[-1, 0]:.6g} points, and n_points_seen_ is {seen:.6g}.")
