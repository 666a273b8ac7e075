"""What is foretold for some rows: a distribution for each."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.utils import check_random_state

from kullback.estimators._count import check_count
from kullback.estimators.conditional._classes import places_of, split_missing
from kullback.estimators.conditional._quantiles import check_level
from kullback.estimators.conditional._target_law import FirstRows, TargetLaw, laws_of_columns, mix_laws
from kullback.estimators.data._rows import padded_size
from kullback.families import Categorical, Independent, OutputKind
from kullback.models import MixtureKind, row_modes
from kullback.runtime import computing, in_float64, jit

#: Draws for what has no closed form.
_DRAWS = 256


class PredictedDistribution:
    """The distribution of the targets of each row, given its inputs.

    Numbers have the shape of the targets in the fit: one for each row, or one for each row and column.
    It has `mean`, `variance`, `std`, `mode`, `quantile(level)`, `interval(level)`, `cdf(y)`, `log_prob(y)` and
    `sample(n)`; a slice of it is that of some rows. `free` has the free coordinates of each row, and `member` the
    distributions themselves. Where the target is a class it goes by its name, one of `classes`.
    """

    def __init__(self, kind: OutputKind, free: np.ndarray, single: bool, classes: np.ndarray | None = None):
        self.kind, self.free, self._single = kind, np.asarray(free, dtype=np.float64), single
        self.classes = classes

    def __len__(self) -> int:
        return len(self.free)

    def __getitem__(self, rows: Any) -> "PredictedDistribution":
        chosen = self.free[rows]
        return PredictedDistribution(self.kind, chosen.reshape(-1, self.free.shape[1]), self._single, self.classes)

    def __repr__(self) -> str:
        return f"PredictedDistribution of {self.kind} for {len(self)} rows"

    @property
    def by_place(self) -> "PredictedDistribution":
        """The same, with classes by their places among all of them: 0, 1, …"""
        return PredictedDistribution(self.kind, self.free, self._single)

    @property
    def member(self) -> Any:
        """The members of the family, one for each row; of mixtures see `components` and `weights`."""
        return self._cut(self._members)

    @property
    def weights(self) -> np.ndarray:
        """The weights of the components of mixtures, of shape (rows, components)."""
        return np.asarray(self._cut(self._mixtures[0]))

    @property
    def components(self) -> Any:
        """The components of mixtures, members batched over (rows, components)."""
        return self._cut(self._mixtures[1])

    @property
    def laws(self) -> list[TargetLaw]:
        """The distribution of each target alone: its mean, variance, cdf and quantile, if it is `ordered`."""
        return [FirstRows(law, len(self)) for law in self._laws]

    # --- numbers ----------------------------------------------------------------------------------------

    @property
    def mean(self) -> np.ndarray:
        """The means; of angles the mean directions."""
        return self._columns([law.mean for law in self._laws])

    @property
    def variance(self) -> np.ndarray:
        """The variances; of angles the circular ones."""
        return self._columns([law.variance for law in self._laws])

    @property
    def std(self) -> np.ndarray:
        """The standard deviations."""
        return np.sqrt(self.variance)

    @property
    @in_float64
    def mode(self) -> np.ndarray:
        """The most probable targets; those of mixtures are found by ascent from every component."""
        found = np.asarray(row_modes(self.kind, jnp.asarray(self._filled)))[: len(self)].reshape(len(self), -1)
        return self._named(found[:, 0] if self._single else found)

    @property
    def point(self) -> np.ndarray:
        """One number for each target: the mean, of angles the mean direction, of categories the most probable one."""
        if all(law.ordered for law in self._laws):
            return self.mean
        if self.classes is not None:
            return self.mode
        modes = self._fill(self.mode.reshape(len(self), -1))
        return self._columns([law.mean if law.ordered else modes[:, at] for at, law in enumerate(self._laws)])

    @property
    def probabilities(self) -> np.ndarray:
        """The probabilities of categories, where the target is one, of shape (rows, categories)."""
        mixed = isinstance(self.kind, MixtureKind)
        members = self.components if mixed else self.member
        columns = members.columns if isinstance(members, Independent) else members
        if not isinstance(columns, Categorical):
            raise AttributeError("The target is no category: see mean, quantile and log_prob.")
        each = np.asarray(columns.probabilities)
        if mixed:
            each = np.einsum("rk,rk...->r...", self.weights, each)
        return each.reshape(len(self), -1)

    @property
    def entropy(self) -> np.ndarray:
        """The entropy of the targets of each row in nats; of mixtures an average over draws, always the same."""
        if not isinstance(self.kind, MixtureKind):
            return np.asarray(self._members.entropy, dtype=np.float64)[: len(self)]
        by_place = self.by_place
        drawn = by_place.sample(_DRAWS, 0)
        return -np.mean([by_place.log_prob(each) for each in drawn], axis=0)

    def quantile(self, level: Any) -> np.ndarray:
        """Return the smallest y with P(Y ≤ y) ≥ level, of each target. Of angles it counts from the opposite of μ.

        With several levels there is one more axis, the first.
        """
        if np.ndim(level):
            return np.stack([self.quantile(each) for each in level])
        level = check_level("level", level)
        return self._columns([law.quantile(level) for law in self._laws])

    def interval(self, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Return the central interval of each target: what is below and what is above it is equally likely.

        That of an angle is around its mean direction, and may reach beyond ±π.
        """
        level = check_level("level", level)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def cdf(self, y: Any) -> np.ndarray:
        """Return P(Y ≤ y) of each target."""
        table = self._fill(self._table(y))
        return self._columns([law.cdf(table[:, place]) for place, law in enumerate(self._laws)])

    @in_float64
    def log_prob(self, y: Any) -> np.ndarray:
        """Return the log density of the targets of each row, in nats; missing ones are summed out."""
        table = self._fill(self._table(y))
        missing = np.isnan(table)
        observed = ~missing if missing.any() else None
        found = self.kind.log_prob_at("free", self._filled, np.where(missing, 0, table), observed)
        return np.asarray(found, dtype=np.float64)[: len(self)]

    def sample(self, n: int | None = None, random_state: Any = None) -> np.ndarray:
        """Draw targets: once for each row, or n times, on a first axis."""
        count = 1 if n is None else check_count("n", n)
        key = jax.random.key(check_random_state(random_state).randint(2**31))
        with computing():
            drawn = np.asarray(_draw(self.kind, self._filled, key, count))
        drawn = drawn[:, : len(self)].reshape(count, len(self), -1)
        drawn = self._named(drawn[..., 0] if self._single else drawn)
        return drawn[0] if n is None else drawn

    # --- inside: rows are filled up to one of few sizes, so that little is compiled -------------------------

    @functools.cached_property
    def _filled(self) -> np.ndarray:
        return self._fill(self.free)

    def _fill(self, rows: np.ndarray) -> np.ndarray:
        more = padded_size(len(rows)) - len(rows) if len(rows) else 0
        return np.concatenate([rows, np.repeat(rows[:1], more, axis=0)])

    def _cut(self, tree: Any) -> Any:
        return jax.tree.map(lambda leaf: np.asarray(leaf)[: len(self)], tree)

    @functools.cached_property
    def _members(self) -> Any:
        if isinstance(self.kind, MixtureKind):
            raise AttributeError("A row has no one member: these are mixtures, with weights and components.")
        return self.kind.at("free", self._filled)

    @functools.cached_property
    def _mixtures(self) -> tuple[Any, Any]:
        if not isinstance(self.kind, MixtureKind):
            raise AttributeError("These are no mixtures: see `member`.")
        with computing():
            found: tuple[Any, Any] = jax.tree.map(np.asarray, self.kind.parts(self._filled))
        return found

    @functools.cached_property
    def _laws(self) -> list[TargetLaw]:
        if not isinstance(self.kind, MixtureKind):
            return laws_of_columns(self._members)
        weights, components = self._mixtures
        members = [jax.tree.map(lambda leaf, at=at: leaf[:, at], components) for at in range(weights.shape[1])]
        each = [laws_of_columns(member) for member in members]
        return [mix_laws(weights, list(laws)) for laws in zip(*each, strict=True)]

    def _columns(self, of_each: list[Any]) -> np.ndarray:
        found = np.stack([np.asarray(column) for column in of_each], axis=-1)[: len(self)]
        return found[..., 0] if self._single else found

    def _named(self, found: np.ndarray) -> np.ndarray:
        return found if self.classes is None else self.classes[found.astype(np.int64)]

    def _places(self, y: Any) -> Any:
        """Return the places of classes, NaN for missing ones."""
        assert self.classes is not None
        there, known = split_missing([y] if np.ndim(y) == 0 else np.asarray(y).reshape(len(y)))
        found = np.full(len(there), np.nan)
        if there.any():
            found[there] = places_of(self.classes, known)
        return found[0] if np.ndim(y) == 0 else found

    def _table(self, y: Any) -> np.ndarray:
        values = np.asarray(y if self.classes is None else self._places(y), dtype=np.float64)
        table = np.broadcast_to(values, (len(self),)) if values.ndim == 0 else values
        table = table.reshape(len(table), -1)
        if table.shape != (len(self), self.kind.columns):
            raise ValueError(
                f"y has shape {np.shape(y)}: there are {len(self)} rows, and each has {self.kind.columns} targets."
            )
        return table


@functools.partial(jit, static_argnums=(0, 3))
def _draw(kind: OutputKind, free: np.ndarray, key: Any, count: int) -> Any:
    if not isinstance(kind, MixtureKind):
        return kind.at("free", free).sample(key, (count,))
    weights, components = kind.parts(free)
    first, second = jax.random.split(key)
    labels = jax.random.categorical(first, jnp.log(weights), shape=(count, *weights.shape[:-1]))
    drawn = components.sample(second, (count,))  # count, rows, components, …
    chosen = labels.reshape(*labels.shape, *(1,) * (drawn.ndim - 2))
    return jnp.take_along_axis(drawn, chosen, axis=2)[:, :, 0]
