"""Natural reweighted wake-sleep: both networks follow the gradient by the Fisher metric of their layers."""

from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Batch
from kullback.geometry import damped_inverse, layer_moments, refresh_due, refresh_share
from kullback.learning._gradient import Slope, moved_by
from kullback.learning._learner import Clock, Gathered, Learner, Scalar, Start, StepInfo, as_number
from kullback.learning._wake_sleep import Sleep, Wake, check_draws, join_slopes, recognition_slopes, wake
from kullback.models import HelmholtzMachine
from kullback.numerics import Numeric
from kullback.runtime import quick_jit

#: Rows, of those that it is given to begin with, that are looked at for the moments of the visible layer.
_ROWS = 8192


class LayerMoments(eqx.Module):
    """Second moments of the layers with a 1 for the bias, and the mean of σ′ for each unit of both networks.

    `layers` has those of the hidden layers, and of the visible one where it is not known beforehand.
    """

    mass: Scalar
    layers: tuple[Float[Array, "_ _"], ...]
    generation: tuple[Float[Array, " _"], ...]
    recognition: tuple[Float[Array, " _"], ...]

    def merge(self, other: Self) -> Self:
        """Average by mass."""
        total = jnp.add(self.mass, other.mass)
        part = jnp.where(total > 0, other.mass / jnp.where(total > 0, total, 1), 0)
        return self.toward(other, part, total)

    def toward(self, other: Self, part: Scalar, mass: Scalar) -> Self:
        """Return the average with a part of another, under another mass."""
        mine = self.layers, self.generation, self.recognition
        others = other.layers, other.generation, other.recognition
        return type(self)(mass, *jax.tree.map(lambda a, b: a + jnp.asarray(part, a.dtype) * (b - a), mine, others))


class Metric(NamedTuple):
    """The state of the learner: moments of layers, and the inverses that were made of them."""

    moments: LayerMoments
    visible: Float[Array, "_ _"]
    inverses: tuple[Float[Array, "_ _"], ...]
    refreshes: Array


class NaturalWakeSleep(Learner[HelmholtzMachine, Metric, None, tuple[Any, LayerMoments]]):
    """Reweighted wake-sleep along the natural gradient.

    The Fisher matrix of unit j is E[σ′(a_j)·(h, 1)(h, 1)ᵀ] for the layer h that it follows; here it is s_j·A, one
    matrix A = E[(h, 1)(h, 1)ᵀ] for each layer and one number s_j = E[σ′(a_j)] for each unit. A step is
    γ_t·(A + λI)⁻¹∇_j / (s_j + ε), where the entry of the bias is not damped. Moments are running averages. Inverses are
    made anew every `refresh` steps, and at each of the first so many; that of the visible layer, which does not change
    as the machine learns, is made once, of the data to begin with.

    Parameters
    ----------
    rate, delay, power : float
        γ_t = rate·(1 + t / delay)^−power, with t the points seen divided by those of a usual step. It has to decay: a
        constant rate γ leaves about γ·d / 4·batch nats of noise, with d the parameters of the generation network. So
        `delay` is 20 for 180,000 of them and longer for fewer, 20·(180,000·batch / 32·d)^¾, where it is None.
    damping, floor : float
        λ and ε. A rate above the damping is unsafe.
    radius : float
        The length of a step is at most so many nats of relative entropy: γ_t ≤ √(2·radius / uᵀ∇).
    draws : int
        Draws of what is hidden for each row, two or more.
    fisher : "data" or "model"
        Whether moments are those of weighted draws for data, or of dreams.
    batch : int
        The rows of a usual step. One of fewer goes less far.
    row_weight : float
        What a usual row weighs: rows and points are the same at 1.
    refresh, memory : int, float
        Steps between inverses, and how much of the moments stays at each of them.
    streams : bool
        Whether moments of the visible layer are averaged as those of the others, for data that comes bit by bit; its
        inverse is then that of the step before. Without it, and without data to look at beforehand, they stay those of
        units at even odds.

    """

    rate: Numeric
    delay: Numeric | None
    power: Numeric
    damping: Numeric
    floor: Numeric
    radius: Numeric
    batch: Numeric
    row_weight: Numeric
    memory_share: Numeric
    draws: int = eqx.field(static=True)
    fisher: str = eqx.field(static=True)
    refresh: int = eqx.field(static=True)
    streams: bool = eqx.field(static=True)

    def __init__(
        self,
        rate: float = 0.3,
        delay: float | None = None,
        power: float = 0.9,
        damping: float = 0.3,
        floor: float = 0.02,
        radius: float = 8.0,
        draws: int = 10,
        fisher: str = "data",
        batch: float = 32,
        refresh: int = 20,
        memory: float = 0.9,
        streams: bool = False,
        row_weight: float = 1.0,
    ):
        check_draws(draws)
        if fisher not in ("data", "model"):
            raise ValueError(f"fisher is {fisher!r}: it must be 'data' or 'model'.")
        self.rate, self.power = as_number(rate), as_number(power)
        self.delay = None if delay is None else as_number(delay)
        self.damping, self.floor, self.radius = as_number(damping), as_number(floor), as_number(radius)
        self.batch, self.row_weight, self.memory_share = as_number(batch), as_number(row_weight), as_number(memory)
        self.draws, self.fisher, self.refresh, self.streams = draws, fisher, refresh, streams

    # --- what it keeps ------------------------------------------------------------------------------------

    def init(self, model: HelmholtzMachine, start: Start) -> Metric:
        """Return moments of units that are even odds, and those of the visible layer from some of the data."""
        dtype, sizes, some = jnp.asarray(model.top).dtype, model.sizes, start()
        layers = [_even_moments(size, dtype) for size in sizes]
        if some is not None:
            layers[0] = jnp.asarray(_data_moments(model, some, dtype))
        kept = tuple(layers if self.streams else layers[1:])
        quarter = [jnp.full(size, 0.25, dtype) for size in sizes]
        moments = LayerMoments(jnp.zeros((), dtype), kept, tuple(quarter), tuple(quarter[1:]))
        inverses = _damped_inverses(tuple(layers), jnp.asarray(self.damping, dtype))
        return Metric(moments, layers[0], inverses, jnp.zeros((), jnp.int32))

    # --- a step -------------------------------------------------------------------------------------------

    def gather(
        self, model: HelmholtzMachine, state: Metric, memory: None, batch: Batch, clock: Clock
    ) -> Gathered[tuple[Any, LayerMoments], None]:
        """Return the gradients of both networks, and once in a while the moments of their layers."""
        assert clock.key is not None  # it draws
        first, second = jax.random.split(clock.key)
        awake = Wake.of(model, batch, first, self.draws, weighted=True)
        asleep = Sleep.of(model, second, len(batch.weight))
        generation, top = wake(model, awake)
        slopes = recognition_slopes(model, awake, asleep, 0.5)
        recognition = [join_slopes(layer) for layer in zip(*slopes, strict=True)]
        ascent = HelmholtzMachine(
            [slope.gradient for slope in generation], top, [slope.gradient for slope in recognition]
        )
        mass = jnp.sum(jnp.asarray(batch.weight, awake.v.dtype))
        # of the widest layer the inverse is applied to a few rows, not to as many columns as there are units
        message = (ascent, _whiten_first(state.inverses[0], recognition[0]))
        counts = mass > 0
        message = jax.tree.map(lambda leaf: jnp.where(counts, leaf, 0), message)
        due = counts & refresh_due(clock.step, self.refresh)
        moments = jax.lax.cond(
            due,
            lambda: self._moments(awake, asleep, model, mass),
            lambda: jax.tree.map(jnp.zeros_like, state.moments),
        )
        return Gathered((Slope(mass, jnp.where(counts, -awake.bound(batch), 0), message), moments), None)

    def move(
        self, model: HelmholtzMachine, state: Metric, message: tuple[Any, LayerMoments], clock: Clock
    ) -> tuple[HelmholtzMachine, Metric, StepInfo]:
        """Refresh the inverses where there are new moments, and take the step."""
        slope, moments = message
        state = self._refreshed(state, moments)
        gradient, first = slope.gradient
        direction = self._direction(state, gradient, first)
        dtype = first.dtype
        length = sum(jnp.vdot(u, g) for u, g in zip(jax.tree.leaves(direction), jax.tree.leaves(gradient), strict=True))
        delay = self._usual_delay(model) if self.delay is None else self.delay
        usual = self.batch * self.row_weight
        rate = self.rate * (1 + clock.points / usual / delay) ** -self.power
        rate = jnp.minimum(rate, jnp.sqrt(2 * self.radius / jnp.maximum(length, 1e-30)))
        rate = (rate * jnp.minimum(1, slope.mass / usual)).astype(dtype)
        moved = moved_by(model, jax.tree.map(lambda leaf: rate * leaf, direction))
        return moved, state, StepInfo(jnp.negative(slope.loss), slope.mass)

    def _usual_delay(self, model: HelmholtzMachine) -> Any:
        parameters = sum(np.size(leaf) for leaf in (*model.generation, model.top))
        return 20 * (180_000 / parameters * self.batch / 32) ** 0.75

    def _direction(self, state: Metric, gradient: HelmholtzMachine, first: Array) -> HelmholtzMachine:
        """Return the natural gradient: the inverse of its layer's moments for each matrix, a number for each unit."""
        scales, inverses = state.moments, state.inverses
        floor = jnp.asarray(self.floor, first.dtype)
        generation = [
            (inverse @ matrix) / (scale + floor)
            for inverse, matrix, scale in zip(inverses[1:], gradient.generation, scales.generation, strict=False)
        ]
        below = [
            first,
            *(inverse @ matrix for inverse, matrix in zip(inverses[1:], gradient.recognition[1:], strict=False)),
        ]
        recognition = [matrix / (scale + floor) for matrix, scale in zip(below, scales.recognition, strict=True)]
        return HelmholtzMachine(generation, gradient.top / (scales.generation[-1] + floor), recognition)

    def _moments(self, awake: Wake, asleep: Sleep, model: HelmholtzMachine, mass: Array) -> LayerMoments:
        """Return the moments of a batch, or of its dreams."""
        if self.fisher == "data":
            weight = awake.share.reshape(-1)
            hidden = [layer.reshape(-1, layer.shape[-1]) for layer in awake.found.layers]
            generated = [odds.reshape(-1, odds.shape[-1]) for odds in awake.found.generation_logits]
            wide = [
                jnp.broadcast_to(odds, (*awake.share.shape, odds.shape[-1])) for odds in awake.found.recognition_logits
            ]
            recognized = [odds.reshape(-1, odds.shape[-1]) for odds in wide]
        else:
            count = len(asleep.layers[0])
            weight, hidden = jnp.full(count, 1 / count, mass.dtype), list(asleep.layers[1:])
            pairs = zip(model.generation, hidden, strict=True)
            generated = [above @ weights[:-1] + weights[-1] for weights, above in pairs]
            recognized = list(asleep.recognition_logits)
        seen = []
        if self.streams:
            rows = awake.v if awake.observed is None else model.fill(awake.v, awake.observed)
            seen = [layer_moments(rows, jnp.sum(awake.share, axis=1))]
        top = [jnp.asarray(model.top)[None]]
        return LayerMoments(
            mass,
            (*seen, *(layer_moments(layer, weight) for layer in hidden)),
            (
                *(_mean_slope(odds, weight) for odds in generated),
                *(_mean_slope(odds, jnp.ones(1, mass.dtype)) for odds in top),
            ),
            tuple(_mean_slope(odds, weight) for odds in recognized),
        )

    def _refreshed(self, state: Metric, moments: LayerMoments) -> Metric:
        """Where there are new moments, average them, the first ones by their number, and make the inverses of them."""
        known = 0 if self.streams else 1  # what stays as it is goes around the condition, which would copy it

        def made() -> tuple[Any, ...]:
            part = refresh_share(state.refreshes, self.memory_share)
            averaged = state.moments.toward(moments, part, state.moments.mass)
            inverses = _damped_inverses(averaged.layers, jnp.asarray(self.damping, state.visible.dtype))
            return averaged, inverses, state.refreshes + 1

        kept = state.moments, state.inverses[known:], state.refreshes
        averaged, inverses, refreshes = jax.lax.cond(moments.mass > 0, made, lambda: kept)
        visible = averaged.layers[0] if self.streams else state.visible
        return Metric(averaged, visible, (*state.inverses[:known], *inverses), refreshes)


@quick_jit
def _damped_inverses(layers: tuple[Array, ...], damping: Array) -> tuple[Array, ...]:
    return tuple(damped_inverse(layer, damping) for layer in layers)


def _even_moments(size: int, dtype: Any) -> Array:
    """Return E[(h, 1)(h, 1)ᵀ] of independent units at even odds."""
    mean = jnp.append(jnp.full(size, 0.5, dtype), jnp.ones(1, dtype))
    return jnp.outer(mean, mean) + 0.25 * jnp.diag(1 - (jnp.arange(size + 1) == size).astype(dtype))


def _data_moments(model: HelmholtzMachine, some: Batch, dtype: Any) -> Any:
    """Return the moments of the visible layer, of rows that may lack entries."""
    here = slice(None, None, max(1, -(-len(some.values) // _ROWS)))
    rows, weight = jnp.asarray(some.values[here], dtype), jnp.asarray(some.weight[here], dtype)
    if some.observed is not None:
        rows = model.fill(rows, jnp.asarray(some.observed[here]))
    return layer_moments(rows, weight / jnp.maximum(jnp.sum(weight), 1e-30))


def _whiten_first(inverse: Array, slope: Any) -> Array:
    with_one = jnp.concatenate([slope.inputs, jnp.ones_like(slope.inputs[:, :1])], axis=1)
    return (with_one @ inverse).T @ slope.errors


def _mean_slope(log_odds: Array, weight: Array) -> Array:
    """Return the mean of σ′ of each unit."""
    return weight @ (jax.nn.sigmoid(log_odds) * jax.nn.sigmoid(-log_odds))
