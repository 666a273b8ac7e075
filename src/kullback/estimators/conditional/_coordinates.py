"""What the free coordinates of families are called."""

import itertools
from collections.abc import Sequence
from typing import Any

from kullback import families
from kullback.families import Kind

#: Of families of one number, in the order of their free coordinates.
_SCALAR: dict[Any, tuple[str, ...]] = {
    families.Poisson: ("log rate",),
    families.Bernoulli: ("log odds",),
    families.Exponential: ("log mean",),
    families.Gamma: ("log mean", "log shape"),
    families.Beta: ("log α", "log β"),
    families.VonMises: ("κ cos μ", "κ sin μ"),
}


def coordinate_names(kind: Kind, targets: Sequence[str]) -> list[str]:
    """Return a name for each free coordinate of the joint distribution of some targets; one alone may have the name "".

    >>> from kullback.families import Gamma, Independent
    >>> coordinate_names(Independent(Gamma([2.0], [1.0])).kind, [""])
    ['log mean', 'log shape']
    """
    structure: Any = dict(kind.structure)
    if kind.family is families.Product:
        left = iter(targets)
        parts = [(part, [next(left) for _ in range(part.columns)]) for part in structure["kinds"]]
        return [name for part, own in parts for name in coordinate_names(part, own)]
    if kind.family is families.Independent:
        return [name for target in targets for name in _of_column(structure["column"], target)]
    if kind.family is families.DiagonalGaussian:
        return [_of(word, target) for word in ("mean", "log σ") for target in targets]
    if kind.family is families.Gaussian:
        pairs = itertools.combinations(targets, 2)
        given = [f"slope of {later} on {sooner}" for sooner, later in pairs]
        conditional = [_of("conditional log σ", target) for target in targets]
        return [*(_of("mean", target) for target in targets), *conditional, *given]
    if kind.family is families.Dirichlet:
        return [_of("log α", target) for target in targets]
    return _of_column(kind, targets[0]) if len(targets) == 1 else _numbered(kind.size)


def _of_column(kind: Kind, target: str) -> list[str]:
    if kind.family is families.Categorical:
        return [_of(f"log odds of {code} against {kind.size}", target) for code in range(kind.size)]
    names = _SCALAR.get(kind.family)
    return [_of(name, target) for name in names] if names else _numbered(kind.size)


def _of(word: str, target: str) -> str:
    return f"{word} of {target}" if target else word


def _numbered(count: int) -> list[str]:
    return [f"free coordinate {place}" for place in range(count)]
