"""Names of columns, as they are typed."""

from typing import Any


def parse_labels(text: str | None, option: str, header: bool) -> list[Any] | None:
    """Return names of columns; places, from 0, where there are no names."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if header:
        return parts
    if not all(part.isdigit() for part in parts):
        raise ValueError(f"--{option} is {text!r}: without a header, columns are numbers, counted from 0.")
    return [int(part) for part in parts]
