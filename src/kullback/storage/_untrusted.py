"""Values of JSON that come from a file: nothing is known of them."""

from typing import Any


def is_count(value: Any) -> bool:
    """Whether this can be a number of rows or bytes."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def quote(value: Any, most: int = 100) -> str:
    """Return a value for a message, in so many characters.

    >>> quote("abcdefghijklmnop", 12)
    "'abcdefgh..."
    """
    try:
        text = repr(value)
    except RecursionError:
        return "something deeply nested"
    return text if len(text) <= most else text[: most - 3] + "..."
