"""Copies of the library with changes: pieces of text, and what to write in their place."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import kullback

LIBRARY = Path(kullback.__file__).parent

#: A file of the library, what is there, and what to write in its place.
Change = tuple[str, str, str]


def changed_library(changes: Iterable[Change], folder: Path) -> Path:
    """Write a copy of the library with these changes below a folder, and return what to put on Python's path."""
    place = folder / "library"
    shutil.copytree(LIBRARY, place / "kullback", ignore=shutil.ignore_patterns("__pycache__"))
    for file, here, instead in changes:
        path = place / "kullback" / file
        text = path.read_text(encoding="utf-8")
        if here not in text:
            raise LookupError(f"{file} has no {here!r}: bring the list of changes up to date.")
        path.write_text(text.replace(here, instead), encoding="utf-8")
    return place
