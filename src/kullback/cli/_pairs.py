"""Rows of inputs with their targets, as regressors and classifiers take them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kullback.cli._column_roles import Chunk
from kullback.cli._input import Input
from kullback.cli._registry import command_name
from kullback.estimators import REGISTRY, Encoded


class Pairs(NamedTuple):
    """Inputs, targets and weights of the rows that say something, and the places of these rows among all."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    places: np.ndarray

    def numbers(self, all_rows: Sequence[int]) -> list[int]:
        """Return the numbers of these rows, given those of all."""
        return [all_rows[place] for place in self.places.tolist()]


def has_targets(estimator: Any) -> bool:
    """Whether an estimator learns targets from inputs."""
    return REGISTRY[type(estimator).__name__].capabilities.data == "pairs"


def is_classifier(estimator: Any) -> bool:
    """Whether the targets are classes."""
    return type(estimator).__name__ == "Classifier"


def check_target(estimator: Any, data: Input, source: Any) -> None:
    """Raise where targets hold what an estimator does not predict."""
    labels = list(map(str, data.roles.targets))
    if is_classifier(estimator):
        if len(labels) > 1:
            raise ValueError(f"--target is {','.join(labels)}: a classifier predicts one column.")
        return
    for label in labels:
        if source.kinds[label] == "words":
            raise ValueError(
                f"column {label!r} holds words, and a {command_name(type(estimator).__name__)} predicts numbers: use "
                "`kullback fit classifier`."
            )


def pair_rows(estimator: Any, data: Input, source: Any, chunk: Chunk) -> Pairs:
    """Return the rows of a chunk that have a weight and a target, as the estimator takes them.

    Numbers of categories are marked as such: nobody may take them for amounts.
    """
    assert chunk.targets is not None
    counts = ~np.isnan(chunk.targets).all(axis=1)
    if chunk.weight is not None:
        counts &= chunk.weight > 0
    places = np.flatnonzero(counts)
    kinds, codes = data.kinds(source)[0], source.codes
    words = {str(place): codes[label] for place, label in enumerate(kinds) if label in codes}
    table = chunk.X[places]
    truth = source.kinds[str(data.roles.targets[0])] == "truth"
    y = known_targets(estimator, codes, data.roles.targets, chunk.targets[places], truth)
    weight = None if chunk.weight is None else chunk.weight[places]
    return Pairs(Encoded(table, list(kinds.values()), words), y, weight, places)


def known_targets(
    estimator: Any, codes: dict[str, list[str]], labels: Sequence[Any], targets: np.ndarray, truth: bool = False
) -> np.ndarray:
    """Return targets as an estimator takes them: numbers, or classes: words, true and false, or whole numbers."""
    if not is_classifier(estimator):
        return targets[:, 0] if len(labels) == 1 else targets
    label, column = str(labels[0]), targets[:, 0]
    if label in codes:
        return np.array(codes[label], dtype=str)[column.astype(np.int64)]
    if truth:
        return column.astype(bool)
    broken = np.mod(column, 1) != 0
    if broken.any():
        row = int(np.argmax(broken))
        raise ValueError(
            f"y[{row}] is {column[row]:.6g}: a class is a whole number, a word, or true or false; for other numbers "
            "use `kullback fit regressor`."
        )
    return column.astype(np.int64)


class ClassCollector:
    """Collects the classes of a file, batch by batch: a stream of a classifier must know all before it begins."""

    def __init__(self, estimator: Any, data: Input, source: Any):
        self.wanted = is_classifier(estimator)
        self._estimator, self._data, self._source = estimator, data, source
        self._found: list[np.ndarray] = []

    def add(self, table: np.ndarray) -> None:
        """Look at the targets of some rows. What cannot be a class is refused when it is learned from."""
        targets = self._data.split(self._source, table).targets
        if self.wanted and targets is not None and str(self._data.roles.targets[0]) not in self._source.codes:
            column = targets[:, 0]
            whole = column[np.mod(column, 1) == 0]
            self._found = [np.unique(np.concatenate([*self._found, whole]))]

    @property
    def codes(self) -> dict[str, list[str]]:
        """The words of all columns, those of classes in their order."""
        label = str(self._data.roles.targets[0]) if self.wanted else None
        return {each: sorted(words) if each == label else words for each, words in self._source.codes.items()}

    @property
    def classes(self) -> np.ndarray | None:
        """All classes, in order; None where targets are no classes."""
        if not self.wanted:
            return None
        label = str(self._data.roles.targets[0])
        if label in self._source.codes:
            return np.array(sorted(self._source.codes[label]), dtype=str)
        found = np.concatenate(self._found) if self._found else np.zeros(0)
        return found.astype(bool if self._source.kinds[label] == "truth" else np.int64)


def check_new_words(estimator: Any, data: Input, source: Any) -> None:
    """Raise where a stream has brought a category that was not in the rows it began with."""
    if not estimator.has_started:
        return
    labels = list(data.kinds(source)[0])
    for label, room in zip(labels, estimator.input_categories_.tolist(), strict=True):
        words = source.codes.get(label, [])
        if room and len(words) > room:
            raise ValueError(
                f"{data}: column {label!r} has the category {words[room]!r}, which was not in the rows that the fit "
                f"began with: save the stream to a file and fit to that, or begin with more rows (--batch-rows)."
            )
