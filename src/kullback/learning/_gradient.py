"""Gradients of an objective, and an optimizer that follows them: for models without a closed form."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from kullback.core import Batch
from kullback.learning._learner import Clock, Gathered, Key, Learner, ModelT, Scalar, Start, StepInfo, choose
from kullback.runtime import filter_jit, quick_jit

#: So many parameters are one vector to the optimizer.
_FEW = 2**16


class Loss(NamedTuple):
    """What an objective returns: the loss of a batch, in nats per point, and the memory of its stream after it."""

    value: Scalar
    memory: PyTree = None


class Slope(eqx.Module):
    """The average gradient of a loss over points, with the average loss and the mass of the points."""

    mass: Scalar
    loss: Scalar
    gradient: PyTree

    def merge(self, other: Self) -> Self:
        """Average by mass. Each phase of an objective was divided by its own count, so one mass is enough."""
        total = jnp.add(self.mass, other.mass)
        part = jnp.where(total > 0, other.mass / jnp.where(total > 0, total, 1), 0)
        mine, others = (self.loss, self.gradient), (other.loss, other.gradient)
        return type(self)(total, *jax.tree.map(lambda a, b: a + part.astype(a.dtype) * (b - a), mine, others))


class Optimizer(eqx.Module):
    """A transformation of gradients, made inside the compiled function from its numbers.

    The factory is a function of a module, such as `optax.adam`; its numbers are arrays, so that another learning rate
    compiles nothing. Without one it is Adam (`adam`).
    """

    numbers: dict[str, np.ndarray]
    factory: Callable[..., Any] | None = eqx.field(static=True)

    def __init__(self, factory: Callable[..., Any] | None = None, **numbers: float):
        self.factory = factory
        self.numbers = {name: np.asarray(float(value)) for name, value in numbers.items()}

    def build(self, parameters: PyTree) -> Any:
        """Return the transformation, with numbers of the type that the parameters have."""
        dtype = jnp.result_type(*jax.tree.leaves(parameters))
        factory = adam if self.factory is None else self.factory
        return factory(**{name: jnp.asarray(value, dtype) for name, value in self.numbers.items()})


def adam(learning_rate: Any, weight_decay: Any = 0.0) -> Any:
    """Return Adam, with a decay AdamW; few parameters are one vector."""
    import optax  # here, for it takes long to import and few need it

    return _as_one(optax.adamw(learning_rate, weight_decay=weight_decay))


def decaying_adam(learning_rate: Any, delay: Any, power: Any, b2: Any = 0.999) -> Any:
    """Return Adam with the learning rate times (1 + steps / delay)^−power; few parameters are one vector."""
    import optax

    def schedule(count: Any) -> Any:
        return learning_rate * (1 + count / delay) ** -power

    return _as_one(optax.adam(schedule, b2=b2))


def _as_one(each: Any) -> Any:
    """Return a transformation of single entries that takes few parameters as one vector.

    So it takes half the time to compile. To bring many together and apart again takes longer than to move them.
    """
    import optax

    together = optax.flatten(each)

    def of(tree: PyTree) -> Any:
        return together if sum(leaf.size for leaf in jax.tree.leaves(tree)) <= _FEW else each

    def update(updates: PyTree, state: PyTree, parameters: PyTree = None) -> Any:
        return of(updates).update(updates, state, parameters)

    return optax.GradientTransformation(lambda parameters: of(parameters).init(parameters), update)


class Gradient(Learner[ModelT, PyTree, PyTree, Slope]):
    """Follows the gradient of an objective in the trainable leaves of a model.

    `objective(model, batch, memory, key)` is a function of a module; it returns a `Loss`. Where it is a difference of
    phases, each is divided by its own count. `chains(model, start, key)` makes the memory that a stream or site begins
    with, such as persistent Markov chains, where there is one.
    """

    objective: Callable[[ModelT, Batch, PyTree, Key], Loss] = eqx.field(static=True)
    optimizer: Optimizer = Optimizer(learning_rate=1e-3)
    chains: Callable[[ModelT, Start, Key], PyTree] | None = eqx.field(static=True, default=None)

    def init(self, model: ModelT, start: Start) -> PyTree:
        """Return the state of the optimizer."""
        parameters, _ = parameters_of(model)
        return _first_state(self.optimizer, parameters)

    def memory(self, model: ModelT, start: Start, key: Key) -> PyTree:
        """Return the memory that a stream begins with."""
        return None if self.chains is None else self.chains(model, start, key)

    def gather(
        self, model: ModelT, state: PyTree, memory: PyTree, batch: Batch, clock: Clock
    ) -> Gathered[Slope, PyTree]:
        """Return the gradient of the objective."""
        parameters, rest = parameters_of(model)

        def loss(moving: PyTree) -> tuple[Scalar, PyTree]:
            found = self.objective(eqx.combine(moving, rest), batch, memory, clock.key)
            return found.value, found.memory

        slope, after = gradient_of(loss, parameters, batch)
        return Gathered(slope, choose(slope.mass > 0, after, memory))

    def move(self, model: ModelT, state: PyTree, message: Slope, clock: Clock) -> tuple[ModelT, PyTree, StepInfo]:
        """Let the optimizer move the parameters."""
        parameters, rest = parameters_of(model)
        updates, settled = self.optimizer.build(parameters).update(message.gradient, state, parameters)
        moved: ModelT = eqx.combine(moved_by(parameters, updates), rest)
        return moved, settled, StepInfo(jnp.negative(message.loss), message.mass)


@functools.partial(filter_jit, compiler=quick_jit)
def _first_state(optimizer: Optimizer, parameters: PyTree) -> PyTree:
    return optimizer.build(parameters).init(parameters)


def parameters_of(model: Any) -> tuple[PyTree, PyTree]:
    """Return a model in two: its parameters, and all that no optimizer moves."""
    parameters, rest = eqx.partition(model, model.trainable())
    return jax.tree.map(jnp.asarray, parameters), rest


def gradient_of(
    loss: Callable[[PyTree], tuple[Scalar, PyTree]], parameters: PyTree, batch: Batch
) -> tuple[Slope, PyTree]:
    """Return the gradient of a loss of the parameters on a batch, and what the loss returns besides."""
    (value, after), gradient = jax.value_and_grad(loss, has_aux=True)(parameters)
    mass = jnp.sum(jnp.asarray(batch.weight))
    # a batch of no points says nothing: the mean over them is not a number
    value, gradient = jax.tree.map(lambda leaf: jnp.where(mass > 0, leaf, 0), (value, gradient))
    return Slope(mass, value, gradient), after


def moved_by(parameters: PyTree, updates: PyTree) -> PyTree:
    """Return the parameters after their updates, of the types that they had."""
    return jax.tree.map(lambda parameter, update: (parameter + update).astype(parameter.dtype), parameters, updates)
