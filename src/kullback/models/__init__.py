"""Joints p(h, v) of hidden and visible variables."""

from kullback.models._bound import variational_bound
from kullback.models._compound_dirichlet import CompoundDirichlet
from kullback.models._counts import Counts
from kullback.models._factor_analysis import FactorAnalysis
from kullback.models._factor_rows import Factors
from kullback.models._hidden_markov import HiddenMarkovModel
from kullback.models._hidden_markov_statistics import HiddenMarkovStatistics
from kullback.models._kalman import Smoothed, States
from kullback.models._linear_dynamical_system import LinearDynamicalSystem
from kullback.models._linear_parameters import PARAMETERS as LINEAR_PARAMETERS
from kullback.models._linear_statistics import LinearStatistics
from kullback.models._mixture import Mixture, MixtureStatistics, distances
from kullback.models._probabilistic_pca import ProbabilisticPCA
from kullback.models._reduction import agreeing, reduce, spread_out, unite
from kullback.models._subspace import subspace_start

#: Every model. The contract tests go through this list.
REGISTRY = (Mixture, FactorAnalysis, ProbabilisticPCA, CompoundDirichlet, HiddenMarkovModel, LinearDynamicalSystem)

__all__ = [
    "LINEAR_PARAMETERS",
    "REGISTRY",
    "CompoundDirichlet",
    "Counts",
    "FactorAnalysis",
    "Factors",
    "HiddenMarkovModel",
    "HiddenMarkovStatistics",
    "LinearDynamicalSystem",
    "LinearStatistics",
    "Mixture",
    "MixtureStatistics",
    "ProbabilisticPCA",
    "Smoothed",
    "States",
    "agreeing",
    "distances",
    "reduce",
    "spread_out",
    "subspace_start",
    "unite",
    "variational_bound",
]
