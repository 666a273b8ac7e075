"""Fits of different sites as one: linear ones in the same units, weighted by their information; networks mixed."""

import copy
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np

from kullback import learning
from kullback.core import Fixed
from kullback.estimators._fit_record import FitRecord
from kullback.estimators.conditional._design import Design
from kullback.estimators.conditional._estimator import ConditionalEstimator
from kullback.estimators.conditional._made_with import settings_of
from kullback.models import Conditional, LinearConditional, Network
from kullback.runtime import as_numpy, computing

#: Attributes_ that tell of the data of one fit.
_OF_ONE_FIT = ("calibration_levels_", "validation_scores_")


def combine_conditionals(fitted: Sequence[ConditionalEstimator], weights: Any) -> ConditionalEstimator:
    """Return the fit nearest to several: of linear ones to second order, of networks the mixture of all of them.

    Each site has centered and scaled its inputs by its own data. The relative entropy of conditionals is the same in
    all units, so the coefficients and their information are first brought into those of the first fit.
    """
    first = fitted[0]
    for place, other in enumerate(fitted):
        _check_alike(place, first, other)
    records = [FitRecord.of(one) for one in fitted]
    if weights is None and sum(record.counts[1] for record in records) > 0:
        weights = [record.counts[1] for record in records]
    result = copy.copy(first)
    for name in _OF_ONE_FIT:
        result.__dict__.pop(name, None)
    with computing():
        attributes = (_nearest if first.method == "linear" else _mixture)(fitted, weights)
    for name, value in attributes.items():
        setattr(result, name, value)
    FitRecord.combine(records).write(result)
    return result


def _nearest(fitted: Sequence[ConditionalEstimator], weights: Any) -> dict[str, Any]:
    """Return the coefficients of the nearest linear fit, and their information."""
    models = [in_units_of(_linear_model(one), one.design, fitted[0].design) for one in fitted]
    nearest = as_numpy(learning.combine(models, weights))
    names = {"coefficients_": nearest.coefficients, "information_": nearest.information}
    return {name: np.array(value, dtype=np.float64) for name, value in names.items()}


def _mixture(fitted: Sequence[ConditionalEstimator], weights: Any) -> dict[str, Any]:
    """Return the ensemble of networks, each with the inputs that the design of the first makes."""
    models: list[Any] = [
        Conditional(standardized_for(one.network_, one.design, fitted[0].design), _kind(one)) for one in fitted
    ]
    found: Any = learning.combine(models, weights)
    return {"network_": as_numpy(found.network), "optimizer_state_": (), "n_members_": len(models)}


def _kind(estimator: ConditionalEstimator) -> Any:
    model: Any = estimator.to_model()
    return model.kind


def standardized_for(network: Network, mine: Design, others: Design) -> Network:
    """Return the same network for inputs that are centered and scaled by another design."""
    center, scale = (mine.center - others.center) / others.scale, mine.scale / others.scale
    numbers = tuple(np.asarray(part, network.layers[0].weight.dtype) for part in (center, scale))
    return eqx.tree_at(lambda net: net.standardization, network, Fixed(numbers))


def in_units_of(model: LinearConditional, mine: Design, others: Design) -> LinearConditional:
    """Return the same conditional for inputs that are centered and scaled by another design."""
    ratio, shift = others.scale / mine.scale, (others.center - mine.center) / mine.scale
    change = np.diag(np.concatenate([[1.0], ratio]))
    change[0, 1:] = shift
    coefficients = np.asarray(model.coefficients) @ change.T
    back, start = np.zeros_like(model.information), 0
    for varies in model.varies:
        block = np.linalg.inv(change) if varies else np.eye(1)
        end = start + len(block)
        back[start:end, start:end], start = block, end
    information = back.T @ np.asarray(model.information) @ back
    return LinearConditional(coefficients, model.kind, model.varies, information)


def _linear_model(estimator: ConditionalEstimator) -> LinearConditional:
    found = estimator.to_model()
    assert isinstance(found, LinearConditional)
    return found


def _check_alike(place: int, first: ConditionalEstimator, other: ConditionalEstimator) -> None:
    for one in (first, other):
        if one.method == "trees" or getattr(one, "n_members_", 1) > 1:
            what = "is an ensemble" if one.method == "network" else f"has method={one.method!r}"
            raise ValueError(f"fitted[{place}] {what}: linear fits can be combined, and single networks.")
    mine, theirs = settings_of(first), settings_of(other)
    for name in sorted(mine.keys() - {"solver"}):  # how networks have learned is no part of them
        if mine[name] != theirs.get(name, mine[name]):
            raise ValueError(
                f"fitted[{place}] has {name}={theirs[name]}, fitted[0] {mine[name]}: all must have the same."
            )
    for name in ("classes_", "target_categories_", "target_total_", "input_categories_", "input_indicators_"):
        own, their = (np.asarray(vars(one).get(name, ())) for one in (first, other))
        if not np.array_equal(own, their):
            shown = (str(each.tolist())[:60] for each in (their, own))
            raise ValueError(
                f"fitted[{place}] and fitted[0] differ in {name}: {' and '.join(shown)}; only fits of the same inputs "
                "and targets can be combined."
            )
