"""Linear conditionals: the free coordinates of a distribution are linear in the inputs."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from numpy.typing import NDArray

from kullback.core import Batch, by_blocks, replace, weighted_total
from kullback.families import Kind
from kullback.models.conditional._conditional import (
    ConditionalModel,
    as_kind,
    as_points,
    needed_inputs,
    point_shape,
)
from kullback.models.conditional._scores import Scores
from kullback.numerics import Numeric, as_parameter, counted


def _family_kind(like: Any) -> Kind:
    kind = as_kind(like)
    if not isinstance(kind, Kind):
        raise ValueError(
            f"kind is {kind}: the Fisher information of mixtures and compounds has no closed form; take a family, or "
            "Conditional with a network."
        )
    return kind


class LinearConditional(ConditionalModel):
    """p(v | inputs) of a family whose free coordinates are linear in the inputs: a generalized linear model.

    `coefficients` has a row for each free coordinate, its intercept first. `varies` says which coordinates depend on
    the inputs; of the others only the intercept counts, such as the log σ of a Gaussian with constant variance.
    `information` is the Fisher information of the parameters per point, that of the data they were learned from. It is
    data of the model and no parameter: `combine` weighs coefficients by it, and its inverse over the number of points
    is their covariance.

    >>> from kullback.families import Poisson
    >>> model = LinearConditional([[0.5, 1.0]], Poisson(1.0))
    >>> model.given(np.array([[0.0], [1.0]])).mean.round(3).tolist()
    [1.649, 4.482]
    """

    coefficients: Float[Numeric, "size q"]
    information: Float[Numeric, "p p"]
    kind: Kind = eqx.field(static=True)
    varies: tuple[bool, ...] = eqx.field(static=True)

    def __init__(self, coefficients: Any, kind: Any, varies: Any = None, information: Any = None):
        self.coefficients, self.kind = as_parameter(coefficients), _family_kind(kind)
        size, shape = self.kind.size, np.shape(self.coefficients)
        if len(shape) != 2 or shape[0] != size or shape[1] < 1:
            raise ValueError(
                f"coefficients have shape {shape}: they must have {counted(size, 'row')}, one for each free "
                f"coordinate of {self.kind}, and a column for the intercept and for each input."
            )
        self.varies = (True,) * size if varies is None else tuple(bool(each) for each in varies)
        if len(self.varies) != size:
            raise ValueError(f"varies has {len(self.varies)} entries: there are {size} free coordinates.")
        n = int(self.is_parameter.sum())
        self.information = np.zeros((n, n)) if information is None else as_parameter(information)
        if np.shape(self.information) != (n, n):
            raise ValueError(f"information has shape {np.shape(self.information)}: there are {n} parameters.")

    @classmethod
    def start(cls, kind: Any, n_inputs: int, varies: Any = None, member: Any = None) -> Self:
        """Return the model in which no input matters: intercepts are those of a member, 0 without one."""
        kind = _family_kind(kind)
        intercepts = np.zeros(kind.size) if member is None else np.asarray(member.free)
        return cls(np.concatenate([intercepts[:, None], np.zeros((kind.size, n_inputs))], axis=1), kind, varies)

    @property
    def is_parameter(self) -> Bool[np.ndarray, "size q"]:
        """Which coefficients are parameters."""
        kept = np.repeat(np.array(self.varies)[:, None], np.shape(self.coefficients)[1], axis=1)
        kept[:, 0] = True
        return kept

    @property
    def parameters(self) -> Float[Array, " p"]:
        """The coefficients that count, row by row."""
        return self.pack(self.coefficients)

    def pack(self, table: Float[Numeric, "size q"]) -> Float[Array, " p"]:
        """Return the entries of a table like the coefficients that belong to parameters."""
        return jnp.asarray(table)[self.is_parameter]

    def first_parameter(self, coordinate: int) -> int:
        """Return where the parameters of a coordinate begin: at its intercept."""
        return int(self.is_parameter[:coordinate].sum())

    def unpack(self, parameters: Float[Numeric, " p"]) -> Float[Array, "size q"]:
        """Return parameters as a table like the coefficients, with 0 for those that do not count."""
        kept = self.is_parameter
        return jnp.zeros(kept.shape, jnp.asarray(parameters).dtype).at[kept].set(jnp.asarray(parameters))

    def at(self, parameters: Float[Numeric, " p"], information: Float[Numeric, "p p"] | None = None) -> Self:
        """Return the model with other parameters, and with their information per point where it is known."""
        information = self.information if information is None else information
        dtype = jnp.asarray(self.coefficients).dtype
        moved = self.unpack(jnp.asarray(parameters, dtype))
        return replace(self, coefficients=moved, information=jnp.asarray(information, dtype))

    def trainable(self) -> Any:
        """Return which leaves are parameters: the coefficients, and not the information."""
        return eqx.tree_at(lambda tree: tree.information, jax.tree.map(eqx.is_inexact_array_like, self), False)

    def free(self, inputs: Any) -> Float[Array, "rows size"]:
        """Return the intercepts plus the inputs times the coefficients."""
        inputs = jnp.asarray(needed_inputs(inputs))
        table = jnp.where(self.is_parameter, self.coefficients, 0)
        if inputs.shape[1] != table.shape[1] - 1:
            raise ValueError(f"inputs have {inputs.shape[1]} columns: the model was made for {table.shape[1] - 1}.")
        return inputs @ table[:, 1:].T + table[:, 0]

    def scores(self, batch: Batch) -> Scores:
        """Return the score, the Fisher information and the log-likelihood of a batch, by its weights.

        Where part of a point is missing, the information is that of the whole point: steps that are made of it are
        shorter, like those of EM, and lead to the same place. A point of which nothing is observed has none.
        """
        needed_inputs(batch.inputs)
        return by_blocks(self._block_scores, batch)

    def _block_scores(self, batch: Batch) -> Scores:
        vectors, shape = self.free(batch.inputs), point_shape(self.kind)
        inputs, weight = jnp.asarray(batch.inputs, vectors.dtype), jnp.asarray(batch.weight, vectors.dtype)
        values, observed = as_points(batch.values, vectors, shape), None
        if batch.observed is not None:
            observed = as_points(batch.observed, vectors, shape)
            weight = jnp.where(jnp.any(observed, axis=tuple(range(1, observed.ndim))), weight, 0)

        def log_prob(vectors: Array) -> Array:
            return jnp.asarray(self.kind.log_prob_at("free", vectors, values, observed))

        row, pull_back = jax.vjp(log_prob, vectors)
        (slopes,) = pull_back(weight)
        ones = jnp.ones((inputs.shape[0], 1), inputs.dtype)
        z = jnp.concatenate([ones, inputs], axis=1)
        member: Any = self.kind.at("free", vectors)
        mass = jnp.sum(weight)  # rows without weight are like one that counts, and reach no further
        return Scores(
            mass,
            weighted_total(weight, row),
            self.pack(slopes.T @ z),
            self._gram(z, weight[:, None, None] * member.fisher("free")),
            jnp.where(mass > 0, jnp.sqrt(1 + jnp.max(jnp.sum(jnp.square(inputs), axis=1))), 0),
            jnp.min(inputs, axis=0),
            jnp.max(inputs, axis=0),
        )

    def _gram(self, z: Float[Array, "rows q"], fisher: Float[Array, "rows size size"]) -> Float[Array, "p p"]:
        """Return Σ fisher ⊗ zzᵀ in the parameters, of the pairs of coordinates that the Fisher matrix couples.

        Those that both depend on the inputs are one matrix product together, those with a constant another.
        """
        (rows, q), size = z.shape, self.kind.size
        one, other, linear = self._pairs
        whole = jnp.zeros((size, q, size, q), z.dtype)
        if linear.any():
            a, b = one[linear], other[linear]
            weighted = (fisher[:, a, b][:, :, None] * z[:, None, :]).reshape(rows, len(a) * q)
            blocks = (weighted.T @ z).reshape(len(a), q, q)
            whole = whole.at[a, :, b, :].set(blocks).at[b, :, a, :].set(jnp.swapaxes(blocks, 1, 2))
        if not linear.all():
            a, b = one[~linear], other[~linear]
            vectors = fisher[:, a, b].T @ z
            for first, second in ((a, b), (b, a)):
                whole = whole.at[first, :, second, 0].set(vectors).at[first, 0, second, :].set(vectors)
        kept = self.is_parameter.ravel()
        return whole.reshape(size * q, size * q)[kept][:, kept]

    @property
    def _pairs(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The pairs of coordinates that the Fisher matrix couples, and whether both depend on the inputs."""
        groups = [group.coordinates for group in self.kind.free_groups]
        found = [(one, other) for group in groups for one in group for other in group if one <= other]
        one, other = np.array(found, np.int32).T
        varies = np.array(self.varies)
        return one, other, varies[one] & varies[other]
