"""Linear dynamical systems: a hidden state moves linearly, seen through linear outputs, with Gaussian noise."""

from kullback.models.linear._kalman import Smoothed, States
from kullback.models.linear._model import LinearDynamicalSystem
from kullback.models.linear._parameters import PARAMETERS
from kullback.models.linear._statistics import LinearStatistics
from kullback.models.linear._subspace import subspace_start

__all__ = ["PARAMETERS", "LinearDynamicalSystem", "LinearStatistics", "Smoothed", "States", "subspace_start"]
