"""What a linear dynamical system is made of, as inference, learning and sampling read it."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from kullback.core import Batch, ClosedFormModel, TimeIndex
from kullback.models.linear._inference import Line
from kullback.models.linear._kalman import Dynamics, States
from kullback.models.linear._observed_rows import Outputs, independent_outputs
from kullback.models.linear._parameters import PARAMETERS, check_parameters
from kullback.models.linear._statistics import Regression
from kullback.numerics import Numeric, as_parameter


class LinearSystem(ClosedFormModel):
    """The parameters of a system, and the parts that are made of them."""

    goes_row_by_row: ClassVar[bool] = True

    transition: Float[Numeric, "q q"]
    observation: Float[Numeric, "n q"]
    transition_noise: Float[Numeric, "q q"]
    observation_noise: Float[Numeric, "n n"]
    initial_mean: Float[Numeric, " q"]
    initial_covariance: Float[Numeric, "q q"]
    input_transition: Float[Numeric, "q m"] | None
    input_observation: Float[Numeric, "n m"] | None
    offset: Float[Numeric, " n"] | None
    fixed: tuple[str, ...] = eqx.field(static=True)

    def __init__(
        self,
        transition: Any,
        observation: Any,
        transition_noise: Any,
        observation_noise: Any,
        initial_mean: Any,
        initial_covariance: Any,
        input_transition: Any = None,
        input_observation: Any = None,
        offset: Any = None,
        fixed: tuple[str, ...] = (),
    ):
        values = (transition, observation, transition_noise, observation_noise, initial_mean, initial_covariance)
        named = zip(PARAMETERS, (*values, input_transition, input_observation, offset), strict=True)
        arrays = {name: as_parameter(value) for name, value in named if value is not None}
        check_parameters(arrays)
        for name in PARAMETERS:
            setattr(self, name, arrays.get(name))
        self.fixed = tuple(fixed)
        unknown = [name for name in self.fixed if name not in PARAMETERS]
        if unknown:
            raise ValueError(f"fixed has {unknown[0]!r}: it must name parameters, of {', '.join(PARAMETERS)}.")

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch of models: one system."""
        return ()

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one visible point."""
        return self.observation.shape[:1]

    @property
    def visible_levels(self) -> tuple[tuple[float, ...], ...]:
        """All entries are real numbers."""
        return ((),) * self.observation.shape[0]

    @property
    def dynamics(self) -> Dynamics:
        """How the state begins and moves."""
        initial = States(jnp.asarray(self.initial_mean), jnp.asarray(self.initial_covariance))
        return Dynamics(jnp.asarray(self.transition), jnp.asarray(self.transition_noise), initial)

    @property
    def offset_or_zero(self) -> Float[Array, " n"]:
        """The offset d of the outputs."""
        return jnp.zeros(self.event_shape, self.transition.dtype) if self.offset is None else jnp.asarray(self.offset)

    @property
    def transition_regression(self) -> Regression:
        """The regression of h_t on (h_{t−1}, u_t)."""
        none = jnp.zeros(self.transition.shape[:1], self.transition.dtype)
        return Regression(_beside(self.transition, self.input_transition), none, jnp.asarray(self.transition_noise))

    @property
    def observation_regression(self) -> Regression:
        """The regression of v_t on (h_t, u_t, 1)."""
        coefficients = _beside(self.observation, self.input_observation)
        return Regression(coefficients, self.offset_or_zero, jnp.asarray(self.observation_noise))

    def line_of(self, batch: Batch, carry: States | None = None) -> Line:
        """Return how the rows of a batch follow each other, and what their inputs do to the state."""
        return self.line(batch.time, batch.weight, batch.inputs, carry)

    def line(
        self, time: TimeIndex | None, weight: Float[Numeric, " rows"], inputs: Any, carry: States | None = None
    ) -> Line:
        """Return how rows of these weights follow each other, and what their inputs do to the state."""
        weight = jnp.asarray(weight, self.transition.dtype)
        rows, absent = weight.shape[0], weight <= 0
        inputs = self._check_inputs(inputs, absent)
        drive = jnp.zeros((rows, self.transition.shape[0]), weight.dtype)
        if self.input_transition is not None and inputs is not None:
            drive = inputs @ jnp.asarray(self.input_transition).T
        if time is None:
            start, counted, ahead = jnp.ones(rows, bool), weight, jnp.zeros(rows, bool)
        else:
            follows = jnp.arange(rows) > 0
            start = jnp.asarray(time.starts) | absent | (jnp.roll(absent, 1) & follows)
            start = start if carry is not None else start | ~follows
            ahead = jnp.asarray(time.lookahead) & ~absent
            counted = jnp.where(ahead, 0, weight)
        steady = time is not None and time.steady
        before = None if carry is None else States(*(jnp.asarray(part, weight.dtype) for part in carry))
        return Line(start, counted, ahead, drive, inputs, before, steady)

    def _check_inputs(self, inputs: Any, absent: Bool[Array, " rows"]) -> Float[Array, "rows m"] | None:
        matrix = self.input_observation if self.input_transition is None else self.input_transition
        if matrix is None:
            return None
        if inputs is None:
            raise ValueError("inputs are missing: the system has a matrix for them, so give one row for each step.")
        known, rows, m = jnp.asarray(inputs, matrix.dtype), absent.shape[0], matrix.shape[-1]
        if known.shape != (rows, m):
            raise ValueError(f"inputs have shape {known.shape}: the system takes {m} for each of {rows} steps.")
        return jnp.where(absent[:, None], 0, known)

    def outputs(self, values: Float[Array, "rows n"], observed: Bool[Array, "rows n"] | None) -> Outputs:
        """Return outputs of unit noise for rows from which offset and inputs have been taken."""
        observation, noise = jnp.asarray(self.observation), jnp.asarray(self.observation_noise)
        return independent_outputs(observation, noise, values, observed)

    def centered_values(
        self, batch: Batch, line: Line
    ) -> tuple[Float[Array, "rows n"], Float[Array, "rows n"], Bool[Array, "rows n"] | None]:
        """Return v − d, what of it is not due to inputs, and what is observed."""
        away = jnp.asarray(batch.values, self.transition.dtype) - self.offset_or_zero
        observed = None if batch.observed is None else jnp.asarray(batch.observed)
        return away, away - self.input_effect(line.inputs), observed

    def input_effect(self, inputs: Float[Array, "rows m"] | None) -> Any:
        """Return D u."""
        if self.input_observation is None or inputs is None:
            return 0.0
        return inputs @ jnp.asarray(self.input_observation).T

    def visible_mean(self, states: Float[Array, "rows q"], inputs: Any) -> Float[Array, "rows n"]:
        """Return C h + D u + d."""
        return states @ jnp.asarray(self.observation).T + self.input_effect(inputs) + self.offset_or_zero


def _beside(matrix: Numeric, inputs: Numeric | None) -> Float[Array, "n p"]:
    return jnp.asarray(matrix) if inputs is None else jnp.concatenate([jnp.asarray(matrix), inputs], axis=1)
