"""Joints p(h, v) of hidden and visible variables."""

from kullback.models._factor_analysis import FactorAnalysis
from kullback.models._factor_rows import Factors
from kullback.models._mixture import Mixture, MixtureStatistics
from kullback.models._probabilistic_pca import ProbabilisticPCA

#: Every model. The contract tests go through this list.
REGISTRY = (Mixture, FactorAnalysis, ProbabilisticPCA)

__all__ = ["REGISTRY", "FactorAnalysis", "Factors", "Mixture", "MixtureStatistics", "ProbabilisticPCA"]
