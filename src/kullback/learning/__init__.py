"""Moves on the relative entropy. One operation, the model nearest to several others:

| algorithm | learner | the models it is nearest to | weights |
|---|---|---|---|
| `em` | `EM` | one per data point | 1/N each |
| `alternate` | `Alternation` | one per data point, with a guess of what is hidden: variational, Bayes | 1/N each |
| `online_em` | `OnlineEM` | the current model (the inertia), and one per point of the batch | 1−γ, and γ/N each |
| | `SampledInertia` | points drawn from the current model, and one per point of the batch | 1−γ, and γ/N each |
| | `NaturalGradientEM` | as `OnlineEM`, to first order in γ: along the tangent | |
| `fisher_scoring` | `FisherScoring` | one per data point, given its inputs, to second order | 1/N each |
| | `Gradient` | one per data point, as far as the gradient of an objective leads in one step | 1/N each |
| | `NaturalGradient` | as `Gradient`, by the Fisher metric of a network: no farther than a radius in nats | 1/N each |
| | `Gradient` of `WakeSleep` and others | one per data point, with draws of what is hidden | 1/N each |
| | `Gradient` of `EvidenceBound`, `ImportanceBound` | the same, with gradients through the draws | 1/N each |
| | `NaturalWakeSleep` | the same, by the Fisher metric of the layers | 1/N each |
| | `Gradient` of `FollowEnergy` | a given energy, as far as draws of a sampler tell | |
| | `Gradient` of `EnergyGame` | one per data point, and a sampler nearest to the model | 1/N each |
| | `ContrastiveDivergence` | one per data point, less points of chains that have the model's law | 1/N each, −1/M |
| | `ProcessGradient` | a memory that moves with the truth, as far as one window of a stream tells | 1/rows each |
| `combine` | | the fitted models | α_m |
| `combine_by_dreams` | any | points that the fitted models draw | α_m |

A `Learner` gathers a message from data, then moves the model; messages merge, so the data may be a table, a stream or
lie on many machines. `fit` is the only loop. `Averaged`, `AveragedIterates`, `Only` and `Alternate` make
learners of learners.
"""

from kullback.learning._adaptive_jit import adaptive_jit
from kullback.learning._alternate import Alternate, Only
from kullback.learning._alternation import Alternation, alternate
from kullback.learning._averaged import Averaged
from kullback.learning._averaged_iterates import AveragedIterates
from kullback.learning._combine import combine, shares
from kullback.learning._contrast import Centers
from kullback.learning._contrastive_divergence import Chains, ContrastiveDivergence
from kullback.learning._curve import MOST_OF_CURVE, extend_curve
from kullback.learning._data import (
    AllAtOnce,
    Batches,
    Chunk,
    Data,
    Minibatches,
    Resident,
    Stream,
    gather_in_turn,
    stack,
)
from kullback.learning._dreams import Combined, Dreams, WithDreams, combine_by_dreams, mixture_excess
from kullback.learning._em import EM, e_step, em, em_step, m_step
from kullback.learning._energy_game import ENTROPIES, EnergyGame, FollowEnergy, two_rates
from kullback.learning._energy_loss import energy_loss
from kullback.learning._evidence_bound import EvidenceBound, ImportanceBound
from kullback.learning._fisher_scoring import FisherScoring, PointRate, fisher_scoring
from kullback.learning._fit import Best, Place, begin, fit
from kullback.learning._gradient import Gradient, Loss, Optimizer, Slope, adam, decaying_adam
from kullback.learning._gram import PairGradient, gram_natural_gradient
from kullback.learning._iterate import Watch
from kullback.learning._learner import AT_ONCE, Clock, Gathered, Learner, Mergeable, Start, StepInfo, merge_messages
from kullback.learning._likelihood import negative_log_likelihood
from kullback.learning._natural_gradient import NaturalGradient
from kullback.learning._natural_gradient_em import NaturalGradientEM, natural_gradient_em_step
from kullback.learning._natural_wake_sleep import LayerMoments, NaturalWakeSleep
from kullback.learning._online_em import DecayingRate, OnlineEM, decaying_rate, online_em, online_em_step
from kullback.learning._path_weights import PathWeights
from kullback.learning._place_file import load_place, save_place
from kullback.learning._process import ProcessGradient, ProcessMessage, ProcessState
from kullback.learning._process_stream import Followed, Standing, follow_windows
from kullback.learning._process_window import Baseline, ProcessMemory, Report, Window, process_window
from kullback.learning._rules import (
    CONVERGED,
    DATA_ENDED,
    LIMIT,
    NO_GAIN,
    Bounds,
    Entry,
    Epochs,
    GainBelow,
    Rule,
    Verdict,
)
from kullback.learning._sampled_inertia import SampledInertia, sampled_inertia_step
from kullback.learning._step import Stepped, gather, merge, move, step, step_once
from kullback.learning._wake_sleep import (
    LayerSlope,
    ReweightedWakeSleep,
    Sleep,
    Wake,
    WakeSleep,
    check_draws,
    sleep,
    wake,
    wake_q,
)
from kullback.learning.boosting import Boosted, boost

__all__ = [
    "AT_ONCE",
    "CONVERGED",
    "DATA_ENDED",
    "EM",
    "ENTROPIES",
    "LIMIT",
    "MOST_OF_CURVE",
    "NO_GAIN",
    "AllAtOnce",
    "Alternate",
    "Alternation",
    "Averaged",
    "AveragedIterates",
    "Baseline",
    "Batches",
    "Best",
    "Boosted",
    "Bounds",
    "Centers",
    "Chains",
    "Chunk",
    "Clock",
    "Combined",
    "ContrastiveDivergence",
    "Data",
    "DecayingRate",
    "Dreams",
    "EnergyGame",
    "Entry",
    "Epochs",
    "EvidenceBound",
    "FisherScoring",
    "FollowEnergy",
    "Followed",
    "GainBelow",
    "Gathered",
    "Gradient",
    "ImportanceBound",
    "LayerMoments",
    "LayerSlope",
    "Learner",
    "Loss",
    "Mergeable",
    "Minibatches",
    "NaturalGradient",
    "NaturalGradientEM",
    "NaturalWakeSleep",
    "OnlineEM",
    "Only",
    "Optimizer",
    "PairGradient",
    "PathWeights",
    "Place",
    "PointRate",
    "ProcessGradient",
    "ProcessMemory",
    "ProcessMessage",
    "ProcessState",
    "Report",
    "Resident",
    "ReweightedWakeSleep",
    "Rule",
    "SampledInertia",
    "Sleep",
    "Slope",
    "Standing",
    "Start",
    "StepInfo",
    "Stepped",
    "Stream",
    "Verdict",
    "Wake",
    "WakeSleep",
    "Watch",
    "Window",
    "WithDreams",
    "adam",
    "adaptive_jit",
    "alternate",
    "begin",
    "boost",
    "check_draws",
    "combine",
    "combine_by_dreams",
    "decaying_adam",
    "decaying_rate",
    "e_step",
    "em",
    "em_step",
    "energy_loss",
    "extend_curve",
    "fisher_scoring",
    "fit",
    "follow_windows",
    "gather",
    "gather_in_turn",
    "gram_natural_gradient",
    "load_place",
    "m_step",
    "merge",
    "merge_messages",
    "mixture_excess",
    "move",
    "natural_gradient_em_step",
    "negative_log_likelihood",
    "online_em",
    "online_em_step",
    "process_window",
    "sampled_inertia_step",
    "save_place",
    "shares",
    "sleep",
    "stack",
    "step",
    "step_once",
    "two_rates",
    "wake",
    "wake_q",
]
