"""Families by the names that users type."""

from typing import TypeVar

from kullback.families._component import Component

ComponentT = TypeVar("ComponentT", bound=Component)

_NAMED: dict[str, type[Component]] = {}


def register_family(family: type[ComponentT]) -> type[ComponentT]:
    """Make a family known by its `family_name()`, so that it can stand in `family=`. It serves as a decorator."""
    name = family.family_name()
    if _NAMED.setdefault(name, family) is not family:
        raise ValueError(f"{family.__name__} would be {name!r}: that is the name of {_NAMED[name].__name__}.")
    return family


def registered_families() -> dict[str, type[Component]]:
    """Return the families that can stand in `family=`, by name."""
    return dict(_NAMED)


def column_families() -> dict[str, type[Component]]:
    """Return the families that can be one of several in a list, by the name that they have there."""
    return {name: family for family in _NAMED.values() if (name := family.column_name()) is not None}
