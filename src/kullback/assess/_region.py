"""Credible regions: the smallest sets of a probability, by what a model itself says; they may be in several pieces."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from kullback.core import Batch, ClosedFormModel, as_key
from kullback.geometry import density_grid, highest_density_threshold, pieces_above
from kullback.runtime import filter_jit, in_float64, round_length


class CredibleRegion(NamedTuple):
    """The points whose log density is at least `threshold`: together they have a probability of `level`.

    `log_prob` takes rows of points to their log densities, `draws` has points of the model's own, by which the
    threshold was found: its level has the standard error √(level(1 − level)/draws).
    """

    level: float
    threshold: float
    log_prob: Callable[[Any], Any]
    draws: Float[np.ndarray, "draws columns"]

    def contains(self, points: ArrayLike) -> Bool[np.ndarray, " rows"]:
        """Return which rows of points lie in it."""
        rows = np.asarray(points, np.float64)
        columns = self.draws.shape[1]
        if rows.ndim == 1 and columns == 1:
            rows = rows[:, None]
        if rows.ndim != 2 or rows.shape[1] != columns:
            raise ValueError(f"points has shape {rows.shape}: it must have rows of {columns} columns.")
        if np.isnan(rows).any():
            raise ValueError("points has NaN entries: a point with missing entries is neither inside nor outside.")
        return np.asarray(self.log_prob(rows) >= self.threshold)

    @property
    def intervals(self) -> Float[np.ndarray, "pieces 2"]:
        """The pieces of a region of one column, each from its lower to its upper end, in ascending order."""
        if self.draws.shape[1] != 1:
            raise ValueError(f"the points have {self.draws.shape[1]} columns: ask `contains`, only one has intervals.")

        def of_grid(y: np.ndarray) -> np.ndarray:
            return np.asarray(self.log_prob(y.reshape(-1, 1))).reshape(y.shape)

        return pieces_above(of_grid, self.threshold, density_grid(self.draws)).of_row(0)


@filter_jit
def _log_likelihood(model: Any, rows: Any) -> Any:
    return model.log_likelihood(Batch(rows))


@in_float64
def credible_region(model: Any, level: float = 0.95, *, draws: int = 10_000, key: Any = 0) -> CredibleRegion:
    """Return the smallest region that has a probability of `level` under a model of rows of real numbers.

    Parameters
    ----------
    model : Model
        Anything that answers `sample(key, shape)` and `log_likelihood(batch)`: a family, a mixture, a factor model.
    level : float
        The probability of the region.
    draws : int
        Points of the model by which the threshold of its density is found.
    key : int or jax key
        Of the draws.

    Examples
    --------
    >>> from kullback.families import DiagonalGaussian
    >>> from kullback.models import Mixture
    >>> two = Mixture([0.5, 0.5], DiagonalGaussian([[-3.0], [3.0]], [[1.0], [1.0]]))
    >>> region = credible_region(two, 0.9)
    >>> region.intervals.round(1).tolist()
    [[-4.6, -1.4], [1.4, 4.6]]
    >>> region.contains([-3.0, 0.0, 3.0]).tolist()
    [True, False, True]

    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}: it must lie between 0 and 1.")
    if not (float(draws).is_integer() and draws >= 1):
        raise ValueError(f"draws is {draws}: it must be a whole number, at least 1.")
    if not (callable(getattr(model, "sample", None)) and callable(getattr(model, "log_likelihood", None))):
        raise TypeError(
            f"model is a {type(model).__name__}: give a model of the library, as `to_model()` of a fitted estimator "
            "returns it."
        )
    if isinstance(model, ClosedFormModel) and model.blank_carry() is not None:
        raise TypeError(
            f"model is a {type(model).__name__}, whose rows follow each other: a region is of independent rows, as "
            "those of its emissions."
        )
    drawn = np.asarray(model.sample(as_key(key), (int(draws),)), np.float64)
    drawn = drawn[:, None] if drawn.ndim == 1 else drawn

    @in_float64
    def log_prob(rows: np.ndarray) -> np.ndarray:
        padded = np.resize(rows, (round_length(len(rows)), rows.shape[1]))  # few lengths, to compile few functions
        found = np.asarray(_log_likelihood(model, padded))[: len(rows)]
        if found.shape != (len(rows),):
            raise ValueError(
                f"{type(model).__name__} answers for {len(rows)} rows with shape {found.shape}: a region needs one "
                "density for each, as that of one member or of a mixture."
            )
        return found

    threshold = float(highest_density_threshold(log_prob(drawn), level))
    return CredibleRegion(float(level), threshold, log_prob, drawn)
