"""What learning is: gather a message from data, then move the model. Messages merge, so data may lie anywhere."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from kullback.core import Batch, ClosedFormModel, Model
from kullback.numerics import Numeric
from kullback.runtime import is_array

ModelT = TypeVar("ModelT", bound=Model)
ClosedFormT = TypeVar("ClosedFormT", bound=ClosedFormModel)
StateT = TypeVar("StateT")
MemoryT = TypeVar("MemoryT")
MessageT = TypeVar("MessageT")
TreeT = TypeVar("TreeT")
#: A number: traced, of NumPy or of Python.
Scalar: TypeAlias = "Numeric | np.number[Any] | np.bool_ | float"
#: A random key; None for a learner that draws nothing.
Key: TypeAlias = Array | None
#: Hands out some of the data, or None where it cannot be looked at before.
Start = Callable[[], Batch | None]


@runtime_checkable
class Mergeable(Protocol):
    """What data says, with its mass. `merge` is associative, and a mass of 0 is its unit: "not this time"."""

    @property
    def mass(self) -> Scalar:
        """How much data it stands for."""

    def merge(self, other: Self) -> Self:
        """Return what both say together."""


class Clock(NamedTuple):
    """Steps and points before this step, and its random key, which depends on the seed, the step and the site only.

    A learner that draws nothing may be given no key.
    """

    step: Scalar
    points: Scalar
    key: Key = None

    def at_site(self, site: int) -> "Clock":
        """Return the clock of one of several sites: each draws for itself."""
        return self if self.key is None else self._replace(key=jax.random.fold_in(self.key, site))

    def at_batch(self, number: int) -> "Clock":
        """Return the clock of one of several batches of a step, which draw for themselves too."""
        return self if number == 0 else self.at_site(number)


#: The clock of a step by itself, of a learner that draws nothing.
AT_ONCE = Clock(np.int32(0), np.asarray(0.0))


class Gathered(NamedTuple, Generic[MessageT, MemoryT]):
    """What a batch says, and the memory of its stream after it.

    `sound` is False where a quick way has lost digits: the step is then taken again the other way.
    """

    message: MessageT
    memory: MemoryT
    sound: Scalar = True


class StepInfo(NamedTuple):
    """What a person wants to see of a step: what the next step needs is in the model and the state.

    `value` is in nats per point under the model before the move, and more is better: the log-likelihood, a bound of
    it, or an objective with its sign turned. `mass` is the weight of the points; `finite` is False for a move that was
    left out because what came of it was not. Arrays inside a compiled function, numbers after it.
    """

    value: Any
    mass: Any
    finite: Any = True


class Learner(eqx.Module, Generic[ModelT, StateT, MemoryT, MessageT]):
    """A rule for learning. It is a pytree: its numbers are arrays, its functions are static and of a module.

    `gather` reads the state and moves nothing but the memory of its stream or site: a carry, chains, traces. `move`
    moves model and state, and sees no data. Both are pure and run inside one compiled function. The structure and the
    types of state and memory stay as `init` and `memory` have made them.
    """

    #: What `StepInfo.value` is, in words.
    unit: ClassVar[str] = "nats per point"
    #: Whether its clock needs a key. Learners of learners ask the others.
    draws_at_random: ClassVar[bool] = True
    #: Whether it takes many more steps than it takes to pay for compiling them with care, however small they are.
    takes_many_steps: ClassVar[bool] = False

    def init(self, model: ModelT, start: Start) -> StateT:
        """Return the state to begin with; `start()` is some of the data, where there is any to look at."""
        return None  # type: ignore[return-value]

    def memory(self, model: ModelT, start: Start, key: Key) -> MemoryT:
        """Return the memory that a stream or site begins with."""
        return None  # type: ignore[return-value]

    @abc.abstractmethod
    def gather(
        self, model: ModelT, state: StateT, memory: MemoryT, batch: Batch, clock: Clock
    ) -> Gathered[MessageT, MemoryT]:
        """Return what a batch says: an E-step, or a gradient."""

    @abc.abstractmethod
    def move(self, model: ModelT, state: StateT, message: MessageT, clock: Clock) -> tuple[ModelT, StateT, StepInfo]:
        """Return the model and the state after the step: an M-step, or the update of an optimizer."""

    def result(self, model: ModelT, state: StateT) -> ModelT:
        """Return the model to show: that of the last step, unless the learner keeps a better one."""
        return model

    def at(self, step: int, points: float) -> tuple[Self, int | None]:
        """Return the learner of the next steps, and of how many, where a Python function of the user's decides."""
        return self, None


def as_number(value: float | TreeT) -> Numeric | TreeT:
    """Return a number of Python as an array, so that another one compiles nothing, and anything else as it is."""
    return np.asarray(float(value)) if isinstance(value, (int, float)) else value


def is_message(node: object) -> bool:
    """Whether a node of a tree is one that merges."""
    return isinstance(node, Mergeable)


def merge_messages(one: MessageT, other: MessageT) -> MessageT:
    """Return what both say together: a message is a tree of parts, each with a mass of its own."""
    merged: MessageT = jax.tree.map(lambda a, b: a.merge(b), one, other, is_leaf=is_message)
    return merged


def all_finite(*trees: object) -> Bool[Array, ""]:
    """Whether all numbers of some trees are finite."""
    leaves = [leaf for leaf in jax.tree.leaves(trees) if is_array(leaf) and jnp.issubdtype(leaf.dtype, jnp.inexact)]
    # all in one row: to compile a function for each leaf takes longer than all the steps of a small network
    return jnp.all(jnp.isfinite(jnp.concatenate([jnp.ravel(leaf) for leaf in leaves]))) if leaves else jnp.asarray(True)


def choose(condition: Scalar, one: TreeT, other: TreeT) -> TreeT:
    """Return the arrays of one tree where the condition holds, and those of the other where it does not."""

    def chosen(a: Any, b: Any) -> Any:
        return a if a is b or not is_array(a) else jnp.where(condition, a, b)

    found: TreeT = jax.tree.map(chosen, one, other)
    return found


def changed(one: object, other: object) -> list[Any]:
    """Return the leaves of one tree that are not those of the other: a large matrix may stay through all steps."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return [leaf for leaf, old in pairs if leaf is not old]
