"""What every exponential family answers."""

import abc
import enum
import functools
import math
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Num

from kullback.core import Batch, Extent, Key, Shape, Statistics
from kullback.families._component import Component
from kullback.families._fit import check_no_structure, check_support, checked_fit, fit_points
from kullback.families._potential_excess import potential_excess
from kullback.numerics import Numeric, as_parameter, check_finite, check_ndim, counted, is_concrete, with_article
from kullback.runtime import in_given_precision

Coordinates: TypeAlias = Literal["source", "natural", "expectation", "free"]


class Role(enum.StrEnum):
    """What a free coordinate is."""

    #: In units of the points: a mean, or the coefficient of a regression.
    LINEAR = "linear"
    #: The logarithm of a standard deviation. The density at a point has no bound as it falls.
    LOG_SCALE = "log scale"
    #: The logarithm of the inverse of a relative variance. The density at a point has no bound as it grows.
    LOG_SHAPE = "log shape"
    #: Anything else.
    PLAIN = "plain"


class FreeGroup(NamedTuple):
    """Free coordinates that the Fisher matrix couples with no others.

    `growth` is how fast the curvature of log p may grow along them: by e^{|growth|·s} when they move by s. It is 0
    where log p is quadratic, as in means of Gaussians, and negative in the logarithm of a scale: the curvature grows as
    that falls, and the Fisher information stays what it is. `dispersion` says that they tell how far points spread, and
    not where they lie.
    """

    coordinates: tuple[int, ...]
    growth: float = 1.0
    dispersion: bool = False

    def shifted(self, by: int) -> "FreeGroup":
        """Return the group of coordinates that stand behind so many others."""
        return self._replace(coordinates=tuple(place + by for place in self.coordinates))


class Kind(NamedTuple):
    """Which family, how many coordinates, and what else is fixed for all its members."""

    family: type["ExponentialFamily"]
    size: int
    structure: tuple[tuple[str, Any], ...]

    def at(self, coordinates: Coordinates, vector: Any) -> "ExponentialFamily":
        """Return the member of this kind with these coordinates."""
        make: Any = getattr(self.family, f"from_{_known(coordinates)}")
        return make(vector, **dict(self.structure))

    def log_prob_at(
        self, coordinates: Literal["natural", "free"], vector: Any, x: Any, observed: Any = None
    ) -> Float[Numeric, "..."]:
        """Return the log density at x of the member with these coordinates.

        It is computed in them and never through source parameters, which lose digits near the boundary: it is finite
        with finite gradients wherever a network may lead. Outside the support it is −inf. What is not `observed` adds
        nothing to it, nor to its gradient.
        """
        if coordinates not in ("natural", "free"):
            raise ValueError(f"coordinates is {coordinates!r}: log_prob_at takes 'natural' or 'free'.")
        return _log_prob_at(vector, x, observed, self, coordinates)

    def fisher_at(self, coordinates: Coordinates, vector: Any) -> Float[Array, "... d d"]:
        """Return the Fisher matrix in these coordinates, of the member that has them."""
        return self.at(coordinates, vector).fisher(coordinates)

    def fisher_product_at(
        self, free: Any, columns: Float[Numeric, "... d k"], observed: Any = None
    ) -> Float[Array, "... d k"]:
        """Return the Fisher matrix of what is observed, at these free coordinates, times the columns of a matrix."""
        member: Any = self.at("free", free)
        return member.fisher_product(columns, observed)

    @property
    def roles(self) -> tuple[Role, ...]:
        """What each free coordinate is."""
        return self.family.free_roles(self.size, **dict(self.structure))

    @property
    def columns(self) -> int:
        """How many columns the points have."""
        return math.prod(_event_shape(self))

    @property
    def free_groups(self) -> tuple[FreeGroup, ...]:
        """The free coordinates, in groups that the Fisher matrix does not couple."""
        groups: tuple[FreeGroup, ...] = self.family._free_groups(self.size, **dict(self.structure))
        return groups

    def __str__(self) -> str:
        fixed = "".join(f", {name}={value}" for name, value in self.structure)
        return f"{self.family.__name__} with {counted(self.size, 'coordinate')}{fixed}"


@in_given_precision
def _log_prob_at(vector: Any, x: Any, observed: Any, kind: Kind, coordinates: str) -> Float[Array, "..."]:
    vector, x, event = jnp.asarray(as_parameter(vector)), jnp.asarray(x), _event_shape(kind)
    if vector.shape[-1:] != (kind.size,):
        raise ValueError(
            f"vector has shape {vector.shape}: {with_article(str(kind))} needs {kind.size} on its last axis."
        )
    for name, array in (("x", x), ("observed", observed)):
        if array is not None and event and jnp.shape(array)[-1:] != event:
            needed = f"points of {with_article(str(kind))} have {counted(event[0], 'column')} on the last axis"
            raise ValueError(f"{name} has shape {jnp.shape(array)}: {needed}.")
    x = x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(vector.dtype)
    at: Any = getattr(kind.family, f"_log_prob_{coordinates}")
    return at(vector, x, observed, **dict(kind.structure))


@functools.lru_cache(maxsize=1024)
def _event_shape(kind: Kind) -> tuple[int, ...]:
    like: Any = jax.eval_shape(lambda vector: kind.at("source", vector), np.zeros(kind.size))
    return tuple(like.event_shape)


class ExponentialFamily(Component):
    """A family p(x) = exp(⟨θ, T(x)⟩ − ψ(θ)) with respect to a fixed base measure, batched over leading axes.

    A member is held in *source* parameters, the ones people write down. Its *natural* coordinates are θ, its
    *expectation* coordinates η = E[T(x)] = ∇ψ(θ). Its *free* coordinates are all of R^d, smooth and one to one: what a
    network may answer with. All four are flat, minimal vectors in the order that each family documents. The dual
    potential is φ(η) = ⟨θ, η⟩ − ψ(θ), and θ = ∇φ(η).

    A family is also a closed-form model with nothing hidden, so mixtures and learning algorithms ask it
    the same questions as any other model: `expected_statistics`, `own_statistics`, `maximize`. And it is a `Component`,
    which says what tables it is for.
    """

    #: The number of coordinates, where it is the same for all members of the class.
    fixed_size: ClassVar[int | None] = None

    # --- the distribution -------------------------------------------------------------------------------

    @abc.abstractmethod
    def log_prob(self, x: Any) -> Float[Array, "..."]:
        """Log density in nats at points of shape (..., *event_shape), broadcast against the batch.

        Outside the support it is −inf.
        """

    @abc.abstractmethod
    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "..."]:
        """Draw points of shape (*shape, *batch_shape, *event_shape)."""

    def cdf(self, x: Any) -> Float[Array, "..."]:
        """Return P(X ≤ x), for families of numbers that are ordered."""
        raise TypeError(f"{type(self).__name__} has no distribution function: it is for single numbers with an order.")

    @property
    @abc.abstractmethod
    def interior(self) -> Bool[Array, "*batch"]:
        """Whether the parameters are those of a member with natural coordinates. It can be asked under jit."""

    @abc.abstractmethod
    def statistics(self, x: Any) -> Float[Array, "... d"]:
        """Sufficient statistics T(x), in the order of the natural coordinates."""

    # --- coordinates ------------------------------------------------------------------------------------

    @property
    @abc.abstractmethod
    def source(self) -> Float[Array, "*batch d"]:
        """The source parameters as a flat, minimal vector."""

    @property
    @abc.abstractmethod
    def natural(self) -> Float[Array, "*batch d"]:
        """The natural coordinates θ."""

    @property
    @abc.abstractmethod
    def expectation(self) -> Float[Array, "*batch d"]:
        """The expectation coordinates η = E[T(x)]."""

    @property
    @abc.abstractmethod
    def free(self) -> Float[Array, "*batch d"]:
        """The free coordinates: any vector of R^d is those of a member."""

    @classmethod
    def free_roles(cls, size: int, *args: Any, **structure: Any) -> tuple[Role, ...]:
        """Return what each of so many free coordinates is."""
        return (Role.PLAIN,) * size

    @classmethod
    @abc.abstractmethod
    def _from_source(cls, source: Numeric, *args: Any, **structure: Any) -> Self: ...

    @classmethod
    @abc.abstractmethod
    def _from_natural(cls, natural: Numeric, *args: Any, **structure: Any) -> Self: ...

    @classmethod
    @abc.abstractmethod
    def _from_expectation(cls, expectation: Numeric, *args: Any, **structure: Any) -> Self: ...

    @classmethod
    @abc.abstractmethod
    def _from_free(cls, free: Numeric, *args: Any, **structure: Any) -> Self: ...

    @classmethod
    @abc.abstractmethod
    def _log_prob_natural(cls, natural: Array, x: Array, observed: Any, *args: Any, **structure: Any) -> Array: ...

    @classmethod
    @abc.abstractmethod
    def _log_prob_free(cls, free: Array, x: Array, observed: Any, *args: Any, **structure: Any) -> Array: ...

    @classmethod
    def _free_groups(cls, size: int, *args: Any, **structure: Any) -> tuple[FreeGroup, ...]:
        return (FreeGroup(tuple(range(size))),)

    @classmethod
    @in_given_precision
    def from_source(cls, source: Any, **structure: Any) -> Self:
        """Return the member with these flat source parameters."""
        return _member(cls._from_source, "source", source, structure)

    @classmethod
    @in_given_precision
    def from_natural(cls, natural: Any, **structure: Any) -> Self:
        """Return the member with these natural coordinates."""
        return _member(cls._from_natural, "natural", natural, structure)

    @classmethod
    @in_given_precision
    def from_expectation(cls, expectation: Any, **structure: Any) -> Self:
        """Return the member with these expectation coordinates."""
        return _member(cls._from_expectation, "expectation", expectation, structure)

    @classmethod
    @in_given_precision
    def from_free(cls, free: Any, **structure: Any) -> Self:
        """Return the member with these free coordinates."""
        return _member(cls._from_free, "free", free, structure)

    @property
    def kind(self) -> Kind:
        """Which family this is a member of; two members of one kind can be compared."""
        structure = tuple(
            (name, getattr(self, name))
            for name, field in self.__dataclass_fields__.items()
            if field.metadata.get("static", False)
        )
        return Kind(type(self), self.size, structure)

    def coordinates(self, name: Coordinates) -> Float[Array, "*batch d"]:
        """Return the coordinates of that name."""
        found: Array = getattr(self, _known(name))
        return found

    def at(self, name: Coordinates, vector: Any) -> Self:
        """Return the member of the same kind with these coordinates."""
        member: Any = self.kind.at(name, vector)
        return member

    def log_volume(self, coordinates: Coordinates = "source") -> Float[Array, "*batch"]:
        """Return log |det ∂(coordinates)/∂(free)|: what a density in these coordinates gains in the free ones.

        >>> from kullback.families import Exponential
        >>> round(float(Exponential(2.0).log_volume()), 3)  # the rate is e^free
        0.693
        """
        return jnp.linalg.slogdet(self._slope(coordinates))[1]

    # --- the member nearest to data ---------------------------------------------------------------------

    @classmethod
    @in_given_precision
    def fit(cls, x: Any, weight: Any = None, **structure: Any) -> Self:
        """Return the member nearest to points: the one of maximum likelihood.

        `x` has one row for each point. A family of single numbers takes several columns too, and returns one member
        for each. `weight` counts points more than once, or less. `structure` is what is fixed for all members and does
        not follow from the points: `categories` of a `Categorical`, `interactions` of an `Ising`, `column` of
        `Independent` and `kinds` of a `Product`.

        Points with missing entries are refused, and points to which no member is nearest: where all are alike the
        likelihood of most families of real numbers grows without bound. Probabilities and rates may be 0.

        >>> from kullback.families import Gamma
        >>> Gamma.fit([1.0, 2.0, 4.0, 9.0])
        Gamma(shape=1.72453, rate=0.431133)
        """
        return cls._fit(*fit_points(x, weight, cls._point_axes), **structure)

    #: How many axes a point has.
    _point_axes: ClassVar[int] = 1

    @classmethod
    def _fit(cls, values: Numeric, weight: Numeric | None, *args: Any, **structure: Any) -> Self:
        """Return the member nearest to points that are there; their values have not been looked at yet."""
        check_support(cls.support, values)
        try:
            member = cls._nearest(values, weight, **structure)
        except ValueError as error:
            raise ValueError(f"x has no nearest {cls.__name__}: {error}") from error
        return checked_fit(member, member._refusal() if is_concrete(*jax.tree.leaves(member)) else None)

    @classmethod
    def _nearest(cls, values: Numeric, weight: Numeric | None, *args: Any, **structure: Any) -> Self:
        start = cls._start(values, **structure)
        return start.maximize(start.expected_statistics(Batch(values, weight))[0])

    @classmethod
    def _start(cls, values: Numeric, *args: Any, **structure: Any) -> Any:
        """Return a member of the kind that is nearest to such points."""
        check_no_structure(cls, structure)
        return jax.tree.map(lambda leaf: leaf[0], cls.plain(1, values.shape[-1]))

    @classmethod
    def _fit_structure(cls, kind: Kind) -> dict[str, Any]:
        """Return what `fit` has to be told to find a member of this kind."""
        return dict(kind.structure)

    def _refusal(self) -> str | None:
        """Return why a fitted member is none, where its parameters are not finite, or rounding has made them so."""
        finite = all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(self))
        return None if finite else "all points are alike, and its likelihood grows without bound."

    # --- potentials and metric --------------------------------------------------------------------------

    @property
    @abc.abstractmethod
    def log_partition(self) -> Float[Array, "*batch"]:
        """The potential ψ(θ)."""

    @property
    def dual_potential(self) -> Float[Array, "*batch"]:
        """The conjugate φ(η) = ⟨θ, η⟩ − ψ(θ): the negative entropy relative to the base measure."""
        return jnp.sum(self.natural * self.expectation, axis=-1) - self.log_partition

    @property
    @abc.abstractmethod
    def entropy(self) -> Float[Array, "*batch"]:
        """The entropy −E[log p(x)] in nats."""

    def relative_entropy(self, other: Self) -> Float[Array, "*batch"]:
        """D(self, other) = E_self[log self/other] in nats. Exact, and accurate when the two are close."""
        return potential_excess(self.kind, other.natural, self.natural)

    def fisher(self, coordinates: Coordinates) -> Float[Array, "*batch d d"]:
        """Return the Fisher information matrix in these coordinates.

        In natural coordinates it is Hess ψ = Cov(T, T); in expectation coordinates Hess φ, its inverse.
        """
        found: Array = getattr(self, f"_fisher_{_known(coordinates)}")()
        return found

    @abc.abstractmethod
    def _fisher_source(self) -> Float[Array, "*batch d d"]: ...

    @abc.abstractmethod
    def _fisher_natural(self) -> Float[Array, "*batch d d"]: ...

    @abc.abstractmethod
    def _fisher_expectation(self) -> Float[Array, "*batch d d"]: ...

    def _fisher_free(self) -> Float[Array, "*batch d d"]:
        slope = self._slope("natural")
        return jnp.swapaxes(slope, -1, -2) @ self._fisher_natural() @ slope

    def fisher_product(self, columns: Float[Numeric, "... d k"], observed: Any = None) -> Float[Array, "... d k"]:
        """Return I·S for the columns of a matrix S, with the Fisher matrix I in free coordinates.

        `observed` says which entries of a point are there, and I is that of their density; a point of which the family
        has no parts is there as a whole or not at all. Where I has blocks or a diagonal it is never formed.
        """
        product = self.fisher("free") @ jnp.asarray(columns)
        if observed is None:
            return product
        seen = jnp.asarray(observed)
        seen = jnp.all(seen, axis=tuple(range(seen.ndim - len(self.event_shape), seen.ndim)))
        return jnp.where(seen[..., None, None], product, 0)

    def toward(self, y: Any) -> Float[Array, "... d"]:
        """Return the natural gradient of log p(y) in free coordinates; see `kullback.geometry.toward`."""
        apart = self.statistics(y) - self.expectation
        slope = jnp.broadcast_to(self._slope("expectation"), (*apart.shape, apart.shape[-1]))
        return jnp.linalg.solve(slope, apart[..., None])[..., 0]

    def _slope(self, coordinates: Coordinates) -> Float[Array, "*batch d d"]:
        """Return the derivatives of these coordinates by the free ones."""
        kind = self.kind
        one = jax.jacfwd(lambda vector: kind.at("free", vector).coordinates(coordinates))
        return jnp.vectorize(one, signature="(d)->(d,d)")(self.free)

    # --- a model with nothing hidden --------------------------------------------------------------------

    @abc.abstractmethod
    def _expected_statistics(self, mass: Float[Array, "*batch"]) -> Statistics: ...

    @abc.abstractmethod
    def _from_statistics(self, statistics: Any) -> Self: ...

    def posterior(self, batch: Batch, key: Any = None) -> None:
        """Return nothing: nothing is hidden."""

    def energy(self, v: Any, h: None = None, inputs: None = None) -> Float[Array, "..."]:
        """−log p(v)."""
        return -self.log_prob(v)

    def own_statistics(self, like: Extent) -> Any:
        """Return the statistics the model itself expects of as much data."""
        dtype = jnp.asarray(jax.tree.leaves(self)[0]).dtype
        return self._expected_statistics(jnp.broadcast_to(jnp.asarray(like.mass, dtype), self.batch_shape))

    def maximize(self, statistics: Any, prior: Any = None) -> Self:
        """Return the member nearest to the data: the one with these statistics.

        A prior is the statistics of data that was never seen. A member without mass stays as it is.
        """
        if prior is not None:
            statistics = prior.added_to(statistics, self)
        nearest, seen = self._from_statistics(statistics), jnp.asarray(statistics.mass) > 0

        def choose(new: Any, old: Any) -> Any:
            return jnp.where(seen.reshape(seen.shape + (1,) * (jnp.ndim(new) - seen.ndim)), new, old)

        return jax.tree.map(choose, nearest, self)

    @property
    def visible_family(self) -> Self:
        """The members themselves."""
        return self

    def aligned_to(self, reference: Self) -> Self:
        """Return itself: nothing hidden, nothing to line up."""
        return self


class NaturalSource(ExponentialFamily):
    """A family whose source parameters are its natural coordinates."""

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        return self.source

    @classmethod
    def _from_natural(cls, natural: Numeric, *args: Any, **structure: Any) -> Self:
        return cls._from_source(natural, *args, **structure)

    def _fisher_source(self) -> Float[Array, "*batch d d"]:
        return self._fisher_natural()


class ExpectationSource(ExponentialFamily):
    """A family whose source parameters are its expectation coordinates."""

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        return self.source

    @classmethod
    def _from_expectation(cls, expectation: Numeric, *args: Any, **structure: Any) -> Self:
        return cls._from_source(expectation, *args, **structure)

    def _fisher_expectation(self) -> Float[Array, "*batch d d"]:
        return self._fisher_source()


def _known(coordinates: str) -> str:
    if coordinates not in get_args(Coordinates):
        raise ValueError(f"coordinates is {coordinates!r}: it must be 'source', 'natural', 'expectation' or 'free'.")
    return coordinates


def _member(make: Any, name: str, vector: Any, structure: dict[str, Any]) -> Any:
    vector = as_parameter(vector)
    check_ndim(name, vector, 1, "at least one axis, the last for the coordinates")
    family, count = make.__self__, vector.shape[-1]
    if count != (family.fixed_size or max(count, 1)):
        needed = counted(family.fixed_size, "coordinate") if family.fixed_size else "one coordinate or more"
        what = f"{with_article(family.__name__)} has {needed} on the last axis"
        raise ValueError(f"{name} has shape {vector.shape}: {what}, not {count}.")
    check_finite(name, vector)
    try:
        return make(vector, **structure)
    except ValueError as error:
        raise ValueError(f"{name} is outside the family: {error}") from error
