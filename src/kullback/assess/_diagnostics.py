"""Whether chains have found what they draw from: R̂, the effective number of draws, and the error of a mean."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from kullback.assess._sampling import check_sampling

#: Above this R̂ chains disagree.
MOST_RHAT = 1.01
#: Fewer effective draws say nothing of their own error.
LEAST_DRAWS = 400.0


class Diagnostics(NamedTuple):
    """R̂ and effective draws of the loss S: of S and not of parameters, whose labels may switch."""

    rhat: float
    effective_draws: float
    #: One sentence where the chains cannot be trusted, otherwise None.
    problem: str | None


def diagnose(losses: Float[np.ndarray, "chains draws"]) -> Diagnostics:
    """Return what the losses of chains say of them."""
    check_sampling("arviz_stats")
    from arviz_stats.base import array_stats

    losses = np.asarray(losses, np.float64)
    if not np.all(np.isfinite(losses)):
        return Diagnostics(
            np.nan, 0.0, "The chains have met losses that are not finite: begin from a fitted model, or scale the data."
        )
    if np.ptp(losses) == 0:
        return Diagnostics(
            np.nan, 0.0, "The chains have not moved: begin from a fitted model, or scale the parameters."
        )
    rhat, effective = float(array_stats.rhat(losses)), float(array_stats.ess(losses))
    if rhat <= MOST_RHAT and effective >= LEAST_DRAWS:
        return Diagnostics(rhat, effective, None)
    # rounded away from what is wanted, so that the sentence does not contradict itself
    found = f"R̂ = {np.ceil(1000 * rhat) / 1000:.3f} and {np.floor(effective):.0f} effective draws of the loss"
    wanted = f"{MOST_RHAT} or less and {LEAST_DRAWS:.0f} or more"
    return Diagnostics(
        rhat, effective, f"The chains have {found}, not {wanted}: ask for more draws or a longer warm_up."
    )


def mean_error(values: Float[np.ndarray, "chains draws"]) -> float:
    """Return the Monte Carlo standard error of the mean of draws."""
    from arviz_stats.base import array_stats

    return float(array_stats.mcse(np.asarray(values, np.float64)))
