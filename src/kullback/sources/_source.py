"""Where batches come from: parts, read piece by piece, cut into batches, fetched ahead."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from kullback.sources._batches import Batch, Mark, batches
from kullback.sources._columns import Columns
from kullback.sources._errors import BadRowCounter
from kullback.sources._kept import Kept
from kullback.sources._position import check_fingerprint, check_position
from kullback.sources._prefetch import Prefetch
from kullback.sources._shuffle import Reservoir, ShuffleMark, shuffle_batches
from kullback.sources._supply import Supply


class Source:
    """An iterator of tables, each of shape (rows, columns), 64-bit, NaN where an entry is missing.

    `position` says what has been handed out: a JSON-able value. A source that is opened anew on the same data and told
    to `resume` from it hands out the same batches as the first would have, from there on. `names` are those of the
    columns, or None where they have none. `open_source` makes one.
    """

    names: list[str] | None

    def __init__(
        self,
        supply: Supply,
        columns: Columns,
        batch_rows: int,
        shuffle: tuple[int, int] | None,
        bad: tuple[bool, int],
        ahead: int,
    ):
        self.names = columns.names
        self._supply, self._columns, self._size = supply, columns, batch_rows
        self._shuffle, self._bad, self._depth = shuffle, bad, ahead
        self._began: dict[str, Any] = {"done": 0, "bad": 0, "codes": columns.codes.words, "entries": {}}
        self._mark: Mark | ShuffleMark | None = None
        self._kept: Kept | None = None
        self._ahead: Prefetch[Batch] | None = None

    def __iter__(self) -> Iterator[np.ndarray]:
        """Hand out the batches that are left."""
        if self._ahead is None:
            self._ahead = Prefetch(self._flow(self._began), self._depth)
        for values, mark, kept in self._ahead:
            self._mark, self._kept = mark, kept
            if len(values):
                yield values

    def _flow(self, position: dict[str, Any]) -> Iterator[Batch | None]:
        """Return what comes after a position."""
        seen = position.get("data")
        if self._shuffle is None:
            return self._in_order(position, seen)
        reservoir = Reservoir(self._size, *self._shuffle)
        if "before" in position and self._supply.again:
            reservoir.check(position)
            return shuffle_batches(self._in_order(position["before"], seen), reservoir, position["done"], position)
        return shuffle_batches(self._in_order(position, seen), reservoir, position["done"], None)

    def _in_order(self, position: dict[str, Any], seen: dict[str, Any] | None) -> Iterator[Batch | None]:
        words = position["codes"]
        self._columns.recall(words, position.get("entries", dict.fromkeys(words, position["done"])))
        counter = BadRowCounter(*self._bad, position["bad"])
        return batches(self._supply.begin(position, seen), self._columns, self._size, counter, position["done"])

    @property
    def position(self) -> dict[str, Any]:
        """What has been handed out: a place in the data, how many rows were good and bad, and which words came.

        With a shuffle, `before` is the place from which to read the rows that wait in the reservoir. `data` tells the
        files from others.
        """
        data = self.fingerprint
        seen = {} if data is None else {"data": data}
        if not isinstance(self._mark, ShuffleMark):
            return {**self._place(self._mark), **seen}
        before = self._began.get("before", self._began) if self._mark.before is None else self._place(self._mark.before)
        before = {name: copy.deepcopy(value) for name, value in before.items() if name != "data"}
        drawn = {name: getattr(self._mark, name) for name in ("read", "ended", "left", "first")}
        entries = self._place(self._mark.latest).get("entries", {})
        counts = {"done": self._mark.rows, "bad": self.bad_rows, "codes": self.codes, "entries": entries}
        return {**drawn, "shuffle": self._shuffle_settings, "before": before, **counts, **seen}

    @property
    def fingerprint(self) -> dict[str, Any] | None:
        """What tells the files that were read from others, JSON-able: `position` has it too. None where none were."""
        mark = self._latest
        return copy.deepcopy(self._began.get("data")) if mark is None else self._supply.fingerprint(mark)

    @property
    def _latest(self) -> Mark | None:
        """The mark of the last row that was read."""
        return self._mark.latest if isinstance(self._mark, ShuffleMark) else self._mark

    def check(self, fingerprint: Any) -> None:
        """Raise unless the data is, all in all, that of a fingerprint of a source that had come to its end."""
        if fingerprint is not None:
            check_fingerprint(fingerprint)
            self._supply.check(fingerprint, whole=True)

    def _place(self, mark: Mark | None) -> dict[str, Any]:
        if mark is None:
            return copy.deepcopy(self._began)
        entries = {label: count for label, (_, count) in mark.words.items()}
        counts = {"done": mark.rows, "bad": mark.bad, "codes": self._words(mark), "entries": entries}
        return {**self._supply.position(mark), **counts}

    def _words(self, mark: Mark) -> dict[str, list[str]]:
        return {label: self._columns.codes.words[label][:size] for label, (size, _) in mark.words.items()}

    @property
    def _shuffle_settings(self) -> list[int] | None:
        """What the order of a shuffle depends on."""
        return None if self._shuffle is None else [self._size, *self._shuffle]

    def resume(self, position: Any) -> None:
        """Go to a position that a source of the same data had; one of other files is refused."""
        check_position(position, self._supply.places, self._columns.labels, self._supply.has_files)
        if "shuffle" in position and position["shuffle"] != self._shuffle_settings:
            raise ValueError(
                f"The position has batch_rows, shuffle and seed {position['shuffle']}, and not those of this source: "
                f"{self._shuffle_settings}."
            )
        most = self._supply.most_rows if "shuffle" in position else None
        if most is not None and position["read"] > most:
            raise ValueError(f"There are {most:,} rows at most, and {position['read']:,} were read before.")
        flow = self._flow(position)
        if "data" in position:
            self._supply.check(position["data"], whole=False)
        self._began, self._mark, self._ahead = copy.deepcopy(position), None, Prefetch(flow, self._depth)

    @property
    def kept(self) -> Kept | None:
        """The columns that go along with the batch that was handed out last; None where `keep` was None."""
        return self._kept

    @property
    def codes(self) -> dict[str, list[str]]:
        """The words of each column that holds words, by name: an entry is the place of its word there.

        They stand in the order in which they first came. A source that was opened with `codes` knows no others.
        """
        return copy.deepcopy(self._began["codes"]) if self._latest is None else self._words(self._latest)

    @property
    def kinds(self) -> dict[str, str]:
        """What each column holds, in the order of the columns: "number", "truth", "words" or "sequence".

        It is by name, or by place ("0", "1", …) where columns have no names, as in `codes`. "sequence" is the column
        that says which sequence a row belongs to, whatever is written in it.
        """
        return self._columns.by_label()

    @property
    def rows(self) -> int | None:
        """How many rows there are in all, where that is known."""
        return self._supply.rows

    @property
    def bad_rows(self) -> int:
        """How many bad rows were left out."""
        return self._began["bad"] if self._latest is None else self._latest.bad
