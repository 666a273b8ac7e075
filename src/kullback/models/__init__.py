"""Joints p(h, v) of hidden and visible variables."""

from kullback.models._bound import variational_bound
from kullback.models._complete import check_temperature, check_want, complete
from kullback.models._compound_dirichlet import CompoundDirichlet
from kullback.models._counts import Counts
from kullback.models._energy import EnergyMoments, energy_moments
from kullback.models._free import FreeCoordinates, FreeParameter, free_coordinates
from kullback.models._free_leaves import CovarianceLeaf, MembersLeaf, PlainLeaf, PositiveLeaf, SimplexLeaf
from kullback.models._importance import WeightedDraws, average_weights, effective_size
from kullback.models._mixture import Mixture, MixtureKind, MixtureStatistics, distances
from kullback.models._reduction import average_matching, concatenate_mixtures, reduce, spread_start
from kullback.models.autoencoder import Encoder, VariationalAutoencoder
from kullback.models.boltzmann import RestrictedBoltzmannMachine
from kullback.models.conditional import (
    ACTIVATIONS,
    Conditional,
    ConditionalModel,
    Ensemble,
    FreeOutput,
    LinearConditional,
    Network,
    Ridge,
    Scores,
    Tree,
    Trees,
    combine_linear,
    ensemble,
    ensemble_kind,
    even_mixture,
    row_modes,
)
from kullback.models.energy_sampler import (
    AutoencoderEnergy,
    EnergySampler,
    GivenEnergy,
    Perceptron,
    PerceptronEnergy,
    Sampler,
)
from kullback.models.factors import FactorAnalysis, Factors, ProbabilisticPCA
from kullback.models.helmholtz import HelmholtzMachine, Recognition
from kullback.models.hidden_markov import HiddenMarkovModel, HiddenMarkovStatistics
from kullback.models.kernels import MOST_SPREAD, untrusted
from kullback.models.linear import PARAMETERS as LINEAR_PARAMETERS
from kullback.models.linear import LinearDynamicalSystem, LinearStatistics, Smoothed, States, subspace_start
from kullback.models.process import (
    FiniteGenerative,
    FinitePair,
    FiniteProcess,
    MutableProcess,
    SpikingMemory,
    TabularMemory,
    closed_class,
    even_process,
    golden_mean,
    merge_beliefs,
    nonunifilar,
    second_order,
    stationary_law,
)

#: Earlier names.
agreeing, spread_out, unite = average_matching, spread_start, concatenate_mixtures

#: Every model with a closed form, and those that learn by gradients. The contract tests go through these lists.
REGISTRY = (Mixture, FactorAnalysis, ProbabilisticPCA, CompoundDirichlet, HiddenMarkovModel, LinearDynamicalSystem)
BY_GRADIENTS = (HelmholtzMachine, RestrictedBoltzmannMachine)
#: Memories that follow a stream.
PROCESSES = (TabularMemory, SpikingMemory)

__all__ = [
    "ACTIVATIONS",
    "BY_GRADIENTS",
    "LINEAR_PARAMETERS",
    "MOST_SPREAD",
    "PROCESSES",
    "REGISTRY",
    "AutoencoderEnergy",
    "CompoundDirichlet",
    "Conditional",
    "ConditionalModel",
    "Counts",
    "CovarianceLeaf",
    "Encoder",
    "EnergyMoments",
    "EnergySampler",
    "Ensemble",
    "FactorAnalysis",
    "Factors",
    "FiniteGenerative",
    "FinitePair",
    "FiniteProcess",
    "FreeCoordinates",
    "FreeOutput",
    "FreeParameter",
    "GivenEnergy",
    "HelmholtzMachine",
    "HiddenMarkovModel",
    "HiddenMarkovStatistics",
    "LinearConditional",
    "LinearDynamicalSystem",
    "LinearStatistics",
    "MembersLeaf",
    "Mixture",
    "MixtureKind",
    "MixtureStatistics",
    "MutableProcess",
    "Network",
    "Perceptron",
    "PerceptronEnergy",
    "PlainLeaf",
    "PositiveLeaf",
    "ProbabilisticPCA",
    "Recognition",
    "RestrictedBoltzmannMachine",
    "Ridge",
    "Sampler",
    "Scores",
    "SimplexLeaf",
    "Smoothed",
    "SpikingMemory",
    "States",
    "TabularMemory",
    "Tree",
    "Trees",
    "VariationalAutoencoder",
    "WeightedDraws",
    "agreeing",
    "average_matching",
    "average_weights",
    "check_temperature",
    "check_want",
    "closed_class",
    "combine_linear",
    "complete",
    "concatenate_mixtures",
    "distances",
    "effective_size",
    "energy_moments",
    "ensemble",
    "ensemble_kind",
    "even_mixture",
    "even_process",
    "free_coordinates",
    "golden_mean",
    "merge_beliefs",
    "nonunifilar",
    "reduce",
    "row_modes",
    "second_order",
    "spread_out",
    "spread_start",
    "stationary_law",
    "subspace_start",
    "unite",
    "untrusted",
    "variational_bound",
]
