"""Data as the models see it: a batch of points, and its extent without the values."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num

from kullback.core._extent import Extent, TimeIndex, as_float, as_inputs
from kullback.core._replace import copy_with, replace
from kullback.numerics import Numeric

Merged = TypeVar("Merged")

#: Numbers that are worked on at once. Statistics of blocks merge, so a long batch needs the memory of a short one.
_AT_ONCE = 2**20
#: Numbers of a block that quick kernels go through again and again.
_IN_CACHE = 2**15


class Standardization(eqx.Module):
    """Where the data lies: its center and the scale of each column.

    Seen from there, products of coordinates keep their digits and Gaussians may use their quick kernel. A batch has one
    only where that holds (`quick_kernel_is_accurate`); it changes speed, never the meaning.
    """

    center: Float[Numeric, " n"]
    scale: Float[Numeric, " n"]


class DistinctRows(eqx.Module):
    """The few different rows of a batch, and which of them each row is.

    What a row by itself says is then worked out once for each of these. It changes speed, never the meaning: models may
    use it or look at all rows.
    """

    values: Num[Numeric, "distinct ..."]
    observed: Bool[Numeric, "distinct ..."] | None
    place: Int[Numeric, " rows"]


class Batch(eqx.Module):
    """Points with weights. A padded row is a row of weight 0: its values are never looked at.

    `weight` has one entry for each row, or one for each row and each member of a batched model (the responsibilities of
    a mixture). `point_variance` is the variance of a data point itself: N(v, variance·I) in place of the Dirac at v. It
    enters the statistics of Gaussian families and nothing else. `observed` says which entries are there; what is
    missing is marginalized, exactly. It is None when nothing is missing: another tree of arrays, hence another compiled
    function, hence no cost. `time` says how rows follow each other in time, for models that have one; it is None for
    independent points. `distinct` has the different rows, where they are known to be few. `most_missing` is how many
    entries a row lacks at most, where that is known: Gaussians are quicker for it. `inputs` has what is known of each
    row from outside, for models of p(v | inputs); a model that takes none does not look at them.
    """

    values: Num[Numeric, "rows ..."]
    weight: Float[Numeric, "rows *batch"]
    point_variance: Float[Numeric, ""]
    observed: Bool[Numeric, "rows ..."] | None
    standardization: Standardization | None
    time: TimeIndex | None
    distinct: DistinctRows | None
    inputs: Float[Numeric, "rows k"] | None
    most_missing: int | None = eqx.field(static=True)

    def __init__(
        self,
        values: Any,
        weight: Any = None,
        point_variance: Any = 0.0,
        observed: Any = None,
        standardization: Standardization | None = None,
        time: TimeIndex | None = None,
        distinct: DistinctRows | None = None,
        most_missing: int | None = None,
        inputs: Any = None,
    ):
        # NumPy arrays stay NumPy: a batch made outside of `computing()` loses nothing when it is used inside
        values = values if isinstance(values, (np.ndarray, jax.Array)) else jnp.asarray(values)
        xp: Any = np if isinstance(values, np.ndarray) and not isinstance(weight, jax.Array) else jnp
        dtype = values.dtype if np.issubdtype(values.dtype, np.floating) else as_float(0).dtype
        self.point_variance = (
            xp.asarray(point_variance, dtype)
            if isinstance(point_variance, float)
            else jnp.asarray(point_variance, dtype)
        )
        self.observed = None if observed is None else xp.asarray(observed, bool)
        self.standardization = standardization
        self.time = time
        self.distinct = distinct
        self.most_missing = most_missing
        self.inputs = None if inputs is None else _check_inputs(inputs, values.shape[0], distinct)
        if self.observed is not None:
            values = xp.where(self.observed, values, 0)
        if weight is None:
            self.values, self.weight = values, xp.ones(values.shape[:1], dtype)
            return
        self.weight = xp.asarray(weight, dtype)
        seen = xp.any(self.weight > 0, axis=tuple(range(1, self.weight.ndim)))
        if xp is np and seen.all():
            self.values = values
            return
        self.values = _fill_padding(values, seen, xp)
        self.inputs = None if self.inputs is None else _fill_padding(self.inputs, seen, xp)

    @property
    def extent(self) -> Extent:
        """The total weight of what counts, how it follows in time, and its inputs."""
        if self.time is None and self.inputs is None:
            return Extent(jnp.sum(self.weight, axis=0))
        return Extent(jnp.sum(self.counted, axis=0), self.time, self.weight, None, self.inputs)

    @property
    def counted(self) -> Float[Array, "rows *batch"]:
        """The weight of each row; rows that are only looked at ahead of their time have none yet."""
        weight = jnp.asarray(self.weight)
        return weight if self.time is None else jnp.where(self.time.lookahead, 0, weight)

    def weighted(self, weight: Float[Numeric, "rows *batch"]) -> "Batch":
        """Return the same points under other weights."""
        return replace(self, weight=jnp.asarray(weight))

    def scaled(self, standardization: Standardization | None) -> "Batch":
        """Return the same points with the permission to use the quick kernel."""
        return copy_with(self, standardization=standardization)

    def filled(self, values: Num[Numeric, "rows ..."]) -> "Batch":
        """Return the same rows with nothing missing: these are their values."""
        values = jnp.asarray(values)
        return copy_with(self, values=values, observed=None, standardization=None, distinct=None, most_missing=None)

    def without_column(self, column: Any) -> "Batch":
        """Return the same rows without their entries in one column."""
        everywhere = jnp.ones(self.values.shape, bool) if self.observed is None else jnp.asarray(self.observed)
        known = self.observed is None or self.most_missing is not None
        there = everywhere & (jnp.arange(self.values.shape[-1]) != column)
        return copy_with(
            self,
            observed=there,
            values=jnp.where(there, self.values, 0),
            most_missing=1 + (self.most_missing or 0) if known else None,
            standardization=None,
            distinct=None,
        )

    def columns(self, values: Num[Numeric, "rows ..."], observed: Any) -> "Batch":
        """Return other columns of the same rows."""
        return replace(
            self, values=jnp.asarray(values), observed=observed, standardization=None, time=None, distinct=None
        )

    def rows(self, start: Any, count: int) -> "Batch":
        """Return `count` rows from `start` on."""
        parts = {"values": self.values, "weight": self.weight, "observed": self.observed, "inputs": self.inputs}
        cut = functools.partial(jax.lax.dynamic_slice_in_dim, start_index=start, slice_size=count)
        found = {name: cut(jnp.asarray(part)) for name, part in parts.items() if part is not None}
        return replace(self, distinct=None, **found)

    def distinct_rows(self, weight: Float[Numeric, "distinct *batch"] | None = None) -> "Batch":
        """Return the different rows as points of their own, of weight 1 each or of these weights."""
        assert self.distinct is not None
        assert self.inputs is None
        values = self.distinct.values
        weight = jnp.ones(values.shape[0], jnp.asarray(self.weight).dtype) if weight is None else weight
        return replace(self, values=values, weight=weight, observed=self.distinct.observed, time=None, distinct=None)


def _fill_padding(part: Any, seen: Any, xp: Any) -> Any:
    """Give padded rows what a row that counts has, so that nothing they held reaches a sum or a gradient."""
    xp = jnp if isinstance(part, jax.Array) or isinstance(seen, jax.Array) else xp
    part = xp.asarray(part)
    row = part[xp.argmax(seen)] if len(part) else part
    return xp.where(seen.reshape(-1, *(1,) * (part.ndim - 1)), part, row)


def _check_inputs(inputs: Any, rows: int, distinct: DistinctRows | None) -> Float[Numeric, "rows k"]:
    table = as_inputs(inputs)
    if table.ndim != 2 or table.shape[0] != rows:
        raise ValueError(f"inputs have shape {table.shape}: they must be a table of {rows} rows, one for each point.")
    if distinct is not None:
        raise ValueError("distinct is given with inputs: rows of the same values differ by them, so leave it out.")
    return table


def missing_bound(observed: Bool[np.ndarray, "rows ..."]) -> int:
    """Return a number of entries that no row lacks more of: one of few, so that few functions are compiled."""
    most = int(np.max(np.sum(~observed, axis=tuple(range(1, observed.ndim))), initial=0))
    return next(bound for bound in _BOUNDS if bound >= most)


#: 4, 8, 12, 16, 24, 32, 48, …
_BOUNDS = (4, *(part << power for power in range(40) for part in (8, 12)))


def block_rows(batch: Batch) -> int:
    """Return how many rows to work on at once: fewer where each of them becomes many features or a matrix."""
    n = int(np.prod(batch.values.shape[1:]))
    if batch.observed is not None:
        rows = _AT_ONCE // (8 * n * n)  # small blocks stay in the cache, and little of the last one is padding
    elif batch.standardization is not None:
        rows = max(_IN_CACHE // n, 256)
    else:
        rows = 2048
    return 1 << (min(max(rows, 64), 4096).bit_length() - 1)


def by_blocks(statistics: Callable[[Batch], Merged], batch: Batch) -> Merged:
    """Merge the statistics of blocks of rows: those of the whole, with the memory of one block.

    Blocks after the last row that has a weight are skipped, so padding costs nothing.
    """
    total, block = batch.values.shape[0], block_rows(batch)
    if total <= block:
        return statistics(batch)
    weight = jnp.asarray(batch.weight)
    place = jnp.arange(total)
    last = jnp.max(jnp.where(jnp.any(weight > 0, axis=tuple(range(1, weight.ndim))), place, -1)) + 1

    def one(index: Array, merged: Any) -> Any:
        # the last block begins early enough to be full; what was counted before has no weight in it
        start = jnp.minimum(index * block, total - block)
        part = batch.rows(start, block)
        fresh = (start + jnp.arange(block) >= index * block).reshape(block, *(1,) * (weight.ndim - 1))
        return merged.merge(statistics(part.weighted(jnp.where(fresh, part.weight, 0))))

    shapes = jax.eval_shape(lambda b: statistics(b.rows(0, block)), batch)
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    result: Merged = jax.lax.fori_loop(0, (last + block - 1) // block, one, nothing)
    return result


def map_rows(function: Callable[..., Any], batch: Batch, *beside: Array) -> Any:
    """Apply a function to all rows, block by block, with the memory of one block besides what it returns.

    It is given a block, its number, and the rows of arrays beside; it returns arrays whose first axis is the rows.
    """
    total, block = batch.values.shape[0], block_rows(batch)
    if total <= block:
        return function(batch, jnp.asarray(0), *beside)

    def block_of(index: Any) -> tuple[Any, Any]:
        # the last block begins early enough to be full
        start = jnp.minimum(index * block, total - block)
        cut = (jax.lax.dynamic_slice_in_dim(part, start, block) for part in beside)
        return start, function(batch.rows(start, block), index, *cut)

    def one(index: Array, found: Any) -> Any:
        start, rows = block_of(index)
        return jax.tree.map(lambda whole, part: jax.lax.dynamic_update_slice_in_dim(whole, part, start, 0), found, rows)

    shapes = jax.eval_shape(lambda: block_of(0)[1])
    nothing = jax.tree.map(lambda leaf: jnp.zeros((total, *leaf.shape[1:]), leaf.dtype), shapes)
    return jax.lax.fori_loop(0, -(-total // block), one, nothing)


def keep_observed(batch: Batch, found: Num[Array, "rows ..."]) -> Num[Array, "rows ..."]:
    """Return what was found for rows, for each member of a batched model, with the entries that are observed."""
    values = jnp.asarray(batch.values)
    rows, *event = values.shape
    shape = (rows, *(1,) * (found.ndim - values.ndim), *event)
    seen = jnp.ones((), bool) if batch.observed is None else jnp.reshape(batch.observed, shape)
    return jnp.where(seen, values.reshape(shape), found)


def keep_rows(batch: Batch, found: Num[Array, "rows ..."]) -> Num[Array, "rows ..."]:
    """Return what was found for rows, for each member, with the rows that are observed as a whole."""
    if batch.observed is None:
        return keep_observed(batch, found)
    observed = jnp.asarray(batch.observed)
    whole = jnp.all(observed, axis=tuple(range(1, observed.ndim)))
    seen = jnp.broadcast_to(whole.reshape(-1, *(1,) * (observed.ndim - 1)), observed.shape)
    return keep_observed(replace(batch, observed=seen), found)


def row_weight(batch: Batch, batch_shape: tuple[int, ...]) -> Float[Array, "rows ..."]:
    """Weights with one axis for the rows and one for each of the model's batch axes."""
    weight = jnp.asarray(batch.weight)
    weight = weight.reshape(weight.shape + (1,) * (1 + len(batch_shape) - weight.ndim))
    return jnp.broadcast_to(weight, weight.shape[:1] + batch_shape)


def weighted_total(weight: Float[Array, "rows *batch"], row: Float[Array, "rows *batch"]) -> Float[Array, "*batch"]:
    """Add up what each row says, by its weight. A row without weight may be impossible."""
    return jnp.sum(jnp.where(weight > 0, weight * row, 0), axis=0)
