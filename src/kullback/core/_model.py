"""What every model answers, and what one with a closed form does: the contracts that all learning stands on."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core._batch import Batch, Standardization, keep_observed
from kullback.core._completion import Completion, Want, refuse_temperature
from kullback.core._draws import Key, Shape
from kullback.core._extent import Extent
from kullback.core._fixed import trainable_leaves
from kullback.core._replace import replace
from kullback.core._text import html_of, text_of, value_text
from kullback.runtime import keep_given_precision

#: Draws whose mean stands for a conditional mean without a closed form.
_IMPUTATIONS = 64


class Estimate(NamedTuple):
    """A number that may be known from draws only, and its standard error: 0 where it is exact."""

    value: Float[Array, "..."]
    standard_error: Float[Array, "..."]

    def __repr__(self) -> str:
        return f"Estimate(value={value_text(self.value)}, standard_error={value_text(self.standard_error)})"


class Model(eqx.Module):
    """A joint p(h, v | Θ) of hidden h and visible v.

    It computes in the precision of its parameters: made from numbers, lists or NumPy arrays it holds 64 bits, and what
    it is asked outside of `jit`, `grad` and `vmap` is computed in 64 bits and answered with NumPy arrays. Made from JAX
    arrays it computes as JAX is set.
    """

    #: Whether −energy is a log density. Otherwise it lacks a constant that depends on Θ.
    normalized: ClassVar[bool] = True
    #: Whether its log-likelihoods have their constants. They may where the energy has not: log Z can be worked out.
    has_likelihood: ClassVar[bool] = True
    #: Whether its time goes into loops over rows, and not into operations on whole arrays.
    goes_row_by_row: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        keep_given_precision(cls)

    def __repr__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)

    @abc.abstractmethod
    def energy(self, v: Any, h: Any = None, inputs: Any = None) -> Float[Array, "..."]:
        """Return −log p(h, v | inputs, Θ), up to a constant where the model is not normalized; h=None sums h out.

        It is one number for each point. For models with time the axis before that of a point is time, and there is
        one number for each sequence. `inputs` have the axes of v, but for the last: there is what is known of a point
        from outside.
        """

    @abc.abstractmethod
    def posterior(self, batch: Batch, key: Any = None) -> Any:
        """Return p(h | v, Θ) for each row, or draws of it; None when nothing is hidden."""

    @abc.abstractmethod
    def sample(self, key: Key, shape: Shape = ()) -> Any:
        """Draw visible points."""

    @abc.abstractmethod
    def impute(self, batch: Batch, key: Array) -> Any:
        """Draw the missing entries of each row given what is observed of it."""

    def conditional_mean(self, batch: Batch) -> Any:
        """Return the rows with what is missing at its mean given what is observed: of draws, unless there is a form."""
        keys = jax.random.split(jax.random.key(0), _IMPUTATIONS)
        mean = jnp.mean(jax.lax.map(lambda key: jnp.asarray(self.impute(batch, key)), keys), axis=0)
        return keep_observed(batch, mean)

    @abc.abstractmethod
    def estimate_log_likelihood(self, batch: Batch, key: Any = None, draws: int = 1) -> Estimate:
        """Return log p(v | Θ) for each row, with its standard error where it takes draws to know it."""

    def completed(self, batch: Batch, want: Want, temperature: float, key: Any) -> Completion | None:
        """Return what `complete` returns, where the model has a closed form for it; otherwise None.

        `want` is ("h",), ("v",) or ("h", "v"). What is not wanted is summed out. Temperature 0 is the lowest energy, 1
        a draw; a temperature at which there is no exact draw is refused.
        """
        return None

    @property
    def visible_levels(self) -> tuple[tuple[float, ...], ...] | None:
        """The values that each entry of a point may have; () for one that has countless. None: the model has no say."""
        return None

    @property
    def hidden_levels(self) -> tuple[tuple[float, ...], ...] | None:
        """The same of the entries of h, a vector: `complete` needs it of models without a closed form."""
        return None

    @property
    def featured(self) -> "ClosedFormModel | None":
        """The members that give each row its likelihood, if there is a quick kernel for some of their kind."""
        return None

    def trainable(self) -> Any:
        """Return a tree of bools, one for each leaf: whether it is a parameter. Others, in `Fixed`, are data."""
        return trainable_leaves(self)


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

    @abc.abstractmethod
    def conditional_embedding(self, batch: Batch) -> Any:
        """Return the embedding that is expected of each row, given what is observed of it, for each member.

        An embedding is what averages: a number is its own, a category has the indicators of all categories, an angle
        the point of the circle. So that of a mixture is the average of those of its components, by responsibilities. It
        is an array or a tree of arrays, whose leading axes are the rows and those of the members.
        """

    def from_embedding(self, embedding: Any) -> Any:
        """Return the rows that average embeddings stand for: the most probable category, the mean direction."""
        return embedding

    def conditional_mean(self, batch: Batch) -> Any:
        """Return each row with its missing entries at their mean, given what is observed of it.

        Categories have no mean: they are the most probable ones. That of angles is the mean direction.
        """
        return keep_observed(batch, self.from_embedding(self.conditional_embedding(batch)))

    @abc.abstractmethod
    def conditional_mode(self, batch: Batch) -> Any:
        """Return each row with its missing entries at their most probable values, given what is observed of it.

        Where something discrete is hidden, a label or a path of states, it is the most probable one given what is
        observed, and the entries are the most probable ones given both. Points without parts are found as a whole.
        """

    def tempered(self, temperature: float) -> Self:
        """Return the members with densities p^(1/T), normalized, where there are such members."""
        raise refuse_temperature(temperature, type(self).__name__, "what is missing of a row")

    @property
    def visible_family(self) -> Any:
        """The members of an exponential family that p(v) are, one for each member of the model; None if they are none.

        Averages of their natural coordinates are what a mixture climbs by to the most probable point.
        """
        return None

    def leave_one_out(self, batch: Batch, carry: Any = None) -> Float[Array, "rows *batch columns"]:
        """Return the log-likelihood of each row without its entry in one column, for each column.

        Its difference to the log-likelihood of the row is −log p(v_j | the rest of the row), how surprising the entry
        is. Models with time leave out an entry of the row only, not of those before it.
        """
        columns = jnp.arange(batch.values.shape[-1])
        found = jax.lax.map(lambda column: self.log_likelihood(batch.without_column(column)), columns)
        return jnp.moveaxis(found, 0, -1)

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
