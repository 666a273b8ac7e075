"""What batches of a stream were worth before they were learned from: a curve whose length stays bounded."""

import numpy as np

from kullback.learning import MOST_OF_CURVE as MOST


def check_curve(curve: np.ndarray, seen: float) -> None:
    """Raise unless this is a curve: (points, value, points of the mean), and steps before them where they are known.

    Points never fall from row to row, and are no more than were seen.
    """
    if np.ndim(curve) != 2 or np.shape(curve)[1] not in (3, 4) or len(curve) > MOST:
        shape = np.shape(curve)
        raise ValueError(f"learning_curve_ has shape {shape}: it must have at most {MOST} rows of 3 or 4 numbers.")
    if not ((np.diff(curve[:, :-2], axis=0) >= 0).all() and (curve[:, -1] > 0).all()):
        raise ValueError("learning_curve_ does not count points: their number cannot fall from row to row.")
    if len(curve) and curve[-1, -3] > seen * (1 + 1e-9):
        raise ValueError(f"learning_curve_ counts {curve[-1, -3]:.6g} points, and n_points_seen_ is {seen:.6g}.")
