"""Rows of a table as small images."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from kullback.plots._style import COLORS, axes_or_new

#: How dark 0 and 1 are, as grays: images are told from the page, whether it is light or dark.
_GROUND, _INK = 0.92, 0.05
#: The part of an image that lies between it and the next one.
_GAP = 0.08


def plot_images(
    rows: Any,
    shape: tuple[int, int] | None = None,
    axes: Axes | None = None,
    *,
    across: int | None = None,
    signed: bool = False,
    left: float = 0.0,
    label: str | None = None,
) -> Axes:
    """Draw each row of a table as an image, side by side and below each other, and return the Axes.

    `shape` is the height and width of an image in pixels; None draws the rows as those of one matrix. Entries are gray:
    the least of all is light, the largest dark, and those of 0 and 1 have these ends. With `signed` entries are blue
    above 0 and vermilion below, fuller where larger, as weights are. What is missing (NaN) is pale orange. There are
    `across` images in a line, or about as many as there are lines. `axes` is where to draw: a new figure when it is
    None. Several tables have room on the same Axes: `left` is where this one begins, in pixels, and `label` stands
    above it.

    >>> axes = plot_images(np.eye(16), shape=(4, 4))
    >>> axes.images[0].get_array().shape  # 4 × 4 images, with a pixel between them
    (19, 19, 4)
    """
    table = np.asarray(rows, dtype=float)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"rows has shape {table.shape}: it must be a table with rows and columns.")
    if shape is not None and int(np.prod(shape)) != table.shape[1]:
        raise ValueError(f"shape is {shape}: a row has {table.shape[1]} entries.")
    axes = axes_or_new(axes)
    colors = _signed_colors(table) if signed else _gray_colors(table)
    picture = colors if shape is None else _tile(colors.reshape(len(table), *shape, 4), across)
    height, width = picture.shape[:2]
    more = len(axes.images) > 0
    right, low = max(left + width, axes.get_xlim()[1] if more else 0), max(height, axes.get_ylim()[0] if more else 0)
    axes.imshow(
        picture,
        interpolation="none",
        extent=(left, left + width, height, 0),
        aspect="auto" if shape is None else "equal",
    )
    axes.set(xlim=(min(left, axes.get_xlim()[0]) if more else left, right), ylim=(low, 0))
    if shape is None:
        axes.set(xlabel="column", ylabel="row")
    else:
        axes.set_xticks([])
        axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    if label is not None:
        middle = left + width / 2
        axes.annotate(label, (middle, 0), (0, 4), textcoords="offset points", ha="center", va="bottom", fontsize=10)
    return axes


def _gray_colors(table: np.ndarray) -> np.ndarray:
    low, high = min(0.0, _extreme(np.nanmin, table)), max(1.0, _extreme(np.nanmax, table))
    share = (np.nan_to_num(table) - low) / (high - low)
    return _opaque((_GROUND + (_INK - _GROUND) * share)[..., None] * np.ones(3), table)


def _signed_colors(table: np.ndarray) -> np.ndarray:
    share = np.nan_to_num(table)
    share = np.clip(share / (_largest(share) or 1.0), -1, 1)[..., None]
    full = np.where(share > 0, to_rgb(COLORS["blue"]), to_rgb(COLORS["vermilion"]))
    return _opaque(_GROUND + np.abs(share) * (full - _GROUND), table)


def _largest(table: np.ndarray) -> float:
    """Return a size that few entries are above."""
    return float(np.quantile(np.abs(table), 0.995)) or float(np.abs(table).max())


def _extreme(of: Any, table: np.ndarray) -> float:
    return float(of(table)) if np.isfinite(table).any() else 0.0


def _opaque(colors: np.ndarray, table: np.ndarray) -> np.ndarray:
    pale = _GROUND + 0.55 * (np.array(to_rgb(COLORS["orange"])) - _GROUND)
    found = np.where(np.isnan(table)[..., None], pale, colors)
    return np.concatenate([found, np.ones((*table.shape, 1))], axis=-1)


def _tile(images: np.ndarray, across: int | None) -> np.ndarray:
    """Return images side by side as one; what is between them is transparent."""
    count, height, width, _ = images.shape
    across = min(count, int(np.ceil(np.sqrt(count))) if across is None else across)
    down, gap = -(-count // across), max(1, round(_GAP * max(height, width)))
    whole = np.zeros((down * (height + gap) - gap, across * (width + gap) - gap, 4))
    for place, image in enumerate(images):
        top, left = place // across * (height + gap), place % across * (width + gap)
        whole[top : top + height, left : left + width] = image
    return whole
