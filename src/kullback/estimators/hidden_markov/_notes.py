"""What hmmlearn says in its log while a hidden Markov model is fitted, in its words."""

import logging
from typing import Any

logger = logging.getLogger("kullback.estimators")

#: The attributes_ that the letters of `init_params` stand for.
_NAMES = {
    "s": "startprob_",
    "t": "transmat_",
    "m": "means_",
    "c": "covariances_",
    "l": "lambdas_",
    "e": "emissionprob_",
}


def note_overwritten(estimator: Any, made: dict[str, Any]) -> None:
    """Say which attributes_ a start is about to replace, but for those that a fit has made."""
    for letter, name in _NAMES.items():
        held = vars(estimator).get(name)
        if letter in estimator.init_params and held is not None and held is not made.get(name):
            logger.warning(
                "Even though the %r attribute is set, it will be overwritten during initialization because "
                "'init_params' contains %r",
                "covars_" if letter == "c" else name,
                letter,
            )


def note_few(parameters: int, entries: int) -> None:
    """Say that there are fewer entries than parameters."""
    if entries < parameters:
        logger.warning(
            "Fitting a model with %d free scalar parameters with only %d data points will result in a degenerate "
            "solution.",
            parameters,
            entries,
        )
