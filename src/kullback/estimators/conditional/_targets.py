"""What is foretold: the kind of distribution of the targets, and what they may be."""

import functools
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from kullback.core import MOST_CATEGORIES, Batch
from kullback.estimators.data._columns import Shape, count_categories, plain_components
from kullback.estimators.data._families import Run, check_family, runs
from kullback.estimators.data._rows import padded
from kullback.families import ExponentialFamily, OutputKind, VonMises, registered_families
from kullback.learning import adaptive_jit
from kullback.models import MixtureKind
from kullback.runtime import as_numpy

#: The longest range of targets; the shortest one is its inverse. Logarithms of scales lie between ±300.
_FARTHEST = 1e120


class Targets(NamedTuple):
    """The targets of a fit: their families, how many columns and categories they have, and what rows sum to."""

    family: Any
    shape: Shape

    @classmethod
    def learn(cls, family: Any, Y: np.ndarray) -> "Targets":
        """Return what targets say of their families; raise at the first one that its family does not allow."""
        chosen = target_family(family, Y.shape[1])
        check_targets(Y, chosen)
        for place, run in _columns_of_codes(chosen, Y.shape[1]):
            count_categories(Y[:, place], _name_of(Y, place))
            _check_room(Y, place, run.member.codes if run.member is not None else MOST_CATEGORIES)
        _look_for_degrees(Y, chosen)
        return cls(chosen, Shape.of(Y, chosen))

    def check(self, Y: np.ndarray) -> None:
        """Raise at the first target that its family does not allow, or for which the fit has no room."""
        check_targets(Y, self.family)
        for place, run in _columns_of_codes(self.family, Y.shape[1]):
            _check_room(Y, place, run.member.codes if run.member is not None else self.shape.most(run))
        for run in runs(self.family, Y.shape[1]):
            if run.family.support.total == "same":
                total = run.member.row_total if run.member is not None else int(self.shape.trials)
                _check_totals(_columns(Y, run).sum(axis=1), total, run.family.family_name())

    @property
    def plain(self) -> Any:
        """The plainest member of their kind."""
        member: Any = plain_components(self.family, self.shape, 1)
        found: Any = jax.tree.map(lambda leaf: np.asarray(leaf)[0], member)
        return found

    def kind(self, n_components: int = 1) -> OutputKind:
        """Return the kind of their distribution: of a family, or of a mixture of so many members."""
        family = self.family if isinstance(self.family, str) else None
        if family is not None:
            kind = _kind_named(family, int(self.shape.n), tuple(self.shape.categories.tolist()), int(self.shape.trials))
        else:
            kind = self.plain.kind
        return kind if n_components == 1 else MixtureKind(n_components, kind)

    def marginal(self, Y: np.ndarray, weight: np.ndarray | None) -> ExponentialFamily:
        """Return the member nearest to the targets without a look at inputs: what a fit begins with.

        Rows with missing targets are left out. Probabilities and rates of 0 are raised a little.
        """
        whole = ~np.isnan(Y).any(axis=1)
        if not whole.any():
            raise ValueError("y has no row without missing targets: there is nothing to begin with.")
        rows, weight = Y[whole], None if weight is None else weight[whole]
        for place, extent in enumerate(np.ptp(rows, axis=0)):
            if _run_of(self.family, Y.shape[1], place).family.support.discrete:
                continue
            where = _name_of(Y, place)
            if extent == 0:
                raise ValueError(
                    f"{where} is {rows[0, place]:.6g} in all rows that are learned from: a distribution that spreads "
                    "cannot be learned from one value."
                )
            if not 1 / _FARTHEST < extent < _FARTHEST:
                raise ValueError(
                    f"{where} spreads over {extent:.3g}, which is too little or too much to compute densities with: "
                    "use other units."
                )
        member = as_numpy(_nearest(self.plain, Batch(*padded(rows, weight))))
        return member if bool(np.all(member.interior)) else member.raise_zeros(0.5 / (1 + len(rows)))


@functools.lru_cache(64)
def _kind_named(family: str, n: int, categories: tuple[int, ...], trials: int) -> OutputKind:
    kind: OutputKind = Targets(family, Shape(n, np.array(categories, dtype=np.int64), trials)).plain.kind
    return kind


@adaptive_jit
def _nearest(plain: Any, batch: Batch) -> Any:
    return plain.maximize(plain.expected_statistics(batch)[0])


def _look_for_degrees(Y: np.ndarray, family: Any) -> None:
    """Warn where angles reach so far that they are likely to be in degrees."""
    for run in runs(family, Y.shape[1]):
        columns = np.abs(_columns(Y, run))
        if run.family is VonMises and np.nanmax(columns, initial=0) > 4 * np.pi:
            warnings.warn(
                f"Angles of y reach {np.nanmax(columns):.6g}, and are taken as radians: convert degrees by np.deg2rad.",
                UserWarning,
                stacklevel=2,
            )


def target_family(family: Any, n: int) -> Any:
    """Return the family of n targets: a name, a class or a member for all of them, or a list with one for each."""
    if isinstance(family, list | tuple) and len(family) != n:
        raise ValueError(f"family has {len(family)} entries: y has {n} columns, and each needs one.")
    try:
        check_family(family, n)
        if any(not issubclass(run.family, ExponentialFamily) for run in runs(family, n)):
            raise ValueError  # a compound is no family
    except ValueError:
        known = ", ".join(name for name in registered_families() if name != "compound_dirichlet")
        raise ValueError(
            f"family is {family!r}: it must be one of {known}, a class or a member of a family that fits y, or a list "
            "with one for each column of y."
        ) from None
    if isinstance(family, str) and family == "gaussian" and n == 1:
        return "diagonal_gaussian"  # the same on the line, and quicker
    return family


def _columns_of_codes(family: Any, n: int) -> Iterator[tuple[int, Any]]:
    """Yield the places of targets that are categories, and their runs."""
    for run in runs(family, n):
        for place in range(run.start, run.start + run.length) if run.family.support.codes else ():
            yield place, run


def _columns(Y: np.ndarray, run: Run) -> np.ndarray:
    return Y[:, run.start : run.start + run.length]


def _name_of(Y: np.ndarray, place: int) -> str:
    return "y" if Y.shape[1] == 1 else f"Column {place} of y"


def _check_room(Y: np.ndarray, place: int, room: int) -> None:
    """Raise at the first category of a column for which there is no room."""
    beyond = Y[:, place] >= room
    if beyond.any():
        row = int(np.argmax(beyond))
        raise ValueError(
            f"{_name_of(Y, place)} has category {Y[row, place]:.0f} in row {row}: the fit knows {room}, from 0. A "
            "member as family=, such as Categorical(np.full(5, 0.2)), makes room for categories that are to come."
        )


def _run_of(family: Any, n: int, place: int) -> Run:
    return next(run for run in runs(family, n) if run.start <= place < run.start + run.length)


def check_targets(Y: np.ndarray, family: Any) -> None:
    """Raise at the first target that its family does not allow; missing ones are allowed."""
    single = Y.shape[1] == 1
    for run in runs(family, Y.shape[1]):
        columns = _columns(Y, run)
        with np.errstate(invalid="ignore"):
            bad = ~(run.family.support.contains(columns) | np.isnan(columns))
        if bad.any():
            row, place = np.argwhere(bad)[0]
            entry = f"y[{row}]" if single else f"y[{row}, {run.start + place}]"
            name = run.family.family_name()
            raise ValueError(
                f"{entry} is {columns[row, place]:.6g}: for family {name!r} it must be {run.family.support.must_be}."
            )
        total = run.family.support.total
        if total is not None:
            _check_totals(columns.sum(axis=1), total, run.family.family_name())


def _check_totals(totals: np.ndarray, goal: Any, name: str) -> None:
    seen = totals[~np.isnan(totals)]
    goal = seen[0] if goal == "same" and len(seen) else goal
    off = ~np.isnan(totals) & (np.abs(totals - goal) > 1e-6) if len(seen) else np.zeros(0, bool)
    if off.any():
        row = int(np.argmax(off))
        raise ValueError(f"y[{row}] sums to {totals[row]:.6g}: for family {name!r} every row must sum to {goal:.6g}.")


def table_of_targets(y: Any, names: Sequence[str] = ()) -> tuple[np.ndarray, bool]:
    """Return targets as a table of numbers with NaN for missing ones, and whether they came as one column."""
    values = np.asarray(y)
    if values.dtype.kind in "Mm":
        raise ValueError("y holds times: turn them into numbers, such as days since the first one.")
    if values.dtype == object or values.dtype.kind in "USb":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                "y has entries that are no numbers: a Regressor foretells numbers; for names of classes use Classifier."
            ) from None
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: y has complex numbers.")
    if values.ndim not in (1, 2):
        raise ValueError(f"y has shape {values.shape}: it must have one entry, or one row, for each row of X.")
    if values.shape[1:] == (0,):
        raise ValueError("y has no columns: there is nothing to foretell.")
    table = np.asarray(values[:, None] if values.ndim == 1 else values, dtype=np.float64)
    if np.isinf(table).any():
        row = int(np.argwhere(np.isinf(table))[0][0])
        raise ValueError(f"y contains infinity at row {row}: targets must be finite, or NaN where they are missing.")
    return table, values.ndim == 1
