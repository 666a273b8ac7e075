"""What boosting asks of a library that grows trees."""

import abc
from typing import NamedTuple

import numpy as np

from kullback.models import Tree


class Growth(NamedTuple):
    """How trees are grown."""

    rate: float
    depth: int
    #: rows of a leaf, at least
    leaf: int
    #: the share of rows that each round is grown on
    subsample: float
    #: how far a leaf may lead at most, before the rate
    reach: float
    threads: int
    seed: int


class Grower(abc.ABC):
    """Trees on given inputs, one for each coordinate in each round, by least squares with weights.

    Coordinates are in units of their own, in which the curvature of the marginal is 1.
    """

    @abc.abstractmethod
    def grow(self, slope: np.ndarray, curvature: np.ndarray) -> bool:
        """Add a round of trees: coordinate by coordinate, the leaf with rows R leads by Σ_R slope / Σ_R curvature.

        Slopes and curvatures have a row for each coordinate. The step is bounded by the reach, and multiplied by the
        rate. False where no tree has found a split.
        """

    @property
    @abc.abstractmethod
    def scores(self) -> np.ndarray:
        """The sums of leaves of all rows, those of the validation part last: a row for each coordinate."""

    @abc.abstractmethod
    def trees(self, rounds: int) -> list[Tree]:
        """Return the trees of the first rounds, coordinate by coordinate in each of them."""


def finite_thresholds(threshold: np.ndarray) -> np.ndarray:
    """Return thresholds as numbers: at an infinite one all numbers go one way, and what is missing goes the other."""
    return np.nan_to_num(threshold, posinf=np.finfo(float).max, neginf=np.finfo(float).min)
