"""What every closed-form model answers: the contract that all learning stands on."""

import abc
from typing import Any, Self

import equinox as eqx
from jaxtyping import Array, Float

from kullback.families._batch import Batch
from kullback.families._extent import Extent


class ClosedFormModel(eqx.Module):
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

    @abc.abstractmethod
    def own_statistics(self, like: Extent) -> Any:
        """Return the statistics under p(h, v | Θ), what the model itself expects of as much data (inertia).

        For models with time, `like` has the steps of the data; without them each point is a sequence of its own. Data
        that continues an earlier batch starts from `like.carry`, not from the model's initial distribution.
        """

    @abc.abstractmethod
    def maximize(self, statistics: Any, prior: Any = None) -> Self:
        """Return the model nearest to the data: the one with these statistics (M-step).

        A prior is the statistics of data that was never seen, or anything else with `added_to(statistics)`: it is added
        for this one model, never to what is kept or sent. A member without mass stays as it is.
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
