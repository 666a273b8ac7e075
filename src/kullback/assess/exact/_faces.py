"""The faces of a Newton polyhedron conv(monomials) + R^d_≥0, by the double description of its normals, in integers."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kullback.assess.exact._face_check import Exponent

#: More facets or faces than this are refused.
_MOST = 20_000

Vector = tuple[int, ...]


class Facet(NamedTuple):
    """The points of the polyhedron with the least normal · α."""

    normal: Vector
    least: int


def facets(monomials: Sequence[Exponent]) -> list[Facet]:
    """Return all facets, those along the axes with them.

    They are the extreme rays (y, s) of the cone {y ≥ 0, y·α_j ≥ s}, save (0, −1). The cone begins with one monomial,
    and is cut by one after the other.

    >>> sorted(facet.normal for facet in facets([(2, 0), (0, 3)]))
    [(0, 1), (1, 0), (3, 2)]
    """
    size = len(monomials[0])
    axes = [tuple(int(i == j) for j in range(size)) for i in range(size)]
    rays = [(*axis, monomials[0][i]) for i, axis in enumerate(axes)] + [(*[0] * size, -1)]
    cuts = [(*axis, 0) for axis in axes] + [(*monomials[0], -1)]
    for monomial in monomials[1:]:
        cuts.append((*monomial, -1))
        rays = _cut(rays, cuts)
        if len(rays) > _MOST:
            raise ValueError(
                f"The Newton polyhedron has more than {_MOST:,} facets: give fewer monomials, or generators that are "
                "single monomials, whose faces need no check."
            )
    return [Facet(ray[:-1], ray[-1]) for ray in rays if any(ray[:-1])]


def _cut(rays: list[Vector], cuts: list[Vector]) -> list[Vector]:
    """Return the extreme rays after the last cut."""
    values = [_product(ray, cuts[-1]) for ray in rays]
    tight = [sum(1 << i for i, cut in enumerate(cuts[:-1]) if not _product(ray, cut)) for ray in rays]
    kept = [ray for ray, value in zip(rays, values, strict=True) if value >= 0]
    above = [i for i, value in enumerate(values) if value > 0]
    below = [i for i, value in enumerate(values) if value < 0]
    size = len(cuts[0])
    for i in above:
        for j in below:
            both = tight[i] & tight[j]
            if both.bit_count() < size - 2:
                continue
            if any(both & ~tight[k] == 0 for k in range(len(rays)) if k not in (i, j)):
                continue  # a third ray lies between: they are not neighbors
            ray = [values[i] * b - values[j] * a for a, b in zip(rays[i], rays[j], strict=True)]
            divisor = math.gcd(*ray)
            kept.append(tuple(entry // divisor for entry in ray))
    return kept


def _product(a: Vector, b: Vector) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


class Face(NamedTuple):
    """A compact face: the monomials on it, the facets it lies in, and its dimension."""

    monomials: tuple[Exponent, ...]
    facets: frozenset[Facet]
    dimension: int


def compact_faces(monomials: Sequence[Exponent]) -> list[Face]:
    """Return the compact faces of dimension 1 or more, small ones first.

    A compact face is known by its monomials, and those are an intersection of the monomials of facets.

    >>> [face.monomials for face in compact_faces([(4, 0), (2, 1), (0, 2), (3, 3)])]
    [((4, 0), (2, 1), (0, 2))]
    """
    every = facets(monomials)
    masks = {
        facet: sum(1 << j for j, monomial in enumerate(monomials) if _product(facet.normal, monomial) == facet.least)
        for facet in every
    }
    closed, new = set(masks.values()), set(masks.values())
    while new:
        new = {a & b for a in new for b in masks.values()} - closed
        closed |= new
        if len(closed) > _MOST:
            raise ValueError(f"The Newton polyhedron has more than {_MOST:,} faces: give fewer monomials.")
    found = []
    for mask in closed:
        if mask.bit_count() < 2:
            continue
        around = frozenset(facet for facet in every if masks[facet] & mask == mask)
        if all(any(facet.normal[i] for facet in around) for i in range(len(monomials[0]))):
            inside = tuple(monomial for j, monomial in enumerate(monomials) if mask >> j & 1)
            found.append(Face(inside, around, face_dimension(inside)))
    return sorted(found, key=lambda face: (face.dimension, len(face.monomials), face.monomials))


def face_dimension(monomials: Sequence[Exponent]) -> int:
    """Return the dimension of the affine hull of monomials."""
    return int(np.linalg.matrix_rank(np.array(monomials[1:]) - np.array(monomials[0]))) if len(monomials) > 1 else 0
