"""Markov kernels that leave the law exp(−energy/T) as it is: what has no closed form is drawn by them."""

from kullback.models.kernels._langevin import LangevinChains, langevin

__all__ = ["LangevinChains", "langevin"]
