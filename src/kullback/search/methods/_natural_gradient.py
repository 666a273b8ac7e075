"""The plain stochastic natural gradient, in natural and in expectation coordinates."""

from typing import Any, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp

from kullback.search._search import check_population
from kullback.search.methods._method import check_start
from kullback.search.methods._natural_steps import Pairs, check_pairs, expectation_step, natural_step, sparse_step
from kullback.search.methods._ranking import center_values, effective_number, places, positive_weights
from kullback.search.methods._root_method import Covariance, RootMethod, RootState, whiten


class NaturalGradient(RootMethod):
    """Stochastic relaxation as it stands in the theory: steps along −∇̃E_p[u], u the utility of a point.

    T = (xᵢ), (xᵢ²), (2xᵢxⱼ) are the statistics of the Gaussian p, and all covariances those of the sample:

    - `coordinates="natural"`: θ ← θ − rate·∇_η E[u] with ∇_η E[u] = Cov(T, T)⁻¹Cov(u, T), the slope of the
      least-squares fit of u by T. If u is in the span of T the slope has no error. With fewer points than slopes the
      Fisher matrix of p takes the place of Cov(T, T).
    - `coordinates="expectation"`: η ← η − rate·Cov(u, T): statistics are averaged with the weights of the points, as in
      the cross-entropy method and in CMA-ES.

    A step that is too long is shortened: in natural coordinates until no variance in any direction is divided or
    multiplied by more than 2 and the mean moves by at most √n + 3 standard deviations, in expectation coordinates until
    no variance is more than halved. So the precision stays positive definite.

    - `interactions`: pairs of coordinates, such as [(0, 1), (1, 2)]; all others have no interaction, a zero in the
      precision matrix (a Gaussian Markov random field). It takes fewer points to learn fewer slopes. In natural
      coordinates only: there, and only there, the zeros are a plane.
    - `utility`: "order" (the default) or "values". With the values of f themselves, and f in the span of T, the
      precision grows by a constant at each step, and the mean goes to the minimum.
    - `rate`: m_e/(d + m_e) unless given, for d statistics and an effective number m_e of better points.
    - `population`: twice the number of statistics, and 20 at least, unless given.

    Malagò, Matteucci, Pistone, Towards the geometry of estimation of distribution algorithms based on the exponential
    family (2011); Ollivier, Arnold, Auger, Hansen, Information-geometric optimization algorithms (2017).

    >>> import jax
    >>> search = NaturalGradient(mean=[3.0, -2.0, 1.0], interactions=[(0, 1)], utility="values", rate=0.1)
    >>> points, state = search.ask(search.init(jax.random.key(0)))
    >>> state = search.tell(state, points, (points**2).sum(axis=1))  # f in the span of T: no error
    >>> [round(float(p), 3) for p in 1 / search.distribution(state).covariance.diagonal()]  # 1/0.3² + 2·rate
    [11.311, 11.311, 11.311]
    """

    covariance: ClassVar[Covariance] = "full"  # type: ignore[misc]  # the same for all of them
    coordinates: Literal["natural", "expectation"] = eqx.field(static=True)
    interactions: Pairs | None = eqx.field(static=True)
    utility: Literal["order", "values"] = eqx.field(static=True)
    rate: float | None = eqx.field(static=True)

    def __init__(
        self,
        mean: Any,
        scale: Any = 0.3,
        population: int | None = None,
        coordinates: Literal["natural", "expectation"] = "natural",
        interactions: Any = None,
        utility: Literal["order", "values"] = "order",
        rate: float | None = None,
    ):
        self.mean, self.scale = check_start(mean, scale)
        if coordinates not in ("natural", "expectation"):
            raise ValueError(f"coordinates is {coordinates!r}: it must be 'natural' or 'expectation'.")
        if utility not in ("order", "values"):
            raise ValueError(f"utility is {utility!r}: it must be 'order' or 'values'.")
        if rate is not None and not rate > 0:
            raise ValueError(f"rate is {rate}: it must be positive.")
        if interactions is not None and coordinates == "expectation":
            raise ValueError(
                "interactions are given: they need natural coordinates, where those that are left out are 0."
            )
        self.interactions = None if interactions is None else check_pairs(interactions, self.mean.size)
        self.coordinates, self.utility, self.rate = coordinates, utility, rate
        self.population = check_population(population, max(20, 2 * self.size + 2))

    @property
    def size(self) -> int:
        """The number of statistics."""
        n = self.dimension
        return 2 * n + (n * (n - 1) // 2 if self.interactions is None else len(self.interactions))

    def tell(self, state: RootState, points: Any, values: Any) -> RootState:
        """Take a step along the natural gradient."""
        z, values = whiten(state, points, values)
        weights = positive_weights(len(z))
        if self.utility == "order":
            utilities = 1 - len(z) * jnp.asarray(weights, z.dtype)[places(values)]
        else:
            utilities = center_values(values)
        effective = effective_number(weights)
        rate = effective / (self.size + effective) if self.rate is None else self.rate
        if self.interactions is not None:
            return sparse_step(state, z, utilities, rate, self.interactions)
        step = natural_step if self.coordinates == "natural" else expectation_step
        return step(state, z, utilities, rate)
