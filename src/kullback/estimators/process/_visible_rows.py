"""The rows that a network of spiking units sees: their families, their units, and what it expects before it learns."""

from typing import Any, NamedTuple

import jax
import numpy as np

from kullback.estimators.data._columns import Shape, plain_components
from kullback.families import Categorical, Independent, Poisson, Product

#: What a column may be: these have an embedding that a network can read.
COLUMN_FAMILIES = ("bernoulli", "categorical", "gaussian", "poisson")
#: Numbers may be so large, and a spread is not smaller; an entry lies so many spreads from the center at most.
_MOST, _LEAST, _FARTHEST = 1e290, 1e-290, 1e16


def check_column_families(families: list[str]) -> None:
    """Raise unless a network can read and predict columns of these families."""
    for name in families:
        if name not in COLUMN_FAMILIES:
            raise ValueError(
                f"family {name!r} is not for SpikingNetwork: columns are {', '.join(COLUMN_FAMILIES[:-1])} or "
                f"{COLUMN_FAMILIES[-1]}."
            )


class Units(NamedTuple):
    """The units in which a network sees rows: numbers less `center`, in multiples of `scale`; others as they are."""

    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, families: list[str]) -> "Units":
        """Return the mean and the standard deviation of columns of numbers, and 0 and 1 for others."""
        real = np.array([name == "gaussian" for name in families])
        most = np.abs(X).max(axis=0)
        if (most[real] > _MOST).any():
            column = int(np.argmax(real & (most > _MOST)))
            raise ValueError(
                f"column {column} of X holds numbers of size {most[column]:.3g}, and up to {_MOST:.0e} can be learned "
                "from: scale it."
            )
        part = X / np.where(most > 0, most, 1.0)  # so that no square is out of range
        spread = most * part.std(axis=0)
        spread = np.where(spread > np.maximum(1e-12 * most, _LEAST), spread, 1.0)
        return cls(np.where(real, most * part.mean(axis=0), 0.0), np.where(real, spread, 1.0))

    def check(self, X: np.ndarray, name: str = "X") -> None:
        """Refuse entries so far from the center that squares of them are out of range in 32 bits."""
        with np.errstate(over="ignore"):
            far = np.abs(self.standardize(X)) > _FARTHEST
        if far.any():
            row, column = np.argwhere(far)[0]
            raise ValueError(
                f"Entry [{row}, {column}] of {name} is {X[row, column]:.6g}, more than {_FARTHEST:.0e} times the "
                f"spread {self.scale[column]:.3g} of the first rows from their mean {self.center[column]:.3g}: leave "
                "such rows out."
            )

    def standardize(self, X: np.ndarray) -> np.ndarray:
        """Return rows in these units."""
        return (X - self.center) / self.scale

    def restore(self, X: np.ndarray) -> np.ndarray:
        """Return rows in the units of the data."""
        return X * self.scale + self.center

    @property
    def log_volume(self) -> np.ndarray:
        """The log of what each column's density is divided by in the units of the data."""
        return np.log(self.scale)


def blank_member(families: list[str], shape: Shape) -> Any:
    """Return the plainest law of a row; that of a single column of categories is one of symbols."""
    plain: Any = plain_components(families, shape, 1)
    member = jax.tree.map(lambda leaf: np.asarray(leaf)[0], plain)
    if families == ["categorical"]:
        return Categorical(np.asarray(member.columns.probabilities)[0])
    return member


def first_member(families: list[str], shape: Shape, X: np.ndarray) -> Any:
    """Return the law of a row to begin with: plain, but that counts have the mean that they have in some rows."""
    member, place = blank_member(families, shape), 0
    parts: list[Any] = list(member.parts) if isinstance(member, Product) else [member]
    for number, part in enumerate(parts):
        width = int(np.prod(part.event_shape))
        if isinstance(part, Independent) and isinstance(part.columns, Poisson):
            mean = X[:, place : place + width].mean(axis=0)
            parts[number] = Independent(Poisson(np.maximum(mean, 1 / (1 + len(X)))))
        place += width
    return Product(parts) if isinstance(member, Product) else parts[0]


def embedding_units(families: list[str], shape: Shape, X: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return what the embedding of a row is standardized by: indicators are −1 and 1, counts as in some rows."""
    center, scale = list[np.ndarray](), list[np.ndarray]()
    most = np.asarray(shape.categories)
    for place, name in enumerate(families):
        many = _room(families, most, place) if name == "categorical" else 1
        middle, spread = (0.0, 1.0) if name in ("gaussian", "poisson") else (0.5, 0.5)
        if name == "poisson" and X is not None:
            middle, spread = float(X[:, place].mean()), max(float(X[:, place].std()), 1.0)
        center.append(np.full(many, middle))
        scale.append(np.full(many, spread))
    return np.concatenate(center), np.concatenate(scale)


def _room(families: list[str], most: np.ndarray, place: int) -> int:
    """Return for how many categories a column has room: neighbors of one family have as many as the largest."""
    first, last = place, place
    while first > 0 and families[first - 1] == families[place]:
        first -= 1
    while last + 1 < len(families) and families[last + 1] == families[place]:
        last += 1
    return int(most[first : last + 1].max())


def next_row(prediction: Any) -> np.ndarray:
    """Return what is expected of the next row, averaged over chains; of categories, the most probable one."""
    found = list[np.ndarray]()
    for part in prediction.parts if isinstance(prediction, Product) else (prediction,):
        columns: Any = part.columns if isinstance(part, Independent) else part
        if isinstance(columns, Categorical):
            found.append(np.asarray(columns.probabilities).mean(axis=0).argmax(axis=-1))
        else:
            found.append(np.asarray(columns.mean).mean(axis=0))
    return np.concatenate([np.atleast_1d(part) for part in found]).astype(np.float64)
