"""The scikit-learn front door."""

from kullback.estimators._combine import combine
from kullback.estimators._gaussian_mixture import GaussianMixture

__all__ = ["GaussianMixture", "combine"]
