"""Markov kernels that leave the law exp(−energy/T) as it is: what has no closed form is drawn by them."""

from kullback.models.kernels._annealed_importance import (
    MOST_SPREAD,
    Annealed,
    annealed_importance,
    mean_weight,
    untrusted,
)
from kullback.models.kernels._gibbs import gibbs
from kullback.models.kernels._hamiltonian import hamiltonian
from kullback.models.kernels._langevin import LangevinChains, langevin
from kullback.models.kernels._metropolis import MetropolisChains, Proposal, flip_one, metropolis_hastings
from kullback.models.kernels._parallel_tempering import TemperedChains, parallel_tempering

__all__ = [
    "MOST_SPREAD",
    "Annealed",
    "LangevinChains",
    "MetropolisChains",
    "Proposal",
    "TemperedChains",
    "annealed_importance",
    "flip_one",
    "gibbs",
    "hamiltonian",
    "langevin",
    "mean_weight",
    "metropolis_hastings",
    "parallel_tempering",
    "untrusted",
]
