"""Linear dynamical systems: a hidden state moves linearly, seen through linear outputs, with Gaussian noise."""

from typing import Any, Self

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Batch, Completion, Extent, Key, Shape, TimeIndex, Want, as_key, as_shape, replace
from kullback.models.linear import _learning
from kullback.models.linear._basis import basis_towards, observability
from kullback.models.linear._completion import complete_sequences, row_energies
from kullback.models.linear._inference import Line, filter_states, last_state, log_likelihoods, smooth_states
from kullback.models.linear._kalman import Smoothed, States, symmetric, unobserved_covariances, unobserved_means
from kullback.models.linear._missing import draw_missing, expected_rows, leave_one_out
from kullback.models.linear._observed_rows import Outputs
from kullback.models.linear._sampling import draw_rows
from kullback.models.linear._statistics import LinearStatistics
from kullback.models.linear._system import LinearSystem
from kullback.numerics import Numeric


class LinearDynamicalSystem(LinearSystem):
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

    # --- what the data says -------------------------------------------------------------------------------

    def _read(self, batch: Batch, carry: States | None = None) -> tuple[Line, Outputs]:
        line = self.line_of(batch, carry)
        _, values, observed = self.centered_values(batch, line)
        return line, self.outputs(values, observed)

    def filter(self, batch: Batch, carry: States | None = None) -> tuple[States, States]:
        """Return p(h_t | v_1 … v_t) of each row, and what the next batch carries on."""
        line, outputs = self._read(batch, carry)
        states, _ = filter_states(self.dynamics, line, outputs)
        return states, last_state(line, states, line.before or self.dynamics.initial)

    def smooth(self, batch: Batch, carry: States | None = None) -> Smoothed:
        """Return p(h_t | all rows), the covariances with the state before, and the state before row 0."""
        return smooth_states(self.dynamics, *self._read(batch, carry), lag=True)

    def posterior(self, batch: Batch, key: Any = None) -> States:
        """Return p(h_t | all rows) = N(mean, covariance) of each row."""
        return smooth_states(self.dynamics, *self._read(batch)).states

    def log_likelihood(self, batch: Batch, carry: States | None = None) -> Float[Array, " rows"]:
        """Return log p(v_t | v_1 … v_{t−1}) of each row: their sum is that of the sequences."""
        return log_likelihoods(self.dynamics, *self._read(batch, carry))

    def leave_one_out(self, batch: Batch, carry: States | None = None) -> Float[Array, "rows n"]:
        """Return log p(v_t without an entry | v_1 … v_{t−1}) of each row and column."""
        return leave_one_out(self, batch, carry)

    def expected_statistics(self, batch: Batch, carry: States | None = None) -> tuple[LinearStatistics, States]:
        """Return the moments of states, inputs and rows, and the filtered state of the last row that counts.

        What is missing of a row, the system expects, given the states and the rest of the row. The width of points is
        for families: it does not enter here.
        """
        return _learning.expected_statistics(self, batch, carry)

    # --- what the model says ------------------------------------------------------------------------------

    def blank_carry(self) -> States:
        """Return what is known of the state before anything was seen; a row that begins a sequence ignores it."""
        return self.dynamics.initial

    def own_statistics(self, like: Extent) -> LinearStatistics:
        """Return the moments of the joint over as many steps: U₁ = V, U_t = A U_{t−1} Aᵀ + Q around their means."""
        return _learning.own_statistics(self, like)

    def sample(self, key: Key, shape: Shape = ()) -> Float[Array, "..."]:
        """Draw the first points of sequences, where inputs are 0."""
        return self.sample_joint(key, shape)[1]

    def sample_joint(self, key: Key, shape: Shape = ()) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Draw first states, and the points they belong to, where inputs are 0."""
        key, shape = as_key(key), as_shape(shape)
        count = int(np.prod(shape))
        start, drive = jnp.ones(count, bool), jnp.zeros((count, *self.initial_mean.shape), self.transition.dtype)
        h, v = draw_rows(self, key, start, drive, None)
        return h.reshape(*shape, -1), v.reshape(*shape, -1)

    def sample_sequence(
        self, key: Key, length: int, inputs: Any = None
    ) -> tuple[Float[Array, "length q"], Float[Array, "length n"]]:
        """Draw a sequence: its states and its points."""
        line = self.line(TimeIndex.of_lengths([length]), jnp.ones(length), inputs)
        return draw_rows(self, as_key(key), line.start, line.drive, line.inputs)

    def impute(self, batch: Batch, key: Array) -> Float[Array, "rows n"]:
        """Draw all missing entries together given what is observed of the sequences.

        Sequences y are drawn, then moved by the regression on the observed entries: what the system without means
        expects of (v − y) where v is missing (Durbin and Koopman's simulation smoother).
        """
        return draw_missing(self, batch, key)

    def conditional_embedding(self, batch: Batch) -> Float[Array, "rows n"]:
        """Return what is expected of each row given all that is observed of the sequences, by the smoothed states."""
        return expected_rows(self, batch)

    def conditional_mode(self, batch: Batch) -> Float[Array, "rows n"]:
        """Return the conditional mean: a Gaussian is the most probable there, all missing entries together."""
        return self.conditional_mean(batch)

    def completed(self, batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
        """Return states, missing entries or both: at their mean, which is the mode, or drawn, at any temperature.

        Each row has the energy of its sequence.
        """
        return complete_sequences(self, batch, want, temperature, key)

    def forecast(self, state: States, steps: int, inputs: Any = None) -> States:
        """Return N(mean, covariance) of the points 1 … `steps` ahead of a filtered state, each on its own."""
        line = self.line(TimeIndex(np.zeros(steps, bool)), jnp.ones(steps), inputs, state)
        mean = unobserved_means(self.dynamics, state.mean, line.start, line.drive)
        covariance = unobserved_covariances(self.dynamics, state, line.start)
        c = jnp.asarray(self.observation)
        around = self.visible_mean(mean, line.inputs)
        return States(around, symmetric(c @ covariance @ c.T + jnp.asarray(self.observation_noise)))

    def energy(self, v: Any, h: Any = None, inputs: Any = None) -> Float[Array, "..."]:
        """Return −log p(h, v | inputs) of sequences, whose axis before the last is time; without h, −log p(v | inputs).

        Axes before time broadcast: several states of one sequence, or one table of inputs for all of them.
        """
        given = {name: part for name, part in (("v", v), ("h", h), ("inputs", inputs)) if part is not None}
        rows, shape = _below_each_other(given, self.transition.dtype)
        time = TimeIndex(np.arange(rows["v"].shape[0]) % shape[-1] == 0)
        batch = Batch(rows["v"], time=time, inputs=rows.get("inputs"))
        each = -self.log_likelihood(batch) if h is None else row_energies(self, self.line_of(batch), batch, rows["h"])
        return jnp.sum(each.reshape(shape), axis=-1)

    # --- the nearest model --------------------------------------------------------------------------------

    def maximize(self, statistics: LinearStatistics, prior: Any = None) -> Self:
        """Return the regressions of h_t on (h_{t−1}, u_t) and of v_t on (h_t, u_t, 1), and the distribution of h₁.

        Noises are what the regressions leave, whichever of their coefficients are fixed. A block without mass stays.
        """
        return _learning.maximize(self, statistics, prior)

    def cross_entropy(self, statistics: LinearStatistics) -> Float[Array, ""]:
        """Return −E log N(h₁; π, V) − E log N(h_t; A h_{t−1} + B u_t, Q) − E log N(v_t; C h_t + D u_t + d, R)."""
        return _learning.cross_entropy(self, statistics)

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
        return replace(self, **new)

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


def _below_each_other(given: dict[str, Any], dtype: Any) -> tuple[dict[str, Array], tuple[int, ...]]:
    """Return sequences as rows one below the other, and the shape that their rows had."""
    tables = {name: jnp.asarray(part, dtype) for name, part in given.items()}
    for name, table in tables.items():
        if table.ndim < 2:
            raise ValueError(f"{name} has shape {table.shape}: it needs an axis for time and one for columns.")
        if table.shape[-2] != tables["v"].shape[-2]:
            raise ValueError(f"{name} has {table.shape[-2]} steps: v has {tables['v'].shape[-2]}.")
    shape = jnp.broadcast_shapes(*(table.shape[:-1] for table in tables.values()))
    return {
        name: jnp.broadcast_to(table, (*shape, table.shape[-1])).reshape(-1, table.shape[-1])
        for name, table in tables.items()
    }, shape
