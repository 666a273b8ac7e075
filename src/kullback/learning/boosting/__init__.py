"""Boosting: trees that lead from the marginal of the targets to their distribution given the inputs."""

from kullback.learning.boosting._boost import Boosted, boost

__all__ = ["Boosted", "boost"]
