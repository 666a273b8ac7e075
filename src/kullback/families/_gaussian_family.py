"""What Gaussians of every structure have in common."""

import abc
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float
from numpy.typing import NDArray

from kullback.core import Batch, CenteredStatistics, keep_observed
from kullback.families._family import ExponentialFamily
from kullback.families._marginal import Marginal, normal_marginals
from kullback.families._unsplittable import draw_missing
from kullback.numerics import Numeric, check_ndim


class GaussianFamily(ExponentialFamily):
    """Gaussians on Rⁿ: a mean, and one more parameter for how far points spread around it."""

    euclidean = True
    #: A vector's own spread, of the shape of the second parameter; a function of a module, so that statistics pickle.
    square: ClassVar[Any]

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

    @property
    def mode(self) -> Float[Array, "*batch n"]:
        """The mean."""
        return jnp.asarray(self.mean)

    def cdf(self, x: Any) -> Float[Array, "..."]:
        """Return P(X ≤ x) of Gaussians on the line."""
        if self.event_shape != (1,):
            raise TypeError(f"The points have {self.event_shape[0]} coordinates: a distribution function needs one.")
        x = jnp.asarray(x)
        check_ndim("x", x, 1, "at least one axis, the last for the coordinate of a point")
        return ndtr((x - self.mean)[..., 0] / jnp.sqrt(self.column_variances[..., 0]))

    def _refusal(self) -> str | None:
        return without_spread(self.mean, self.column_variances)

    def marginals(self, totals: NDArray[Any] | None = None) -> list[Marginal]:
        return normal_marginals(self.mean, self.column_variances)

    @property
    def has_quick_kernel(self) -> bool:
        """That there is a kernel for batches with a standardization."""
        return True

    def impute(self, batch: Batch, key: Array) -> Float[Array, "rows *batch n"]:
        """Draw the missing entries of each row, for each member; the others say nothing about them."""
        return draw_missing(self, batch, key)

    def conditional_embedding(self, batch: Batch) -> Float[Array, "rows *batch n"]:
        """Return the mean of each row, for each member, with the observed entries; these say nothing about others."""
        return keep_observed(batch, jnp.broadcast_to(self.mean, (batch.values.shape[0], *self.mean.shape)))

    def conditional_mode(self, batch: Batch) -> Float[Array, "rows *batch n"]:
        """Return the conditional mean: a Gaussian is the most probable there."""
        return self.conditional_mean(batch)

    def tempered(self, temperature: float) -> Self:
        """Return the Gaussians with T times the spread."""
        mean, spread = jax.tree.leaves(self)
        return eqx.tree_at(jax.tree.leaves, self, [mean, temperature * jnp.asarray(spread)])

    def _expected_statistics(self, mass: Float[Array, "*batch"]) -> CenteredStatistics:
        mean, spread = map(jnp.asarray, jax.tree.leaves(self))
        return CenteredStatistics(mass, jnp.zeros_like(mass), mean, spread, self.square)

    def _from_statistics(self, statistics: CenteredStatistics) -> Self:
        return eqx.tree_at(jax.tree.leaves, self, [statistics.mean, statistics.spread])


def without_spread(mean: Any, variances: Any) -> str | None:
    """Return why a fit with these variances is none: those of a column are not more than rounding."""
    mean = np.asarray(mean)
    flat = ~(np.broadcast_to(variances, mean.shape) > np.square(8 * np.finfo(mean.dtype).eps * mean))
    if not flat.any():
        return None
    return f"column {int(np.argwhere(flat)[0][-1])} has no spread, and its likelihood grows without bound."
