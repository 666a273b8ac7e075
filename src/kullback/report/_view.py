"""What a page needs to know of a model, by its kind."""

import functools
from typing import Any, NamedTuple

import jax
import numpy as np

from kullback.estimators import GradientEstimator
from kullback.families import Component, Gaussian
from kullback.models import (
    ConditionalModel,
    FactorAnalysis,
    HelmholtzMachine,
    HiddenMarkovModel,
    LinearDynamicalSystem,
    Mixture,
    ProbabilisticPCA,
    SpikingMemory,
    VariationalAutoencoder,
)
from kullback.runtime import computing


class ModelView(NamedTuple):
    """What a page needs to know of a model.

    `size` is a fact for its head. `components` are what rows come from, batched, with their `weights`; they are called
    by the `noun`. None says that nothing is known of single columns. Where there are `targets`, columns are the inputs
    that they are given. A `network` learns by steps along gradients, and its rows may be images; of
    `pixels`, as many as a square has, they are taken for images without being told.
    """

    columns: int
    size: tuple[str, int] | None = None
    components: Component | None = None
    weights: np.ndarray = np.ones(1)
    noun: str = "component"
    has_time: bool = False
    inputs: int = 0
    targets: int = 0
    network: bool = False
    pixels: bool = True
    facts: tuple[tuple[str, str], ...] = ()


@functools.singledispatch
def view_model(model: Any, estimator: Any) -> ModelView:
    """Return the view of a model and the estimator that has learned it. Register a kind of model to say more of it."""
    return ModelView(int(estimator.n_features_in_), network=isinstance(estimator, GradientEstimator))


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
def _(model: SpikingMemory, estimator: Any) -> ModelView:
    facts = [("Chains", f"{estimator.n_chains:,}"), ("Discount", f"{estimator.discount:g}")]
    facts += [("Networks", f"{estimator.n_init:,}, the best of which is shown")] if estimator.n_init > 1 else []
    return ModelView(int(estimator.n_features_in_), ("Units", model.units), has_time=True, facts=tuple(facts))


@view_model.register
def _(model: ConditionalModel, estimator: Any) -> ModelView:
    parameters = estimator.get_params(deep=False)
    facts = [("Method", str(parameters["method"]))]
    if "family" in parameters:
        facts.insert(0, ("Family", _describe_family(parameters["family"])))
    targets, components = len(estimator.target_categories_), parameters.get("n_components", 1)
    size = ("Components", int(components)) if components > 1 else None
    return ModelView(int(estimator.n_features_in_), size, targets=targets, facts=tuple(facts))


@view_model.register
def _(model: HelmholtzMachine, estimator: Any) -> ModelView:
    layers = " – ".join(f"{units:,}" for units in model.sizes)
    facts = (("Layers", layers), ("Method", str(estimator.method)))
    return ModelView(model.sizes[0], network=True, facts=facts)


@view_model.register
def _(model: VariationalAutoencoder, estimator: Any) -> ModelView:
    layers = " – ".join(f"{units:,}" for units in [model.kind.columns, *np.ravel(estimator.hidden), model.n_latents])
    family = estimator.column_families
    facts = (("Layers", layers), ("Families", _count_families(family)))
    size = ("Hidden numbers", model.n_latents)
    return ModelView(model.kind.columns, size, network=True, pixels=family == "bernoulli", facts=facts)


def _count_families(family: Any) -> str:
    if not isinstance(family, list | tuple):
        return _describe_family(family)
    names = [_describe_family(each) for each in family]
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))


def _describe_family(family: Any) -> str:
    if isinstance(family, list | tuple):
        return ", ".join(_describe_family(each) for each in family)
    return family if isinstance(family, str) else str(family.family_name())


def _of_rows(components: Component) -> ModelView:
    return ModelView(int(np.prod(components.event_shape)), components=components)
