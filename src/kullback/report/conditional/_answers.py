"""What is predicted for the rows of the data, beside what came: target by target."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from kullback.report._context import ReportContext
from kullback.report._text import clean, number
from kullback.report.conditional._inputs import reference_row

#: Rows that are asked for at once: distributions without a closed form are draws.
_CHUNK = 8192
_SEED = 0
#: Residuals end where probabilities have no more digits.
_FURTHEST = 8.2


class Target(NamedTuple):
    """One target: what it is, and for each row of the data what came (NaN where it is missing) and what was predicted.

    Numbers have a `center`, the mean or mean direction, and `pit`, the predicted probability of a smaller one; of whole
    numbers a random part of the probability of what came is added, always the same. Categories, and true and false,
    have `probabilities` instead.
    """

    place: int
    name: str
    categories: tuple[str, ...]
    discrete: bool
    angle: bool
    values: np.ndarray
    center: np.ndarray
    pit: np.ndarray
    probabilities: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """The rows in which it is there."""
        return np.flatnonzero(~np.isnan(self.values))

    @property
    def residuals(self) -> np.ndarray:
        """Quantile residuals: standard normal where predictions are right."""
        from scipy.special import ndtri

        return np.clip(ndtri(self.pit), -_FURTHEST, _FURTHEST)

    @property
    def omission(self) -> str:
        """A sentence that says how many rows lack it, if some do."""
        missing = len(self.values) - len(self.known)
        if not missing:
            return ""
        return f" {missing:,} of {len(self.values):,} rows lack {self.name} and are left out."


def targets_of(context: ReportContext) -> list[Target]:
    """Return every target; without data, or without targets of its rows, there are no rows."""
    shapes = _shapes(context)
    if context.X is None or context.targets is None:
        return shapes
    found: list[list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = [[] for _ in shapes]
    random = np.random.default_rng(_SEED)
    for rows, padded in _chunks(len(context.X)):
        laws = context.estimator.predict_distribution(context.X[padded]).laws
        for target, law, parts in zip(shapes, laws, found, strict=True):
            values = context.targets[padded, target.place]
            parts.append(tuple(each[: len(rows)] for each in _answer(law, target, values, random)))
    return [
        target._replace(
            values=context.targets[:, target.place],
            center=np.concatenate([part[0] for part in parts]),
            pit=np.concatenate([part[1] for part in parts]),
            probabilities=np.concatenate([part[2] for part in parts]),
        )
        for target, parts in zip(shapes, found, strict=True)
    ]


def _shapes(context: ReportContext) -> list[Target]:
    """Return what each target is, without rows."""
    laws, none = context.estimator.predict_distribution(reference_row(context)[None]).laws, np.zeros(0)
    return [
        Target(place, name, _categories(context, law), law.discrete, law.angle, none, none, none, none[:, None])
        for place, (name, law) in enumerate(zip(context.target_names, laws, strict=True))
    ]


def _categories(context: ReportContext, law: Any) -> tuple[str, ...]:
    if law.probabilities is None:
        return ()
    count = law.probabilities.shape[1]
    names = getattr(context.estimator, "classes_", range(count))
    return tuple(clean(name) for name in names)


def _chunks(count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return rows, and as many rows each time: what is compiled for one serves all."""
    size = min(count, _CHUNK)
    for start in range(0, count, size):
        rows = np.arange(start, min(start + size, count))
        yield rows, np.resize(rows, size)


def _answer(law: Any, target: Target, values: np.ndarray, random: np.random.Generator) -> Any:
    """Return the center, the probability of a smaller value, and the probabilities of categories."""
    none, rows = np.full(len(values), np.nan), len(values)
    if target.categories:
        return none, none, law.probabilities
    missing = np.isnan(values)
    center = np.asarray(law.mean)
    known = np.where(missing, center, values)
    upper = law.cdf(known)
    if target.angle:  # from the opposite of the center on, all the way around
        opposite = np.mod(center, 2 * np.pi) - np.pi
        upper = np.mod(law.cdf(np.mod(known + np.pi, 2 * np.pi) - np.pi) - law.cdf(opposite), 1.0)
    if target.discrete:
        lower = law.cdf(known - 1)
        upper = lower + random.random(rows) * (upper - lower)
    return center, np.where(missing, np.nan, np.clip(upper, 0.0, 1.0)), np.zeros((rows, 0))


def describe_expected(context: ReportContext, rows: np.ndarray, most: int = 4) -> dict[str, list[str]]:
    """Return what came in some rows, and what was expected there, as text by name: of the first targets."""
    if context.X is None or context.targets is None:
        return {}
    laws = context.estimator.predict_distribution(context.X[rows]).laws[:most]
    columns: dict[str, list[str]] = {}
    for place, law in enumerate(laws):
        values, categories = context.targets[rows, place], _categories(context, law)
        name = context.target_names[place]
        if categories:
            columns[name] = ["missing" if np.isnan(value) else categories[int(value)] for value in values]
            best = law.probabilities.argmax(axis=1)
            shares = law.probabilities[np.arange(len(rows)), best]
            expected = [f"{categories[which]} ({number(share, 3)})" for which, share in zip(best, shares, strict=True)]
        else:
            columns[name] = [number(value) for value in values]
            low, high = (law.quantile(level) for level in (0.05, 0.95))
            expected = [f"{number(a, 3)} to {number(b, 3)}" for a, b in zip(low, high, strict=True)]
        columns[f"expected {name}" if categories else f"90 % interval of {name}"] = expected
    return columns
