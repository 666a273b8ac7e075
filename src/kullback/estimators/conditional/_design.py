"""Inputs as numbers side by side: categories as indicators, missing entries beside an indicator of their own."""

from typing import NamedTuple, Self

import numpy as np

from kullback.estimators.data._rows import CHUNK


class Design(NamedTuple):
    """How a table of inputs becomes a matrix, whose columns of numbers have mean 0 and standard deviation 1.

    A column of K categories becomes K − 1 columns of 0 and 1, one for each but the first. A column of numbers stays
    one; where it lacked entries in the fit and these are allowed, they count as the mean, and a column of 0 and 1 at
    the end says where. Numbers that are missing only after the fit count as the mean alone; categories are refused.
    """

    #: How many categories each input has; 0 for numbers.
    categories: np.ndarray
    #: Whether an input has an indicator of missing entries.
    indicators: np.ndarray
    #: What is subtracted from each column of the matrix, and what it is divided by then.
    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def learn(cls, table: np.ndarray, weight: np.ndarray | None, categories: np.ndarray, allows_missing: bool) -> Self:
        """Return the design of a table, from what its columns hold."""
        count = np.zeros(table.shape[1])
        total = np.zeros(table.shape[1])
        square = np.zeros(table.shape[1])
        pivot = np.nan_to_num(np.asarray(table[0], dtype=np.float64))
        lacks = np.zeros(table.shape[1], bool)
        for here in (slice(at, at + CHUNK) for at in range(0, len(table), CHUNK)):
            values = np.asarray(table[here], dtype=np.float64)
            missing = np.isnan(values)
            mass = ~missing * (1.0 if weight is None else weight[here, None])
            away = np.where(missing, 0, values - pivot)
            lacks |= missing.any(axis=0)
            count, total = count + mass.sum(axis=0), total + (mass * away).sum(axis=0)
            square = square + (mass * away**2).sum(axis=0)
        seen = np.where(count > 0, count, 1)
        mean = total / seen
        spread = np.sqrt(np.maximum(square / seen - mean**2, 0))
        rounding = 8 * np.finfo(float).eps * np.abs(pivot + mean)
        center, scale = pivot + mean, np.where(spread > rounding, spread, 1.0)
        indicators = lacks & allows_missing
        by_column = [
            (np.zeros(k - 1), np.ones(k - 1)) if k else (center[place : place + 1], scale[place : place + 1])
            for place, k in enumerate(categories)
        ]
        more = int(indicators.sum())
        return cls(
            np.asarray(categories, dtype=np.int64),
            indicators,
            np.concatenate([center for center, _ in by_column] + [np.zeros(more)]),
            np.concatenate([scale for _, scale in by_column] + [np.ones(more)]),
        )

    @property
    def width(self) -> int:
        """How many columns the matrix has."""
        return len(self.center)

    def matrix(self, table: np.ndarray) -> np.ndarray:
        """Return the matrix of a table."""
        values = np.asarray(table, dtype=np.float64)
        parts: list[np.ndarray] = []
        for place, k in enumerate(self.categories):
            column = values[:, place : place + 1]
            if k and (column >= k).any():
                raise ValueError(f"X has category {column.max():.0f} in column {place}: the fit knows {k}, from 0.")
            if k and not self.indicators[place] and np.isnan(column).any():
                row = int(np.argmax(np.isnan(column)))
                raise ValueError(
                    f"X lacks its category in row {row}, column {place}, where none was missing in the fit: impute it, "
                    "or fit to rows of which some lack it."
                )
            parts.append((column == np.arange(1, k)).astype(np.float64) if k else column)
        plain = not self.categories.any()
        matrix = values if plain else np.concatenate(parts, axis=1) if parts else np.zeros((len(values), 0))
        kept = self.width - int(self.indicators.sum())
        matrix = (matrix - self.center[:kept]) / self.scale[:kept]
        if np.isnan(np.sum(matrix)):
            matrix = np.where(np.isnan(matrix), 0.0, matrix)  # the mean
        if not self.indicators.any():
            return matrix
        missing = np.isnan(values[:, self.indicators]).astype(np.float64)
        return np.concatenate([matrix, missing], axis=1)

    def names(self, labels: list[str], categories: dict[str, list[str]]) -> list[str]:
        """Return a name for each column of the matrix, from those of the inputs."""
        found: list[str] = []
        for label, k in zip(labels, self.categories, strict=True):
            known = categories.get(label, [str(code) for code in range(int(k))])
            found += [f"{label}={known[code]}" for code in range(1, int(k))] if k else [label]
        return found + [f"{label} is missing" for label, is_one in zip(labels, self.indicators, strict=True) if is_one]

    def to_units(self, coefficients: np.ndarray) -> np.ndarray:
        """Return coefficients, the intercept first, of the columns before they were centered and scaled."""
        slopes = coefficients[:, 1:] / self.scale
        return np.concatenate([coefficients[:, :1] - slopes @ self.center[:, None], slopes], axis=1)
