"""What single entries mean, whatever file they come from: numbers, words, or nothing."""

import json
import math
from typing import Any

#: What stands for a missing entry in text.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")

_MISSING = frozenset(MISSING)
_TRUTH = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}


def number(entry: Any) -> float | None:
    """Return an entry as a number, NaN where it is missing, or None where it is neither."""
    if isinstance(entry, str):
        text = entry.strip()
        if text in _MISSING:
            return math.nan
        if text in _TRUTH:
            return _TRUTH[text]
        entry = None if "_" in text else text
    elif entry is None:
        return math.nan
    if not isinstance(entry, str | int | float):
        return None
    try:
        return float(entry)
    except (ValueError, OverflowError):
        return None


def word(entry: Any) -> str | None:
    """Return an entry as a word, the empty one where it is missing, or None where it is no word."""
    if entry is None:
        return ""
    if not isinstance(entry, str):
        return json.dumps(entry) if isinstance(entry, int | float) else None
    if not entry.isascii():
        try:
            entry.encode()
        except UnicodeEncodeError:
            return None
    return "" if entry in _MISSING else entry


def is_missing(entry: Any) -> bool:
    """Whether nothing is there."""
    return entry is None or (isinstance(entry, str) and entry.strip() in _MISSING)


def kind_of(entries: list[Any]) -> str:
    """Return what a column holds, of which these are the first entries: "number", "truth", "words" or "objects".

    Most of them decide, so that a few bad entries do not make a column of numbers one of words.
    """
    there = [entry for entry in entries if not is_missing(entry)]
    if sum(isinstance(entry, dict | list) for entry in there) * 2 > len(there):
        return "objects"
    if sum(number(entry) is not None for entry in there) * 2 < len(there):
        return "words"
    truth = bool(there) and all(isinstance(entry, bool) or entry in _TRUTH for entry in there)
    return "truth" if truth else "number"


def shown(entry: Any) -> str:
    """Return an entry for a message, shortened."""
    text = repr(entry)
    return text if len(text) <= 40 else text[:37] + "..."
