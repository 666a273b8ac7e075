"""The Beta on the unit interval: the Dirichlet of two categories, seen through its first coordinate."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlog1py, xlogy
from jaxtyping import Array, Float

from kullback.core import MeanStatistics
from kullback.families._component import Support
from kullback.families._dirichlet import Dirichlet
from kullback.families._family import NaturalSource
from kullback.families._marginal import scipy_law
from kullback.families._modes import dirichlet_mode
from kullback.families._scalar import ScalarFamily
from kullback.numerics import Numeric, as_parameter, check_positive, share_batch


class Beta(NaturalSource, ScalarFamily):
    """p(x) ∝ x^(α−1) (1−x)^(β−1) for x in (0, 1).

    The base measure is 1/x(1−x). Coordinates:

    - source and natural: α, β
    - statistics T: log x, log(1−x)
    - expectation: digamma(α) − digamma(α+β), digamma(β) − digamma(α+β)

    >>> round(float(Beta(alpha=2.0, beta=2.0).log_prob(0.5)), 4)  # log 1.5
    0.4055
    """

    fixed_size = 2
    support = Support(lambda x: (x > 0) & (x < 1), "between 0 and 1")
    words = "α {alpha}, β {beta}"

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
        return self.alpha / (self.alpha + self.beta)

    @property
    def mode(self) -> Any:
        both = jnp.stack([jnp.asarray(self.alpha), jnp.asarray(self.beta)], axis=-1)
        return jnp.minimum(dirichlet_mode(both)[..., 0], 1 - float(np.finfo(both.dtype).epsneg))

    @property
    def column_variances(self) -> Any:
        mean = self.column_means
        return mean * (1 - mean) / (np.asarray(self.alpha) + np.asarray(self.beta) + 1)

    def law(self) -> Any:
        return scipy_law("beta", self.alpha, self.beta)

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        inside = (x >= 0) & (x <= 1)
        safe = jnp.where(inside, x, 0.5)
        value = xlogy(jnp.subtract(self.alpha, 1), safe) + xlog1py(jnp.subtract(self.beta, 1), -safe)
        return jnp.where(inside, value - self.log_partition, -jnp.inf)

    def sample(self, key: Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        alpha = jnp.asarray(self.alpha)
        return jax.random.beta(key, alpha, self.beta, shape + self.batch_shape, alpha.dtype)

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        return jnp.stack([jnp.log(jnp.asarray(x)), jnp.log1p(-jnp.asarray(x))], axis=-1)

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        return self._dirichlet.expectation

    @classmethod
    def _from_expectation(cls, expectation: Numeric) -> Self:
        return cls._from_source(Dirichlet._from_expectation(expectation).concentration)

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
