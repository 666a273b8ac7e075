"""The one list of estimators: what it says of a class is what the class is."""

import importlib
import inspect
import pkgutil

import pytest

import kullback
from kullback import estimators
from kullback.estimators import REGISTRY, Capabilities, estimator_class
from kullback.estimators._model_estimator import ModelEstimator


def classes():
    """Return the public estimators of all modules of the room that no other is derived from."""
    modules = [
        importlib.import_module(each.name)
        for each in pkgutil.walk_packages(estimators.__path__, "kullback.estimators.")
    ]
    found = {
        kind
        for module in modules
        for kind in vars(module).values()
        if inspect.isclass(kind) and issubclass(kind, ModelEstimator) and kind.__module__.startswith("kullback.")
    }
    return {kind for kind in found if not any(other is not kind and issubclass(other, kind) for other in found)}


def test_every_estimator_is_in_the_registry():
    assert {kind.__name__ for kind in classes()} - {"GradientEstimator"} == set(REGISTRY)
    assert set(REGISTRY) <= set(kullback.__all__) & set(estimators.__all__) & set(dir(estimators))
    assert set(REGISTRY) == set(estimators.SAVED)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        estimators.nothing


@pytest.mark.parametrize("name", REGISTRY)
def test_what_the_registry_says_is_what_the_class_can_do(name):
    kind = estimator_class(name)
    assert kind is getattr(kullback, name)
    assert kind.__module__ == f"kullback.estimators.{REGISTRY[name].module}"
    parameters = inspect.signature(kind.partial_fit).parameters
    targets = inspect.signature(kind.fit).parameters.get("y")
    pairs = targets is not None and targets.default is inspect.Parameter.empty
    assert pairs == hasattr(kind, "predict_distribution")
    verbs = {
        "predicts": "predict",
        "decodes": "decode",
        "smooths": "smooth",
        "forecasts": "forecast",
        "imputes": "impute",
    }
    assert REGISTRY[name].capabilities == Capabilities(
        data="pairs" if pairs else "sequences" if "continues" in parameters else "rows",
        takes_inputs="inputs" in parameters,
        has_command=name != "EnergySampler",
        streams_only=name == "SpikingNetwork",
        has_epochs=issubclass(kind, estimators.GradientEstimator),
        **{
            capability: hasattr(kind, verb) and not (pairs and verb == "predict")  # of targets, and no component
            for capability, verb in verbs.items()
        },
    )
    series = REGISTRY[name].capabilities.data == "sequences"
    assert series == all(hasattr(kind, verb) for verb in ("end_series", "continue_stream", "score_next"))
    assert hasattr(kind, "rows_needed") != series
