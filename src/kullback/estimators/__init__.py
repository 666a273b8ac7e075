"""The scikit-learn front door."""

from kullback.estimators._combine import combine
from kullback.estimators._gaussian_mixture import GaussianMixture

#: The kinds of estimators that a file can hold.
SAVED = ("GaussianMixture",)

__all__ = ["SAVED", "GaussianMixture", "combine"]
