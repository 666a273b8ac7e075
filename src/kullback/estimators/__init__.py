"""The scikit-learn front door."""

from kullback.estimators._categorical_hmm import CategoricalHMM
from kullback.estimators._combine import combine
from kullback.estimators._compound_dirichlet import CompoundDirichlet
from kullback.estimators._discrete_mixtures import BernoulliMixture, CategoricalMixture, PoissonMixture
from kullback.estimators._drawn import Pieces, drawn_pieces, drawn_rows, is_long
from kullback.estimators._estimator import Estimator
from kullback.estimators._factor_estimators import FactorAnalysis, ProbabilisticPCA
from kullback.estimators._family_hmm import HMM
from kullback.estimators._family_mixture import Mixture
from kullback.estimators._file import load_estimator as load
from kullback.estimators._fit_data import FitData, Learning, Provider, RowData, SequenceData
from kullback.estimators._fit_record import FitRecord
from kullback.estimators._gaussian_hmm import GaussianHMM
from kullback.estimators._gaussian_mixture import GaussianMixture
from kullback.estimators._gradient_estimator import GRADIENT_CONSTRAINTS, GradientEstimator
from kullback.estimators._linear_dynamical_system import LinearDynamicalSystem
from kullback.estimators._mixture_estimator import MixtureEstimator
from kullback.estimators._multinomial_hmm import MultinomialHMM
from kullback.estimators._poisson_hmm import PoissonHMM
from kullback.estimators._preparation import Columns, Preparation
from kullback.estimators._relative_entropy import relative_entropy
from kullback.estimators._rows import Rows
from kullback.estimators._sequence_estimator import SequenceEstimator
from kullback.estimators._sequences import Sequences, check_lengths
from kullback.estimators.constraints import Interval, StrOptions

#: The kinds of estimators that a file can hold.
SAVED = (
    "HMM",
    "BernoulliMixture",
    "CategoricalHMM",
    "CategoricalMixture",
    "CompoundDirichlet",
    "FactorAnalysis",
    "GaussianHMM",
    "GaussianMixture",
    "LinearDynamicalSystem",
    "Mixture",
    "MultinomialHMM",
    "PoissonHMM",
    "PoissonMixture",
    "ProbabilisticPCA",
)

__all__ = [
    "GRADIENT_CONSTRAINTS",
    "HMM",
    "SAVED",
    "BernoulliMixture",
    "CategoricalHMM",
    "CategoricalMixture",
    "Columns",
    "CompoundDirichlet",
    "Estimator",
    "FactorAnalysis",
    "FitData",
    "FitRecord",
    "GaussianHMM",
    "GaussianMixture",
    "GradientEstimator",
    "Interval",
    "Learning",
    "LinearDynamicalSystem",
    "Mixture",
    "MixtureEstimator",
    "MultinomialHMM",
    "Pieces",
    "PoissonHMM",
    "PoissonMixture",
    "Preparation",
    "ProbabilisticPCA",
    "Provider",
    "RowData",
    "Rows",
    "SequenceData",
    "SequenceEstimator",
    "Sequences",
    "StrOptions",
    "check_lengths",
    "combine",
    "drawn_pieces",
    "drawn_rows",
    "is_long",
    "load",
    "relative_entropy",
]
