"""Tables and the families of their columns: what entries may be, and components to begin with."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from kullback.core import MOST_CATEGORIES
from kullback.families import Component, Independent, Product, column_families, registered_families


class Run(NamedTuple):
    """Neighboring columns of one family, `length` of them from `start` on."""

    family: type[Component]
    start: int
    length: int


def runs(family: str | Sequence[str], n: int) -> list[Run]:
    """Return the runs of a table of n columns: one for a name, and for a list one for neighbors of the same name."""
    check_family(family, n)
    if isinstance(family, str):
        return [Run(registered_families()[family], 0, n)]
    known, found = column_families(), list[Run]()
    for place, name in enumerate(family):
        if found and found[-1].family is known[name]:
            found[-1] = found[-1]._replace(length=found[-1].length + 1)
        else:
            found.append(Run(known[name], place, 1))
    return found


def has_discrete(family: str | Sequence[str]) -> bool:
    """Say whether a column of the table is discrete."""
    return any(run.family.support.discrete for run in runs(family, len(family)))


def is_euclidean(family: str | Sequence[str]) -> bool:
    """Say whether clusters are looked for in the rows as they are."""
    return isinstance(family, str) and runs(family, 1)[0].family.euclidean


def check_entries(X: np.ndarray, family: str, first_column: int = 0) -> None:
    """Raise at the first entry that the family does not allow, or the first row whose total it does not allow.

    Missing entries are allowed.
    """
    support = registered_families()[family].support
    with np.errstate(invalid="ignore"):
        bad = ~(support.contains(X) | np.isnan(X))
    if bad.any():
        row, place = np.argwhere(bad & (X < 0) if (X[bad] < 0).any() else bad)[0]
        value = X[row, place]
        sign = "Negative values in data: " if value < 0 and not support.contains(np.array(-1.0)) else ""
        raise ValueError(
            f"{sign}X[{row}, {place + first_column}] is {value:.6g}: for family {family!r} it must be "
            f"{support.must_be}."
        )
    if support.total is not None:
        _check_totals(X.sum(axis=1), None if support.total == "same" else support.total, family)


def _check_totals(total: np.ndarray, goal: float | None, family: str) -> None:
    seen = ~np.isnan(total)
    goal = float(total[seen][:1].sum()) if goal is None else goal
    off = seen & (np.abs(total - goal) > 1e-6)
    if off.any():
        row = int(np.argmax(off))
        raise ValueError(f"X[{row}] sums to {total[row]:.6g}: for family {family!r} every row must sum to {goal:.6g}.")


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
        n, trials = X.shape[1], 0
        categories = np.zeros(n, dtype=np.int64)
        for one, start, length in runs(family, n):
            for place in range(start, start + length) if one.support.codes else ():
                categories[place] = max(count_categories(X[:, place], f"Column {place} of X", most), 2)
            if one.support.total == "same":
                trials = int(np.nansum(X, axis=1).max())
        return cls(n, categories, trials)

    def numbers(self, family: str | Sequence[str], k: int) -> int:
        """Return how many parameters k components have at least."""
        return k * sum(run.family.least_parameters(run.length, self.most(run)) for run in runs(family, int(self.n)))

    def most(self, run: Run) -> int:
        """Return the number of categories that all columns of a run have room for."""
        return int(np.max(self.categories[run.start : run.start + run.length], initial=0))

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


def check_categories(found: np.ndarray, known: np.ndarray) -> None:
    """Raise at the first column with more categories than are known."""
    if (found > known).any():
        place = int(np.argmax(found > known))
        raise ValueError(
            f"X has category {found[place] - 1} in column {place}: the fit knows {known[place]} categories, from 0. "
            "Give n_categories to make room for more."
        )


def most_categories(n_categories: Any) -> int:
    """Return how many categories a column may have: a limit against mistakes, or as many as are given."""
    given = np.ravel(0 if n_categories is None else n_categories)
    if not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"n_categories is {n_categories!r}: columns of categories have 2 or more, a whole number.")
    return int(max(MOST_CATEGORIES, given.max(initial=0)))


def plain_components(family: str | Sequence[str], shape: Shape, k: int) -> Any:
    """Return k components that are all alike, of this family or of one family for each column."""
    found = runs(family, int(shape.n))
    parts: list[Any] = [run.family.plain(k, run.length, shape.most(run), int(shape.trials)) for run in found]
    return parts[0] if len(parts) == 1 else Product(parts)


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
        if family not in registered_families():
            known = ", ".join(registered_families())
            raise ValueError(f"family is {family!r}: it must be one of auto, {known}, or a list for the columns.")
        return
    names = list(family)
    if len(names) != n:
        raise ValueError(f"family has {len(names)} names: X has {n} features, and each needs one.")
    for place, name in enumerate(names):
        if name not in column_families():
            raise ValueError(f"family[{place}] is {name!r}: a column is one of {', '.join(column_families())}.")


def check_table(X: np.ndarray, family: str | Sequence[str]) -> None:
    """Raise unless the entries of X are what the families allow."""
    if isinstance(family, str):
        check_entries(X, family)
        return
    for place, name in enumerate(family):
        check_entries(X[:, place : place + 1], name, place)


def family_of(components: Any) -> str | list[str]:
    """Return the name that makes components like these, or a list of names for a product."""
    if isinstance(components, Product):
        names: list[str] = []
        for part in components.parts:
            name = type(_columns(part)).column_name()
            if name is None:
                raise ValueError(f"components has a part of {type(part).__name__}: columns are single numbers here.")
            if names[-1:] == [name]:
                raise ValueError(f"components has parts of {type(part).__name__} side by side: make one part of them.")
            family_of(part)
            names += [name] * int(np.prod(part.event_shape))
        return names
    kind = type(_columns(components))
    if kind not in registered_families().values():
        raise ValueError(f"components are of {kind.__name__}: there is no name for them here.")
    if not components.event_shape:
        raise ValueError(f"components are of {kind.__name__}, single numbers: rows are Independent columns of it.")
    return kind.family_name()


def _columns(part: Any) -> Any:
    return part.columns if isinstance(part, Independent) else part


def shape_of(components: Any) -> Shape:
    """Return what components say about the tables they are for."""
    parts: Any = components.parts if isinstance(components, Product) else (components,)
    categories = [part.codes for part in parts for _ in range(int(np.prod(part.event_shape)))]
    return Shape(len(categories), np.array(categories), components.row_total)


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
    return jax.tree.unflatten(tree, values).validate()


def indicators(X: np.ndarray, family: str | Sequence[str], categories: np.ndarray) -> np.ndarray:
    """Return columns that k-means can compare: categories one by one, angles as points, counts as logarithms."""
    views = [
        one.cluster_view(X[:, place], int(categories[place]))
        for one, start, length in runs(family, X.shape[1])
        for place in range(start, start + length)
    ]
    return np.concatenate(views, axis=1)
