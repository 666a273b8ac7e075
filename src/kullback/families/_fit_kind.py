"""Fits of a kind: what does not follow from the points is taken from it."""

from typing import Any

from kullback.families._family import ExponentialFamily, Kind
from kullback.numerics import Numeric


def fit_kind(kind: Kind | type[ExponentialFamily], values: Numeric, weight: Numeric | None) -> Any:
    """Return the nearest member of a kind, or of a family, to points with their coordinates on the last axis."""
    family: Any = kind.family if isinstance(kind, Kind) else kind
    if not (isinstance(family, type) and issubclass(family, ExponentialFamily)):
        raise ValueError(f"{kind!r} is no family: give a class such as Poisson, or the kind of a member.")
    points = values if family._point_axes else values[..., 0]
    if not isinstance(kind, Kind):
        return family.fit(points, weight)
    member = family.fit(points, weight, **family._fit_structure(kind))
    if member.kind != kind:
        raise ValueError(f"x has points of {member.kind}, not of {kind}.")
    return member
