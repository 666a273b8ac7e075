"""Where a linear dynamical system begins: with subspace identification, or around dynamics that are given."""

from typing import Any

import numpy as np

from kullback.estimators.data._sequences import Sequences
from kullback.models import LINEAR_PARAMETERS, LinearDynamicalSystem, subspace_start


def initial_system(
    data: Sequences, q: int, offset: bool, given: dict[str, Any], random: np.random.RandomState | None
) -> LinearDynamicalSystem:
    """Return a system to begin with. What is given is kept; with `random` the rest is shaken, for one more start."""
    X = np.asarray(data.X, dtype=np.float64)
    if {"transition", "observation"} & set(given):
        parts = _around(X, q, offset, data.inputs, given)
    else:
        rng = None if random is None else np.random.default_rng(random.randint(2**31))
        parts = _named(subspace_start(X, q, data.lengths, data.inputs, offset, rng=rng))
    parts |= {name: np.asarray(value, dtype=np.float64) for name, value in given.items()}
    return LinearDynamicalSystem(**parts, fixed=tuple(given))


def _named(model: LinearDynamicalSystem) -> dict[str, np.ndarray]:
    found = {name: getattr(model, name) for name in LINEAR_PARAMETERS}
    return {name: np.asarray(value) for name, value in found.items() if value is not None}


def _around(
    X: np.ndarray, q: int, offset: bool, inputs: np.ndarray | None, given: dict[str, Any]
) -> dict[str, np.ndarray]:
    """Return a system of about the data's scale, for dynamics that are known."""
    n, center = X.shape[1], np.nanmean(X, axis=0) if offset else np.zeros(X.shape[1])
    variance = np.nanmean(np.square(X - center), axis=0)
    variance = np.where(variance > 0, variance, 1.0)
    observation = np.asarray(given.get("observation", np.eye(n, q)), dtype=np.float64)
    gain = np.square(observation).sum() / n
    spread = variance.mean() / (gain if gain > 0 else 1.0)
    parts = {
        "transition": 0.9 * np.eye(q),
        "observation": observation,
        "transition_noise": np.eye(q) * spread / 10,
        "observation_noise": np.diag(variance) / 2,
        "initial_mean": np.zeros(q),
        "initial_covariance": np.eye(q) * spread,
    }
    if offset:
        parts["offset"] = center
    if inputs is not None:
        parts |= {
            "input_transition": np.zeros((q, inputs.shape[1])),
            "input_observation": np.zeros((n, inputs.shape[1])),
        }
    return parts
