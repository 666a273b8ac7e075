"""Families of columns: as they are asked for in `family=`, chosen by what columns hold, and put together into runs."""

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from kullback.families import Component, Independent, Product, column_families, registered_families

#: The family of a column in 'auto', by what the column holds.
AUTO = {"words": "categorical", "truth": "bernoulli", "number": "gaussian"}


class Run(NamedTuple):
    """Neighboring columns of one family, `length` of them from `start` on; a `member` has settings of its own."""

    family: type[Component]
    start: int
    length: int
    member: Component | None = None

    def plain(self, members: int, categories: int, trials: int) -> Component:
        """Return members that are all alike, to begin with: copies of the member, if there is one."""
        if self.member is None:
            return self.family.plain(members, self.length, categories, trials)
        single = not self.member.event_shape
        shape = (members, self.length) if single else (members,)
        copies = jax.tree.map(lambda leaf: np.array(np.broadcast_to(leaf, shape + np.shape(leaf))), self.member)
        return Independent(copies) if single else copies


def runs(family: Any, n: int) -> list[Run]:
    """Return the runs of a table of n columns, of a family for all of them or of a list.

    A family is a name, a class or a member; neighbors in a list that are alike are one run.
    """
    check_family(family, n)
    if not _is_list(family):
        return [Run(_class_of(family), 0, n, _with_settings(family))]
    found = list[Run]()
    for place, entry in enumerate(family):
        one = _column_class(entry)
        member = _with_settings(entry)
        splits = member is not None and member.event_shape
        if found and found[-1].family is one and found[-1].member is member and not splits:
            found[-1] = found[-1]._replace(length=found[-1].length + 1)
        else:
            found.append(Run(one, place, 1, member))
    return found


def _with_settings(family: Any) -> Component | None:
    """Return a member that says more than its class: how many categories there are, or what learning leaves alone."""
    if not isinstance(family, Component):
        return None
    fixed = any(field.metadata.get("static", False) for field in dataclasses.fields(family))
    return family if fixed or family.codes else None


def has_discrete(family: Any) -> bool:
    """Say whether a column of the table is discrete."""
    return any(one.support.discrete for one in _classes(family))


def is_euclidean(family: Any) -> bool:
    """Say whether clusters are looked for in the rows as they are."""
    return not _is_list(family) and _class_of(family).euclidean


def takes_codes(family: Any, n: int) -> list[bool]:
    """Say of each of n columns whether its entries are numbers of categories."""
    return [one.support.codes for one in _by_column(family, n)]


def is_discrete(family: Any, n: int) -> list[bool]:
    """Say of each of n columns whether its entries are whole numbers: counts, categories, 0 and 1."""
    return [one.support.discrete for one in _by_column(family, n)]


def _by_column(family: Any, n: int) -> list[type[Component]]:
    classes = _classes(family)
    return classes if _is_list(family) else classes * n


# --- what is asked for, and what is chosen ----------------------------------------------------------------


def auto_family(kinds: Sequence[str]) -> str | list[str]:
    """Return the families of columns by what they hold; one covariance for all if all are numbers.

    >>> auto_family(["number", "number"]), auto_family(["number", "words", "truth"])
    ('gaussian', ['gaussian', 'categorical', 'bernoulli'])
    """
    names = [AUTO[kind] for kind in kinds]
    return names[0] if len(set(names)) == 1 else names


def chosen_family(family: Any, kinds: Sequence[str], names: Sequence[str] | None) -> str | list[str]:
    """Return the name of the family of all columns, or one for each, given what columns hold and are called.

    'auto' goes by what a column holds. A dictionary has families by the names of columns, or by their places where they
    have no names; those that it leaves out are 'auto'.
    """
    if isinstance(family, str) and family == "auto":
        return auto_family(kinds)
    if not _is_list(family) and not isinstance(family, Mapping):
        check_family(family, len(kinds))
        return _class_of(family).family_name()
    entries = _by_place(family, len(kinds), names)
    entries = [AUTO[kinds[place]] if _is_auto(entry) else entry for place, entry in enumerate(entries)]
    check_family(entries, len(kinds))
    return [str(_column_class(entry).column_name()) for entry in entries]


def named_family(family: Any, chosen: Any, names: Sequence[str] | None = None) -> Any:
    """Return the families of an estimator: those that it was given, and those that 'auto' has chosen.

    They are names, classes or members: one for all columns, or a list.
    """
    if isinstance(family, Mapping) or (_is_list(family) and any(map(_is_auto, family))):
        if not isinstance(chosen, list):
            raise ValueError(f"family is {family!r} and no family_ was chosen yet: fit first, or name the families.")
        entries = _by_place(family, len(chosen), names)
        return [chosen[place] if _is_auto(entry) else entry for place, entry in enumerate(entries)]
    if not _is_auto(family):
        return list(family) if _is_list(family) else family
    if chosen is None:
        raise ValueError("family is 'auto' and no family_ was chosen yet: fit first, or name the families.")
    return chosen


def _by_place(family: Any, n: int, names: Sequence[str] | None) -> list[Any]:
    """Return the families of n columns, one for each, of a list or a dictionary."""
    if not isinstance(family, Mapping):
        if len(family) != n:
            raise ValueError(f"family has {len(family)} names: X has {n} features, and each needs one.")
        return list(family)
    entries: list[Any] = ["auto"] * n
    labels: list[Any] = list(range(n)) if names is None else list(names)
    for label, entry in family.items():
        if label not in labels:
            raise ValueError(f"family has {label!r}, and X has no such column{_near(label, labels)}.")
        entries[labels.index(label)] = entry
    return entries


def _near(label: Any, labels: list[Any]) -> str:
    if isinstance(label, str) and isinstance(labels[0], int):
        return "; its columns have no names, so give their places, from 0"
    near = difflib.get_close_matches(str(label), list(map(str, labels)), 1)
    some = ", ".join(map(str, labels[:10])) + (", …" if len(labels) > 10 else "")
    return f": did you mean {near[0]!r}? It has {some}" if near else f"; it has {some}"


def check_family(family: Any, n: int) -> None:
    """Raise unless `family` is a family for n columns, or one for each of them: a name, a class or a member."""
    if not _is_list(family):
        _check_whole(family, n)
        return
    entries = list(family)
    if len(entries) != n:
        raise ValueError(f"family has {len(entries)} names: X has {n} features, and each needs one.")
    for place, entry in enumerate(entries):
        try:
            _column_class(entry)
        except LookupError:
            shown = entry if isinstance(entry, str) else getattr(entry, "__name__", type(entry).__name__)
            known = ", ".join(column_families())
            raise ValueError(f"family[{place}] is {shown!r}: a column is one of {known}.") from None
        if isinstance(entry, Component):
            _check_member(entry, f"family[{place}]", 1)


def _check_whole(family: Any, n: int) -> None:
    try:
        _class_of(family)
    except LookupError:
        known = ", ".join(registered_families())
        raise ValueError(
            f"family is {family!r}: it must be one of auto, {known}, a class or a member of a family, a list with one "
            "for each column, or a dictionary by the names of columns."
        ) from None
    if isinstance(family, Component):
        _check_member(family, "family", n)


def _check_member(member: Component, name: str, n: int) -> None:
    """Raise unless this is one member, for rows of n columns or for single entries."""
    kind, shape = type(member).__name__, member.event_shape
    if member.batch_shape:
        raise ValueError(f"{name} is a {kind} of batch shape {member.batch_shape}: give one member.")
    if shape and shape != (n,):
        raise ValueError(f"{name} is a {kind} for {int(np.prod(shape))} columns: X has {n} there.")


def _class_of(family: Any) -> type[Component]:
    """Return the class of a family for all columns; LookupError if it is none."""
    if isinstance(family, str):
        return registered_families()[family]
    found = type(family) if isinstance(family, Component) else family
    if not isinstance(found, type) or not issubclass(found, Component) or issubclass(found, Product | Independent):
        raise LookupError(family)
    return found


def _column_class(entry: Any) -> type[Component]:
    """Return the class of a family that can be one of several in a list; LookupError if it is none."""
    if isinstance(entry, str):
        return column_families()[entry]
    found = _class_of(entry)
    if found.column_name() is not None:
        return found
    if isinstance(entry, Component):
        raise LookupError(entry)
    return column_families()[found.family_name()]


def _classes(family: Any) -> list[type[Component]]:
    return [_column_class(entry) for entry in family] if _is_list(family) else [_class_of(family)]


def _is_list(family: Any) -> bool:
    return isinstance(family, list | tuple)


def _is_auto(family: Any) -> bool:
    return isinstance(family, str) and family == "auto"


# --- of models --------------------------------------------------------------------------------------------


def family_of(components: Any) -> Any:
    """Return the family that makes components like these, or a list for a product.

    It is a name, a class that has none, or a member where components have settings that their class does not say.
    """
    if not isinstance(components, Product):
        return _entry_of(components, registered_families())
    entries: list[Any] = []
    for part in components.parts:
        kind = type(_columns(part))
        if kind.column_name() is None:
            raise ValueError(f"components has a part of {kind.__name__}: columns are single numbers here.")
        entry = _entry_of(part, column_families())
        last = entries[-1] if entries else None
        if last is entry or (isinstance(last, str) and isinstance(entry, str) and last == entry):
            raise ValueError(f"components has parts of {kind.__name__} side by side: make one part of them.")
        entries += [entry] * int(np.prod(part.event_shape))
    return entries


def _entry_of(components: Any, known: dict[str, type[Component]]) -> Any:
    columns = _columns(components)
    kind = type(columns)
    if not isinstance(columns, Component):
        raise ValueError(f"components are of {kind.__name__}: there is no name for them here.")
    if not components.event_shape:
        raise ValueError(f"components are of {kind.__name__}, single numbers: rows are Independent columns of it.")
    name = next((name for name, one in known.items() if one is kind), None)
    try:
        n = int(np.prod(components.event_shape))
        plain = kind.plain(1, n, components.codes, components.row_total)
        structures: list[Any] = [jax.tree.structure(plain), jax.tree.structure(components)]
        if structures[0] == structures[1]:
            return kind if name is None else name
    except NotImplementedError:
        pass
    if isinstance(columns, Product):
        raise ValueError(f"components are of {kind.__name__}: there is no name for them here.")
    first = (0, 0) if isinstance(components, Independent) else (0,)
    return jax.tree.map(lambda leaf: np.asarray(leaf)[first], columns)


def family_names(components: Any) -> str | list[str]:
    """Return the name of the family of components, or one for each column of a product."""
    if not isinstance(components, Product):
        return type(_columns(components)).family_name()
    parts = [(str(type(_columns(part)).column_name()), int(np.prod(part.event_shape))) for part in components.parts]
    return [name for name, length in parts for _ in range(length)]


def _columns(part: Any) -> Any:
    return part.columns if isinstance(part, Independent) else part
