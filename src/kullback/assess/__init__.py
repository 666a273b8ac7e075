"""How far a fitted model is from the truth, and how sure that is."""

from kullback.assess._betting import BettingSequence, asymptotic_interval, prequential_interval
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
from kullback.assess._loss_variation import LossVariation, loss_variation
from kullback.assess._pac_bayes import PacBayesBound, pac_bayes_bound, pac_bayes_kl
from kullback.assess._random_weights import GaussianWeights
from kullback.assess._refit import negative_log_likelihoods, zero_one_losses
from kullback.assess._region import CredibleRegion, credible_region
from kullback.assess._resample import OutOfBag, generalization_gap, out_of_bag

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
    "pac_bayes_kl",
    "prequential_interval",
    "xi",
    "zero_one_losses",
]
