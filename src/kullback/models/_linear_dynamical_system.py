"""Linear dynamical systems: a hidden state moves linearly, seen through linear outputs, with Gaussian noise."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from kullback.core import Batch, ClosedFormModel, Extent, TimeIndex
from kullback.models._factor_rows import LOG_TWO_PI
from kullback.models._kalman import (
    Dynamics,
    Smoothed,
    States,
    chosen,
    drawn_path,
    moving_covariances,
    moving_means,
    symmetric,
    times,
    turned,
)
from kullback.models._linear_basis import basis_towards, observability
from kullback.models._linear_parameters import PARAMETERS, check_parameters
from kullback.models._linear_paths import Line, filtered, known, last_state, log_likelihoods, smoothed, unseen
from kullback.models._linear_statistics import (
    Inside,
    LinearStatistics,
    Regression,
    between_inputs,
    centred,
    gaussian_cost,
    positive_definite,
    regress,
    regression_cost,
)
from kullback.models._observed_rows import Outputs, independent_outputs, missing_given_rest
from kullback.numerics import Numeric, apply, as_parameter, outer, whiten


class LinearDynamicalSystem(ClosedFormModel):
    """h₁ ~ N(π, V),  h_t = A h_{t−1} + B u_t + N(0, Q),  v_t = C h_t + D u_t + d + N(0, R).

    h in R^q is hidden, v in Rⁿ visible, and inputs u in R^m are known: u_t drives the step into t, so the first input
    of a sequence enters its output only. B, D and d are None where the system has none. Parameters named in `fixed`
    stay as they are in `maximize`.

    A batch of sequences has its `time`; without them each row is a sequence of one step. The nearest system to
    `LinearStatistics` is two regressions: of h_t on (h_{t−1}, u_t), and of v_t on (h_t, u_t, 1).

    >>> from kullback.families import Batch, TimeIndex
    >>> walk = LinearDynamicalSystem([[1.0]], [[1.0]], [[1.0]], [[2.0]], [0.0], [[2.0]])
    >>> seen = Batch([[1.0], [2.0], [3.0]], time=TimeIndex.of_lengths([3]))
    >>> walk.posterior(seen).mean.round(3).tolist()
    [[1.094], [1.688], [2.125]]
    """

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
        given = dict(
            zip(
                PARAMETERS,
                (transition, observation, transition_noise, observation_noise, initial_mean, initial_covariance)
                + (input_transition, input_observation, offset),
                strict=True,
            )
        )
        arrays = {name: as_parameter(value) for name, value in given.items() if value is not None}
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

    # --- the parts ----------------------------------------------------------------------------------------

    @property
    def _dynamics(self) -> Dynamics:
        initial = States(jnp.asarray(self.initial_mean), jnp.asarray(self.initial_covariance))
        return Dynamics(jnp.asarray(self.transition), jnp.asarray(self.transition_noise), initial)

    @property
    def _offset(self) -> Float[Array, " n"]:
        return jnp.zeros(self.event_shape, self.transition.dtype) if self.offset is None else jnp.asarray(self.offset)

    @property
    def _moving(self) -> Regression:
        """The regression of h_t on (h_{t−1}, u_t)."""
        none = jnp.zeros(self.transition.shape[:1], self.transition.dtype)
        return Regression(_beside(self.transition, self.input_transition), none, jnp.asarray(self.transition_noise))

    @property
    def _seeing(self) -> Regression:
        """The regression of v_t on (h_t, u_t, 1)."""
        coefficients = _beside(self.observation, self.input_observation)
        return Regression(coefficients, self._offset, jnp.asarray(self.observation_noise))

    def _line(self, time: TimeIndex | None, weight: Float[Numeric, " rows"], carry: States | None) -> Line:
        weight = jnp.asarray(weight, self.transition.dtype)
        rows, absent = weight.shape[0], weight <= 0
        inputs = self._inputs(time, absent)
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
        before = None if carry is None else States(*(jnp.asarray(part, weight.dtype) for part in carry))
        return Line(start, counted, ahead, drive, inputs, before)

    def _inputs(self, time: TimeIndex | None, absent: Bool[Array, " rows"]) -> Float[Array, "rows m"] | None:
        matrix = self.input_observation if self.input_transition is None else self.input_transition
        if matrix is None:
            return None
        if time is None or time.inputs is None:
            raise ValueError("time has no inputs: the system has a matrix for them, so give one row for each step.")
        if time.inputs.shape[-1] != matrix.shape[-1]:
            raise ValueError(f"inputs have {time.inputs.shape[-1]} columns: the system takes {matrix.shape[-1]}.")
        return jnp.where(absent[:, None], 0, jnp.asarray(time.inputs, matrix.dtype))

    def _outputs(self, values: Float[Array, "rows n"], observed: Any) -> Outputs:
        """Return outputs of unit noise for rows from which offset and inputs have been taken."""
        observation, noise = jnp.asarray(self.observation), jnp.asarray(self.observation_noise)
        return independent_outputs(observation, noise, values, observed)

    def _away(self, batch: Batch, line: Line) -> tuple[Float[Array, "rows n"], Float[Array, "rows n"], Any]:
        """Return v − d, what of it is not due to inputs, and what is observed."""
        away = jnp.asarray(batch.values, self.transition.dtype) - self._offset
        observed = None if batch.observed is None else jnp.asarray(batch.observed)
        return away, away - self._pushed(line.inputs), observed

    def _pushed(self, inputs: Float[Array, "rows m"] | None) -> Any:
        """Return D u."""
        if self.input_observation is None or inputs is None:
            return 0.0
        return inputs @ jnp.asarray(self.input_observation).T

    # --- what the data says -------------------------------------------------------------------------------

    def _read(self, batch: Batch, carry: States | None = None) -> tuple[Line, Outputs]:
        line = self._line(batch.time, batch.weight, carry)
        _, values, observed = self._away(batch, line)
        return line, self._outputs(values, observed)

    def filter(self, batch: Batch, carry: States | None = None) -> tuple[States, States]:
        """Return p(h_t | v_1 … v_t) of each row, and what the next batch carries on."""
        line, outputs = self._read(batch, carry)
        states, _ = filtered(self._dynamics, line, outputs)
        return states, last_state(line, states, line.before or self._dynamics.initial)

    def smooth(self, batch: Batch, carry: States | None = None) -> Smoothed:
        """Return p(h_t | all rows), the covariances with the state before, and the state before row 0."""
        return smoothed(self._dynamics, *self._read(batch, carry), lag=True)

    def posterior(self, batch: Batch, key: Any = None) -> States:
        """Return p(h_t | all rows) = N(mean, covariance) of each row."""
        return smoothed(self._dynamics, *self._read(batch)).states

    def log_likelihood(self, batch: Batch, carry: States | None = None) -> Float[Array, " rows"]:
        """Return log p(v_t | v_1 … v_{t−1}) of each row: their sum is that of the sequences."""
        return log_likelihoods(self._dynamics, *self._read(batch, carry))

    def expected_statistics(self, batch: Batch, carry: States | None = None) -> tuple[LinearStatistics, States]:
        """Return the moments of states, inputs and rows, and the filtered state of the last row that counts.

        What is missing of a row, the system expects, given the states and the rest of the row. The width of points is
        for families: it does not enter here.
        """
        line = self._line(batch.time, batch.weight, carry)
        away, values, observed = self._away(batch, line)
        outputs = self._outputs(values, observed)
        found = known(self._dynamics, line, outputs)
        total = jnp.sum(jnp.where(line.counted > 0, line.counted * found.log_likelihood, 0))
        (n, q), dtype = self.observation.shape, away.dtype
        inside = Inside(found.sums, jnp.zeros((n, q), dtype), jnp.zeros((n, n), dtype))
        if observed is not None and found.covariance is not None:
            rest = missing_given_rest(jnp.asarray(self.observation), jnp.asarray(self.observation_noise), observed)
            filled = apply(rest.from_values, jnp.where(observed, values, 0)) + apply(rest.from_state, found.mean)
            away = jnp.where(observed, away, filled + (away - values))
            moving = times(rest.from_state, found.covariance)
            late = times(moving, turned(rest.from_state)) + rest.noise
            inside = Inside(found.sums, *(jnp.tensordot(line.counted, part, axes=1) for part in (moving, late)))
        return self._statistics(line, found.mean, found.before, inside, away, total), found.carry

    def _statistics(
        self,
        line: Line,
        mean: Float[Array, "rows q"],
        before: Float[Array, " q"],
        inside: Inside,
        away: Float[Array, "rows n"],
        log_likelihood: Any = 0,
    ) -> LinearStatistics:
        """Put the blocks together. `away` is v − d, and `inside` sums the covariances of the rows."""
        sums, cross, late = inside
        earlier = jnp.concatenate([before[None], mean[:-1]])
        driven = line.inputs if self.input_transition is not None else None
        seen = line.inputs if self.input_observation is not None else None
        initial = centred(mean, line.begun, sums.initial)
        spread = between_inputs(sums.earlier, sums.lag, sums.later, _columns(driven))
        transition = centred(_joined(earlier, driven, mean), line.moved, spread)
        spread = between_inputs(sums.every, cross, late, _columns(seen))
        emission = centred(_joined(mean, seen, away), line.counted, spread)
        there = jnp.concatenate([jnp.zeros(emission.mean.shape[0] - away.shape[1], mean.dtype), self._offset])
        emission = eqx.tree_at(lambda s: s.mean, emission, emission.mean + there)
        total = jnp.asarray(log_likelihood, mean.dtype)
        return LinearStatistics(jnp.asarray(emission.mass), total, initial, transition, emission)

    # --- what the model says ------------------------------------------------------------------------------

    def blank_carry(self) -> States:
        """Return what is known of the state before anything was seen; a row that begins a sequence ignores it."""
        return self._dynamics.initial

    def own_statistics(self, like: Extent) -> LinearStatistics:
        """Return the moments of the joint over as many steps: U₁ = V, U_t = A U_{t−1} Aᵀ + Q around their means."""
        if like.time is None:
            line = self._line(None, jnp.reshape(like.mass, 1), None)
        else:
            weight = jnp.ones(like.time.starts.shape) if like.weight is None else like.weight
            line = self._line(like.time, weight, like.carry)
        mean, sums = unseen(self._dynamics, line)
        c, mass = jnp.asarray(self.observation), jnp.sum(line.counted)
        late = c @ sums.every @ c.T + mass * jnp.asarray(self.observation_noise)
        away = mean @ c.T + self._pushed(line.inputs)
        before = (line.before or self._dynamics.initial).mean
        return self._statistics(line, mean, before, Inside(sums, c @ sums.every, late), away)

    def sample(self, key: Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        """Draw the first points of sequences, where inputs are 0."""
        return self.sample_joint(key, shape)[1]

    def sample_joint(self, key: Array, shape: tuple[int, ...] = ()) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Draw first states, and the points they belong to, where inputs are 0."""
        count = int(np.prod(shape))
        start, drive = jnp.ones(count, bool), jnp.zeros((count, *self.initial_mean.shape), self.transition.dtype)
        h, v = self._drawn(key, start, drive, None)
        return h.reshape(*shape, -1), v.reshape(*shape, -1)

    def sample_sequence(
        self, key: Array, length: int, inputs: Any = None
    ) -> tuple[Float[Array, "length q"], Float[Array, "length n"]]:
        """Draw a sequence: its states and its points."""
        line = self._line(TimeIndex.of_lengths([length], inputs), jnp.ones(length), None)
        return self._drawn(key, line.start, line.drive, line.inputs)

    def _drawn(
        self, key: Array, start: Bool[Array, " rows"], drive: Float[Array, "rows q"], inputs: Any
    ) -> tuple[Float[Array, "rows q"], Float[Array, "rows n"]]:
        first, second = jax.random.split(key)
        h = drawn_path(self._dynamics, start, drive, jax.random.normal(first, drive.shape, drive.dtype))
        noise = jax.random.normal(second, (drive.shape[0], *self.event_shape), drive.dtype)
        around = h @ jnp.asarray(self.observation).T + self._pushed(inputs) + self._offset
        return h, around + apply(jnp.linalg.cholesky(jnp.asarray(self.observation_noise)), noise)

    def impute(self, batch: Batch, key: Array) -> Float[Array, "rows n"]:
        """Draw all missing entries together given what is observed of the sequences.

        Sequences y are drawn, then moved by the regression on the observed entries: what the system without means
        expects of (v − y) where v is missing (Durbin and Koopman's simulation smoother).
        """
        line = self._line(batch.time, batch.weight, None)
        values, dtype = jnp.asarray(batch.values, self.transition.dtype), self.transition.dtype
        if batch.observed is None:
            return values
        observed = jnp.asarray(batch.observed)
        _, drawn = self._drawn(key, line.start, line.drive, line.inputs)
        apart = jnp.where(observed, values - drawn, 0)
        dynamics = self._dynamics
        initial = States(jnp.zeros_like(dynamics.initial.mean), dynamics.initial.covariance)
        still, none = dynamics._replace(initial=initial), jnp.zeros_like(line.drive)
        outputs = self._outputs(apart, observed)
        mean = smoothed(still, line._replace(drive=none), outputs).states.mean
        rest = missing_given_rest(jnp.asarray(self.observation), jnp.asarray(self.observation_noise), observed)
        moved = drawn + apply(rest.from_values, apart) + apply(rest.from_state, mean)
        return jnp.where(observed, values, moved).astype(dtype)

    def forecast(self, state: States, steps: int, inputs: Any = None) -> States:
        """Return N(mean, covariance) of the points 1 … `steps` ahead of a filtered state, each on its own."""
        ahead = TimeIndex(np.zeros(steps, bool), None, inputs)
        line = self._line(ahead, jnp.ones(steps), state)
        mean = moving_means(self._dynamics, state.mean, line.start, line.drive)
        covariance = moving_covariances(self._dynamics, state, line.start)
        c = jnp.asarray(self.observation)
        around = mean @ c.T + self._pushed(line.inputs) + self._offset
        return States(around, symmetric(c @ covariance @ c.T + jnp.asarray(self.observation_noise)))

    def energy(self, v: Any, h: Any = None, inputs: Any = None, time: TimeIndex | None = None) -> Float[Array, "..."]:
        """Return −log p(h_t | h_{t−1}) − log p(v_t | h_t) of each row; without h the free energy −log p(v_t | past).

        Without `time` each row is a sequence of its own: −log p(h, v). `inputs` has one row for each.
        """
        v = jnp.asarray(v, self.transition.dtype)
        flat = v.reshape(-1, v.shape[-1])
        if inputs is not None:
            first = jnp.ones(flat.shape[0], bool) if time is None else time.starts
            time = TimeIndex(first, None, jnp.reshape(jnp.asarray(inputs), (flat.shape[0], -1)))
        if h is None:
            return -self.log_likelihood(Batch(flat, time=time)).reshape(v.shape[:-1])
        h = jnp.asarray(h, v.dtype).reshape(flat.shape[0], -1)
        line = self._line(time, jnp.ones(flat.shape[0]), None)
        a, (mean, spread) = jnp.asarray(self.transition), self._dynamics.initial
        begun = _gaussian_energy(h - mean, spread)
        moved = _gaussian_energy(h - jnp.roll(h, 1, axis=0) @ a.T - line.drive, jnp.asarray(self.transition_noise))
        around = h @ jnp.asarray(self.observation).T + self._pushed(line.inputs) + self._offset
        seen = _gaussian_energy(flat - around, jnp.asarray(self.observation_noise))
        return (jnp.where(line.start, begun, moved) + seen).reshape(v.shape[:-1])

    # --- the nearest model --------------------------------------------------------------------------------

    def maximize(self, statistics: LinearStatistics, prior: Any = None) -> Self:
        """Return the regressions of h_t on (h_{t−1}, u_t) and of v_t on (h_t, u_t, 1), and the distribution of h₁.

        Noises are what the regressions leave, whichever of their coefficients are fixed. A block without mass stays.
        """
        if prior is not None:
            statistics = prior.added_to(statistics, self)
        q, free = self.transition.shape[0], {name: name not in self.fixed for name in PARAMETERS}
        driven, seeing = _columns(self.input_transition), _columns(self.input_observation)
        columns = (free["transition"],) * q + (free["input_transition"],) * driven
        moving = regress(self._moving, statistics.transition, columns, False)
        columns = (free["observation"],) * q + (free["input_observation"],) * seeing
        seen = regress(self._seeing, statistics.emission, columns, self.offset is not None and free["offset"])
        mean, covariance = self._nearest_initial(statistics)
        found = {
            "transition": moving.coefficients[:, :q],
            "input_transition": moving.coefficients[:, q:],
            "transition_noise": moving.noise,
            "observation": seen.coefficients[:, :q],
            "input_observation": seen.coefficients[:, q:],
            "offset": seen.offset,
            "observation_noise": seen.noise,
            "initial_mean": mean,
            "initial_covariance": covariance,
        }
        names = [name for name in PARAMETERS if free[name] and getattr(self, name) is not None]
        return eqx.tree_at(lambda m: [getattr(m, name) for name in names], self, [found[name] for name in names])

    def _nearest_initial(self, statistics: LinearStatistics) -> States:
        begun, old = statistics.initial, self._dynamics.initial
        spread = jnp.asarray(begun.spread)
        mean = old.mean if "initial_mean" in self.fixed else jnp.asarray(begun.mean)
        around = spread + outer(jnp.asarray(begun.mean) - mean)
        new = States(mean, positive_definite(around, jnp.diagonal(around)))
        return chosen(jnp.asarray(begun.mass) > 0, new, old)

    def cross_entropy(self, statistics: LinearStatistics) -> Float[Array, ""]:
        """Return −E log N(h₁; π, V) − E log N(h_t; A h_{t−1} + B u_t, Q) − E log N(v_t; C h_t + D u_t + d, R)."""
        begun, (mean, covariance) = statistics.initial, self._dynamics.initial
        second = jnp.asarray(begun.spread) + outer(jnp.asarray(begun.mean) - mean)
        start = jnp.multiply(begun.mass, gaussian_cost(second, covariance))
        moved = regression_cost(statistics.transition, self._moving)
        return start + moved + regression_cost(statistics.emission, self._seeing)

    # --- the basis of the states --------------------------------------------------------------------------

    def changed_basis(self, basis: Float[Numeric, "q q"]) -> Self:
        """Return the same system of visible points with states T h in place of h, T the basis."""
        t = jnp.asarray(basis, self.transition.dtype)
        inverse = jnp.linalg.inv(t)
        new = {
            "transition": t @ self.transition @ inverse,
            "observation": self.observation @ inverse,
            "transition_noise": symmetric(t @ self.transition_noise @ t.T),
            "initial_mean": t @ self.initial_mean,
            "initial_covariance": symmetric(t @ self.initial_covariance @ t.T),
        }
        if self.input_transition is not None:
            new["input_transition"] = t @ self.input_transition
        return eqx.tree_at(lambda m: [getattr(m, name) for name in new], self, list(new.values()))

    def aligned_to(self, reference: Self) -> Self:
        """Return the same system of visible points in the basis of the reference.

        States T h with the T that makes Õ T nearest to O, the stacked observability matrices [C; CA; CA²; …], outputs
        in units of the reference's noise. Directions that the reference does not show stay as they are.
        """
        if self.observation.shape != reference.observation.shape:
            raise ValueError(
                f"observation has shapes {self.observation.shape} and {reference.observation.shape}: states can only "
                "be lined up with those of a system with as many outputs and states."
            )
        noise = reference.observation_noise
        return self.changed_basis(
            basis_towards(
                observability(self.transition, self.observation, noise),
                observability(reference.transition, reference.observation, noise),
            )
        )


def _gaussian_energy(away: Float[Array, "rows n"], covariance: Float[Array, "n n"]) -> Float[Array, " rows"]:
    square, log_det = whiten(covariance, away)
    return 0.5 * (square + log_det + away.shape[-1] * LOG_TWO_PI)


def _beside(matrix: Numeric, inputs: Numeric | None) -> Float[Array, "n p"]:
    return jnp.asarray(matrix) if inputs is None else jnp.concatenate([jnp.asarray(matrix), inputs], axis=1)


def _joined(first: Array, inputs: Array | None, last: Array) -> Float[Array, "rows d"]:
    return jnp.concatenate([part for part in (first, inputs, last) if part is not None], axis=1)


def _columns(inputs: Numeric | None) -> int:
    return 0 if inputs is None else inputs.shape[-1]
