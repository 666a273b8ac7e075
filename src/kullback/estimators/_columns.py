"""What the entries of a table may be, for each family: the check, and a member to begin with."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from kullback.core import MOST_CATEGORIES
from kullback.families import (
    Bernoulli,
    Beta,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Independent,
    Ising,
    Multinomial,
    Poisson,
    Product,
    SphericalGaussian,
    VonMises,
)
from kullback.models import CompoundDirichlet

_COUNT = "a count 0, 1, 2, … up to 2^53"


class Column(NamedTuple):
    """A family of single numbers: which entries it allows, and its plainest members for (components, columns)."""

    allows: Callable[[np.ndarray], np.ndarray]
    must_be: str
    plain: Callable[[tuple[int, ...], int], Any]


def whole(X: np.ndarray) -> np.ndarray:
    """Say which entries are 0, 1, 2, …"""
    return (X >= 0) & (np.floor(X) == X)


def is_count(X: np.ndarray) -> np.ndarray:
    """Say which entries are counts: beyond the largest of them numbers have gaps."""
    return whole(X) & (X <= 2.0**53)


#: Families of single numbers, by name.
COLUMNS: dict[str, Column] = {
    "bernoulli": Column(lambda X: (X == 0) | (X == 1), "0 or 1", lambda s, _: Bernoulli(np.full(s, 0.5))),
    "categorical": Column(whole, "a category 0, 1, 2, …", lambda s, c: Categorical(np.full((*s, c), 1 / c))),
    "poisson": Column(is_count, _COUNT, lambda s, _: Poisson(np.ones(s))),
    "exponential": Column(lambda X: X >= 0, "0 or more", lambda s, _: Exponential(np.ones(s))),
    "gamma": Column(lambda X: X > 0, "positive", lambda s, _: Gamma(np.ones(s), np.ones(s))),
    "beta": Column(lambda X: (X > 0) & (X < 1), "between 0 and 1", lambda s, _: Beta(np.ones(s), np.ones(s))),
    "von_mises": Column(np.isfinite, "an angle in radians", lambda s, _: VonMises(np.zeros(s), np.ones(s))),
}
#: Numbers that stand for a category at most.
_INDICATORS = 256
_GAUSSIANS = ("gaussian", "diagonal_gaussian", "spherical_gaussian")
_VECTORS = ("dirichlet", "multinomial", "ising", "compound_dirichlet")
_DISCRETE = ("bernoulli", "categorical", "poisson", "multinomial", "compound_dirichlet", "ising")
#: Every name that `family` may be.
NAMES = (*_GAUSSIANS, *COLUMNS, *_VECTORS)


def has_discrete(family: str | Sequence[str]) -> bool:
    """Say whether a column of the table is discrete."""
    return bool(set([family] if isinstance(family, str) else family) & set(_DISCRETE))


def check_entries(X: np.ndarray, family: str, first_column: int = 0) -> None:
    """Raise at the first entry that the family of its column does not allow. Missing entries are allowed."""
    column = COLUMNS.get(family)
    if column is None:
        return
    with np.errstate(invalid="ignore"):
        bad = ~(column.allows(X) | np.isnan(X))
    if bad.any():
        row, place = np.argwhere(bad & (X < 0) if (X[bad] < 0).any() else bad)[0]
        _refuse(X, int(row), int(place), family, column.must_be, first_column)


def check_rows(X: np.ndarray, family: str) -> None:
    """Raise unless whole rows are points of a family of vectors."""
    with np.errstate(invalid="ignore"):
        match family:
            case "dirichlet":
                good, must_be = X > 0, "positive"
            case "multinomial" | "compound_dirichlet":
                good, must_be = is_count(X), _COUNT
            case "ising":
                good, must_be = (X == 1) | (X == -1), "−1 or +1"
            case _:
                return
    bad = ~(good | np.isnan(X))
    if bad.any():
        row, place = np.argwhere(bad & (X < 0) if (X[bad] < 0).any() else bad)[0]
        _refuse(X, int(row), int(place), family, must_be)
    total = X.sum(axis=1)
    seen = ~np.isnan(total)
    goal = 1.0 if family == "dirichlet" else total[seen][:1].sum()
    off = seen & (np.abs(total - goal) > 1e-6)
    if family in ("dirichlet", "multinomial") and off.any():
        row = int(np.argmax(off))
        raise ValueError(f"X[{row}] sums to {total[row]:.6g}: for family {family!r} every row must sum to {goal:.6g}.")


def _refuse(X: np.ndarray, row: int, place: int, family: str, must_be: str, first_column: int = 0) -> None:
    value = X[row, place]
    sign = "Negative values in data: " if value < 0 and must_be != "−1 or +1" else ""
    raise ValueError(
        f"{sign}X[{row}, {place + first_column}] is {value:.6g}: for family {family!r} it must be {must_be}."
    )


def count_categories(column: np.ndarray, name: str, most: int = MOST_CATEGORIES) -> int:
    """Return one more than the largest category; a number that is too large for one is refused."""
    largest = float(np.max(column, initial=-1, where=~np.isnan(column)))
    if largest >= most:
        raise ValueError(
            f"{name} holds {largest:.6g}: categories are 0, 1, 2, … and not more than {most:,}; number them so, or "
            "use another family if these are amounts."
        )
    return int(largest) + 1


class Shape(NamedTuple):
    """What a table says about its families besides numbers: columns, categories (0 where there are none), trials."""

    n: int
    categories: np.ndarray
    trials: int

    @classmethod
    def of(cls, X: np.ndarray, family: str | Sequence[str], most: int = MOST_CATEGORIES) -> "Shape":
        """Read it off a table whose columns may have so many categories."""
        n = X.shape[1]
        names = [family] * n if isinstance(family, str) else list(family)
        categories = np.zeros(n, dtype=np.int64)
        for place, name in enumerate(names):
            if name == "categorical":
                categories[place] = max(count_categories(X[:, place], f"Column {place} of X", most), 2)
        return cls(n, categories, int(np.nansum(X, axis=1).max()) if family == "multinomial" else 0)

    def numbers(self, family: str | Sequence[str], k: int) -> int:
        """Return how many parameters k components have at least."""
        n = int(self.n)
        if isinstance(family, str) and family in ("gaussian", "ising"):
            return k * n * (n + 1) // 2
        total, start = 0, 0
        for name, count in [(family, n)] if isinstance(family, str) else _runs(family):
            many = max(map(int, self.categories[start : start + count]), default=1) if name == "categorical" else 1
            total, start = total + k * count * many, start + count
        return total

    def knowing(self, n_categories: Any) -> "Shape":
        """Return it with the numbers of categories that are given, one or one for each column; None leaves them."""
        if n_categories is None:
            return self
        given = np.asarray(n_categories)
        if given.shape not in ((), (self.n,)):
            raise ValueError(
                f"n_categories has shape {given.shape}: X has {self.n} features, and each needs one number."
            )
        given, wanted = np.broadcast_to(given, self.n), self.categories > 0
        if not np.issubdtype(given.dtype, np.integer) or (given[wanted] < 2).any():
            raise ValueError(f"n_categories is {n_categories!r}: columns of categories have 2 or more, a whole number.")
        return self._replace(categories=np.where(wanted, given, 0))


def most_categories(n_categories: Any) -> int:
    """Return how many categories a column may have: a limit against mistakes, or as many as are given."""
    given = np.ravel(0 if n_categories is None else n_categories)
    if not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"n_categories is {n_categories!r}: columns of categories have 2 or more, a whole number.")
    return int(max(MOST_CATEGORIES, given.max(initial=0)))


def plain_components(family: str | Sequence[str], shape: Shape, k: int) -> Any:
    """Return k components that are all alike, of this family or of one family for each column."""
    if isinstance(family, str):
        return _plain(family, k, shape.n, shape.categories, shape.trials)
    parts, start = [], 0
    for name, count in _runs(family):
        parts.append(_plain(name, k, count, shape.categories[start : start + count], 0))
        start += count
    return parts[0] if len(parts) == 1 else Product(parts)


def _plain(family: str, k: int, n: int, categories: np.ndarray, trials: int) -> Any:
    if family in COLUMNS:
        return Independent(COLUMNS[family].plain((k, n), int(categories.max())))
    match family:
        case "gaussian":
            return Gaussian(np.zeros((k, n)), np.tile(np.eye(n), (k, 1, 1)))
        case "diagonal_gaussian":
            return DiagonalGaussian(np.zeros((k, n)), np.ones((k, n)))
        case "spherical_gaussian":
            return SphericalGaussian(np.zeros((k, n)), np.ones(k))
        case "dirichlet":
            return Dirichlet(np.ones((k, n)))
        case "multinomial":
            return Multinomial(max(trials, 1), np.full((k, n), 1 / n))
        case "compound_dirichlet":
            return CompoundDirichlet(np.ones((k, n)))
        case "ising":
            return Ising(np.zeros((k, n)))
    raise ValueError(f"family is {family!r}: it must be one of {', '.join(NAMES)}.")


def _runs(names: Sequence[str]) -> list[tuple[str, int]]:
    """Group neighbors: a run of Gaussian columns is one diagonal Gaussian, a run of others one family of columns."""
    runs: list[tuple[str, int]] = []
    for name in names:
        name = "diagonal_gaussian" if name == "gaussian" else name
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1] + 1)
        else:
            runs.append((name, 1))
    return runs


def chosen_family(family: Any, X: Any) -> Any:
    """Return the families that are named; those of "auto" go by the types of the columns of a table.

    Columns of true and false are 'bernoulli', those of numbers 'gaussian': with one covariance if all are.
    """
    if not isinstance(family, str) or family != "auto":
        return family if isinstance(family, str) else list(family)
    types = getattr(X, "dtypes", None)  # of a frame
    if types is None or np.ndim(X) != 2:
        types = [getattr(X, "dtype", None) or np.asarray(X).dtype]
    names = ["bernoulli" if str(each).lower().startswith("bool") else "gaussian" for each in types]
    return names[0] if len(set(names)) == 1 else names


def named_family(family: Any, chosen: Any) -> Any:
    """Return the families of an estimator: those that are named, or those that "auto" has chosen."""
    if not isinstance(family, str) or family != "auto":
        return family
    if chosen is None:
        raise ValueError("family is 'auto' and no family_ was chosen yet: fit first, or name the families.")
    return chosen


def check_family(family: Any, n: int) -> None:
    """Raise unless `family` is a name, or one name for each column."""
    if isinstance(family, str):
        if family not in NAMES:
            raise ValueError(
                f"family is {family!r}: it must be one of auto, {', '.join(NAMES)}, or a list for the columns."
            )
        return
    names = list(family)
    if len(names) != n:
        raise ValueError(f"family has {len(names)} names: X has {n} features, and each needs one.")
    for place, name in enumerate(names):
        if name not in COLUMNS and name != "gaussian":
            raise ValueError(f"family[{place}] is {name!r}: a column is one of gaussian, {', '.join(COLUMNS)}.")


def check_table(X: np.ndarray, family: str | Sequence[str]) -> None:
    """Raise unless the entries of X are what the families allow."""
    if isinstance(family, str):
        check_entries(X, family)
        check_rows(X, family)
        return
    for place, name in enumerate(family):
        check_entries(X[:, place : place + 1], name, place)


#: The name of each family.
_NAME_OF: dict[type, str] = {
    Gaussian: "gaussian",
    DiagonalGaussian: "diagonal_gaussian",
    SphericalGaussian: "spherical_gaussian",
    Bernoulli: "bernoulli",
    Categorical: "categorical",
    Poisson: "poisson",
    Exponential: "exponential",
    Gamma: "gamma",
    Beta: "beta",
    VonMises: "von_mises",
    Dirichlet: "dirichlet",
    Multinomial: "multinomial",
    CompoundDirichlet: "compound_dirichlet",
    Ising: "ising",
}


def family_of(components: Any) -> str | list[str]:
    """Return the name that makes components like these, or a list of names for a product."""
    if isinstance(components, Product):
        names: list[str] = []
        for part in components.parts:
            one = family_of(part)
            name = "gaussian" if one == "diagonal_gaussian" else one
            if isinstance(name, list) or (name not in COLUMNS and name != "gaussian"):
                raise ValueError(f"components has a part of {type(part).__name__}: columns are single numbers here.")
            if names[-1:] == [name]:
                raise ValueError(f"components has parts of {type(part).__name__} side by side: make one part of them.")
            names += [name] * int(np.prod(part.event_shape))
        return names
    one = components.columns if isinstance(components, Independent) else components
    if type(one) not in _NAME_OF:
        raise ValueError(f"components are of {type(one).__name__}: there is no name for them here.")
    if one is components and _NAME_OF[type(one)] in COLUMNS:
        raise ValueError(f"components are of {type(one).__name__}, single numbers: rows are Independent columns of it.")
    return _NAME_OF[type(one)]


def shape_of(components: Any) -> Shape:
    """Return what components say about the tables they are for."""
    parts: Any = components.parts if isinstance(components, Product) else (components,)
    categories: list[int] = []
    for part in parts:
        n = int(np.prod(part.event_shape)) if hasattr(part, "event_shape") else part.concentration.shape[-1]
        many = part.columns.probabilities.shape[-1] if _is_categorical(part) else 0
        categories += [many] * n
    return Shape(len(categories), np.array(categories), getattr(components, "trials", 0) if len(parts) == 1 else 0)


def _is_categorical(part: Any) -> bool:
    return isinstance(part, Independent) and isinstance(part.columns, Categorical)


def attribute_names(components: Any) -> list[str]:
    """Return a name for each parameter: its own, with the number of its part where there are several parts."""
    names = []
    for path, _ in jax.tree_util.tree_flatten_with_path(components)[0]:
        keys = [str(getattr(key, "name", getattr(key, "idx", ""))) for key in path]
        part = [key for key in keys if key.isdigit()]
        names.append("_".join([keys[-1], *part]) + "_")
    return names


def with_attributes(plain: Any, estimator: Any) -> Any:
    """Return components like the plain ones, with the attributes_ of an estimator as parameters."""
    leaves, tree = jax.tree.flatten(plain)
    names = attribute_names(plain)
    values = [np.asarray(getattr(estimator, name), dtype=np.float64) for name in names]
    for name, leaf, value in zip(names, leaves, values, strict=True):
        if np.shape(leaf) != value.shape:
            raise ValueError(f"{name} has shape {value.shape}: it must be {np.shape(leaf)}.")
    return _validated(jax.tree.unflatten(tree, values))


def _validated(components: Any) -> Any:
    """Return components that are made anew, so that their parameters are checked."""
    if isinstance(components, Product):
        return Product([_validated(part) for part in components.parts])
    if isinstance(components, Independent):
        return Independent(_validated(components.columns))
    return type(components)(**{field.name: getattr(components, field.name) for field in dataclasses.fields(components)})


def category_features(column: np.ndarray, many: int) -> np.ndarray:
    """Return an indicator of each category, or, of very many categories, random directions about as far apart."""
    if many <= _INDICATORS:
        return (np.arange(many) == column[:, None]).astype(float)
    directions = np.random.default_rng(0).normal(0, _INDICATORS**-0.5, (many + 1, _INDICATORS))
    directions[many] = 0  # of an entry that is no category: the mean that stands for a missing one
    known = (column == np.floor(column)) & (column < many)
    return directions[np.where(known, column, many).astype(np.int64)]


def indicators(X: np.ndarray, family: str | Sequence[str], categories: np.ndarray) -> np.ndarray:
    """Return columns that k-means can compare: categories one by one, angles as points, counts as logarithms."""
    names = [family] * X.shape[1] if isinstance(family, str) else list(family)
    columns = []
    for place, name in enumerate(names):
        column = X[:, place]
        if name == "categorical":
            columns += list(category_features(column, int(categories[place])).T)
        elif name == "von_mises":
            columns += [np.cos(column), np.sin(column)]
        else:
            columns.append(np.log1p(column) if name in ("poisson", "exponential", "gamma") else column)
    return np.stack(columns, axis=1)
