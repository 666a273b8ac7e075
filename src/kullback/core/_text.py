"""Models in print: their numbers, short enough to read, and where there are none to be seen their shapes."""

import dataclasses
import html
import inspect
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import numpy as np
from numpy.typing import NDArray

#: Significant digits of a number; how many numbers an array has at most before its middle is left out; how many are
#: then left at each end; and how long a line is.
_DIGITS, _MOST, _EDGE, _WIDTH = 6, 64, 3, 100
#: The widest table of numbers in a notebook.
_COLUMNS = 12

_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_CELL = "border:1px solid;border-color:color-mix(in srgb,currentColor 25%,transparent);padding:2px 8px;text-align:"


def text_of(module: Any) -> str:
    """Return a model, or another module with numbers, as Python would make it: in one line where that is short.

    Of long arrays the middle is left out, as NumPy does, and their shape is added; of what is being traced the shape is
    all there is.
    """
    return _written(module, 0, 0)


def html_of(module: Any) -> str:
    """Return the same as a table for a notebook, in the colors of the page."""
    rows = "".join(
        f'<tr><th style="{_CELL}left;font-weight:normal">{html.escape(name)}</th>'
        f'<td style="{_CELL}left">{_html_value(value)}</td></tr>'
        for name, value in _arguments(module)
    )
    return f'<div><b>{html.escape(type(module).__name__)}</b><table style="{_TABLE}">{rows}</table></div>'


def value_text(value: Any) -> str:
    """Return an array, or whatever else is the value of a field, as text."""
    return _written(value, 0, 0)


def number(value: Any) -> str:
    """Return a number with a few digits."""
    return f"{value:.{_DIGITS}g}" if isinstance(value, (float, np.floating)) else str(value)


def _arguments(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield what the constructor would be given: its parameters that are fields, but for defaults."""
    fields = {field.name for field in dataclasses.fields(module)}
    for name, parameter in inspect.signature(type(module).__init__).parameters.items():
        if name in fields and not _is_default(getattr(module, name), parameter.default):
            yield name, getattr(module, name)


def _is_default(value: Any, default: Any) -> bool:
    plain = isinstance(value, (bool, int, float, str, tuple)) or value is None
    return plain and type(value) is type(default) and value == default


def _written(value: Any, column: int, margin: int) -> str:
    """Return a value as text that begins at a column of the page, in a line with this margin."""
    if isinstance(value, eqx.Module) and _is_ours(value):
        parts = [(f"{name}=", each) for name, each in _arguments(value)]
        return _listed(f"{type(value).__name__}(", parts, ")", column, margin)
    if isinstance(value, (tuple, list)) and any(isinstance(each, eqx.Module) for each in value):
        return _listed("[", [("", each) for each in value], "]", column, margin)
    array = _numbers(value)
    if array is not None:
        return _array_text(array, column)
    return value.__name__ if isinstance(value, type) else eqx.tree_pformat(value, struct_as_array=True)


def _listed(opening: str, parts: list[tuple[str, Any]], closing: str, column: int, margin: int) -> str:
    flat = opening + ", ".join(name + _written(value, 0, 0) for name, value in parts) + closing
    if "\n" not in flat and column + len(flat) <= _WIDTH:
        return flat
    deeper = margin + 4
    lines = [" " * deeper + name + _written(value, deeper + len(name), deeper) + "," for name, value in parts]
    return "\n".join([opening, *lines, " " * margin + closing])


def _is_ours(module: eqx.Module) -> bool:
    """Whether a module prints itself by `text_of`; a layer of a network has a text of its own."""
    return type(module).__repr__ is not eqx.Module.__repr__


def _numbers(value: Any) -> NDArray[Any] | None:
    """Return the numbers of a leaf, or None where there are none to be seen: traced, deleted, or no array at all."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer):
        return None
    if value.is_deleted() or not value.is_fully_addressable or jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
        return None
    return np.asarray(value)


def _array_text(array: NDArray[Any], column: int) -> str:
    if array.ndim == 0:
        return number(array[()])
    short = array.size <= _MOST
    opening = "" if short else "array("
    text = np.array2string(
        array,
        max_line_width=max(_WIDTH - column, 20),
        separator=", ",
        threshold=_MOST,
        edgeitems=_EDGE,
        prefix=" " * column + opening,
        formatter={"all": number},
    )
    lines = [line for line in text.split("\n") if line.strip()]  # NumPy puts empty ones between matrices
    flat = " ".join(map(str.strip, lines))
    text = flat if column + len(flat) <= _WIDTH and (short or array.ndim == 1) else "\n".join(lines)
    return text if short else f"{opening}{text}, shape={array.shape})"


def _html_value(value: Any) -> str:
    if isinstance(value, eqx.Module) and _is_ours(value):
        return html_of(value)
    if isinstance(value, (tuple, list)) and any(isinstance(each, eqx.Module) for each in value):
        return "".join(map(_html_value, value))
    array = _numbers(value)
    if array is None or array.ndim not in (1, 2) or array.size > _MOST or not 0 < array.shape[-1] <= _COLUMNS:
        return f'<pre style="margin:0">{html.escape(value_text(value))}</pre>'
    cells = [
        "".join(f'<td style="{_CELL}right">{html.escape(number(entry))}</td>' for entry in row)
        for row in np.atleast_2d(array)
    ]
    return f'<table style="{_TABLE}">' + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"
