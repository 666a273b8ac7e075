"""What every model answers, and what one with a closed form does: the contracts that all learning stands on."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core._batch import Batch, Standardization
from kullback.core._extent import Extent
from kullback.core._replace import replace


class Estimate(NamedTuple):
    """A number that may be known from draws only, and its standard error: 0 where it is exact."""

    value: Float[Array, "..."]
    standard_error: Float[Array, "..."]


class Model(eqx.Module):
    """A joint p(h, v | Θ) of hidden h and visible v."""

    #: Whether −energy is a log density. Otherwise it lacks a constant that depends on Θ.
    normalized: ClassVar[bool] = True

    @abc.abstractmethod
    def energy(self, v: Any, h: Any = None, inputs: Any = None) -> Float[Array, "..."]:
        """Return −log p(h, v | inputs, Θ), up to a constant where the model is not normalized; h=None sums h out."""

    @abc.abstractmethod
    def posterior(self, batch: Batch, key: Any = None) -> Any:
        """Return p(h | v, Θ) for each row, or draws of it; None when nothing is hidden."""

    @abc.abstractmethod
    def sample(self, key: Array, shape: tuple[int, ...] = ()) -> Any:
        """Draw visible points."""

    @abc.abstractmethod
    def impute(self, batch: Batch, key: Array) -> Any:
        """Draw the missing entries of each row given what is observed of it."""

    @abc.abstractmethod
    def estimate_log_likelihood(self, batch: Batch, key: Any = None, draws: int = 1) -> Estimate:
        """Return log p(v | Θ) for each row, with its standard error where it takes draws to know it."""

    @property
    def featured(self) -> "ClosedFormModel | None":
        """The members that give each row its likelihood, if there is a quick kernel for some of their kind."""
        return None

    def trainable(self) -> Any:
        """Return a tree of bools, one for each leaf: whether it is a parameter. Other leaves are data of the model."""
        return jax.tree.map(eqx.is_inexact_array_like, self)


class ClosedFormModel(Model):
    """A joint p(h, v | Θ) of hidden h and visible v whose nearest member to given statistics has a closed form.

    The distance to another is D(Θ, Θ̃) = E_Θ[log p(h, v | Θ) / p(h, v | Θ̃)]. The model nearest to several others,
    or to data points, has the average of their statistics. So three questions are all that learning asks:
    what the data says, what the model itself says, and which model has these statistics.
    """

    @abc.abstractmethod
    def expected_statistics(self, batch: Batch, carry: Any = None) -> tuple[Any, Any]:
        """Return the statistics under p(h | v, Θ), what the data says (E-step), and what the next batch carries on.

        The carry is what is known of the hidden state after the last row that counts. Given to the next batch, whose
        first row does not begin a sequence, it takes the place of the past. Models without time carry None.
        """

    def member_statistics(self, batch: Batch) -> Any:
        """Return the statistics of members of a mixture, whose own log-likelihoods nobody asks for: they are 0."""
        found = self.expected_statistics(batch)[0]
        return replace(found, log_likelihood=jnp.zeros_like(found.mass))

    @abc.abstractmethod
    def own_statistics(self, like: Extent) -> Any:
        """Return the statistics under p(h, v | Θ), what the model itself expects of as much data (inertia).

        For models with time, `like` has the steps of the data; without them each point is a sequence of its own. Data
        that continues an earlier batch starts from `like.carry`, not from the model's initial distribution.
        """

    @abc.abstractmethod
    def maximize(self, statistics: Any, prior: Any = None) -> Self:
        """Return the model nearest to the data: the one with these statistics (M-step).

        A prior is the statistics of data that was never seen, or anything else with `added_to(statistics, model)`,
        where the model is this one. It is added for the one that is made, never to what is kept or sent. A member
        without mass stays as it is.
        """

    @abc.abstractmethod
    def cross_entropy(self, statistics: Any) -> Float[Array, "*batch"]:
        """Return −E[log p(h, v | Θ)] over what the statistics stand for, times its mass; `maximize` makes it least.

        A factor of the density that no parameter enters is left out: it is the same for all members. Relative
        entropy is two calls of this function.
        """

    @abc.abstractmethod
    def log_likelihood(self, batch: Batch) -> Float[Array, "rows *batch"]:
        """Return log p(v | Θ) for each row."""

    def scorer(self, batch: Batch) -> Callable[[Batch], Float[Array, "rows *batch"]]:
        """Return `log_likelihood` as a function of blocks of a batch: what no row enters is worked out here, once."""
        return self.log_likelihood

    def estimate_log_likelihood(self, batch: Batch, key: Any = None, draws: int = 1) -> Estimate:
        """Return log p(v | Θ) for each row: it is exact, and nothing is drawn."""
        exact = self.log_likelihood(batch)
        return Estimate(exact, jnp.zeros_like(exact))

    def blank_carry(self) -> Any:
        """Return the carry before the first batch of a stream, of the structure that later ones have."""
        return None

    @property
    def featured(self) -> "ClosedFormModel | None":
        """The members that give each row its likelihood: those of a mixture, the emissions of a chain, or the model."""
        return self

    @property
    def has_quick_kernel(self) -> bool:
        """Whether there is a quick kernel for batches with a standardization."""
        return False

    def quick_kernel_is_accurate(self, standardization: Standardization, radius: Any) -> Any:
        """Whether that kernel keeps its digits for data that reaches so far from its center."""
        return False

    def standardized(self, batch: Batch) -> tuple[Batch, Any]:
        """Return the batch with the standardization that the model itself expects, and whether it keeps its digits so.

        It is for models that have a quick kernel; the others hand the batch back.
        """
        return batch, True

    @abc.abstractmethod
    def aligned_to(self, reference: Self) -> Self:
        """Return the same model with its hidden labels lined up with those of the reference."""
