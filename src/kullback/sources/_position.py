"""Positions that come from somewhere: whether they are such as a source says."""

from typing import Any

from kullback.sources._codes import MOST
from kullback.sources._fingerprint import is_fingerprint, is_tail
from kullback.storage import is_count, quote

#: What a position says besides, and what it says after a shuffle; `data` is there where there are files.
_ALWAYS, _SHUFFLED = {"done", "bad", "codes"}, {"read", "ended", "left", "first", "shuffle", "before"}


def check_position(position: Any, places: list[set[str]], labels: list[str], files: bool) -> None:
    """Raise unless this can be a position; `places` are the names by which it may say where it is."""
    if not isinstance(position, dict) or not set(position) >= _ALWAYS:
        raise ValueError(f"position is {quote(position)}: it must be what `position` of a source has said.")
    names = set(position) - _ALWAYS - {"entries"} - ({"data"} if files else set())
    if names not in ([_SHUFFLED] if "shuffle" in names else [set(), *places]):
        raise _wrong("it has", sorted(position, key=str))
    for name in names - {"name", "ended", "shuffle", "before"} | {"done", "bad"}:
        if not is_count(position[name]):
            raise _wrong(f"{name} is", position[name])
    _check_words(position["codes"], labels)
    _check_entries(position.get("entries", None if names else {}), labels)
    if files and names and "data" not in position:
        raise ValueError("The position does not say which data it was in: begin anew.")
    if "data" in position:
        check_fingerprint(position["data"])
    if "shuffle" in names:
        _check_shuffled(position, places, labels)
    elif not names and (position["done"] or position["bad"]):
        raise _wrong("it has no place, and done is", position["done"])
    if "file" in names:
        _check_row(position)


def check_fingerprint(found: Any) -> None:
    """Raise unless this can be the fingerprint of a source."""
    if not isinstance(found, dict) or set(found) != {"files", "tail"} or not is_tail(found["tail"]):
        raise _wrong("data is", found)
    if not isinstance(found["files"], list) or not found["files"]:
        raise _wrong("data.files is", found["files"])
    for each in found["files"]:
        if not is_fingerprint(each):
            raise _wrong("data.files has", each)


def _check_row(position: dict[str, Any]) -> None:
    """Raise unless the numbers of a place in a file go together."""
    if not isinstance(position["name"], str):
        raise _wrong("name is", position["name"])
    rows, row = position["done"] + position["bad"], position["row"]
    if row > rows or (position["file"] == 0 and row != rows):
        raise _wrong(f"done and bad are {rows} rows together, and row is", row)
    if "skip" in position:
        skip, byte, line, end = (position[name] for name in ("skip", "byte", "line", "end"))
        before = position.get("data", {}).get("tail") or str(end)
        if skip > row or byte > end or not 1 <= line <= byte + 1 or int(before.split()[0]) != end:
            raise _wrong("skip, byte, line and end are", [skip, byte, line, end])


def _check_shuffled(position: dict[str, Any], places: list[set[str]], labels: list[str]) -> None:
    asked, before = position["shuffle"], position["before"]
    if not isinstance(position["ended"], bool):
        raise _wrong("ended is", position["ended"])
    if not isinstance(asked, list) or len(asked) != 3 or not all(is_count(each) for each in asked) or 0 in asked[:2]:
        raise _wrong("shuffle is", asked)
    check_position(before, places, labels, files=False)
    if position["first"] > position["read"] or position["left"] > position["read"]:
        raise _wrong("read, first and left are", [position[name] for name in ("read", "first", "left")])


def _check_words(codes: Any, labels: list[str]) -> None:
    if not isinstance(codes, dict) or not set(codes) <= set(labels):
        raise _wrong("codes are", codes)
    for words in codes.values():
        fits = isinstance(words, list) and len(words) <= MOST and all(isinstance(word, str) for word in words)
        if not fits or len(set(words)) < len(words):
            raise _wrong("codes have", words)


def _check_entries(entries: Any, labels: list[str]) -> None:
    if not isinstance(entries, dict) or not set(entries) <= set(labels) or not all(map(is_count, entries.values())):
        raise _wrong("entries are", entries)


def _wrong(what: str, value: Any) -> ValueError:
    return ValueError(f"The position is damaged: {what} {quote(value)}.")
