"""What data and models are to every room: batches, statistics that merge, and the contracts of models."""

from kullback.core._batch import (
    Batch,
    DistinctRows,
    Standardization,
    block_rows,
    by_blocks,
    keep_observed,
    keep_rows,
    map_rows,
    missing_bound,
    row_weight,
    weighted_total,
)
from kullback.core._completion import Completion, Want, refuse_temperature
from kullback.core._draws import Key, Shape, as_key, as_shape
from kullback.core._extent import Extent, TimeIndex, as_inputs
from kullback.core._fixed import Fixed, trainable_leaves
from kullback.core._limits import MOST_CATEGORIES
from kullback.core._model import ClosedFormModel, Estimate, Model
from kullback.core._replace import copy_with, replace
from kullback.core._statistics import (
    CenteredStatistics,
    MeanStatistics,
    Statistics,
    SummedStatistics,
    average,
    between,
    expand,
    share,
)
from kullback.core._text import value_text

__all__ = [
    "MOST_CATEGORIES",
    "Batch",
    "CenteredStatistics",
    "ClosedFormModel",
    "Completion",
    "DistinctRows",
    "Estimate",
    "Extent",
    "Fixed",
    "Key",
    "MeanStatistics",
    "Model",
    "Shape",
    "Standardization",
    "Statistics",
    "SummedStatistics",
    "TimeIndex",
    "Want",
    "as_inputs",
    "as_key",
    "as_shape",
    "average",
    "between",
    "block_rows",
    "by_blocks",
    "copy_with",
    "expand",
    "keep_observed",
    "keep_rows",
    "map_rows",
    "missing_bound",
    "refuse_temperature",
    "replace",
    "row_weight",
    "share",
    "trainable_leaves",
    "value_text",
    "weighted_total",
]
