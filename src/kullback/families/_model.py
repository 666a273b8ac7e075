"""What every closed-form model answers: the contract that all learning stands on."""

import abc
from typing import Any, Self

import equinox as eqx
from jaxtyping import Array, Float

from kullback.families._batch import Batch, Extent


class ClosedFormModel(eqx.Module):
    """A joint p(h, v | Θ) of hidden h and visible v whose nearest member to given statistics has a closed form.

    The distance to another is D(Θ, Θ̃) = E_Θ[log p(h, v | Θ) / p(h, v | Θ̃)]. The model nearest to several others,
    or to data points, has the average of their statistics. So three questions are all that learning asks:
    what the data says, what the model itself says, and which model has these statistics.
    """

    @abc.abstractmethod
    def expected_statistics(self, batch: Batch, carry: Any = None) -> tuple[Any, Any]:
        """Return the statistics under p(h | v, Θ), what the data says (E-step), and what the next batch carries on."""

    @abc.abstractmethod
    def own_statistics(self, like: Extent) -> Any:
        """Return the statistics under p(h, v | Θ), what the model itself expects of as much data (inertia)."""

    @abc.abstractmethod
    def maximize(self, statistics: Any, prior: Any = None) -> Self:
        """Return the model nearest to the data: the one with these statistics (M-step).

        A prior is the statistics of data that was never seen: it is merged with the others for this one model,
        never with what is kept or sent. A member without mass stays as it is.
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

    @abc.abstractmethod
    def posterior(self, batch: Batch) -> Any:
        """Return p(h | v, Θ) for each row; None when nothing is hidden."""

    @abc.abstractmethod
    def energy(self, v: Any, h: Any = None) -> Float[Array, "..."]:
        """Return −log p(h, v | Θ)."""

    @abc.abstractmethod
    def sample(self, key: Array, shape: tuple[int, ...] = ()) -> Any:
        """Draw visible points."""

    @abc.abstractmethod
    def impute(self, batch: Batch, key: Array) -> Any:
        """Draw the missing entries of each row given what is observed of it."""

    @abc.abstractmethod
    def aligned_to(self, reference: Self) -> Self:
        """Return the same model with its hidden labels lined up with those of the reference."""
