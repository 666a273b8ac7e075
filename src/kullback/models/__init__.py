"""Joints p(h, v) of hidden and visible variables."""

from kullback.models._mixture import Mixture, MixtureStatistics

#: Every model. The contract tests go through this list.
REGISTRY = (Mixture,)

__all__ = ["REGISTRY", "Mixture", "MixtureStatistics"]
