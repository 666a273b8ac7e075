"""What a fit was made with: the parameters that decide what a model is, and must not change after it."""

from typing import Any

import numpy as np


def settings_of(estimator: Any) -> dict[str, str]:
    """Return the parameters that decide what the model is, as text."""
    parameters = vars(estimator)  # get_params looks at signatures, which takes as long as a step
    return {
        name: _text(parameters[name])
        for name in ("method", "family", *estimator._method.settings)
        if name in parameters  # a classifier has no family
    }


def check_settings(estimator: Any) -> None:
    """Raise where a parameter that decides what the model is has changed since its first fit."""
    made, now = vars(estimator).get("_made_with", {}), settings_of(estimator)
    for name in now:
        if made.get(name, now[name]) != now[name]:
            raise ValueError(
                f"{name} is {now[name]}, and the model was fitted with {made[name]}: set it back, or call fit with "
                "warm_start=False."
            )


def _text(value: Any) -> str:
    plain = value.tolist() if isinstance(value, np.ndarray) else list(value) if isinstance(value, tuple) else value
    return repr(plain)[:200]
