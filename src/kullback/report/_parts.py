"""What a page is made of."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kullback.plots import COLORS, colors_of, panels
from kullback.report._svg import inline_svg, page_style
from kullback.report._text import two_lines

#: Inches: a picture that fits a phone, and one as wide as the page. Pixels: the width of a phone without its margins.
NARROW, WIDE, _PHONE = 5.0, 10.0, 350
#: Letters of a number or a short name at most.
_TEXT = 24


class Picture(NamedTuple):
    """A figure of the page; `drawings` are one SVG for all screens, or one for wide and one for narrow ones."""

    key: str
    title: str
    caption: str
    drawings: tuple[tuple[str, str], ...]
    wide: bool


class Table(NamedTuple):
    """Rows of text under a heading; `colors` are names of colors of the page, one for each row that has a color."""

    key: str
    title: str
    headers: list[str]
    rows: list[list[str]]
    note: str
    colors: list[str]

    @property
    def long(self) -> list[bool]:
        """Whether each column has texts, which break lines and stand on the left."""
        return [any(len(cell) > _TEXT for cell in cells) for cells in zip(*self.rows, strict=True)]

    @property
    def wide(self) -> bool:
        """Whether it is too wide for a phone, by the letters of each column."""
        cells = zip(self.headers, *self.rows, strict=True)
        return sum(7.5 * max(map(len, column)) + 12 for column in cells) > _PHONE


class Section(NamedTuple):
    """A part of the page under one heading."""

    key: str
    title: str
    note: str
    tables: list[Table]
    pictures: list[Picture]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.note or self.tables or self.pictures)


def picture(key: str, title: str, caption: str, draw: Callable[[float], Figure], wide: bool = False) -> Picture:
    """Draw a picture, given a function of its width in inches; a wide one is drawn for narrow screens too."""
    widths = {"on-wide": WIDE, "on-narrow": NARROW} if wide else {"on-all": NARROW}
    drawings = []
    for screen, width in widths.items():
        with page_style():
            figure = draw(width)
            drawings.append((screen, inline_svg(figure, f"{key}-{screen}", f"{title}. {caption}".strip())))
    return Picture(key, title, caption, tuple(drawings), wide)


def row_panels(names: list[str], width: float, alone: float, each: float) -> tuple[Figure, list[Axes]]:
    """Return panels below each other, one for each column of a series, and their heights if there is one or more."""
    figure, axes = panels(len(names), 1, width, each if len(names) > 1 else alone)
    found = list(np.ravel(axes))
    for name, panel in zip(names, found, strict=True):
        panel.set_ylabel(two_lines(name))
        panel.tick_params(labelbottom=panel is found[-1])
    found[-1].set_xlabel("row")
    return figure, found


#: Rows and columns that a table shows at most.
MOST_ROWS, MOST_COLUMNS = 20, 12


def table(
    key: str, title: str, headers: list[str], rows: list[list[Any]], note: str = "", colors: Sequence[str] = ()
) -> Table:
    """Return a table of at most some rows and columns, with a note of how many more there are."""
    notes = [note] if note else []
    if len(rows) > MOST_ROWS:
        notes.append(f"The first {MOST_ROWS} of {len(rows):,} rows.")
    if len(headers) > MOST_COLUMNS:
        notes.append(f"The first {MOST_COLUMNS} of {len(headers):,} columns.")
    shown = [[str(cell) for cell in row[:MOST_COLUMNS]] for row in rows[:MOST_ROWS]]
    return Table(key, title, headers[:MOST_COLUMNS], shown, " ".join(notes), list(colors[:MOST_ROWS]))


def color_names(count: int) -> list[str]:
    """Return what the colors of components are called on the page."""
    names = {color: name for name, color in COLORS.items()}
    return [names[color] for color in colors_of(count)]
