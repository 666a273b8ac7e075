"""Families in files: names, and the settings of members. A file runs no code, so classes are looked up by name."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from kullback.families import Component, column_families, registered_families
from kullback.storage import quote


class UnknownFamilyError(ValueError):
    """A file needs a family that is not registered."""


def family_to_json(family: Any) -> Any:
    """Return `family` as a file can hold it: names in the place of classes, fields of members."""
    if isinstance(family, Mapping):
        return {"columns": {str(label): _entry_to_json(entry, True) for label, entry in family.items()}}
    if isinstance(family, list | tuple):
        return [_entry_to_json(entry, True) for entry in family]
    return _entry_to_json(family, False)


def _entry_to_json(family: Any, of_column: bool) -> Any:
    """Return a name, a class or a member; that of one column may have another name than that of all."""
    if isinstance(family, Component):
        return {"member": _name_of(type(family)), "fields": _fields_of(family)}
    if isinstance(family, type) and issubclass(family, Component):
        name = _name_of(family)
        return (of_column and family.column_name()) or name
    return family


def family_from_json(value: Any, named: bool) -> Any:
    """Return what a file says of `family`, of columns that have names or places only."""
    if isinstance(value, list):
        return [_entry(each) for each in value]
    if isinstance(value, dict) and set(value) == {"columns"} and isinstance(value["columns"], dict):
        columns = value["columns"].items()
        return {label if named else int(label): _entry(each) for label, each in columns}
    return _entry(value)


def _name_of(family: type[Component]) -> str:
    name = family.family_name()
    if registered_families().get(name, family) is not family:
        raise ValueError(
            f"family is a class {family.__name__}, and {name!r} is the name of another family: give it a name of its "
            "own to save it."
        )
    return name


def _fields_of(member: Component) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(member):
        value = getattr(member, field.name)
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise ValueError(
                f"family has a {type(member).__name__} whose {field.name} is no number or array: a file cannot hold it."
            )
        fields[field.name] = array.tolist()
    return fields


def _entry(value: Any) -> Any:
    if isinstance(value, str):
        if value != "auto" and value not in registered_families() and value not in column_families():
            raise UnknownFamilyError(_unknown(value))
        return value
    if not isinstance(value, dict) or set(value) != {"member", "fields"} or not isinstance(value["fields"], dict):
        raise ValueError(f"family is {quote(value)}: it must be names of families.")
    name = value["member"]
    if not isinstance(name, str) or name not in registered_families():
        raise UnknownFamilyError(_unknown(name))
    fields = {key: np.asarray(each) if isinstance(each, list) else each for key, each in value["fields"].items()}
    return registered_families()[name](**fields)


def _unknown(name: Any) -> str:
    return (
        f"needs the family {quote(name, 60)}, which is not known here: call kullback.families.register_family on its "
        "class, and load the file again."
    )
