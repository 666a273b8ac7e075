"""A saved model with what its columns are called and what words stand for."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kullback.cli._column_roles import Chunk, Roles, concatenate
from kullback.cli._input import open_data
from kullback.cli._model_file import Columns, read_model
from kullback.cli._output_columns import Values
from kullback.estimators import REGISTRY, Capabilities


class SavedModel(NamedTuple):
    """An estimator, the names of its columns, if it was fitted with some, and the words of columns that had words.

    `roles` are columns besides: the one that separates sequences, inputs, targets. A file may be a `checkpoint` of a
    fit.
    `arguments` are the words of the command that made it, if one did.
    """

    estimator: Any
    names: list[str] | None
    codes: dict[str, list[str]]
    roles: Roles
    checkpoint: dict[str, Any] | None
    arguments: list[str]

    @classmethod
    def load(cls, path: Path) -> "SavedModel":
        """Read a model that this command or the library has saved."""
        estimator, columns, checkpoint, arguments = read_model(path)
        inputs, targets = (tuple(columns.get(name) or ()) for name in ("inputs", "targets"))
        roles = Roles(columns.get("sequence"), inputs, targets=targets)
        return cls(estimator, columns["names"], columns["codes"] or {}, roles, checkpoint, arguments)

    @property
    def column_section(self) -> Columns:
        """What a model file says of the columns."""
        roles = {"sequence": self.roles.sequence, "inputs": list(self.roles.inputs)} if self.roles else {}
        targets = {"targets": list(self.roles.targets)} if self.roles.targets else {}
        return {"names": self.names, "codes": self.codes, **roles, **targets}

    @property
    def kind(self) -> str:
        """The name of the estimator's class."""
        return type(self.estimator).__name__

    @property
    def capabilities(self) -> Capabilities:
        """What the model can be asked."""
        return REGISTRY[self.kind].capabilities

    @property
    def has_time(self) -> bool:
        """Whether rows follow each other."""
        return self.capabilities.data == "sequences"

    @property
    def has_targets(self) -> bool:
        """Whether it is a model of targets given inputs."""
        return self.capabilities.data == "pairs"

    @property
    def of_inputs(self) -> "SavedModel":
        """The same model, for data whose targets are not looked at."""
        targets = set(map(str, self.roles.targets))
        codes = {label: words for label, words in self.codes.items() if label not in targets}
        return self._replace(roles=self.roles._replace(targets=()), codes=codes)

    def for_source(self, source: Any) -> "SavedModel":
        """Return the model as `of_inputs`, or this one where a source without names has the targets besides."""
        width = self.estimator.n_features_in_ + len(self.roles.targets)
        return self if source.names is None and len(source.kinds) == width else self.of_inputs

    def require(self, capable: bool, command: str, models: str) -> None:
        """Raise unless the model is capable of what a command asks."""
        if not capable:
            raise ValueError(f"{command} is for {models}: this model is a {self.kind}.")

    def open(self, data: str, header: bool = True, **options: Any) -> Any:
        """Open data with the columns and the words that the model knows."""
        columns = self.roles.with_values(self.names) if header and self.names else None
        known: dict[str, Any] = {"columns": columns, "codes": self.codes, "sequence": self.roles.sequence}
        source = open_data(data, header=header, **known, **options)
        if self.roles.targets:
            self.roles.check(source.names or list(range(len(source.kinds))), data)
        return source

    def chunks(self, source: Any) -> Iterator[Chunk]:
        """Yield what a source has, split by the roles of its columns."""
        for table in source:
            if len(table):
                yield self.roles.split(table, source.names or list(range(table.shape[1])))

    def read(self, data: str, **options: Any) -> Chunk:
        """Read everything as a whole."""
        chunks = list(self.chunks(self.open(data, **options)))
        if not chunks:
            raise ValueError(f"{data} has no rows.")
        return concatenate(chunks)

    def read_inputs(self, data: str, header: bool, **options: Any) -> np.ndarray:
        """Read the inputs of rows that have no values yet."""
        if not self.roles.inputs:
            raise ValueError("this model was fitted without --input-columns: there are no inputs to read.")
        codes = {label: words for label, words in self.codes.items() if label in map(str, self.roles.inputs)}
        tables = list(open_data(data, header=header, columns=list(self.roles.inputs), codes=codes, **options))
        if not tables:
            raise ValueError(f"{data} has no rows.")
        return np.concatenate(tables)

    def columns(self, X: np.ndarray) -> dict[str, Values]:
        """Return the columns of a table by name, with words where there were words, and whole numbers for counts."""
        names = self.names or [f"x{place}" for place in range(X.shape[1])]
        return dict(zip(names, self.entries(X), strict=True))

    @property
    def reads_whole(self) -> bool:
        """Whether counts that were read are whole; a model that turns numbers into 0 and 1 itself may read others."""
        return self.estimator.get_params(deep=False).get("binarize") is None

    def entries(self, X: np.ndarray, truth: Sequence[bool] = (), whole: bool = True) -> list[Values]:
        """Return the columns of a table, of which some hold true and false. Counts need not be whole, as means are not.

        A mean of true and false is the likelier of the two.
        """
        labels = self.names or [str(place) for place in range(X.shape[1])]
        discrete = self.estimator.discrete_columns
        holds_truth = [bool(truth) and truth[place] and label not in self.codes for place, label in enumerate(labels)]
        return [
            Values(
                np.where(np.isnan(X[:, place]), np.nan, X[:, place] > 0.5) if holds_truth[place] else X[:, place],
                discrete[place] and whole,
                self.codes.get(label),
                holds_truth[place],
            )
            for place, label in enumerate(labels)
        ]
