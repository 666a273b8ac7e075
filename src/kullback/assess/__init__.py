"""How far a fitted model is from the truth, and how sure that is."""

from kullback.assess._criteria import Criteria, LeaveOneOut, compare_criteria, criteria, psis_loo, waic
from kullback.assess._diagnostics import Diagnostics, diagnose
from kullback.assess._estimated_coefficient import (
    EstimatedCoefficient,
    estimate_learning_coefficient,
    learning_coefficient_curve,
)
from kullback.assess._langevin import minibatch_learning_coefficient
from kullback.assess._row_losses import Difference, RowLosses, paired_difference
from kullback.assess._tempered import Settings
from kullback.assess._validation import cross_validate, leave_future_out, prequential_loss

__all__ = [
    "Criteria",
    "Diagnostics",
    "Difference",
    "EstimatedCoefficient",
    "LeaveOneOut",
    "RowLosses",
    "Settings",
    "compare_criteria",
    "criteria",
    "cross_validate",
    "diagnose",
    "estimate_learning_coefficient",
    "learning_coefficient_curve",
    "leave_future_out",
    "minibatch_learning_coefficient",
    "paired_difference",
    "prequential_loss",
    "psis_loo",
    "waic",
]
