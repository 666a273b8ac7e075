"""What Gaussians of every structure have in common."""

import abc
from typing import Any, Self

import equinox as eqx
import jax
from jaxtyping import Array, Float
from numpy.typing import NDArray

from kullback.core import CenteredStatistics
from kullback.families._family import ExponentialFamily
from kullback.families._marginal import Marginal, normal_marginals
from kullback.numerics import Numeric


class GaussianFamily(ExponentialFamily):
    """Gaussians on Rⁿ: a mean, and one more parameter for how far points spread around it."""

    euclidean = True

    mean: eqx.AbstractVar[Float[Numeric, "*batch n"]]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.mean.shape[:-1]

    @property
    def event_shape(self) -> tuple[int, ...]:
        return self.mean.shape[-1:]

    @property
    def column_means(self) -> Any:
        return self.mean

    @property
    @abc.abstractmethod
    def column_variances(self) -> Float[Array, "*batch n"]:
        """The variance of each column, or one for all of them."""

    def marginals(self, totals: NDArray[Any] | None = None) -> list[Marginal]:
        return normal_marginals(self.mean, self.column_variances)

    def _from_statistics(self, statistics: CenteredStatistics) -> Self:
        return eqx.tree_at(jax.tree.leaves, self, [statistics.mean, statistics.spread])
