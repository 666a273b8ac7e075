"""Independent parts side by side: tables with mixed columns."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Bool, Float, Num, Shaped
from numpy.typing import NDArray

from kullback.core import Batch, Key, Shape, Statistics, as_key, as_shape
from kullback.families._composite import CompositeFamily
from kullback.families._family import Coordinates, ExponentialFamily, FreeGroup, Kind, Role
from kullback.families._fit_kind import fit_kind
from kullback.families._independent import sum_of_others
from kullback.families._marginal import Marginal
from kullback.numerics import Numeric, with_article


class ProductStatistics(Statistics):
    """The statistics of each part, each with its own mass."""

    mass: Float[Numeric, "*batch"]
    log_likelihood: Float[Numeric, "*batch"]
    parts: tuple[Any, ...]

    def merge(self, other: Self) -> Self:
        """Merge part by part."""
        return type(self)(
            jnp.add(self.mass, other.mass),
            jnp.add(self.log_likelihood, other.log_likelihood),
            tuple(a.merge(b) for a, b in zip(self.parts, other.parts, strict=True)),
        )

    def scale(self, weight: Float[Numeric, "*batch"] | float) -> Self:
        """Scale every part."""
        return type(self)(
            jnp.multiply(self.mass, weight),
            jnp.multiply(self.log_likelihood, weight),
            tuple(a.scale(weight) for a in self.parts),
        )


class Product(CompositeFamily):
    """Independent parts, each a family of its own, over the columns of one vector.

    A scalar part takes one column, a vector part as many as its points have coordinates. Coordinates are those of
    the parts, one after the other. `kinds` says what the parts are; it is all that `from_natural` and the like
    need to know besides the vector.

    >>> from kullback.families import Gaussian, Poisson
    >>> row = Product([Gaussian(mean=[0.0], covariance=[[1.0]]), Poisson(rate=3.0)])
    >>> round(float(row.log_prob([0.5, 2.0])), 3)  # two columns: a measurement and a count
    -2.54...
    >>> round(float(Product.from_natural(row.natural, kinds=row.kinds).parts[1].rate), 3)
    3.0
    """

    parts: tuple[ExponentialFamily, ...]
    kinds: tuple[Kind, ...] = eqx.field(static=True)

    def __init__(self, parts: Sequence[ExponentialFamily]):
        self.parts = tuple(parts)
        if not self.parts:
            raise ValueError("parts is empty: a product needs one part or more.")
        for place, part in enumerate(self.parts):
            if not isinstance(part, ExponentialFamily):
                raise ValueError(
                    f"parts[{place}] is {with_article(type(part).__name__)}: it must be an exponential family."
                )
            if part.batch_shape != self.parts[0].batch_shape:
                raise ValueError(
                    f"parts[{place}] has batch shape {part.batch_shape}: parts[0] has {self.parts[0].batch_shape}, "
                    "and all must be alike."
                )
        self.kinds = tuple(part.kind for part in self.parts)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.parts[0].batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (sum(_columns(part) for part in self.parts),)

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def split(self, x: Any) -> list[Shaped[Array, "..."]]:
        """Cut a vector into the points of the parts."""
        x = jnp.asarray(x)
        if x.ndim < 1 or x.shape[-1] != self.event_shape[0]:
            raise ValueError(f"x has shape {x.shape}: the parts take {self.event_shape[0]} columns on the last axis.")
        cuts = np.cumsum([_columns(part) for part in self.parts])[:-1]
        pieces = jnp.split(x, cuts, axis=-1)
        return [piece if part.event_shape else piece[..., 0] for part, piece in zip(self.parts, pieces, strict=True)]

    @property
    def column_means(self) -> Any:
        return self._columns_of([part.column_means for part in self.parts])

    @property
    def column_variances(self) -> Any:
        found = [part.column_variances for part in self.parts]
        return None if any(each is None for each in found) else self._columns_of(found)

    def _columns_of(self, by_part: Sequence[Any]) -> NDArray[Any]:
        """Return numbers of columns side by side, from those of the parts; one may stand for all of a part."""
        found = []
        for part, numbers in zip(self.parts, map(np.asarray, by_part), strict=True):
            columns = numbers if part.event_shape else numbers[..., None]
            found.append(np.broadcast_to(columns, (*self.batch_shape, _columns(part))))
        return np.concatenate(found, axis=-1)

    @property
    def mean(self) -> Float[Array, "*batch n"]:
        """The means of the parts, side by side; of angles their direction."""
        return self._in_columns([part.mean for part in self.parts])  # type: ignore[attr-defined]

    @property
    def variance(self) -> Float[Array, "*batch n"]:
        """The variances of the parts, side by side."""
        return self._in_columns([part.variance for part in self.parts])  # type: ignore[attr-defined]

    @property
    def mode(self) -> Num[Array, "*batch n"]:
        """The modes of the parts, side by side."""
        return self._side_by_side([part.mode for part in self.parts])

    def _in_columns(self, by_part: Sequence[Any]) -> Float[Array, "*batch n"]:
        axes = len(self.batch_shape)
        columns = [jnp.asarray(n)[..., None] if np.ndim(n) == axes else jnp.asarray(n) for n in by_part]
        shapes = [(*self.batch_shape, _columns(part)) for part in self.parts]
        return jnp.concatenate([jnp.broadcast_to(c, s) for c, s in zip(columns, shapes, strict=True)], axis=-1)

    @classmethod
    def _fit(
        cls, values: Numeric, weight: Numeric | None, kinds: Sequence[Kind | type[ExponentialFamily]] = ()
    ) -> Self:
        """Fit part by part. A class stands for one column."""
        widths = [kind.columns if isinstance(kind, Kind) else 1 for kind in kinds]
        if sum(widths) != values.shape[-1]:
            raise ValueError(
                f"x has {values.shape[-1]} columns, and kinds are for {sum(widths)}: give kinds=[…], with the kind of "
                "a part or, where it has one column, its family."
            )
        parts = []
        for kind, width, end in zip(kinds, widths, np.cumsum(widths), strict=True):
            try:
                parts.append(fit_kind(kind, values[..., end - width : end], weight))
            except ValueError as error:
                raise ValueError(f"In the columns of x from {end - width} on: {error}") from error
        return cls(parts)

    def validate(self) -> Self:
        return type(self)([part.validate() for part in self.parts])

    @property
    def visible_levels(self) -> tuple[tuple[float, ...], ...]:
        return tuple(levels for part in self.parts for levels in part.visible_levels)

    def tempered(self, temperature: float) -> Self:
        """Return the same of each part."""
        return eqx.tree_at(lambda p: p.parts, self, tuple(part.tempered(temperature) for part in self.parts))

    def raise_zeros(self, least: float) -> Self:
        return eqx.tree_at(lambda p: p.parts, self, tuple(part.raise_zeros(least) for part in self.parts))

    def marginals(self, totals: NDArray[Any] | None = None) -> list[Marginal]:
        return [column for part in self.parts for column in part.marginals(totals)]

    @property
    def interior(self) -> Bool[Array, "*batch"]:
        return jnp.all(jnp.stack([part.interior for part in self.parts]), axis=0)

    def log_volume(self, coordinates: Coordinates = "source") -> Float[Array, "*batch"]:
        return sum((part.log_volume(coordinates) for part in self.parts), jnp.zeros(self.batch_shape))

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        pieces = zip(self.parts, self.split(x), strict=True)
        return _total(part.log_prob(piece) for part, piece in pieces)

    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
        keys = jax.random.split(key, len(self.parts))
        drawn = [part.sample(k, shape) for part, k in zip(self.parts, keys, strict=True)]
        return self._side_by_side(drawn)

    def _side_by_side(self, points: list[Array]) -> Num[Array, "..."]:
        columns = [p if part.event_shape else p[..., None] for part, p in zip(self.parts, points, strict=True)]
        return jnp.concatenate([c.astype(self.source.dtype) for c in columns], axis=-1)

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        pieces = zip(self.parts, self.split(x), strict=True)
        return jnp.concatenate([part.statistics(piece) for part, piece in pieces], axis=-1)

    def _join(self, coordinates: Coordinates) -> Float[Array, "*batch d"]:
        return jnp.concatenate([part.coordinates(coordinates) for part in self.parts], axis=-1)

    @classmethod
    def _cut(cls, coordinates: Coordinates, vector: Numeric, kinds: tuple[Kind, ...]) -> Self:
        sizes = [kind.size for kind in kinds]
        if vector.shape[-1] != sum(sizes):
            raise ValueError(f"{vector.shape[-1]} coordinates do not fit: the parts have {sum(sizes)}.")
        pieces = jnp.split(jnp.asarray(vector), np.cumsum(sizes)[:-1], axis=-1)
        return cls([kind.at(coordinates, piece) for kind, piece in zip(kinds, pieces, strict=True)])

    @classmethod
    def free_roles(cls, size: int, kinds: tuple[Kind, ...]) -> tuple[Role, ...]:
        return tuple(role for kind in kinds for role in kind.roles)

    @classmethod
    def _log_prob_at(
        cls, coordinates: Any, vector: Array, x: Array, observed: Any, kinds: tuple[Kind, ...]
    ) -> Float[Array, "..."]:
        found, place, column = [], 0, 0
        for kind in kinds:
            width = kind.columns
            here: Any = slice(column, column + width) if kind.family._point_axes else column
            seen = None if observed is None else jnp.asarray(observed)[..., here]
            piece = vector[..., place : place + kind.size]
            found.append(jnp.asarray(kind.log_prob_at(coordinates, piece, x[..., here], seen)))
            place, column = place + kind.size, column + width
        return _total(found)

    def toward(self, y: Any) -> Float[Array, "... d"]:
        pieces = zip(self.parts, self.split(y), strict=True)
        return jnp.concatenate([part.toward(piece) for part, piece in pieces], axis=-1)

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        return self._sum(lambda part: part.log_partition)

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        return self._sum(lambda part: part.entropy)

    def _sum(self, of: Callable[[Any], Array]) -> Float[Array, "*batch"]:
        return _total(of(part) for part in self.parts)

    def relative_entropy(self, other: Self) -> Float[Array, "*batch"]:
        both = zip(self.parts, other.parts, strict=True)
        return _total(a.relative_entropy(b) for a, b in both)

    @classmethod
    def _free_groups(cls, size: int, kinds: tuple[Kind, ...]) -> tuple[FreeGroup, ...]:
        starts = np.cumsum([0, *(kind.size for kind in kinds)]).tolist()
        parts = zip(starts, kinds, strict=False)
        return tuple(group.shifted(start) for start, kind in parts for group in kind.free_groups)

    def _fisher(self, coordinates: Coordinates) -> Float[Array, "*batch d d"]:
        blocks = [part.fisher(coordinates) for part in self.parts]
        signature = ",".join(f"(a{i},a{i})" for i in range(len(blocks))) + "->(d,d)"
        return jnp.vectorize(block_diag, signature=signature)(*blocks)

    def fisher_product(self, columns: Float[Numeric, "... d k"], observed: Any = None) -> Float[Array, "... d k"]:
        pieces = jnp.split(jnp.asarray(columns), np.cumsum([part.size for part in self.parts])[:-1], axis=-2)
        seen = [None] * len(pieces) if observed is None else self.split(observed)
        each = zip(self.parts, pieces, seen, strict=True)
        return jnp.concatenate([part.fisher_product(piece, there) for part, piece, there in each], axis=-2)

    def _batches(self, batch: Batch) -> list[Batch]:
        """Cut the columns of a batch into those of the parts."""
        values = self.split(batch.values)
        observed = [None] * len(values) if batch.observed is None else self.split(batch.observed)
        return [batch.columns(v, o) for v, o in zip(values, observed, strict=True)]

    def log_likelihood(self, batch: Batch) -> Float[Array, "rows *batch"]:
        """Log density of each row, or of what is observed of it, under each member."""
        return _total(part.log_likelihood(piece) for part, piece in zip(self.parts, self._batches(batch), strict=True))

    def expected_statistics(self, batch: Batch, carry: None = None) -> tuple[ProductStatistics, None]:
        """Return the statistics of each part, of its columns."""
        both = zip(self.parts, self._batches(batch), strict=True)
        parts = tuple(part.expected_statistics(piece)[0] for part, piece in both)
        total = _total(part.log_likelihood for part in parts)
        return ProductStatistics(parts[0].mass, total, parts), carry

    def leave_one_out(self, batch: Batch, carry: None = None) -> Float[Array, "rows *batch n"]:
        """Return the log-likelihoods of the other parts and of what is left of its own, for each column."""
        both = list(zip(self.parts, self._batches(batch), strict=True))
        whole = sum_of_others(jnp.stack([part.log_likelihood(b) for part, b in both], axis=-1), None)
        left = [whole[..., place, None] + part.leave_one_out(b) for place, (part, b) in enumerate(both)]
        return jnp.concatenate(left, axis=-1)

    def impute(self, batch: Batch, key: Array) -> Float[Array, "rows *batch n"]:
        """Draw the missing entries of each row, part by part, for each member."""
        keys = jax.random.split(key, len(self.parts))
        drawn = [part.impute(b, k) for part, b, k in zip(self.parts, self._batches(batch), keys, strict=True)]
        return self._side_by_side(drawn)

    def conditional_embedding(self, batch: Batch) -> tuple[Any, ...]:
        """Return the embedding that each part expects of its columns."""
        return tuple(part.conditional_embedding(b) for part, b in zip(self.parts, self._batches(batch), strict=True))

    def from_embedding(self, embedding: Any) -> Float[Array, "rows ..."]:
        return self._side_by_side([part.from_embedding(e) for part, e in zip(self.parts, embedding, strict=True)])

    def conditional_mode(self, batch: Batch) -> Float[Array, "rows *batch n"]:
        """Return the missing entries at the mode of their part, given the others of it."""
        both = zip(self.parts, self._batches(batch), strict=True)
        return self._side_by_side([part.conditional_mode(b) for part, b in both])

    def _expected_statistics(self, mass: Float[Array, "*batch"]) -> ProductStatistics:
        parts = tuple(part._expected_statistics(mass) for part in self.parts)
        return ProductStatistics(mass, jnp.zeros_like(mass), parts)

    def _from_statistics(self, statistics: ProductStatistics) -> Self:
        both = zip(self.parts, statistics.parts, strict=True)
        return eqx.tree_at(lambda p: p.parts, self, tuple(part.maximize(s) for part, s in both))

    def cross_entropy(self, statistics: ProductStatistics) -> Float[Array, "*batch"]:
        both = zip(self.parts, statistics.parts, strict=True)
        return _total(part.cross_entropy(s) for part, s in both)


def _total(terms: Iterable[Array]) -> Array:
    return functools.reduce(jnp.add, terms)


def _columns(part: ExponentialFamily) -> int:
    return int(np.prod(part.event_shape))
