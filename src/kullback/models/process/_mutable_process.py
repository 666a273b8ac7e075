"""What a memory that follows a stream answers: how it moves, what it expects of itself, and of what comes next."""

import abc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from kullback.core import Batch, Estimate, Key, Model, Shape, as_key, as_shape
from kullback.families import Categorical, Kind, OutputKind
from kullback.models.process import _sums
from kullback.models.process._generative import FinitePair


class MutableProcess(Model):
    """A memory z that moves with a stream of rows x: z' ~ q(z' | z, x), and a Markov chain p(z', x' | z, x) of both.

    q is what the memory does, mutable, and sees nothing but the last row and itself. p is the model: what it expects of
    the memory, p(z' | z, x), and of the next row, p(x' | z, x), independent of each other. All three are families of
    the library. The first row of a sequence is given, and the memory before it has the law of `start`.

    The relative entropy of q and the truth from p, for each step, is an exploitation and an exploration:
    E[D(q(z' | z, x), p(z' | z, x))] + E[−log p(x' | z, x)] − h, with h the entropy rate of the rows.
    """

    @property
    @abc.abstractmethod
    def memory_kind(self) -> Kind:
        """The kind of q(z' | z, x) and p(z' | z, x), whose natural coordinates are all of R^d."""

    @property
    @abc.abstractmethod
    def visible_kind(self) -> OutputKind:
        """The kind of p(x' | z, x)."""

    @property
    @abc.abstractmethod
    def origin(self) -> Num[np.ndarray, "..."]:
        """The memory whose statistics are all 0."""

    @property
    @abc.abstractmethod
    def n_states(self) -> int:
        """How many memories there are."""

    @abc.abstractmethod
    def states(self) -> Num[Array, "states ..."]:
        """Return all memories, of which there are `n_states`."""

    @abc.abstractmethod
    def drive(self, x: Any) -> Num[Array, "..."]:
        """Return what rows say to q, whatever the memory is: for many rows at once, for it is quicker so."""

    @abc.abstractmethod
    def driven_natural(self, z: Any, drive: Any) -> Float[Array, "... d"]:
        """Return the natural coordinates of q(z' | z, x) from what the row says."""

    def memory_natural(self, z: Any, x: Any) -> Float[Array, "... d"]:
        """Return the natural coordinates of q(z' | z, x); leading axes of memories and rows are broadcast."""
        return self.driven_natural(z, self.drive(x))

    @abc.abstractmethod
    def expected_natural(self, z: Any, x: Any) -> Float[Array, "... d"]:
        """Return the natural coordinates of p(z' | z, x)."""

    @abc.abstractmethod
    def prediction_free(self, z: Any, x: Any) -> Float[Array, "... d"]:
        """Return the free coordinates of p(x' | z, x)."""

    @abc.abstractmethod
    def start(self, key: Key, chains: int) -> Num[Array, "chains ..."]:
        """Draw the memories that chains begin with: all are alike."""

    @abc.abstractmethod
    def noise(self, key: Key, shape: Shape) -> Float[Array, "..."]:
        """Draw the noise that `step` takes to move so many memories: all of it at once, for it is quicker so."""

    @abc.abstractmethod
    def step(self, natural: Float[Array, "... d"], noise: Float[Array, "..."]) -> Num[Array, "..."]:
        """Return the memory that the noise draws from the member with these natural coordinates."""

    @abc.abstractmethod
    def embed(self, x: Any) -> Float[Array, "... e"]:
        """Return rows as numbers along a last axis: what a linear map can tell apart."""

    @property
    @abc.abstractmethod
    def embedding_size(self) -> int:
        """How many numbers an embedded row has."""

    @abc.abstractmethod
    def memory_part(self) -> Any:
        """Return a tree of bools, one for each leaf: whether q(z' | z, x) depends on it."""

    # --- families ---------------------------------------------------------------------------------------

    def memory(self, z: Any, x: Any) -> Any:
        """Return q(z' | z, x), what the memory does."""
        return self.memory_kind.at("natural", self.memory_natural(z, x))

    def expected_memory(self, z: Any, x: Any) -> Any:
        """Return p(z' | z, x), what is expected of the memory."""
        return self.memory_kind.at("natural", self.expected_natural(z, x))

    def prediction(self, z: Any, x: Any) -> Any:
        """Return p(x' | z, x), what is expected of the next row."""
        return self.visible_kind.at("free", self.prediction_free(z, x))

    def memory_excess(self, does: Float[Array, "... d"], expected: Float[Array, "... d"]) -> Float[Array, "..."]:
        """Return the relative entropy of memories from what is expected of them, both by natural coordinates θ.

        ⟨η_q, θ_q − θ_p⟩ + log q(o) − log p(o), with o the origin: it is finite for units that never fail, where
        probabilities round to 0 and 1.
        """
        kind, origin = self.memory_kind, self.origin
        mean = kind.at("natural", does).expectation
        gap = kind.log_prob_at("natural", does, origin) - kind.log_prob_at("natural", expected, origin)
        return jnp.sum(mean * (does - expected), axis=-1) + gap

    def log_memory(self, natural: Float[Array, "... d"], z: Any) -> Float[Array, "..."]:
        """Return log q(z) or log p(z) of the member with these natural coordinates."""
        return jnp.asarray(self.memory_kind.log_prob_at("natural", natural, z))

    def log_prediction(self, z: Any, x: Any, following: Any) -> Float[Array, "..."]:
        """Return log p(x' | z, x) of the row that follows."""
        return jnp.asarray(self.visible_kind.log_prob_at("free", self.prediction_free(z, x), following))

    # --- a model of sequences ---------------------------------------------------------------------------

    def energy(self, v: Any, h: Any = None, inputs: None = None) -> Float[Array, "..."]:
        """Return −log p(h, v) for sequences v, whose first row is given, and memories h; without h, −log p(v).

        The axis of time is the one before those of a row. Of up to 1,024 memories h is summed out.
        """
        return _sums.energy(self, jnp.asarray(v), None if h is None else jnp.asarray(h))

    def log_likelihood(self, batch: Batch) -> Float[Array, " rows"]:
        """Return log p(x_t | all rows before it) of each row, exactly, for up to 1,024 memories; of a first row 0."""
        return _sums.log_likelihood(self, batch)

    def estimate_log_likelihood(self, batch: Batch, key: Any = None, draws: int = 1) -> Estimate:
        """Return `log_likelihood`, which is exact: nothing is drawn."""
        exact = self.log_likelihood(batch)
        return Estimate(exact, jnp.zeros_like(exact))

    def predict_rows(self, batch: Batch, key: Key, chains: int = 8) -> Float[Array, " rows"]:
        """Return log of the mean of p(x_t | z, x_{t−1}) over chains of memories that q moves; of a first row 0.

        It is the score of what the memory has learned to predict, for any number of memories, and takes no look at p's
        expectation of the memory.
        """
        return _sums.predict_rows(self, batch, as_key(key), chains)

    def posterior(self, batch: Batch, key: Any = None, draws: int = 1) -> Num[Array, "rows draws ..."]:
        """Return memories that q draws along the rows, each before it has seen its row: its guess of p(h | v)."""
        return _sums.memories_along(self, batch, as_key(0 if key is None else key), draws)

    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "..."]:
        """Draw rows that follow the start of a sequence: a new memory, and the row that stands in for none."""
        first, second = jax.random.split(as_key(key))
        shape = as_shape(shape)
        z = self.start(first, int(np.prod(shape)))
        x = self.prediction(z, self.blank_row()).sample(second)
        return x.reshape(*shape, *x.shape[1:])

    def sample_sequence(self, key: Key, length: int) -> tuple[Num[Array, "steps ..."], Num[Array, "steps ..."]]:
        """Draw the memories and the rows of one sequence from p."""
        return _sums.draw_sequence(self, as_key(key), length)

    def blank_row(self) -> Num[Array, "..."]:
        """Return the row that stands in where there is none: a most probable one of the plainest member."""
        return jnp.asarray(self.visible_kind.at("free", np.zeros(self.visible_kind.size)).mode)

    def impute(self, batch: Batch, key: Array) -> Any:
        """Refuse: a process sees all of a row, or none of it."""
        if batch.observed is None:
            return jnp.asarray(batch.values)
        raise ValueError("rows with missing entries do not move a memory: fill them in first, with a model of rows.")

    # --- tables -----------------------------------------------------------------------------------------

    @property
    def symbols(self) -> int:
        """How many symbols there are, where rows are one category."""
        kind = self.visible_kind
        if not isinstance(kind, Kind) or kind.family is not Categorical:
            raise ValueError(f"rows are {kind}: tables are for processes of one category, so take a Categorical.")
        return kind.size + 1

    def pair(self) -> FinitePair:
        """Return q and p as tables, with all pairs of memory and symbol as likely to begin with."""
        return _sums.pair(self)
