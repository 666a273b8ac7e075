"""The Beta on the unit interval: the Dirichlet of two categories, seen through its first coordinate."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlog1py, xlogy
from jaxtyping import Array, Float

from kullback.core import Key, MeanStatistics, Shape, as_key, as_shape
from kullback.families._component import Support
from kullback.families._dirichlet import Dirichlet, concentrated, log_density, step_toward
from kullback.families._family import NaturalSource
from kullback.families._marginal import scipy_law
from kullback.families._scalar import ScalarFamily, keep_nan
from kullback.numerics import Numeric, as_parameter, bounded_log_scale, check_positive, lower_beta, share_batch


class Beta(NaturalSource, ScalarFamily):
    """p(x) ∝ x^(α−1) (1−x)^(β−1) for x in (0, 1).

    The base measure is 1/x(1−x). Coordinates:

    - source and natural: α, β
    - statistics T: log x, log(1−x)
    - expectation: digamma(α) − digamma(α+β), digamma(β) − digamma(α+β)
    - free: log α, log β

    >>> round(float(Beta(alpha=2.0, beta=2.0).log_prob(0.5)), 4)  # log 1.5
    0.4055
    """

    fixed_size = 2
    support = Support(lambda x: (x > 0) & (x < 1), "between 0 and 1")
    words = "α {alpha}, β {beta}"
    stand_in = 0.5

    alpha: Float[Numeric, "*batch"]
    beta: Float[Numeric, "*batch"]

    def __init__(self, alpha: Any, beta: Any):
        alpha, beta = as_parameter(alpha), as_parameter(beta)
        check_positive("alpha", alpha)
        check_positive("beta", beta)
        self.alpha, self.beta = share_batch(("alpha", alpha), ("beta", beta))

    @property
    def _dirichlet(self) -> Dirichlet:
        return Dirichlet(self.source)

    @property
    def column_means(self) -> Any:
        return self.mean

    @property
    def column_variances(self) -> Any:
        return self.variance

    @property
    def mean(self) -> Float[Array, "*batch"]:
        """The mean α/(α+β)."""
        return self._dirichlet.mean[..., 0]

    @property
    def variance(self) -> Float[Array, "*batch"]:
        """The variance αβ/(α+β)²(α+β+1)."""
        return self._dirichlet.variance[..., 0]

    @property
    def mode(self) -> Float[Array, "*batch"]:
        """(α−1)/(α+β−2), and next to an end of the interval where α or β is 1 or less, by the rule of the Dirichlet."""
        both = self._dirichlet.mode
        return jnp.minimum(both[..., 0], 1 - float(np.finfo(both.dtype).epsneg))

    def cdf(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        inside = jnp.where(jnp.isnan(x), 0, jnp.clip(x, 0, 1))
        return keep_nan(x, lower_beta(self.alpha, self.beta, inside))

    def _refusal(self) -> str | None:
        return concentrated(self.source, "")

    def law(self) -> Any:
        return scipy_law("beta", self.alpha, self.beta)

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        inside = (x >= 0) & (x <= 1)
        safe = jnp.where(inside, x, 0.5)
        value = xlogy(jnp.subtract(self.alpha, 1), safe) + xlog1py(jnp.subtract(self.beta, 1), -safe)
        return jnp.where(inside, value - self.log_partition, -jnp.inf)

    def sample(self, key: Key, shape: Shape = ()) -> Float[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
        alpha = jnp.asarray(self.alpha)
        return jax.random.beta(key, alpha, self.beta, shape + self.batch_shape, alpha.dtype)

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        return _log_both(jnp.asarray(x))

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        return self._dirichlet.expectation

    @classmethod
    def _from_expectation(cls, expectation: Numeric) -> Self:
        return cls._from_source(Dirichlet._from_expectation(expectation).concentration)

    @property
    def free(self) -> Float[Array, "*batch d"]:
        return self._dirichlet.free

    @classmethod
    def _from_free(cls, free: Numeric) -> Self:
        return cls._from_source(Dirichlet._from_free(free).concentration)

    @classmethod
    def _density_natural(cls, natural: Array, x: Array) -> Float[Array, "..."]:
        return cls._density_free(jnp.log(natural), x)

    @classmethod
    def _density_free(cls, free: Array, x: Array) -> Float[Array, "..."]:
        inside = (x > 0) & (x < 1)
        value = log_density(bounded_log_scale(free), _log_both(jnp.where(inside, x, 0.5)))
        return jnp.where(inside, value, -jnp.inf)

    def _fisher_free(self) -> Float[Array, "*batch d d"]:
        return self._dirichlet.fisher("free")

    def toward(self, y: Any) -> Float[Array, "... d"]:
        return step_toward(self.source, _log_both(jnp.asarray(y)))

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        return self._dirichlet.log_partition

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        return self._dirichlet.entropy

    def relative_entropy(self, other: Self) -> Float[Array, "*batch"]:
        return self._dirichlet.relative_entropy(other._dirichlet)

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        return self._dirichlet.fisher("natural")

    def _fisher_expectation(self) -> Float[Array, "*batch d d"]:
        return self._dirichlet.fisher("expectation")

    def _from_statistics(self, statistics: MeanStatistics) -> Self:
        alpha = self._dirichlet._from_statistics(statistics).concentration
        return eqx.tree_at(lambda b: (b.alpha, b.beta), self, (alpha[..., 0], alpha[..., 1]))

    def cross_entropy(self, statistics: MeanStatistics) -> Float[Array, "*batch"]:
        return self._dirichlet.cross_entropy(statistics)


def _log_both(x: Float[Array, "..."]) -> Float[Array, "... 2"]:
    return jnp.stack([jnp.log(x), jnp.log1p(-x)], axis=-1)
