"""The look of the pictures, and how they are saved."""

import os
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

#: The palette of Okabe and Ito, which stays readable for the color-blind.
COLORS = {
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "yellow": "#F0E442",
    "black": "#000000",
}

#: Points to an inch in PNG files.
_DPI = 160


def panels(rows: int = 1, columns: int = 1, width: float = 4.2, height: float = 4.0) -> tuple[Figure, Any]:
    """Return a figure with rows × columns panels, and its Axes.

    `width` and `height` are those of one panel, in inches. The Axes come as from
    `matplotlib.pyplot.subplots`: one, or an array of them. What is drawn on them takes the colors of
    `COLORS`, in their order. The figure belongs to no window: `save` writes it to files.

    >>> figure, axes = panels(columns=2)
    >>> len(figure.axes), axes.shape
    (2, (2,))
    """
    figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
    axes = figure.subplots(rows, columns)
    for each in figure.axes:
        _dress(each)
    return figure, axes


def _dress(axes: Axes) -> None:
    axes.set_prop_cycle(color=list(COLORS.values()))
    axes.tick_params(labelsize=9, color="0.5")
    for spine in axes.spines.values():
        spine.set_color("0.5")


def axes_or_new(axes: Axes | None) -> Axes:
    """Return the Axes, or those of a new figure when there are none."""
    return panels()[1] if axes is None else axes


def name_axes(axes: Axes, x: str, y: str) -> None:
    """Label the axes that have no label yet."""
    if not axes.get_xlabel():
        axes.set_xlabel(x)
    if not axes.get_ylabel():
        axes.set_ylabel(y)


def save(figure: Figure, name: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write a figure to `name`.png and `name`.svg, and return the two paths.

    A folder in the name is made when it is missing. The same figure gives the same SVG file, byte for byte.

    >>> import tempfile
    >>> figure, axes = panels()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save(figure, f"{folder}/empty")]
    ['empty.png', 'empty.svg']
    """
    name = Path(name)
    name.parent.mkdir(parents=True, exist_ok=True)
    png, svg = (name.with_name(f"{name.name}.{suffix}") for suffix in ("png", "svg"))
    with mpl.rc_context({"svg.hashsalt": "kullback"}):
        figure.savefig(png, dpi=_DPI)
        figure.savefig(svg, metadata={"Date": None})
    return png, svg
