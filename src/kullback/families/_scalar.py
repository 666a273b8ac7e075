"""Families of single numbers."""

import dataclasses
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Num
from numpy.typing import NDArray

from kullback.core import Batch
from kullback.families._component import Component
from kullback.families._fit import check_no_structure
from kullback.families._independent import Independent
from kullback.families._marginal import TAIL, Marginal
from kullback.families._unsplittable import UnsplittableFamily
from kullback.numerics import Numeric, bounded_log_scale
from kullback.runtime import computing, in_float64, jit

#: Draws that say where a law lies of which nothing else is known.
_DRAWS = 4096


class ScalarFamily(UnsplittableFamily):
    """A family of single numbers. Tables of them are `Independent`, a column for each.

    Parameters are taken to be positive numbers, the source coordinates in the order of the fields, their logarithms
    the free coordinates, and T(x) = x; a family with others overrides what follows from it.
    """

    #: Whether clusters are looked for in log(1 + x), where sizes may differ by orders of magnitude.
    log_view: ClassVar[bool] = False
    #: A format for the parameters of a member, as in `Marginal`; None names them like the fields.
    words: ClassVar[str | None] = None

    @classmethod
    def standard(cls, shape: tuple[int, ...], categories: int = 0) -> Self:
        """Return the plainest member, in a batch of this shape: learning begins with it. All its parameters are 1."""
        return cls.from_source(np.ones((*shape, cls.fixed_size or 1)))

    @classmethod
    def cluster_view(cls, column: NDArray[Any], categories: int = 0) -> NDArray[Any]:
        return (np.log1p(column) if cls.log_view else column)[:, None]

    @property
    def interior(self) -> Bool[Array, "*batch"]:
        return jnp.all((self.source > 0) & jnp.isfinite(self.source), axis=-1)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return np.shape(jax.tree.leaves(self)[0])

    @property
    def event_shape(self) -> tuple[int, ...]:
        return ()

    @property
    def size(self) -> int:
        assert self.fixed_size is not None
        return self.fixed_size

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        return jnp.asarray(x, dtype=jnp.asarray(jax.tree.leaves(self)[0]).dtype)[..., None]

    @property
    def source(self) -> Float[Array, "*batch d"]:
        return jnp.stack([jnp.asarray(leaf) for leaf in jax.tree.leaves(self)], axis=-1)

    @classmethod
    def _from_source(cls, source: Numeric) -> Self:
        return cls(*(source[..., place] for place in range(source.shape[-1])))

    @property
    def free(self) -> Float[Array, "*batch d"]:
        return jnp.log(self.source)

    @classmethod
    def _from_free(cls, free: Numeric) -> Self:
        return cls._from_source(jnp.exp(bounded_log_scale(free)))

    @classmethod
    def _density_natural(cls, natural: Array, x: Array) -> Float[Array, "..."]:
        return cls._from_natural(natural).log_prob(x)

    @classmethod
    def _density_free(cls, free: Array, x: Array) -> Float[Array, "..."]:
        return cls._from_free(free).log_prob(x)

    @classmethod
    def column_name(cls) -> str:
        return cls.family_name()

    @classmethod
    def plain(cls, members: int, columns: int, categories: int = 0, trials: int = 0) -> Component:
        return Independent(cls.standard((members, columns), categories))

    #: A point is a number.
    _point_axes: ClassVar[int] = 0

    @classmethod
    def _nearest(cls, values: Numeric, weight: Numeric | None, *args: Any, **structure: Any) -> Self:
        start = cls._start(values, **structure)

        def one(column: Float[Array, " points"]) -> Any:
            return start.maximize(start.expected_statistics(Batch(column, weight))[0])

        columns = jnp.asarray(values).reshape(values.shape[0], -1).T
        members = jax.vmap(one)(columns)
        return jax.tree.map(lambda leaf: leaf.reshape(*values.shape[1:], *leaf.shape[1:]), members)

    @classmethod
    def _start(cls, values: Numeric, *args: Any, **structure: Any) -> Any:
        check_no_structure(cls, structure)
        return cls.standard(())

    def law(self) -> Any:
        """Return the same law as a frozen one of scipy; None where scipy has none, and pictures follow `log_prob`."""
        return None

    def marginals(self, totals: NDArray[Any] | None = None) -> list[Marginal]:
        return [jax.tree.map(lambda leaf: np.asarray(leaf)[:, None], self).marginal()]

    def marginal(self) -> Marginal:
        """Return the column of a batch of shape (K, 1), through `log_prob` where there is no `law`."""
        names = [field.name for field in dataclasses.fields(self) if not field.metadata.get("static", False)]
        parameters = dict(zip(names, map(np.ravel, jax.tree.leaves(self)), strict=True))
        words = self.words or ", ".join(f"{name} {{{name}}}" for name in names)
        law = self.law()
        if law is not None:
            return Marginal.of_law(law, words, parameters, self.support.discrete)
        with computing():
            drawn = np.asarray(self.sample(jax.random.key(0), (_DRAWS,)))
        span = float(np.quantile(drawn, TAIL, axis=0).min()), float(np.quantile(drawn, 1 - TAIL, axis=0).max())
        return Marginal(self._density, words, parameters, span, self.support.discrete)

    @in_float64
    def _density(self, x: NDArray[Any]) -> NDArray[Any]:
        padded = np.zeros(1 << max(len(x) - 1, 0).bit_length())  # few sizes, so that little is compiled
        padded[: len(x)] = x
        return np.asarray(_densities(self, padded))[:, : len(x)]


def keep_nan(x: Num[Array, "..."], value: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return a value, or NaN where x is none."""
    return jnp.where(jnp.isnan(x), jnp.nan, value)


@jit
def _densities(members: Any, x: Float[Numeric, " points"]) -> Float[Array, "members points"]:
    return jnp.exp(members.log_prob(x))
