"""The scikit-learn front door."""

from kullback.estimators._combine import combine
from kullback.estimators._compound_dirichlet import CompoundDirichlet
from kullback.estimators._discrete_mixtures import BernoulliMixture, CategoricalMixture, PoissonMixture
from kullback.estimators._factor_estimators import FactorAnalysis, ProbabilisticPCA
from kullback.estimators._family_mixture import Mixture
from kullback.estimators._file import load_estimator as load
from kullback.estimators._gaussian_mixture import GaussianMixture
from kullback.estimators._relative_entropy import relative_entropy

#: The kinds of estimators that a file can hold.
SAVED = (
    "BernoulliMixture",
    "CategoricalMixture",
    "CompoundDirichlet",
    "FactorAnalysis",
    "GaussianMixture",
    "Mixture",
    "PoissonMixture",
    "ProbabilisticPCA",
)

__all__ = [
    "SAVED",
    "BernoulliMixture",
    "CategoricalMixture",
    "CompoundDirichlet",
    "FactorAnalysis",
    "GaussianMixture",
    "Mixture",
    "PoissonMixture",
    "ProbabilisticPCA",
    "combine",
    "load",
    "relative_entropy",
]
