"""How far a fitted model is from the truth, and how sure that is."""

from kullback.assess._betting import BettingSequence, asymptotic_interval
from kullback.assess._concentration import (
    bernoulli_kl,
    bernstein_interval,
    chernoff_interval,
    error_rate_interval,
    hoeffding_interval,
    kl_inverse,
    xi,
)
from kullback.assess._interval import ConfidenceInterval

__all__ = [
    "BettingSequence",
    "ConfidenceInterval",
    "asymptotic_interval",
    "bernoulli_kl",
    "bernstein_interval",
    "chernoff_interval",
    "error_rate_interval",
    "hoeffding_interval",
    "kl_inverse",
    "xi",
]
