"""Numbers of components compared, from a file."""

from typing import Any

import numpy as np

from kullback.assess import check_sampling, criteria_table
from kullback.cli._column_kinds import choose_families
from kullback.cli._column_roles import Roles
from kullback.cli._data_errors import naming_rows
from kullback.cli._input import Input
from kullback.cli._labels import parse_labels
from kullback.cli._messages import print_warnings
from kullback.cli._registry import estimator_commands
from kullback.cli._suggestions import unknown_kind
from kullback.estimators import REGISTRY, estimator_class

#: Rows that are read at once.
_ROWS = 65_536


def choose_components(
    command: str,
    data: str,
    n_components: str,
    draws: int,
    seed: int,
    columns: str | None,
    *,
    format: str | None,
    header: bool,
) -> dict[str, Any]:
    """Return the table of criteria for rows of a file."""
    estimator, counts = _estimator(command, seed), parse_counts(n_components)
    rows = Input(
        data, seed, Roles(), parse_labels(columns, "columns", header), format=format, header=header, batch_rows=_ROWS
    )
    source = rows.open(0, None)
    choose_families(estimator, *rows.kinds(source))
    tables = list(source)
    if not tables:
        raise ValueError(f"{data} has no rows.")
    X = np.concatenate(tables)
    notes = []
    if draws:
        try:
            check_sampling()
        except ImportError as error:
            notes, draws = [str(error)], 0
    with print_warnings(quiet=True), naming_rows(data, range(1, len(X) + 1), [*rows.kinds(source)[0]]):
        found = criteria_table(estimator, X, n_components=counts, draws=draws, seed=seed)
    return {**found, "notes": notes}


def _estimator(command: str, seed: int) -> Any:
    """Return an estimator of a kind whose numbers of components can be compared."""
    kinds = {
        name: estimator_class(kind)
        for name, kind in estimator_commands().items()
        if REGISTRY[kind].capabilities.data == "rows" and not REGISTRY[kind].capabilities.has_epochs
    }
    settings = {name: set(kind._get_param_names()) for name, kind in kinds.items()}
    known = sorted(name for name in kinds if "n_components" in settings[name])
    if command not in known and command in estimator_commands():
        raise ValueError(f"--choose is {command!r}, which it cannot compare: it must be one of {', '.join(known)}.")
    if command not in known:
        raise ValueError(f"--choose is {command!r}. {unknown_kind(command, known)}")
    family = {"family": "auto"} if "family" in settings[command] else {}
    return kinds[command](random_state=seed, **family)


def parse_counts(text: str) -> list[int]:
    """Return the numbers of components that are written as a range, both ends with it, or with commas.

    >>> parse_counts("1:4"), parse_counts("1,2,8")
    ([1, 2, 3, 4], [1, 2, 8])
    """
    first, colon, last = text.partition(":")
    parts = [part.strip() for part in ([first, last] if colon else text.split(","))]
    if not all(part.isascii() and part.isdigit() for part in parts) or (colon and int(first) > int(last)):
        raise ValueError(f"--n-components is {text!r}: it must be a range as 1:8, or numbers with commas.")
    return list(range(int(first), int(last) + 1)) if colon else [int(part) for part in parts]
