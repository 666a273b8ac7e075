"""Models of p(v | inputs): a function of the inputs answers with the free coordinates of a distribution."""

import abc
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, Shaped

from kullback.core import Batch, Completion, Estimate, Key, Model, Shape, Want, as_inputs, as_key, as_shape
from kullback.families import OutputKind
from kullback.models._mixture import MixtureKind


def as_kind(like: Any) -> OutputKind:
    """Return the kind of a member or of a model, and a kind as it is."""
    kind: OutputKind = like.kind if isinstance(like, Model) else like  # type: ignore[attr-defined]
    return kind


def point_shape(kind: Any) -> tuple[int, ...]:
    """Return the shape of a point of this kind."""
    shape: tuple[int, ...] = _point_shape(kind)
    return shape


@functools.lru_cache(128)
def _point_shape(kind: Any) -> tuple[int, ...]:
    drawn = jax.eval_shape(lambda vector: kind.at("free", vector).sample(jax.random.key(0)), np.zeros(kind.size))
    return tuple(drawn.shape)


class ConditionalModel(Model):
    """p(v | inputs), where `free(inputs)` are the free coordinates of a member of a kind, for each row.

    Every vector of R^size is those of a member, so the function may be anything; the density is computed in them and
    never through source parameters. Nothing is hidden besides what the members themselves sum out.
    """

    kind: eqx.AbstractVar[OutputKind]

    @abc.abstractmethod
    def free(self, inputs: Any) -> Float[Array, "rows size"]:
        """Return the free coordinates of the distribution of each row."""

    def given(self, inputs: Any) -> Any:
        """Return the distributions of the rows, as one member batched over them; of mixtures, for `jax.vmap`."""
        return jax.vmap(lambda vector: self.kind.at("free", vector))(self.free(inputs))

    def log_likelihood(self, batch: Batch) -> Float[Array, " rows"]:
        """Return log p(v | inputs) for each row; what is missing of v is summed out."""
        vectors, shape = self.free(needed_inputs(batch.inputs)), point_shape(self.kind)
        observed = None if batch.observed is None else as_points(batch.observed, vectors, shape)
        return jnp.asarray(self.kind.log_prob_at("free", vectors, as_points(batch.values, vectors, shape), observed))

    def energy(self, v: Any, h: Any = None, inputs: Any = None) -> Float[Array, " rows"]:
        """Return −log p(v | inputs) for each row; with labels h of a mixture, −log p(h, v | inputs)."""
        vectors = self.free(needed_inputs(inputs))
        points = as_points(v, vectors, point_shape(self.kind))
        if h is None:
            return -jnp.asarray(self.kind.log_prob_at("free", vectors, points))
        if not isinstance(self.kind, MixtureKind):
            raise ValueError(f"h is given: {self.kind} hides no label.")
        joint = self.kind.joint_at("free", vectors, points)
        return -jnp.take_along_axis(joint, jnp.asarray(h)[:, None], axis=-1)[:, 0]

    def posterior(self, batch: Batch, key: Any = None) -> Float[Array, "rows k"] | None:
        """Return the responsibilities p(h | v, inputs) of the components of a mixture; None for other kinds."""
        if not isinstance(self.kind, MixtureKind):
            return None
        vectors, shape = self.free(needed_inputs(batch.inputs)), point_shape(self.kind)
        observed = None if batch.observed is None else as_points(batch.observed, vectors, shape)
        joint = self.kind.joint_at("free", vectors, as_points(batch.values, vectors, shape), observed)
        return jax.nn.softmax(joint, axis=-1)

    def mode(self, inputs: Any) -> Num[Array, "rows ..."]:
        """Return the most probable point of each row; of a mixture, the best of ascents from all components."""
        return row_modes(self.kind, self.free(needed_inputs(inputs)))

    def sample(self, key: Key, shape: Shape = (), inputs: Any = None) -> Num[Array, "..."]:
        """Draw points for each row of the inputs."""
        vectors, axes = self.free(needed_inputs(inputs)), as_shape(shape)
        keys = jax.random.split(as_key(key), vectors.shape[0])
        drawn = jax.vmap(lambda key, vector: self.kind.at("free", vector).sample(key, axes))(keys, vectors)
        return jnp.moveaxis(drawn, 0, len(axes))

    def impute(self, batch: Batch, key: Key) -> Num[Array, "rows ..."]:
        """Draw the missing entries of each row given its inputs and what is observed of it."""
        vectors, shape = self.free(needed_inputs(batch.inputs)), point_shape(self.kind)
        if batch.observed is None:
            return jnp.asarray(batch.values)

        def one(key: Array, vector: Array, value: Array, observed: Array) -> Array:
            drawn: Array = self.kind.at("free", vector).impute(Batch(value[None], observed=observed[None]), key)[0]
            return drawn

        keys = jax.random.split(as_key(key), vectors.shape[0])
        parts = as_points(batch.values, vectors, shape), as_points(batch.observed, vectors, shape)
        return jax.vmap(one)(keys, vectors, *parts).reshape(batch.values.shape)

    def completed(self, batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
        """Complete each row by its own distribution: what is missing of v, and the labels of a mixture."""
        vectors, shape = self.free(needed_inputs(batch.inputs)), point_shape(self.kind)
        seen = jnp.ones(batch.values.shape, bool) if batch.observed is None else batch.observed
        values, observed = as_points(batch.values, vectors, shape), as_points(seen, vectors, shape)
        keys = None if key is None else jax.random.split(as_key(key), vectors.shape[0])
        exact: list[Any] = []

        def one(key: Any, vector: Array, value: Array, observed: Array) -> tuple[Any, Any, Any]:
            row = Batch(value[None], observed=observed[None])
            found = self.kind.at("free", vector).completed(row, want, temperature, key)
            exact.append(found.exact)
            return jax.tree.map(lambda leaf: leaf[0], found[:3])

        axes = (None if keys is None else 0, 0, 0, 0)
        v, h, energy = jax.vmap(one, axes)(keys, vectors, values, observed)
        return Completion(None if v is None else v.reshape(batch.values.shape), h, energy, exact[0])

    def estimate_log_likelihood(self, batch: Batch, key: Any = None, draws: int = 1) -> Estimate:
        """Return log p(v | inputs) for each row: it is exact, and nothing is drawn."""
        exact = self.log_likelihood(batch)
        return Estimate(exact, jnp.zeros_like(exact))


class Conditional(ConditionalModel):
    """p(v | inputs) of a network that answers with free coordinates.

    `network` is a callable tree of arrays, of one row of inputs: an equinox module, trees, any function with its
    parameters. `kind` is that of a family, a `Mixture` or a `CompoundDirichlet`; a member is asked for its kind.

    >>> import equinox as eqx, jax, numpy as np
    >>> from kullback.families import Poisson
    >>> model = Conditional(eqx.nn.Linear(3, 1, key=jax.random.key(0)), Poisson(1.0))
    >>> model.log_likelihood(Batch([2, 0], inputs=np.ones((2, 3), np.float32))).shape
    (2,)
    """

    network: Callable[[Float[Array, " k"]], Float[Array, " size"]]
    kind: OutputKind = eqx.field(static=True)

    def __init__(self, network: Callable[[Any], Any], kind: Any):
        self.network, self.kind = network, as_kind(kind)

    def free(self, inputs: Any) -> Float[Array, "rows size"]:
        """Return what the network answers for each row."""
        found = jax.vmap(self.network)(jnp.asarray(inputs))
        if found.shape[1:] != (self.kind.size,):
            raise ValueError(
                f"network answers with shape {found.shape[1:]}: it must be ({self.kind.size},), the free coordinates "
                f"of {self.kind}."
            )
        return found


def row_modes(kind: OutputKind, vectors: Float[Array, "rows size"]) -> Num[Array, "rows ..."]:
    """Return the most probable point of each member or mixture with these free coordinates.

    That of a mixture is the best that ascents from the modes of all components lead to. There may be a higher one
    elsewhere: in two columns or more a mixture can have more modes than components.
    """
    shape = point_shape(kind)
    nothing = Batch(jnp.zeros((1, *shape), vectors.dtype), observed=jnp.zeros((1, *shape), bool))

    def one(vector: Array) -> Array:
        member = kind.at("free", vector)
        found: Array = member.completed(nothing, ("v",), 0.0, None).v if isinstance(kind, MixtureKind) else member.mode
        return found.reshape(shape)

    return jax.vmap(one)(vectors)


def needed_inputs(inputs: Any) -> Any:
    """Return inputs as a table of floating numbers, and raise where there are none."""
    if inputs is None:
        raise ValueError("inputs are missing: a model of p(v | inputs) needs a row of them for each point.")
    table = as_inputs(inputs)
    if table.ndim != 2:
        raise ValueError(f"inputs have shape {table.shape}: they must be a table, with one row for each point.")
    return table


def as_points(values: Any, vectors: Array, shape: tuple[int, ...]) -> Shaped[Array, "rows *point"]:
    """Return values with one point in each row: a column of numbers is the numbers."""
    values, rows = jnp.asarray(values), vectors.shape[0]
    if values.shape[:1] != (rows,) or values.size != rows * int(np.prod(shape)):
        raise ValueError(f"values have shape {values.shape}: they must be {(rows, *shape)}, a point for each input.")
    return values.reshape(rows, *shape)
