"""A fit that goes on from a saved model with new data."""

from pathlib import Path
from typing import Any

import numpy as np

from kullback.cli._column_roles import Label, Roles
from kullback.cli._options import option_of
from kullback.cli._registry import command_name
from kullback.cli._saved_model import SavedModel
from kullback.storage import quote

#: Parameters that say how to learn from now on, and nothing of the model.
_LEARNING = frozenset({"rate", "tol", "max_iter", "n_iter", "random_state"})


def load_to_go_on(path: Path, estimator: Any, chosen: set[str]) -> SavedModel:
    """Return a saved model with those parameters of an estimator that were chosen on the command line.

    It has to be of the same kind. What the model decides may be chosen again, but not in another way.
    """
    saved = SavedModel.load(path)
    kind = type(estimator).__name__
    if saved.kind != kind:
        raise ValueError(f"{path} holds a {saved.kind}: go on with `kullback fit {command_name(saved.kind)}`.")
    theirs = saved.estimator.get_params(deep=False)
    new = {}
    for name, value in estimator.get_params(deep=False).items():
        if name not in chosen:
            continue
        if name in _LEARNING:
            new[name] = value
        elif not _same(value, theirs[name]):
            option = "--" + option_of(name).replace("_", "-")
            raise ValueError(
                f"{option} is {quote(value)}, and {path} was fitted with {quote(theirs[name])}: leave {option} out, or "
                f"fit anew without --from."
            )
    saved.estimator.set_params(**new, **_decided(saved.estimator, theirs))
    return saved


def columns_to_go_on(
    saved: SavedModel, path: Path, columns: list[Label] | None, roles: Roles, header: bool
) -> tuple[list[Label] | None, Roles]:
    """Return the columns and the roles of a model, of which those that are given must be the same."""
    names = saved.names if header else None
    if columns is not None and names is not None and sorted(map(str, columns)) != sorted(names):
        raise ValueError(f"--columns is {','.join(map(str, columns))}, and {path} was fitted to {','.join(names)}.")
    for option, ours, theirs in (
        ("--sequence-column", roles.sequence, saved.roles.sequence),
        ("--input-columns", roles.inputs or None, saved.roles.inputs or None),
        ("--target", roles.targets or None, saved.roles.targets or None),
    ):
        if ours is not None and ours != theirs:
            raise ValueError(f"{option} is {quote(ours)}, and {path} was fitted with {quote(theirs)}.")
    kept: list[Label] | None = columns if names is None else list(names)
    return kept, saved.roles._replace(weight=roles.weight, targets=saved.roles.targets or roles.targets)


def _decided(estimator: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return how many categories there are, where that was left to the data: the model knows it."""
    attributes = vars(estimator)
    found = {"n_categories": attributes.get("n_categories_")}
    if "emissionprob_" in attributes:
        found["n_features"] = attributes["emissionprob_"].shape[1]
    open_ones = {name for name, value in parameters.items() if value is None}
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in found.items()
        if name in open_ones and value is not None
    }


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(np.asarray(one), np.asarray(other))
    return one == other or (isinstance(one, list | tuple) and list(one) == other)
