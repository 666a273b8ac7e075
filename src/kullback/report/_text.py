"""Numbers and names as they are read."""

import textwrap
from typing import Any

import numpy as np


def number(value: Any, digits: int = 4) -> str:
    """Return a number with some significant digits.

    >>> number(-12345.678), number(0.000012), number(3.0), number(float("-inf"))
    ('−12,350', '1.2e−05', '3', '−∞')
    """
    value = float(value)
    if not np.isfinite(value):
        return "missing" if np.isnan(value) else "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e9:
        rounded = float(f"{value:.{digits}g}")
        decimals = max(0, digits - 1 - int(np.floor(np.log10(abs(value)))))
        text = f"{rounded:,.{decimals}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", "−")


def percent(share: Any) -> str:
    """Return a share of 1 in percent.

    >>> percent(0.1234), percent(1.0)
    ('12.3 %', '100 %')
    """
    return f"{number(100 * float(share), 3)} %"


def clean(name: Any) -> str:
    """Return a name without characters that no page can hold."""
    return "".join(character if character.isprintable() else " " for character in str(name)).strip() or "(no name)"


def all_or_some(drawn: int, count: int) -> str:
    """Return which rows a picture shows.

    >>> all_or_some(3, 3), all_or_some(2000, 2834)
    ('the rows of the data', '2,000 of 2,834 rows, chosen at random,')
    """
    return "the rows of the data" if drawn == count else f"{drawn:,} of {count:,} rows, chosen at random,"


def two_lines(name: str, most: int = 16) -> str:
    """Return a name beside a low picture: on two lines where one is too short."""
    lines = textwrap.wrap(name, most)
    return "\n".join([*lines[:1], short(" ".join(lines[1:]), most)] if len(lines) > 1 else [short(name, most)])


def short(name: str, most: int = 18) -> str:
    """Return a name that has room in a picture."""
    return name if len(name) <= most else name[: most - 1] + "…"
