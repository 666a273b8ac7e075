"""Which columns are read, and how their entries become numbers."""

import collections
import functools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from kullback.sources._codes import Codes, hash_words
from kullback.sources._kept import KeptGatherer, KeptSelection

_KINDS = ("number", "truth", "words")

#: Columns that go along with the rows: names or places, "all", or None for none, and for no numbers of rows either.
Keep = Sequence[str | int] | Literal["all"] | None


class Columns:
    """The chosen columns, in their order: names or places, and which of them hold words.

    They are chosen from the names and kinds of the first part; all others must have them too. `label` is what a column
    is called in messages and in `codes`: its name, or its place where it has none.
    """

    def __init__(
        self,
        asked: Sequence[str | int] | None,
        names: list[str] | None,
        kinds: list[str],
        codes: dict[str, list[str]] | None,
        origin: str,
        sequence: str | int | None = None,
        weight: str | int | None = None,
        keep: Keep = None,
        several: bool = False,
    ):
        self.width = len(kinds)
        if names is not None and len(set(names)) < len(names):
            twice = collections.Counter(names).most_common(1)[0][0]
            raise ValueError(f"{origin} has two columns with the name {twice!r}.")
        self.taken = list(range(len(kinds))) if asked is None else _places(asked, names, len(kinds), origin)
        if len(set(self.taken)) < len(self.taken) or not self.taken:
            raise ValueError(f"columns is {list(asked or [])!r}: it must name one column or more, each once.")
        self.names = None if names is None else [names[place] for place in self.taken]
        self.labels = self.names or [str(place) for place in self.taken]
        self.kinds = [kinds[place] for place in self.taken]
        self._sequence = None
        if sequence is not None:
            (place,) = _places([sequence], names, len(kinds), origin)
            if place not in self.taken:
                raise ValueError(f"sequence is {sequence!r}, which is none of the columns {list(self.labels)}.")
            self._sequence = self.taken.index(place)
            if self.kinds[self._sequence].startswith("times"):  # a day, a shift: they are told apart like words
                self.kinds[self._sequence] = "words"
        self._weight = self._place_of_weight(weight, names, len(kinds), origin)
        self._kept = None
        if keep is not None:
            along = list(range(len(kinds))) if keep == "all" else sorted(set(_places(keep, names, len(kinds), origin)))
            self._kept = KeptSelection(along, names, kinds, several)
        apart = None if self._sequence is None else self.labels[self._sequence]
        if codes is not None:
            stranger = next(iter(codes.keys() - set(self.labels)), None)
            if stranger is not None:
                raise ValueError(f"{origin} has no column {stranger!r}, whose words are in codes.")
            self.kinds = [
                "words" if label in codes else "number" if kind == "words" and label != apart else kind
                for label, kind in zip(self.labels, self.kinds, strict=True)
            ]
        self._refuse(origin)
        words: dict[str, list[str]] = {
            label: [] for label, kind in zip(self.labels, self.kinds, strict=True) if kind == "words" and label != apart
        }
        self.codes = Codes(words if codes is None else codes, closed=codes is not None)

    def __len__(self) -> int:
        return len(self.taken)

    def _place_of_weight(
        self, weight: str | int | None, names: list[str] | None, width: int, origin: str
    ) -> int | None:
        """Return where the weights of rows are among the chosen columns; None without weights."""
        if weight is None:
            return None
        (place,) = _places([weight], names, width, origin)
        if place not in self.taken:
            raise ValueError(f"weight is {weight!r}, which is none of the columns {list(self.labels)}.")
        found = self.taken.index(place)
        if self.kinds[found] != "number":
            raise ValueError(
                f"{origin}: column {self.labels[found]!r} holds {self.kinds[found]}, and weights are numbers."
            )
        return found

    # --- columns that go along --------------------------------------------------------------------------

    @property
    def keeps(self) -> bool:
        """Whether columns go along with the rows, or at least the numbers of rows."""
        return self._kept is not None

    @property
    def kept_names(self) -> list[str]:
        """The names of the columns that go along, in their order in the data."""
        return [] if self._kept is None else self._kept.names

    def kept_places(self, name: str, names: list[str] | None, width: int) -> list[int]:
        """Return where the columns that go along are in a part."""
        return [] if self._kept is None else _places(self._kept.wanted, names, width, name)

    def kept(self, arrays: list[Any], form: str) -> tuple[Any, str] | None:
        """Return the columns of a piece that go along, and how they are written; None where none are asked for."""
        return None if self._kept is None else (self._kept.record_batch(arrays), form)

    def gather_kept(self) -> KeptGatherer | None:
        """Return what gathers the columns that go along with the rows of a batch; None where none are asked for."""
        return None if self._kept is None else KeptGatherer(self._kept)

    # --- entries ----------------------------------------------------------------------------------------

    def by_label(self) -> dict[str, str]:
        """Return what each column holds; of the one that tells sequences apart only that it does."""
        kinds = dict(zip(self.labels, self.kinds, strict=True))
        return kinds if self._sequence is None else {**kinds, self.labels[self._sequence]: "sequence"}

    def _refuse(self, origin: str) -> None:
        for label, kind in zip(self.labels, self.kinds, strict=True):
            if kind not in _KINDS:
                raise ValueError(
                    f"{origin}: column {label!r} holds {kind}, and a model learns from numbers and categories: turn "
                    f"it into numbers, or leave it out (columns)."
                )

    def recall(self, words: dict[str, list[str]], entries: dict[str, int]) -> None:
        """Know the words that were known at some position, and how many entries they were in.

        Where `codes` were given these are kept.
        """
        if not self.codes.closed:
            for place, (label, kind) in enumerate(zip(self.labels, self.kinds, strict=True)):
                if place != self._sequence:
                    self.kinds[place] = "words" if label in words else "number" if kind == "words" else kind
            self.codes = Codes(words, closed=False, entries=entries)

    def places(self, name: str, names: list[str] | None, width: int) -> list[int]:
        """Return where the columns are in another part."""
        if (names is None) != (self.names is None) or (names is None and width != self.width):
            had = f"{self.width} columns without names" if self.names is None else "names"
            raise ValueError(f"{name} has {width} columns{'' if names else ' without names'}, not {had} as before.")
        wanted: Sequence[str | int] = self.taken if self.names is None else self.names
        return _places(wanted, names, width, name)

    def typed_places(self, name: str, names: list[str] | None, kinds: list[str]) -> list[int]:
        """Return the same where the part says what its columns hold."""
        places = self.places(name, names, len(kinds))
        for at, (place, label, kind) in enumerate(zip(places, self.labels, self.kinds, strict=True)):
            found = kinds[place]
            if at == self._sequence and found.startswith("times"):
                found = "words"
            if (found == "words") != (kind == "words") or found not in _KINDS:
                expected = "words" if kind == "words" else "numbers"
                raise ValueError(f"{name}: column {label!r} holds {_plural(found)}, not {expected}.")
        return places

    def fill(self, out: np.ndarray, table: Any, bad: dict[int, str]) -> np.ndarray:
        """Write the rows of a table to `out` as numbers, without the bad ones; return those that are good.

        What is infinite, or a word that is not known, is added to `bad`.
        """
        words: dict[int, Any] = {}
        if isinstance(table, np.ndarray):
            out[:] = table
        else:
            words = self._fill_numbers(out, table)
        if self._sequence is not None:
            if self._sequence in words:
                out[:, self._sequence] = hash_words(words.pop(self._sequence))
            for row in np.flatnonzero(np.isnan(out[:, self._sequence])).tolist():
                bad.setdefault(row, f"column {self.labels[self._sequence]!r} is missing, and tells sequences apart")
        if self._weight is not None:
            weights = out[:, self._weight]
            for row in np.flatnonzero(~(weights >= 0)).tolist():
                what = "missing" if np.isnan(weights[row]) else f"{weights[row]:g}"
                bad.setdefault(row, f"column {self.labels[self._weight]!r} is {what}, and a weight is 0 or more")
        for place, entries in words.items():
            for row, each in self.codes.strange(self.labels[place], entries).items():
                what = f"column {self.labels[place]!r} is {each!r}, which is none of the known categories"
                bad.setdefault(row, what)
        with np.errstate(over="ignore", invalid="ignore"):
            plain = np.isfinite(np.sum(out))  # nothing is missing or infinite: nearly always
        if not plain:
            for row, place in np.argwhere(np.isinf(out)).tolist():
                bad.setdefault(row, f"column {self.labels[place]!r} is infinite")
        keep = np.delete(np.arange(len(out)), list(bad)) if bad else None
        out = out if keep is None else out[keep]
        for place, entries in words.items():  # only now: a bad row has no say in which words there are
            out[:, place] = self.codes.numbers(self.labels[place], entries if keep is None else entries.take(keep))
        return out

    def _fill_numbers(self, out: np.ndarray, table: Any) -> dict[int, Any]:
        """Write the columns of numbers, zeros for the others, and return these by their place."""
        import pyarrow as pa

        words = {}
        try:
            for place, kind in enumerate(self.kinds):
                column = table.column(place)
                if kind == "words":
                    words[place] = as_strings(column)
                    out[:, place] = 0
                    continue
                out[:, place] = as_numbers(column)
        except pa.ArrowException as error:
            raise pa.ArrowInvalid(f"column {self.labels[place]!r}: {error}") from None
        return words


def as_numbers(column: Any) -> np.ndarray:
    """Return an Arrow array of numbers, or of true and false, in 64 bits; NaN where an entry is missing."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    if column.null_count:
        column = column.fill_null(_nan())
    return np.from_dlpack(column)


def as_strings(column: Any) -> Any:
    """Return an Arrow array of words as strings. The words of a dictionary come first: Arrow can take strings alone."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.string()))
    return column.cast(pa.string())


@functools.cache
def _nan() -> Any:
    """Return NaN as Arrow has it. Made in this way it needs no pandas, which `pa.scalar` and `to_numpy` import."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.float64(), 1, [None, pa.py_buffer(np.array([np.nan]))])[0]


def _plural(kind: str) -> str:
    return {"number": "numbers", "truth": "true and false"}.get(kind, kind)


def _places(asked: Sequence[str | int], names: list[str] | None, width: int, origin: str) -> list[int]:
    """Return the places of columns that are asked for by name or place."""
    known = {name: place for place, name in reversed(list(enumerate(names or ())))}
    places = []
    for each in asked:
        if isinstance(each, str):
            if names is None:
                raise ValueError(f"{origin} has no names of columns: ask for {each!r} by its place.")
            if each not in known:
                some = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
                raise ValueError(f"{origin} has no column {each!r}; it has {some}.")
            places.append(known[each])
        elif 0 <= each < width:
            places.append(int(each))
        else:
            raise ValueError(f"{origin} has no column {each}: its {width} columns are counted from 0.")
    return places
