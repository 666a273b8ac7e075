"""Mixtures: one hidden label, and a distribution of the visible for each."""

from typing import Any, Literal, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag
from jax.scipy.special import xlogy
from jaxtyping import Array, Float, Num

from kullback.core import (
    Batch,
    ClosedFormModel,
    Completion,
    Extent,
    Key,
    Shape,
    Standardization,
    SummedStatistics,
    Want,
    as_key,
    as_shape,
    by_blocks,
    map_rows,
    replace,
)
from kullback.families import Categorical as Label
from kullback.families import Coordinates, ExponentialFamily, OutputKind, Role
from kullback.geometry import relative_entropy
from kullback.models._compound_dirichlet import CompoundDirichlet
from kullback.models._mixture_completion import complete_rows
from kullback.models._tempering import tempered_members
from kullback.numerics import Numeric, with_article
from kullback.runtime import in_given_precision, jit


class MixtureStatistics(SummedStatistics):
    """The statistics of each component. Their masses are those of the labels."""

    mass: Float[Numeric, ""]
    log_likelihood: Float[Numeric, ""]
    components: Any


class MixtureKind(NamedTuple):
    """Mixtures of so many components of a kind, by their free coordinates: what a network may answer with."""

    n_components: int
    components: OutputKind
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def size(self) -> int:
        """How many coordinates there are: those of the labels, then those of each component."""
        return self.n_components - 1 + self.n_components * self.components.size

    @property
    def columns(self) -> int:
        """How many columns the points have."""
        return self.components.columns

    @property
    def roles(self) -> tuple[Role, ...]:
        """What each free coordinate is."""
        return (Role.PLAIN,) * (self.n_components - 1) + self.components.roles * self.n_components

    def __str__(self) -> str:
        return f"Mixture of {self.n_components} components: {self.components}"

    def split(self, vector: Any) -> tuple[Float[Array, "*batch labels"], Float[Array, "*batch k d"]]:
        """Return the coordinates of the labels and those of each component."""
        vector = jnp.asarray(vector)
        if vector.shape[-1:] != (self.size,):
            each = f"{self.n_components - 1} of the labels and {self.components.size} of each component"
            raise ValueError(f"vector has shape {vector.shape}: it needs {self.size} on the last axis, {each}.")
        labels, rest = vector[..., : self.n_components - 1], vector[..., self.n_components - 1 :]
        return labels, rest.reshape(*vector.shape[:-1], self.n_components, self.components.size)

    def parts(self, free: Any) -> tuple[Float[Array, "*batch k"], Any]:
        """Return the weights and the components of mixtures with these free coordinates, batched over leading axes."""
        labels, components = self.split(free)
        return jnp.exp(log_shares(labels)), self.components.at("free", components)

    def at(self, coordinates: Coordinates, vector: Any) -> "Mixture":
        """Return the mixture with these coordinates; they are those of one only."""
        labels, components = self.split(vector)
        equal = Label(np.full(self.n_components, 1 / self.n_components))
        label: Any = equal if self.n_components == 1 else equal.at(coordinates, labels)
        return Mixture(label.probabilities, self.components.at(coordinates, components), **dict(self.options))

    def log_prob_at(
        self, coordinates: Literal["natural", "free"], vector: Any, x: Any, observed: Any = None
    ) -> Float[Numeric, "..."]:
        """Return the log density at x, of mixtures batched over leading axes.

        It is computed in these coordinates: a label may be as improbable as e^−1000, which is no weight of a `Mixture`.
        """
        return _log_prob_at(vector, x, observed, self, coordinates)

    def joint_at(
        self, coordinates: Literal["natural", "free"], vector: Any, x: Any, observed: Any = None
    ) -> Float[Array, "... k"]:
        """Return the log density at x together with each label."""
        labels, components = self.split(vector)
        return log_shares(labels) + self.each(coordinates, components, x, observed)

    def fisher_at(self, coordinates: Coordinates, vector: Any) -> Float[Array, "... d d"]:
        """Return the Fisher matrix of label and point together, for mixtures batched over leading axes.

        That of the point alone has no closed form, and is smaller by what the point leaves unknown of the label: a step
        that is short by this matrix is short by the other. It has a block for the labels, and one for each component,
        times its weight.
        """
        labels, components = self.split(vector)
        weights: Any = Label(np.full(self.n_components, 1 / self.n_components)).at(coordinates, labels)
        share = jnp.asarray(weights.probabilities)[..., None, None]
        inner = share * self.components.fisher_at(coordinates, components)
        signature = "(a,a)," + ",".join(["(b,b)"] * self.n_components) + "->(d,d)"
        blocks = (inner[..., number, :, :] for number in range(self.n_components))
        return jnp.vectorize(block_diag, signature=signature)(weights.fisher(coordinates), *blocks)

    def fisher_product_at(
        self, free: Any, columns: Float[Numeric, "... d k"], observed: Any = None
    ) -> Float[Array, "... d k"]:
        """Return that matrix, of what is observed and the label, times the columns of another."""
        labels, components = self.split(free)
        columns, size = jnp.asarray(columns), self.n_components - 1
        share = jnp.exp(log_shares(labels))
        apart = columns[..., size:, :].reshape(*columns.shape[:-2], *components.shape[-2:], columns.shape[-1])
        seen = None if observed is None else self._beside(observed)
        inner = self.components.fisher_product_at(components, apart, seen)
        inner = share[..., None, None] * inner
        each = share[..., :-1, None] * columns[..., :size, :]
        first = each - share[..., :-1, None] * jnp.sum(each, axis=-2, keepdims=True)
        return jnp.concatenate([first, inner.reshape(*columns.shape[:-2], -1, columns.shape[-1])], axis=-2)

    def each(self, coordinates: Any, components: Any, x: Any, observed: Any = None) -> Float[Array, "... k"]:
        """Return the log density of each component at x."""
        seen = None if observed is None else self._beside(observed)
        return jnp.asarray(self.components.log_prob_at(coordinates, components, self._beside(x), seen))

    def _beside(self, values: Any) -> Array:
        """Return points, or which of their entries are observed, with an axis for the components."""
        like = jax.eval_shape(lambda vector: self.components.at("free", vector), np.zeros(self.components.size))
        values = jnp.asarray(values)
        return jnp.expand_dims(values, values.ndim - len(like.event_shape))


@in_given_precision
def _log_prob_at(
    vector: Any, x: Any, observed: Any, kind: MixtureKind, coordinates: Literal["natural", "free"]
) -> Float[Array, "..."]:
    return jax.nn.logsumexp(kind.joint_at(coordinates, vector, x, observed), axis=-1)


def log_shares(labels: Float[Array, "*batch labels"]) -> Float[Array, "*batch k"]:
    """Return the logarithms of the weights with these natural coordinates."""
    reference = jnp.zeros((*labels.shape[:-1], 1), labels.dtype)
    return jax.nn.log_softmax(jnp.concatenate([labels, reference], axis=-1), axis=-1)


class Mixture(ClosedFormModel):
    """p(h, v) = ω_h p(v | h) with a hidden label h in {0, …, K−1}.

    `components` is one model batched over K, usually a family. Statistics are those of the components, each weighted
    by its responsibilities; the model nearest to them has ω_h = mass of h / mass, and each component its own nearest.

    `temperature` is that of the posterior p(h | v)^(1/temperature) in the E-step: 1 is the mixture, 0 is hard EM, which
    gives each row to its most probable label. The `log_likelihood` of the statistics is then the free energy
    temperature·log Σ_h p(h, v)^(1/temperature), which is what EM raises. `tied` names parameters that all components
    share (the covariance of Gaussians), `fixed_weights` leaves the weights as they are. Hard EM of spherical Gaussians
    with one variance and equal, fixed weights is K-means.

    >>> from kullback.families import Poisson
    >>> shop = Mixture(weights=[0.75, 0.25], components=Poisson(rate=[2.0, 20.0]))
    >>> shop.posterior(Batch([3, 15])).round(3).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    weights: Float[Numeric, " k"]
    components: Any
    temperature: float = eqx.field(static=True)
    tied: tuple[str, ...] = eqx.field(static=True)
    fixed_weights: bool = eqx.field(static=True)

    def __init__(
        self,
        weights: Any,
        components: ClosedFormModel,
        temperature: float = 1.0,
        tied: tuple[str, ...] = (),
        fixed_weights: bool = False,
    ):
        self.weights = Label(weights).probabilities
        self.components = components
        self.temperature = float(temperature)
        self.tied = tuple(tied)
        self.fixed_weights = bool(fixed_weights)
        count = getattr(components, "batch_shape", None)
        if self.weights.ndim != 1 or count != self.weights.shape:
            raise ValueError(
                f"weights has shape {self.weights.shape} and components batch shape {count}: both must be (K,)."
            )
        if not 0 <= self.temperature < np.inf:
            raise ValueError(f"temperature is {temperature}: it must be 0 or more, and finite.")
        for name in self.tied:
            if name not in ("covariance", "variance") or name not in vars(components):
                raise ValueError(f"tied is {self.tied}: only the covariance or variance of Gaussians can be shared.")

    def coordinates(self, name: Coordinates) -> Float[Array, " d"]:
        """Return the coordinates of the labels' distribution, then those of each component, as one flat vector."""
        components = self._with_coordinates().coordinates(name).ravel()
        labels = [] if self.weights.shape == (1,) else [Label(self.weights).coordinates(name)]
        return jnp.concatenate([*labels, components])

    def at(self, name: Coordinates, vector: Any) -> Self:
        """Return the mixture of the same kind with these coordinates."""
        mixture: Any = self.kind.at(name, vector)
        return mixture

    @property
    def kind(self) -> MixtureKind:
        """How many components of which kind."""
        options = tuple((name, getattr(self, name)) for name in ("temperature", "tied", "fixed_weights"))
        return MixtureKind(self.weights.shape[0], self._with_coordinates().kind, options)

    def _with_coordinates(self) -> ExponentialFamily | CompoundDirichlet:
        """Return the components, or raise where they have no coordinates."""
        components = self.components
        if not isinstance(components, ExponentialFamily | CompoundDirichlet):
            raise TypeError(
                f"components are {with_article(type(components).__name__)}, which has no flat coordinates, and so the "
                "mixture has none: components of a family do, and CompoundDirichlet."
            )
        return components

    # --- what the data says -----------------------------------------------------------------------------

    def log_joint(self, batch: Batch) -> Float[Array, "rows k"]:
        """Return log p(h, v) for each row and label, of what is observed of the row."""
        return jnp.log(self.weights) + self.components.log_likelihood(batch)

    def log_likelihood(self, batch: Batch) -> Float[Array, " rows"]:
        """Return log Σ_h ω_h p(v | h) for each row."""
        return jax.nn.logsumexp(self.log_joint(batch), axis=-1)

    def leave_one_out(self, batch: Batch, carry: None = None) -> Float[Array, "rows columns"]:
        """Return log Σ_h ω_h p(v without an entry | h) for each row and column."""

        def one(rows: Batch, _: Array) -> Array:
            return jax.nn.logsumexp(jnp.log(self.weights)[:, None] + self.components.leave_one_out(rows), axis=1)

        return map_rows(one, batch)

    def posterior(self, batch: Batch, key: Any = None, temperature: float = 1.0) -> Float[Array, "rows k"]:
        """Return p(h | v)^(1/T), normalized. A row that no component can explain leaves the weights as they are."""
        return _responsibilities(self.log_joint(batch), jnp.asarray(self.weights), temperature)[0]

    def energy(self, v: Any, h: Any = None, inputs: None = None) -> Float[Array, "..."]:
        """Return −log p(h, v) for points v with labels h; without h, −log p(v)."""
        if h is None:
            v, event = jnp.asarray(v), self.components.event_shape
            rows = -self.log_likelihood(Batch(v.reshape(-1, *event)))
            return rows.reshape(v.shape[: v.ndim - len(event)])
        h = jnp.asarray(h)
        return self._chosen(h).energy(v) - jnp.log(jnp.asarray(self.weights)[h])

    def _chosen(self, h: Num[Array, "..."]) -> Any:
        return jax.tree.map(lambda leaf: jnp.asarray(leaf)[h], self.components)

    @property
    def featured(self) -> ClosedFormModel:
        """The components."""
        components: ClosedFormModel = self.components
        return components

    def standardized(self, batch: Batch) -> tuple[Batch, Any]:
        """Return the batch in the standardization that a mixture of Gaussians expects, and whether it keeps its digits.

        It is the mean of the mixture, and the standard deviation of each column.
        """
        components = self.components
        if batch.observed is not None or not components.has_quick_kernel:
            return batch, True
        weights, mean = jnp.asarray(self.weights), jnp.asarray(components.mean)
        center = weights @ mean
        variance = components.column_variances + jnp.square(mean - center)
        standardization = Standardization(center, jnp.sqrt(weights @ variance))
        away = (batch.values - center) / standardization.scale
        radius = jnp.sqrt(jnp.max(jnp.sum(jnp.square(away), axis=-1)))
        standardized = batch.scaled(standardization)
        return standardized, components.quick_kernel_is_accurate(standardization, radius)

    def expected_statistics(self, batch: Batch, carry: None = None) -> tuple[MixtureStatistics, None]:
        """Return the components' statistics, each row weighted by its responsibilities, block by block."""
        score, weights = self.components.scorer(batch), jnp.asarray(self.weights)
        log_weights = jnp.log(weights)

        def of_block(block: Batch) -> MixtureStatistics:
            return self._statistics(block, *_responsibilities(log_weights + score(block), weights, self.temperature))

        return by_blocks(of_block, batch), carry

    def _statistics(
        self, batch: Batch, share: Float[Array, "rows k"], total: Float[Array, " rows"]
    ) -> MixtureStatistics:
        weight = jnp.asarray(batch.weight)
        inner = self.components.member_statistics(batch.weighted(share * weight[:, None]))
        seen = jnp.sum(jnp.where(weight > 0, weight * total, 0))
        return MixtureStatistics(jnp.sum(weight), seen, inner)

    # --- what the model says ----------------------------------------------------------------------------

    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "..."]:
        """Draw visible points."""
        return self.sample_joint(key, shape)[1]

    def sample_joint(self, key: Key, shape: Shape = ()) -> tuple[Num[Array, "..."], Num[Array, "..."]]:
        """Draw labels, and the points they belong to."""
        key, shape = as_key(key), as_shape(shape)
        first, second = jax.random.split(key)
        h = jax.random.categorical(first, jnp.log(self.weights), shape=shape)
        return h, self._chosen(h).sample(second)

    def impute(self, batch: Batch, key: Array) -> Num[Array, "rows ..."]:
        """Draw the missing entries of each row: a label given what is observed, then the entries given both."""
        return self.impute_joint(batch, key)[1]

    def impute_joint(self, batch: Batch, key: Array) -> tuple[Num[Array, " rows"], Num[Array, "rows ..."]]:
        """Draw a label for each row given what is observed, and the missing entries given both."""

        def fill(rows: Batch, block: Array) -> tuple[Array, Array]:
            first, second = jax.random.split(jax.random.fold_in(key, block))
            h = jax.random.categorical(first, jnp.log(self.posterior(rows)), axis=-1)
            drawn = self.components.impute(rows, second)
            return h, drawn[jnp.arange(drawn.shape[0]), h]

        found: tuple[Array, Array] = map_rows(fill, batch)
        return found

    def completed(self, batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
        """Return labels, missing entries or both: of least energy, or drawn."""
        return complete_rows(self, batch, want, temperature, key)

    def tempered(self, temperature: float) -> Self:
        """Return the mixture whose joint is p(h, v)^(1/T), normalized: of components that have such members."""
        components, log_scale = tempered_members(self.components, temperature)
        weights = jax.nn.softmax(jnp.log(self.weights) / temperature + log_scale)
        return replace(self, weights=weights, components=components)

    @property
    def visible_levels(self) -> tuple[tuple[float, ...], ...] | None:
        """Those of the components."""
        levels: tuple[tuple[float, ...], ...] | None = self.components.visible_levels
        return levels

    def conditional_embedding(self, batch: Batch) -> Any:
        """Return the average of what the components expect of each row, by their responsibilities."""
        return map_rows(lambda rows, _: average_embedding(self.components, rows, self.posterior(rows)), batch)

    def from_embedding(self, embedding: Any) -> Num[Array, "rows ..."]:
        """Return the rows with these embeddings, as the components do."""
        return self.components.from_embedding(embedding)

    def conditional_mode(self, batch: Batch) -> Num[Array, "rows ..."]:
        """Return the mode of the most probable component given what is observed, given that."""

        def fill(rows: Batch, _: Array) -> Array:
            own = self.components.conditional_mode(rows)
            return own[jnp.arange(own.shape[0]), jnp.argmax(self.posterior(rows), axis=-1)]

        return map_rows(fill, batch)

    def own_statistics(self, like: Extent) -> MixtureStatistics:
        """Return the components' own statistics, with the weights as masses."""
        inner = self.components.own_statistics(Extent(jnp.multiply(self.weights, like.mass)))
        return MixtureStatistics(jnp.sum(inner.mass), jnp.zeros_like(inner.mass[0]), inner)

    # --- the nearest model ------------------------------------------------------------------------------

    def maximize(self, statistics: MixtureStatistics, prior: MixtureStatistics | None = None) -> Self:
        """Return the mixture whose components and weights have these statistics."""
        if prior is not None:
            statistics = prior.added_to(statistics, self)
        mass = jnp.asarray(statistics.components.mass)
        total = jnp.sum(mass)
        share = jnp.where(total > 0, mass / jnp.where(total > 0, total, 1), self.weights)
        components = self.components.maximize(statistics.components)
        for name in self.tied:
            components = tie_parameter(components, name, share)
        weights = self.weights if self.fixed_weights else share
        return replace(self, weights=weights, components=components)

    def cross_entropy(self, statistics: MixtureStatistics) -> Float[Array, ""]:
        """Return −E[log ω_h] − E[log p(v | h)], times the mass."""
        labels = -jnp.sum(xlogy(statistics.components.mass, self.weights))
        return labels + jnp.sum(self.components.cross_entropy(statistics.components))

    def aligned_to(self, reference: Self) -> Self:
        """Return the same mixture with its components in the order of those they are nearest to.

        The order has the least sum of divergences, in both directions, between components that share a label.
        """
        from scipy.optimize import linear_sum_assignment  # half a second, for aligning only

        if self.weights.shape != reference.weights.shape:
            raise ValueError(
                f"the mixtures have {self.weights.shape[0]} and {reference.weights.shape[0]} components: labels can "
                "only be matched one to one."
            )

        cost = np.nan_to_num(np.asarray(distances(reference.components, self.components), np.float64), posinf=1e100)
        _, order = linear_sum_assignment(cost)
        ordered: Self = jax.tree.map(lambda leaf: leaf[order], self)
        return replace(ordered, components=align_components(ordered.components, reference.components))


def average_embedding(members: Any, batch: Batch, share: Float[Array, "rows k"]) -> Any:
    """Return what members expect of each row, averaged by their shares in it."""
    return jax.tree.map(lambda e: jnp.einsum("rk,rk...->r...", share, e), members.conditional_embedding(batch))


@jit
def distances(references: Any, components: Any) -> Float[Array, "references components"]:
    """Return the divergence of each pair, in both directions together, where what they hide is lined up."""

    def both_ways(a: Any, b: Any) -> Array:
        turned = b.aligned_to(a)
        return relative_entropy(a, turned) + relative_entropy(turned, a)

    return jax.vmap(jax.vmap(both_ways, (None, 0)), (0, None))(references, components)


@jit
def align_components(components: Any, references: Any) -> Any:
    return jax.vmap(lambda b, a: b.aligned_to(a))(components, references)


def _responsibilities(
    joint: Float[Array, "rows k"], otherwise: Float[Array, " k"], temperature: float
) -> tuple[Float[Array, "rows k"], Float[Array, " rows"]]:
    """Return p(h | v)^(1/temperature), normalized, and the free energy; a row that nothing explains has `otherwise`."""
    turned = joint.T  # sums over labels are then sums of whole rows, which processors do at once
    if temperature == 0:
        total = jnp.max(turned, axis=0)
        share = jax.nn.one_hot(jnp.argmax(turned, axis=0), len(turned), dtype=joint.dtype, axis=0)
    else:
        peak = jnp.max(turned, axis=0)
        shifted = jnp.exp((turned - jnp.where(jnp.isfinite(peak), peak, 0)) / temperature)
        mass = jnp.sum(shifted, axis=0)
        total = peak + temperature * jnp.log(mass)
        share = shifted / mass
    return jnp.where(jnp.isfinite(total), share, otherwise[:, None]).T, total


def tie_parameter(components: Any, name: str, share: Float[Array, " k"]) -> Any:
    """Give all components the average of a parameter, by mass."""
    value = getattr(components, name)
    mean = jnp.tensordot(share, value, axes=1)
    return replace(components, **{name: jnp.broadcast_to(mean, value.shape)})
