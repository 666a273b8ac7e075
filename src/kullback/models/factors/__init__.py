"""Factor models: few hidden factors, Gaussian, seen through a linear map with noise of its own in each column."""

from kullback.models.factors._factor_analysis import FactorAnalysis
from kullback.models.factors._probabilistic_pca import ProbabilisticPCA
from kullback.models.factors._rows import Factors

__all__ = ["FactorAnalysis", "Factors", "ProbabilisticPCA"]
