"""Modules with other fields, without the checks of their constructors."""

from typing import Any, TypeVar

import equinox as eqx

ModuleT = TypeVar("ModuleT", bound=eqx.Module)


def replace(module: ModuleT, **fields: Any) -> ModuleT:
    """Return the module with some fields replaced, as `dataclasses.replace` does; nothing is checked or converted.

    >>> from kullback.core import Extent
    >>> replace(Extent(1.0), carry=3).carry
    3
    """
    replaced: ModuleT = eqx.tree_at(
        lambda one: [getattr(one, name) for name in fields],
        module,
        list(fields.values()),
        is_leaf=lambda leaf: leaf is None,
    )
    return replaced
