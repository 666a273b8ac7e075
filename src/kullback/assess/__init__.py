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
from kullback.assess._cost_rates import cost_rates
from kullback.assess._costs import Costs, costs
from kullback.assess._criteria import Criteria, LeaveOneOut, compare_criteria, criteria, psis_loo, waic
from kullback.assess._criteria_table import criteria_table
from kullback.assess._diagnostics import Diagnostics, diagnose
from kullback.assess._estimate import EstimatedCoefficient
from kullback.assess._estimated_coefficient import estimate_learning_coefficient, learning_coefficient_curve
from kullback.assess._interval import ConfidenceInterval
from kullback.assess._known_truth import KnownTruth
from kullback.assess._langevin import minibatch_learning_coefficient
from kullback.assess._loss_variation import LossVariation, loss_variation
from kullback.assess._pac_bayes import PacBayesBound, pac_bayes_bound, pac_bayes_kl
from kullback.assess._paired import Mean
from kullback.assess._prior_rows import shared_rows
from kullback.assess._race import Race, race
from kullback.assess._random_weights import GaussianWeights
from kullback.assess._rate import Rate, RateParts, mean_field, rate, rate_gradient, rate_parts
from kullback.assess._refit import negative_log_likelihoods, zero_one_losses
from kullback.assess._region import CredibleRegion, credible_region
from kullback.assess._resample import OutOfBag, generalization_gap, out_of_bag
from kullback.assess._row_losses import RowLosses, paired_difference
from kullback.assess._sampling import check_sampling
from kullback.assess._select import Selection, select
from kullback.assess._tempered import Settings
from kullback.assess._tune import Tuning, tune
from kullback.assess._tuner import Tuner
from kullback.assess._validation import cross_validate, leave_future_out, prequential_loss
from kullback.assess._volume import volume
from kullback.assess.exact._charts import zeta
from kullback.assess.exact._closed import (
    deep_linear_coefficient,
    mixture_coefficient,
    naive_bayes_coefficient,
    reduced_rank_coefficient,
    tanh_coefficient,
)
from kullback.assess.exact._coefficient import ChartCertificate, Coefficient
from kullback.assess.exact._face_check import FaceCheck
from kullback.assess.exact._learning_coefficient import learning_coefficient
from kullback.assess.exact._newton import NewtonCertificate

__all__ = [
    "BettingSequence",
    "BiasVariance",
    "ChartCertificate",
    "Coefficient",
    "ConfidenceInterval",
    "Costs",
    "CredibleRegion",
    "Criteria",
    "Diagnostics",
    "EstimatedCoefficient",
    "FaceCheck",
    "GaussianWeights",
    "KnownTruth",
    "LeaveOneOut",
    "LossVariation",
    "Mean",
    "NewtonCertificate",
    "OutOfBag",
    "PacBayesBound",
    "Race",
    "Rate",
    "RateParts",
    "RowLosses",
    "Selection",
    "Settings",
    "Tuner",
    "Tuning",
    "asymptotic_interval",
    "bernoulli_kl",
    "bernstein_interval",
    "bias_variance",
    "check_sampling",
    "chernoff_interval",
    "compare_criteria",
    "cost_rates",
    "costs",
    "credible_region",
    "criteria",
    "criteria_table",
    "cross_validate",
    "deep_linear_coefficient",
    "diagnose",
    "error_rate_interval",
    "estimate_learning_coefficient",
    "generalization_gap",
    "hoeffding_interval",
    "kl_inverse",
    "learning_coefficient",
    "learning_coefficient_curve",
    "leave_future_out",
    "loss_variation",
    "mean_field",
    "minibatch_learning_coefficient",
    "mixture_coefficient",
    "naive_bayes_coefficient",
    "negative_log_likelihoods",
    "out_of_bag",
    "pac_bayes_bound",
    "pac_bayes_kl",
    "paired_difference",
    "prequential_interval",
    "prequential_loss",
    "psis_loo",
    "race",
    "rate",
    "rate_gradient",
    "rate_parts",
    "reduced_rank_coefficient",
    "select",
    "shared_rows",
    "tanh_coefficient",
    "tune",
    "volume",
    "waic",
    "xi",
    "zero_one_losses",
    "zeta",
]
