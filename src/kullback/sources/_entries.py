"""What single entries mean, whatever file they come from: numbers, words, or nothing."""

import json
import math
import re
from typing import Any

from kullback.storage import quote

#: Characters of an entry that a message shows.
SHOWN = 40

#: What stands for a missing entry in text.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")

_MISSING = frozenset(MISSING)
_TRUTH = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}

_CLOCK = r"(?:[01][0-9]|2[0-4]):[0-5][0-9](?::[0-6][0-9](?:[.,][0-9]+)?)?"
_ZONE = r"(?: ?(?:[Zz]|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?))?"
_DAY = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_BASIC = r"[0-9]{8}[Tt][0-9]{4}(?:[0-9]{2}(?:[.,][0-9]+)?)?"

#: Dates and times as ISO 8601 writes them, with T or a blank between the two; an offset may follow.
_TIME = re.compile(rf"{_DAY}(?:[Tt ](?:{_CLOCK}|[0-2][0-9]){_ZONE})?|{_CLOCK}{_ZONE}|{_BASIC}{_ZONE}")

#: Numbers with a comma before decimals, or with something between thousands: commas, points, apostrophes, blanks. Where
#: a point or a blank could mean something else, there must be more than one of the first, and decimals after the other.
_SEPARATED = re.compile(
    r"[+\-\u2212]?(?:[0-9]*,[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?|[0-9]{1,3}(?:[. ][0-9]{3})+,[0-9]*|"
    r"[1-9][0-9]{0,2}(?:\.[0-9]{3}){2,}|[1-9][0-9]{0,2}(?:['\u2019\u00a0\u202f][0-9]{3})+(?:[.,][0-9]*)?)"
    r"(?:[eE][+-]?[0-9]+)?"
)


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


def why_no_number(entry: Any) -> str:
    """Return what is wrong with an entry that is no number."""
    what = "which is not a number"
    if _has_separators(entry):
        what += ": write decimals with a point, and nothing between thousands"
    return what


def truth(entry: Any) -> float | None:
    """Return an entry as 1 or 0, NaN where it is missing, or None where it is neither true nor false."""
    value = number(entry)
    return value if value is None or math.isnan(value) or value in (0.0, 1.0) else None


def word(entry: Any) -> str | None:
    """Return an entry as a word, the empty one where it is missing, or None where it is no word."""
    if entry is None:
        return ""
    if not isinstance(entry, str):
        return json.dumps(entry) if isinstance(entry, int | float) else None
    if not is_unicode(entry):
        return None
    return "" if entry in _MISSING else entry


def is_unicode(text: str) -> bool:
    """Whether text has no bytes in it that are not UTF-8, and no halves of characters."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True


def is_missing(entry: Any) -> bool:
    """Whether nothing is there."""
    return entry is None or (isinstance(entry, str) and entry.strip() in _MISSING)


def kind_of(entries: list[Any]) -> str:
    """Return what a column holds, of which these are the first entries: "number", "truth" or "words".

    Most of them decide, so that a few bad entries do not make a column of numbers one of words; and numbers that are
    written with commas or separators do not either. All else that is returned says what the column holds instead.
    """
    if _are_plain_numbers(entries):
        return "number"
    there = [entry for entry in entries if not is_missing(entry)]
    if sum(isinstance(entry, dict | list) for entry in there) * 2 > len(there):
        return "objects"
    if sum(number(entry) is not None or _has_separators(entry) for entry in there) * 2 < len(there):
        return describe_times(there) or "words"
    is_truth = bool(there) and all(
        isinstance(entry, bool) or (isinstance(entry, str) and entry in _TRUTH) for entry in there
    )
    return "truth" if is_truth else "number"


def describe_times(entries: list[Any]) -> str | None:
    """Return what entries are of which more than half are dates and times; None of others."""
    times = [entry for entry in entries if isinstance(entry, str) and _TIME.fullmatch(entry.strip())]
    return f"times such as {quote(times[0], SHOWN)}" if len(times) * 2 > len(entries) else None


def _are_plain_numbers(entries: list[Any]) -> bool:
    """Whether all entries are numbers and none is missing, as in most columns: this takes little time."""
    if not entries or not isinstance(entries[0], str):
        return all(type(entry) in (int, float) for entry in entries)
    try:
        return "_" not in "".join(entries) and bool(list(map(float, entries)))
    except (TypeError, ValueError):
        return False


def _has_separators(entry: Any) -> bool:
    return isinstance(entry, str) and _SEPARATED.fullmatch(entry.strip()) is not None
