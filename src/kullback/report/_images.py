"""Rows as images: those of the data, those that a model draws, and those with missing entries that it completes."""

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kullback.plots import panels, plot_images
from kullback.report._parts import Picture, picture

if TYPE_CHECKING:
    from kullback.report._context import ReportContext

#: Images of a picture, and in a line of it; rows of a picture without images.
_IMAGES, _ACROSS, _ROWS = 48, 8, 40
#: Images that have room in one line; inches of a picture without images.
_LINE, _HEIGHT = 10, 3.6
#: Entries that are an image, if their number is a square, and nothing says otherwise.
_LEAST = 16


def find_shape(given: Any, columns: int, kind: str, network: bool, pixels: bool = True) -> tuple[int, int] | None:
    """Return the height and width of images that rows are; None where they are none. Pixels need not be told."""
    if given is None:
        side = math.isqrt(columns)
        return (side, side) if network and pixels and columns >= _LEAST and side * side == columns else None
    if not network:
        raise ValueError(f"image_shape is given for a {kind}: it is for networks, such as a HelmholtzMachine.")
    sizes = [int(size) if float(size).is_integer() else 0 for size in np.ravel(given)]
    if len(sizes) != 2 or min(sizes) < 1 or sizes[0] * sizes[1] != columns:
        raise ValueError(f"image_shape is {given}: it must be a height and a width whose product is {columns} columns.")
    return sizes[0], sizes[1]


def rows_picture(context: "ReportContext", key: str, title: str, caption: str, rows: np.ndarray) -> Picture:
    """Return a picture of a few rows, as images or as those of a matrix."""
    return picture(key, title, caption, lambda width: draw_images(rows, context.image_shape, width))


def draw_images(rows: np.ndarray, shape: tuple[int, int] | None, width: float, signed: bool = False) -> Figure:
    """Return a figure of rows as images, as high as they need it."""
    across, height = len(rows) if len(rows) <= _LINE else _ACROSS, _HEIGHT
    if shape is not None:
        fitting = max(2, round(_ACROSS * math.sqrt(shape[0] / shape[1])))  # fewer of wide ones
        across = across if shape[0] == shape[1] else min(len(rows), fitting)
        height = (width - 0.2) * -(-len(rows) // across) * shape[0] / (across * shape[1])
    figure, axes = panels(width=width, height=min(max(height, 0.8), 8.0))
    plot_images(rows, shape, axes, across=across, signed=signed)
    return figure


def sample_pictures(context: "ReportContext") -> list[Picture]:
    """Return rows of the data beside rows that the model draws; with missing entries, also what it puts there."""
    found = [rows_picture(context, "samples", "Samples", "Rows drawn from the model.", context.draws[: _most(context)])]
    if context.X is None:
        return found
    some = choose_rows(context, _most(context))
    seen, caption = rows_as_seen(context, some), "Rows of the data, chosen at random."
    if np.isnan(seen).any():
        caption += " What is missing is orange."
        filled = np.asarray(context.estimator.impute(context.X[some], method="mean"))
        told = "The same rows, with the means of missing entries given the others."
        found.append(rows_picture(context, "completed", "Completed rows", told, filled))
    return [rows_picture(context, "data", "Data", caption, seen), *found]


def least_likely_picture(context: "ReportContext", rows: np.ndarray) -> Picture:
    """Return the rows that the model expects least, as images."""
    seen = rows_as_seen(context, rows)
    return rows_picture(context, "least-likely-rows", "Least likely rows", "The least likely one comes first.", seen)


def draw_rows(axes: Axes, context: "ReportContext") -> None:
    """Draw rows of the data, if there are some, to the left of rows that the model draws."""
    most = _most(context)
    if context.X is None:
        plot_images(context.draws[:most], context.image_shape, axes, across=_ACROSS)
        return
    plot = functools.partial(plot_images, shape=context.image_shape, axes=axes, across=_ACROSS // 2)
    plot(rows_as_seen(context, choose_rows(context, most // 2)), label="data")
    right = axes.get_xlim()[1]
    plot(context.draws[: most // 2], left=right + max(1.0, 0.05 * right), label="model")


def choose_rows(context: "ReportContext", most: int) -> np.ndarray:
    """Return some rows of the data at random, the same every time."""
    assert context.X is not None
    return np.sort(np.random.default_rng(0).permutation(len(context.X))[:most])


def rows_as_seen(context: "ReportContext", rows: np.ndarray) -> np.ndarray:
    """Return rows of the data as the model sees them, such as 0 and 1 in place of grays; NaN is missing."""
    assert context.X is not None
    binarize = context.estimator.get_params(deep=False).get("binarize")
    if binarize is None:
        return context.X[rows]
    if isinstance(binarize, str) and binarize == "sample":  # draws of a row depend on the table that it is part of
        return _as_seen(context, context.X)[rows]
    return _as_seen(context, context.X[rows])


def _as_seen(context: "ReportContext", table: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(table), np.nan, np.asarray(context.estimator.to_batch(table).values))


def _most(context: "ReportContext") -> int:
    return _ROWS if context.image_shape is None else _IMAGES
