"""The scikit-learn front door. Names load when they are first used; the registry lists the estimators."""

from typing import Any

from kullback._loading import load_name
from kullback.estimators._registry import REGISTRY, Capabilities, estimator_class

#: The kinds of estimators that a file can hold.
SAVED = tuple(REGISTRY)

#: Where the other names are.
_MODULES = {
    "GRADIENT_CONSTRAINTS": "gradient._estimator",
    "Anomalies": "_anomalies",
    "Assessment": "_assessment",
    "Columns": "data._preparation",
    "Encoded": "data._encoding",
    "Estimator": "_estimator",
    "FitCallback": "_fit_callback",
    "FitData": "data._fit_data",
    "FitRecord": "_fit_record",
    "GradientEstimator": "gradient._estimator",
    "Imputer": "_imputer",
    "Interval": "constraints",
    "ProviderContext": "data._fit_data",
    "MixtureEstimator": "mixtures._mixture_estimator",
    "NoCallback": "_fit_callback",
    "PairContext": "data._fit_data",
    "PairData": "data._fit_data",
    "Pairs": "data._pairs",
    "ParameterValues": "_parameter_values",
    "Pieces": "data._start_rows",
    "Preparation": "data._preparation",
    "Provider": "data._fit_data",
    "RowData": "data._fit_data",
    "Rows": "data._rows",
    "SequenceData": "data._fit_data",
    "SequenceEstimator": "_sequence_estimator",
    "Sequences": "data._sequences",
    "StrOptions": "constraints",
    "assess_estimator": "_assessment",
    "check_lengths": "data._sequences",
    "check_parameters": "_file_check",
    "combine": "_combine",
    "coordinate_names": "conditional._coordinates",
    "complete": "_complete",
    "sample_pieces": "data._start_rows",
    "sample_rows": "data._start_rows",
    "is_long": "data._start_rows",
    "join_first_batches": "_stream",
    "load": "_file",
    "load_with_command": "_file",
    "name_category": "data._frame_output",
    "parameter_values": "_parameter_values",
    "relative_entropy": "_relative_entropy",
    "rows_again": "_prequential",
    "save": "_file",
}

__all__ = ["REGISTRY", "SAVED", "Capabilities", "estimator_class", *_MODULES, *REGISTRY]  # pyright: ignore


def __getattr__(name: str) -> Any:
    if name in REGISTRY:
        found = estimator_class(name)
    elif name in _MODULES:
        found = load_name(f"kullback.estimators.{_MODULES[name]}", name)
    elif name == "constraints":
        found = load_name("kullback.estimators.constraints")
    else:
        raise AttributeError(f"module 'kullback.estimators' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
