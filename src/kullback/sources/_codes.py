"""Words as numbers: each is its place in a list of all of them."""

from hashlib import blake2b
from typing import Any

import numpy as np

from kullback.sources._entries import describe_times, word

#: Words of a column: as many as a model may have categories. `kullback.core` says it too, but it needs JAX.
MOST = 10_000

#: Words of which more than this share are different are no categories, once so many have come. Categories that a model
#: could learn anything of come again; and fewer rows may hold a category of many words, each of them once, by chance.
SHARE, LEAST = 0.9, 200


class Codes:
    """The words of some columns, by label. New ones are added in the order in which they come, unless `closed`.

    `entries` says how many words of each column have come before, where some have.
    """

    def __init__(self, words: dict[str, list[str]], closed: bool, entries: dict[str, int] | None = None):
        self.closed = closed
        self._entries = {label: (entries or {}).get(label, 0) for label in words}
        self.words = {label: list(known) for label, known in words.items()}
        self._places = {label: {each: place for place, each in enumerate(known)} for label, known in words.items()}

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Return how many words of each column are known, and how many entries they were in."""
        return {label: (len(known), self._entries[label]) for label, known in self.words.items()}

    def refuse_names(self) -> None:
        """Refuse columns of times, and such in which nearly every row has a word of its own: when all rows have come.

        Not before, as words may come in turn: the first rows of a thousand sensors name a thousand different ones. Data
        for which this is late has more than `MOST` words anyway.
        """
        for label, (known, entries) in self.sizes().items():
            times = None if self.closed else describe_times(self.words[label])
            if times is not None:
                raise ValueError(
                    f"Column {label!r} holds {times}, and a model learns from numbers and words: turn it into numbers, "
                    f"or leave it out (columns)."
                )
            if not self.closed and entries >= LEAST and known > SHARE * entries:
                raise ValueError(
                    f"Column {label!r} holds {known:,} different texts in {entries:,} rows: these are names or notes, "
                    f"and not categories; leave it out (columns)."
                )

    def strange(self, label: str, entries: Any) -> dict[int, str]:
        """Return the rows whose word is not known, and the word, where only known ones may come."""
        if not self.closed:
            return {}
        index, found = _encode(entries)
        places = self._places[label]
        new = [place for place, each in enumerate(found) if each and each not in places]
        if not new:
            return {}
        return {int(row): found[index[row]] for row in np.flatnonzero(np.isin(index, new))}

    def numbers(self, label: str, entries: Any) -> np.ndarray:
        """Return the places of the words of an Arrow array, NaN for those that are missing; new words are added."""
        index, found = _encode(entries)
        places, known = self._places[label], self.words[label]
        codes = np.full(len(found), np.nan)
        for at, each in enumerate(found):
            if not each:
                continue
            if each not in places:
                places[each] = len(known)
                known.append(each)
                if len(known) > MOST:
                    raise ValueError(
                        f"Column {label!r} holds more than {MOST:,} different texts: these are not categories; leave "
                        f"it out (columns)."
                    )
            codes[at] = places[each]
        numbers = codes[index]
        self._entries[label] += int(np.count_nonzero(~np.isnan(numbers)))
        return numbers


def hash_words(entries: Any) -> np.ndarray:
    """Return a number for each word of an Arrow array, the same for the same word in all files; NaN for missing ones.

    It is a hash of 52 bits: of a million words, two have the same number once in 10⁴ times, and only neighbors matter.
    """
    index, found = _encode(entries)
    hashes = [blake2b(each.encode(), digest_size=8).digest() for each in found]
    numbers = [int.from_bytes(each) >> 12 if known else np.nan for each, known in zip(hashes, found, strict=True)]
    return np.array(numbers, dtype=np.float64)[index]


def _encode(entries: Any) -> tuple[np.ndarray, list[str]]:
    """Return an Arrow array of strings as places in a list of its words; what is missing is the empty one."""
    encoded = entries.dictionary_encode(null_encoding="encode")
    index = np.from_dlpack(encoded.indices)
    return index, [word(each) or "" for each in encoded.dictionary.to_pylist()]
