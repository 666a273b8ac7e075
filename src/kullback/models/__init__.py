"""Joints p(h, v) of hidden and visible variables."""

from kullback.models._bound import variational_bound
from kullback.models._compound_dirichlet import CompoundDirichlet
from kullback.models._counts import Counts
from kullback.models._mixture import Mixture, MixtureStatistics, distances
from kullback.models._reduction import average_matching, concatenate_mixtures, reduce, spread_start
from kullback.models.factors import FactorAnalysis, Factors, ProbabilisticPCA
from kullback.models.hidden_markov import HiddenMarkovModel, HiddenMarkovStatistics
from kullback.models.linear import PARAMETERS as LINEAR_PARAMETERS
from kullback.models.linear import LinearDynamicalSystem, LinearStatistics, Smoothed, States, subspace_start

#: Earlier names.
agreeing, spread_out, unite = average_matching, spread_start, concatenate_mixtures

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
    "average_matching",
    "concatenate_mixtures",
    "distances",
    "reduce",
    "spread_out",
    "spread_start",
    "subspace_start",
    "unite",
    "variational_bound",
]
