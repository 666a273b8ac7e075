"""Online learning of a memory that follows a stream, without going back in time."""

from numbers import Integral
from typing import Generic, NamedTuple, Self, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from kullback.core import Batch
from kullback.learning._gradient import Optimizer, moved_by, parameters_of
from kullback.learning._learner import Clock, Gathered, Key, Learner, Scalar, Start, StepInfo, as_number, choose
from kullback.learning._process_window import Baseline, ProcessMemory, Report, critic_size, process_window
from kullback.models import MutableProcess
from kullback.numerics import Numeric

ProcessT = TypeVar("ProcessT", bound=MutableProcess)


class ProcessMessage(eqx.Module, Generic[ProcessT]):
    """The mean direction of a window, and what its rows were worth, with the mass of the rows."""

    mass: Scalar
    direction: ProcessT
    critic: Float[Array, " features"] | None
    report: Report

    def merge(self, other: Self) -> Self:
        """Average by mass."""
        total = jnp.add(self.mass, other.mass)
        part = jnp.where(total > 0, other.mass / jnp.where(total > 0, total, 1), 0)
        mine, others = ((each.direction, each.critic, each.report) for each in (self, other))
        return type(self)(total, *jax.tree.map(lambda a, b: a + part.astype(a.dtype) * (b - a), mine, others))


class ProcessState(NamedTuple):
    """The optimizer's state, the critic with that of its own, and the report of the last step."""

    optimizer: PyTree
    critic: tuple[Float[Array, " features"], PyTree] | None
    report: Report


class ProcessGradient(Learner[ProcessT, ProcessState, ProcessMemory, ProcessMessage[ProcessT]]):
    """Follows the rate of a mutable process down, one window of a stream after the other: a batch is a window.

    Several chains of memories follow the same rows. Each score ∇log q(z' | z, x) stays in a trace, discounted by ρ for
    each row, and later costs are blamed on it; the next memory is averaged out, and costs are compared with those of
    the other chains (`process_window` has the formulas, `assess.mean_field` the mean of it, exactly). Nothing is
    differentiated through time, and what is kept does not grow with the stream.

    ρ bounds what is learned to remember: of something that pays off after L rows a share ρ^L is seen. For ρ < 1 the
    mean of the updates is no gradient, and what they lead to is not quite the least rate: see `assess.mean_field`.

    The value of a step is the log of the mean of p(x' | z, x) over chains, in nats per row, before it was learned from.

    Parameters
    ----------
    optimizer : Optimizer
        What follows the direction: any of optax.
    discount : float in [0, 1]
        ρ.
    chains : int
        How many memories follow the stream. One alone has the mean cost so far as a baseline, which is much worse.
    critic : Optimizer, optional
        With it a critic, linear in memories times rows, learns by temporal differences what a memory is going to cost.

    Examples
    --------
    >>> learner = ProcessGradient(Optimizer(learning_rate=0.01), discount=0.9, chains=4)
    >>> float(learner.discount), learner.chains
    (0.9, 4)

    """

    optimizer: Optimizer
    discount: Numeric
    critic: Optimizer | None
    chains: int = eqx.field(static=True)

    unit = "nats per row"
    takes_many_steps = True

    def __init__(
        self,
        optimizer: Optimizer | None = None,
        discount: float = 0.9,
        chains: int = 8,
        critic: Optimizer | None = None,
    ):
        if isinstance(discount, (int, float)) and not 0 <= discount <= 1:
            raise ValueError(f"discount is {discount}: it must be in [0, 1].")
        if not isinstance(chains, Integral) or chains < 1:
            raise ValueError(f"chains is {chains}: it must be a whole number, for one memory at least has to follow.")
        self.optimizer = Optimizer(learning_rate=5e-3) if optimizer is None else optimizer
        self.discount, self.chains, self.critic = as_number(discount), int(chains), critic

    def init(self, model: ProcessT, start: Start) -> ProcessState:
        """Return the states of the optimizers; the critic knows nothing yet."""
        parameters, _ = parameters_of(model)
        dtype = jnp.result_type(*jax.tree.leaves(parameters))
        critic = None
        if self.critic is not None:
            weights = jnp.zeros(critic_size(model), dtype)
            critic = weights, self.critic.build(weights).init(weights)
        report = Report(*(jnp.zeros((), dtype) for _ in Report._fields))
        return ProcessState(self.optimizer.build(parameters).init(parameters), critic, report)

    def memory(self, model: ProcessT, start: Start, key: Key) -> ProcessMemory:
        """Return memories, all alike, that have seen no row, and empty traces."""
        parameters, _ = parameters_of(model)
        moving = eqx.filter(parameters, model.memory_part())
        dtype = jnp.result_type(*jax.tree.leaves(parameters))
        trace = jax.tree.map(lambda leaf: jnp.zeros((self.chains, *leaf.shape), leaf.dtype), moving)
        baseline = Baseline(jnp.zeros((), dtype), jnp.zeros((), dtype)) if self.chains == 1 else None
        z = model.start(0 if key is None else key, self.chains)
        return ProcessMemory(z, jnp.asarray(model.blank_row(), dtype), jnp.asarray(False), trace, baseline)

    def gather(
        self, model: ProcessT, state: ProcessState, memory: ProcessMemory, batch: Batch, clock: Clock
    ) -> Gathered[ProcessMessage[ProcessT], ProcessMemory]:
        """Let the memories go along the rows, and return the direction that they say."""
        critic = None if state.critic is None else state.critic[0]
        found = process_window(model, memory, batch, clock.key, self.discount, critic)
        mass = jnp.sum(jnp.asarray(batch.counted))
        message = ProcessMessage(mass, found.direction, found.critic, found.report)
        return Gathered(message, choose(mass > 0, found.memory, memory))

    def move(
        self, model: ProcessT, state: ProcessState, message: ProcessMessage[ProcessT], clock: Clock
    ) -> tuple[ProcessT, ProcessState, StepInfo]:
        """Let the optimizers move the parameters and the critic."""
        parameters, rest = parameters_of(model)
        direction = jax.tree.map(lambda like, slope: jnp.asarray(slope, like.dtype), parameters, message.direction)
        updates, settled = self.optimizer.build(parameters).update(direction, state.optimizer, parameters)
        moved: ProcessT = eqx.combine(moved_by(parameters, updates), rest)
        critic = state.critic
        if self.critic is not None and critic is not None:
            weights, before = critic
            step, after = self.critic.build(weights).update(message.critic, before, weights)
            critic = weights + step, after
        return moved, ProcessState(settled, critic, message.report), StepInfo(message.report.mixed, message.mass)
