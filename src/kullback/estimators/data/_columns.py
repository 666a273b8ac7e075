"""Tables and the families of their columns: what entries may be, and components to begin with."""

from typing import Any, NamedTuple

import jax
import numpy as np

from kullback.core import MOST_CATEGORIES
from kullback.estimators.data._families import Run, runs
from kullback.families import Component, Product


def check_entries(X: np.ndarray, family: type[Component], name: str, first_column: int = 0) -> None:
    """Raise at the first entry that the family does not allow, or the first row whose total it does not allow.

    Missing entries are allowed. `name` is what the family is called in messages.
    """
    support = family.support
    with np.errstate(invalid="ignore"):
        bad = ~(support.contains(X) | np.isnan(X))
    if bad.any():
        row, place = np.argwhere(bad & (X < 0) if (X[bad] < 0).any() else bad)[0]
        value = X[row, place]
        sign = "Negative values in data: " if value < 0 and not support.contains(np.array(-1.0)) else ""
        raise ValueError(
            f"{sign}X[{row}, {place + first_column}] is {value:.6g}: for family {name!r} it must be {support.must_be}."
        )
    if support.total is not None:
        _check_totals(X.sum(axis=1), None if support.total == "same" else support.total, name)


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
    def of(cls, X: np.ndarray, family: Any, most: int = MOST_CATEGORIES) -> "Shape":
        """Read it off a table whose columns may have so many categories."""
        n, trials = X.shape[1], 0
        categories = np.zeros(n, dtype=np.int64)
        for run in runs(family, n):
            support = run.family.support
            for place in range(run.start, run.start + run.length) if support.codes else ():
                categories[place] = max(count_categories(X[:, place], f"Column {place} of X", most), 2)
            if support.total == "same":
                trials = int(np.nansum(X, axis=1).max())
            if run.member is not None:
                _check_settings(run, categories, trials)
        return cls(n, categories, trials)

    def numbers(self, family: Any, k: int) -> int:
        """Return how many parameters k components have at least."""
        return k * sum(run.family.least_parameters(run.length, self.most(run)) for run in runs(family, int(self.n)))

    def most(self, run: Run) -> int:
        """Return the number of categories that all columns of a run have room for."""
        return int(np.max(self.categories[run.start : run.start + run.length], initial=0))

    def with_room(self, known: list[int]) -> "Shape":
        """Return it with room for so many categories of each column as are known by name."""
        return self._replace(categories=np.where(self.categories > 0, np.maximum(self.categories, known), 0))

    def with_members(self, family: Any) -> "Shape":
        """Return it with as many categories as members have, where families are given as members."""
        room = self.categories.copy()
        for run in runs(family, int(self.n)):
            if run.member is not None and run.family.support.codes:
                room[run.start : run.start + run.length] = run.member.codes
        return self._replace(categories=room)

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


def _check_settings(run: Run, categories: np.ndarray, trials: int) -> None:
    """Raise unless columns have no more categories, and rows the total, that a member has."""
    assert run.member is not None
    many, name = int(categories[run.start : run.start + run.length].max(initial=0)), run.family.family_name()
    if run.family.support.codes and many > run.member.codes:
        raise ValueError(f"X has category {many - 1}: the {name} in family= has {run.member.codes}, from 0.")
    if run.family.support.total == "same" and run.member.row_total not in (0, trials):
        raise ValueError(f"X has rows with a total of {trials}: the {name} in family= has {run.member.row_total}.")


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


def plain_components(family: Any, shape: Shape, k: int) -> Any:
    """Return k components that are all alike, of this family or of one family for each column."""
    found = runs(family, int(shape.n))
    parts: list[Any] = [run.plain(k, shape.most(run), int(shape.trials)) for run in found]
    return parts[0] if len(parts) == 1 else Product(parts)


def check_table(X: np.ndarray, family: Any) -> None:
    """Raise unless the entries of X are what the families allow."""
    single = not isinstance(family, list | tuple)
    for run in runs(family, X.shape[1]):
        name = run.family.family_name() if single else str(run.family.column_name())
        check_entries(X[:, run.start : run.start + run.length], run.family, name, run.start)


def check_shape(estimator: Any, X: np.ndarray, family: Any, n_categories: Any, first: bool) -> None:
    """Raise unless a table is one of the fit; the first one says how many categories there are, and what rows sum to.

    They are held as `n_categories_` and `n_trials_`. `n_categories` are those that are given, or None.
    """
    check_table(X, family)
    shape = Shape.of(X, family, most_categories(n_categories)) if len(X) else None
    if first:
        assert shape is not None
        shape = shape.with_room(estimator.known_categories)
        estimator.n_categories_ = shape.knowing(n_categories).with_members(family).categories
        estimator.n_trials_ = shape.trials
    if shape is None:
        return
    check_categories(shape.categories, estimator.n_categories_)
    if shape.trials != estimator.n_trials_:
        raise ValueError(f"X has rows with a total of {shape.trials}: the fit has {estimator.n_trials_}.")


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


def indicators(X: np.ndarray, family: Any, categories: np.ndarray) -> np.ndarray:
    """Return columns that k-means can compare: categories one by one, angles as points, counts as logarithms."""
    views = [
        run.family.cluster_view(X[:, place], int(categories[place]))
        for run in runs(family, X.shape[1])
        for place in range(run.start, run.start + run.length)
    ]
    return np.concatenate(views, axis=1)
