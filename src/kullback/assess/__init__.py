"""How far a fitted model is from the truth, and how sure that is."""

from kullback.assess._betting import BettingSequence, asymptotic_interval
from kullback.assess._bias_variance import BiasVariance, bias_variance
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
from kullback.assess._pac_bayes import PacBayesBound, pac_bayes_bound
from kullback.assess._random_weights import GaussianWeights
from kullback.assess._region import CredibleRegion, credible_region
from kullback.assess._resample import (
    LossVariation,
    OutOfBag,
    generalization_gap,
    loss_variation,
    negative_log_likelihoods,
    out_of_bag,
    zero_one_losses,
)

__all__ = [
    "BettingSequence",
    "BiasVariance",
    "ConfidenceInterval",
    "CredibleRegion",
    "GaussianWeights",
    "LossVariation",
    "OutOfBag",
    "PacBayesBound",
    "asymptotic_interval",
    "bernoulli_kl",
    "bernstein_interval",
    "bias_variance",
    "chernoff_interval",
    "credible_region",
    "error_rate_interval",
    "generalization_gap",
    "hoeffding_interval",
    "kl_inverse",
    "loss_variation",
    "negative_log_likelihoods",
    "out_of_bag",
    "pac_bayes_bound",
    "xi",
    "zero_one_losses",
]
