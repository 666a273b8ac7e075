"""A saved model with what its columns are called and what words stand for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kullback import estimators
from kullback.cli._open import open_data
from kullback.cli._roles import Piece, Roles, concatenated


class Held(NamedTuple):
    """An estimator, the names of its columns, if it was fitted with some, and the words of columns that had words.

    `roles` are columns besides: the one that tells sequences apart, and inputs.
    """

    estimator: Any
    names: list[str] | None
    codes: dict[str, list[str]]
    roles: Roles = Roles()

    @classmethod
    def load(cls, path: Path) -> "Held":
        """Read a model that this command or the library has saved."""
        estimator = estimators.load(path)
        vars(estimator).pop("checkpoint_", None)
        named = vars(estimator).pop("feature_names_in_", None)  # of a fit to a frame; tables here are plain arrays
        held = getattr(estimator, "source_", {})
        names = held.get("names") or (None if named is None else [str(name) for name in named])
        roles = Roles(held.get("sequence"), tuple(held.get("inputs") or ()))
        return cls(estimator, names, held.get("codes") or {}, roles)

    @property
    def kind(self) -> str:
        """What the model is."""
        return type(self.estimator).__name__

    def need(self, method: str, command: str, wanted: str) -> None:
        """Raise unless the model can be asked this."""
        if not hasattr(self.estimator, method):
            raise ValueError(f"{command} is for {wanted}: this model is a {self.kind}.")

    def opened(self, data: str, header: bool = True, **options: Any) -> Any:
        """Open data with the columns and the words that the model knows."""
        columns = self.roles.with_values(self.names) if header and self.names else None
        known: dict[str, Any] = {"columns": columns, "codes": self.codes, "sequence": self.roles.sequence}
        return open_data(data, header=header, **known, **options)

    def pieces(self, source: Any) -> Iterator[Piece]:
        """Hand out what a source has, taken apart."""
        for table in source:
            if len(table):
                yield self.roles.split(table, source.names or list(range(table.shape[1])))

    def all_rows(self, data: str, **options: Any) -> Piece:
        """Read everything as a whole."""
        pieces = list(self.pieces(self.opened(data, **options)))
        if not pieces:
            raise ValueError(f"{data} has no rows.")
        return concatenated(pieces)

    def inputs(self, data: str, header: bool, **options: Any) -> np.ndarray:
        """Read the inputs of rows that have no values yet."""
        if not self.roles.inputs:
            raise ValueError("this model was fitted without --input-columns: there are no inputs to read.")
        codes = {label: words for label, words in self.codes.items() if label in map(str, self.roles.inputs)}
        tables = list(open_data(data, header=header, columns=list(self.roles.inputs), codes=codes, **options))
        if not tables:
            raise ValueError(f"{data} has no rows.")
        return np.concatenate(tables)

    def columns(self, X: np.ndarray) -> dict[str, Any]:
        """Return the columns of a table by name, with words where there were words."""
        labels = self.names or [str(place) for place in range(X.shape[1])]
        names = self.names or [f"x{label}" for label in labels]
        return {name: self._words(label, X[:, k]) for k, (name, label) in enumerate(zip(names, labels, strict=True))}

    def _words(self, label: str, column: np.ndarray) -> Any:
        words = self.codes.get(label)
        if words is None:
            return column
        return [None if np.isnan(code) else words[int(code)] for code in column]
