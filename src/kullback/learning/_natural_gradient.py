"""The natural gradient of networks: steps whose length is measured in nats, and not in parameters."""

from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from kullback.core import Batch
from kullback.families import OutputKind
from kullback.geometry import scale_by_network_fisher
from kullback.learning._gradient import Slope, gradient_of, moved_by, parameters_of
from kullback.learning._learner import Clock, Gathered, Learner, Scalar, StepInfo, as_number
from kullback.learning._likelihood import negative_log_likelihood
from kullback.numerics import Numeric


class ConditionalDensity(Protocol):
    """p(v | inputs), with free coordinates of a kind for each row."""

    @property
    def kind(self) -> OutputKind:
        """The kind of distribution that each row has."""

    def free(self, inputs: Any) -> Float[Array, "rows size"]:
        """Return the free coordinates of the distribution of each row."""

    def log_likelihood(self, batch: Batch) -> Float[Array, " rows"]:
        """Return log p(v | inputs) for each row."""

    def trainable(self) -> Any:
        """Return which leaves are parameters."""


class NaturalGradient(Learner[Any, None, None, Slope]):
    """Goes down the likelihood of a model of p(v | inputs) by the natural gradient of its parameters.

    A step solves (F + damping·I)u = gradient by `products` of the Fisher matrix F, and is no longer than `radius` nats;
    see `kullback.geometry.scale_by_network_fisher`. It is best where a batch is large, or all of the data: ten steps
    then do what hundreds of epochs of a first-order optimizer do.

    A message is the step that its batch leads to, and messages average: where a step has several batches, or sites,
    it is the average of their steps, each of them within the radius for its own data.
    """

    draws_at_random = False

    damping: Numeric
    radius: Numeric
    rate: Numeric
    products: int = eqx.field(static=True)

    def __init__(self, damping: float = 0.003, radius: float = 0.1, rate: float = 1.0, products: int = 10):
        self.damping, self.radius, self.rate = as_number(damping), as_number(radius), as_number(rate)
        self.products = products

    def gather(self, model: Any, state: None, memory: None, batch: Batch, clock: Clock) -> Gathered[Slope, None]:
        """Return the natural gradient of the mean energy of the rows, as far as the radius allows."""
        parameters, rest = parameters_of(model)

        def loss(moving: PyTree) -> tuple[Scalar, PyTree]:
            return negative_log_likelihood(eqx.combine(moving, rest), batch).value, None

        def outputs(moving: PyTree) -> Float[Array, "rows size"]:
            return eqx.combine(moving, rest).free(batch.inputs)

        slope, _ = gradient_of(loss, parameters, batch)
        transform = scale_by_network_fisher(model.kind, self.damping, self.radius, self.products)
        step, _ = transform.update(
            slope.gradient, transform.init(parameters), parameters, outputs=outputs, weight=batch.weight
        )
        return Gathered(Slope(slope.mass, slope.loss, step), memory)

    def move(self, model: Any, state: None, message: Slope, clock: Clock) -> tuple[Any, None, StepInfo]:
        """Take the step."""
        parameters, rest = parameters_of(model)
        updates = jax.tree.map(lambda leaf: -jnp.asarray(self.rate, leaf.dtype) * leaf, message.gradient)
        info = StepInfo(jnp.negative(message.loss), message.mass)
        return eqx.combine(moved_by(parameters, updates), rest), state, info
