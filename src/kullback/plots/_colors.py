"""One color for each component, state or factor."""

from kullback.plots._style import COLORS


def colors_of(count: int) -> list[str]:
    """Return a color for each of `count` things: those of `COLORS` without black, again and again.

    >>> colors_of(2) == [COLORS["blue"], COLORS["vermilion"]]
    True
    """
    palette = [color for name, color in COLORS.items() if name != "black"]
    return [palette[place % len(palette)] for place in range(count)]
