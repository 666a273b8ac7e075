"""What a page needs to know of a model, by its kind."""

import functools
from typing import Any, NamedTuple

import jax
import numpy as np

from kullback.families import Component, Gaussian
from kullback.models import (
    ConditionalModel,
    FactorAnalysis,
    HiddenMarkovModel,
    LinearDynamicalSystem,
    Mixture,
    ProbabilisticPCA,
)
from kullback.runtime import computing


class ModelView(NamedTuple):
    """What a page needs to know of a model.

    `size` is a fact for its head. `components` are what rows come from, batched, with their `weights`; they are called
    by the `noun`. None says that nothing is known of single columns. Where there are `targets`, columns are the inputs
    that they are given.
    """

    columns: int
    size: tuple[str, int] | None = None
    components: Component | None = None
    weights: np.ndarray = np.ones(1)
    noun: str = "component"
    has_time: bool = False
    inputs: int = 0
    targets: int = 0
    facts: tuple[tuple[str, str], ...] = ()


@functools.singledispatch
def view_model(model: Any, estimator: Any) -> ModelView:
    """Return the view of a model and the estimator that has learned it. Register a kind of model to say more of it."""
    return ModelView(int(estimator.n_features_in_))


@view_model.register
def _(model: Component, estimator: Any) -> ModelView:
    return _of_rows(jax.tree.map(lambda leaf: np.asarray(leaf)[None], model))


@view_model.register
def _(model: Mixture, estimator: Any) -> ModelView:
    weights = np.asarray(model.weights, dtype=float)
    if not isinstance(model.components, Component):
        return ModelView(int(estimator.n_features_in_), ("Components", len(weights)))
    return _of_rows(model.components)._replace(size=("Components", len(weights)), weights=weights)


@view_model.register
def _(model: HiddenMarkovModel, estimator: Any) -> ModelView:
    weights = np.asarray(estimator.get_stationary_distribution(), dtype=float)
    emissions: Any = model.emissions
    return _of_rows(emissions)._replace(size=("States", len(weights)), weights=weights, noun="state", has_time=True)


@view_model.register(ProbabilisticPCA)
@view_model.register(FactorAnalysis)
def _(model: Any, estimator: Any) -> ModelView:
    with computing():
        covariance = np.asarray(model.covariance)
    gaussian = Gaussian(np.asarray(model.mean)[None], covariance[None])
    return _of_rows(gaussian)._replace(size=("Factors", np.shape(model.loadings)[-1]))


@view_model.register
def _(model: LinearDynamicalSystem, estimator: Any) -> ModelView:
    inputs = [np.shape(matrix)[1] for matrix in (model.input_transition, model.input_observation) if matrix is not None]
    size = ("Hidden states", len(model.transition))
    return ModelView(len(model.observation), size, has_time=True, inputs=max(inputs, default=0))


@view_model.register
def _(model: ConditionalModel, estimator: Any) -> ModelView:
    parameters = estimator.get_params(deep=False)
    facts = [("Method", str(parameters["method"]))]
    if "family" in parameters:
        facts.insert(0, ("Family", _describe_family(parameters["family"])))
    targets, components = len(estimator.target_categories_), parameters.get("n_components", 1)
    size = ("Components", int(components)) if components > 1 else None
    return ModelView(int(estimator.n_features_in_), size, targets=targets, facts=tuple(facts))


def _describe_family(family: Any) -> str:
    if isinstance(family, list | tuple):
        return ", ".join(_describe_family(each) for each in family)
    return family if isinstance(family, str) else str(family.family_name())


def _of_rows(components: Component) -> ModelView:
    return ModelView(int(np.prod(components.event_shape)), components=components)
