"""Contrastive divergence: what data says of a Boltzmann machine, less what its own chains say."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Batch
from kullback.learning._contrast import Centers, Natural, Phase, ascent_of
from kullback.learning._gradient import Slope
from kullback.learning._learner import Clock, Gathered, Key, Learner, Start, StepInfo, as_number, choose
from kullback.learning._path_weights import PathWeights
from kullback.models import RestrictedBoltzmannMachine
from kullback.numerics import Numeric, draw_binary, uniform

#: Steps between two visits of the chains that know log Z, and how many chains these are.
VISITS, WATCHERS = 10, 200
#: Between two visits there are so many rows at least: otherwise, of small batches, they would take most of the time.
VISIT_ROWS = 800
#: So many weights of binary units are followed; larger machines move too far at the usual rates.
_FOLLOWED = 2**16
#: How much of the centers each step renews.
_RENEWED = 0.01
#: A weight of a pseudo-likelihood counts as so much at most.
_MOST = 80.0
#: Gibbs steps that draw what a row of data lacks.
_FILLED = 5


class Chains(NamedTuple):
    """The hidden units of persistent chains, None where chains begin at the data; and those that know log Z.

    Of large machines of binary units, which move too far for the latter, there are none.
    """

    hidden: Float[Array, "chains hidden"] | None
    path: PathWeights | None


class Ascent(NamedTuple):
    """Where the machine is to move, before the rate, and the means that move the centers."""

    machine: RestrictedBoltzmannMachine
    means: Centers


class ContrastiveDivergence(Learner[RestrictedBoltzmannMachine, Centers, Chains, Slope]):
    """Learns restricted Boltzmann machines: ∇ log p(v) = E[−∂E | data] − E[−∂E | model], the latter by chains.

    Parameters
    ----------
    rate : float
        Step along the gradient; it falls linearly to 0 over the second half of `steps`.
    steps : float
        How many steps there are in all; infinite for a stream: the rate stays.
    first : float
        Steps that were taken before these.
    chains : int
        How many persistent chains there are.
    sweeps : int
        Gibbs steps of the chains for each step of the machine.
    persistent : bool
        Whether chains go on from step to step (PCD); otherwise they begin at the data (CD-k).
    centered : bool
        Whether units are seen from their means: the gradient in W, b + Wλ and c + Wᵀμ. It forgives a wrong rate.
    damping : float, optional
        α of the natural gradient (F + αI)⁻¹g by the Gram matrix of the chains; for binary visible units. None for g.

    Notes
    -----
    Each phase is divided by its own count, so there may be any number of rows and chains. For Gaussian visible units
    steps are in units of σ, so that another unit of a column changes nothing. Values of steps are log-likelihoods, with
    log Z from chains of its own, visited every 10 steps; of rows that lack entries they are a bound, by mean field.
    A machine may move too far for these chains (`PathWeights.lost`), and one of more than 65,536 weights does: then
    values are pseudo-likelihoods, of one entry of each row that is drawn.

    Hinton (2002); Tieleman (2008); Melchior, Fischer and Wiskott (2016) for the centers.

    """

    rate: Numeric
    steps: Numeric
    first: Numeric
    damping: Numeric | None
    sweeps: Numeric
    chains: int = eqx.field(static=True)
    persistent: bool = eqx.field(static=True)
    centered: bool = eqx.field(static=True)

    def __init__(
        self,
        rate: float = 0.2,
        steps: float = np.inf,
        first: float = 0,
        chains: int = 100,
        sweeps: int = 1,
        persistent: bool = True,
        centered: bool = True,
        damping: float | None = None,
    ):
        for name, value in (("chains", chains), ("sweeps", sweeps)):
            if value < 1:
                raise ValueError(f"{name} is {value}: it must be 1 or more.")
        self.rate, self.steps, self.first = as_number(rate), as_number(steps), as_number(first)
        self.damping = None if damping is None else as_number(damping)
        self.sweeps = as_number(sweeps)
        self.chains, self.persistent, self.centered = chains, persistent, centered

    def init(self, model: RestrictedBoltzmannMachine, start: Start) -> Centers:
        """Return the means of the data, where it can be looked at, and even odds of hidden units."""
        if self.damping is not None and model.log_scale is not None:
            raise ValueError("damping is given, but visible units are Gaussian: leave it out.")
        some = start()
        dtype = jnp.asarray(model.weights).dtype
        even = jnp.full(len(model.hidden_bias), 0.5, dtype)
        if some is None:
            return Centers(model.visible_mean(even), even)
        v, weight = jnp.asarray(some.values, dtype), jnp.asarray(some.weight, dtype)
        there = jnp.ones_like(v) if some.observed is None else jnp.asarray(some.observed, dtype)
        mass = weight @ there
        means = (weight @ jnp.where(there > 0, v, 0)) / jnp.maximum(mass, 1e-30)
        return Centers(jnp.where(mass > 0, means, model.visible_mean(even)), even)

    def memory(self, model: RestrictedBoltzmannMachine, start: Start, key: Key) -> Chains:
        """Return chains to begin with: hidden units as if the machine had no weights."""
        assert key is not None  # it draws
        first, second = jax.random.split(key)
        dtype = jnp.asarray(model.weights).dtype
        hidden = None
        if self.persistent:
            odds = jax.nn.sigmoid(jnp.asarray(model.hidden_bias))
            drawn = uniform(first, (self.chains, len(odds)), dtype) < odds
            hidden = drawn.astype(dtype)
        followed = np.size(model.weights) <= _FOLLOWED or model.log_scale is not None
        return Chains(hidden, PathWeights.start(model, WATCHERS, second) if followed else None)

    # --- a step -------------------------------------------------------------------------------------------

    def gather(
        self, model: RestrictedBoltzmannMachine, state: Centers, memory: Chains, batch: Batch, clock: Clock
    ) -> Gathered[Slope, Chains]:
        """Return where data and chains lead, and the log-likelihood; the chains move on."""
        assert clock.key is not None  # it draws
        visit, chain, fill, flip = jax.random.split(clock.key, 4)
        period = max(VISITS, VISIT_ROWS // max(len(batch.weight), 1))
        path = before = memory.path
        if before is not None:
            due = (jnp.asarray(clock.step) % period == 0) & ~before.lost
            path = jax.lax.cond(due, lambda: before.visit(model, visit), lambda: before)
        weight = jnp.asarray(batch.weight, jnp.asarray(model.weights).dtype)
        mass = jnp.sum(weight)
        share = weight / jnp.maximum(mass, 1e-30)
        v = jnp.where(weight[:, None] > 0, model.as_visible(batch.values), 0)
        filled = v if batch.observed is None else self._filled(model, v, jnp.asarray(batch.observed), fill)
        log_odds = model.hidden_logits(filled)
        means = jax.nn.sigmoid(log_odds)
        values, path = self._likelihoods(model, path, v, filled, log_odds, means, batch, flip)
        value = jnp.sum(jnp.where(weight > 0, share * values, 0))
        v_model, h_model, h_after = self._chain(model, memory.hidden, filled, log_odds, chain)
        count = jnp.full(len(v_model), 1 / len(v_model), share.dtype) if self.persistent else share
        count = jnp.where(mass > 0, count, 0)  # a batch of no points says nothing
        phases = Phase(filled, means, share), Phase(v_model, h_model, -count)
        natural = None if self.damping is None else Natural(v_model, h_after, self.damping)
        machine = ascent_of(model, state if self.centered else None, phases, natural)
        ascent = Ascent(machine, Centers(share @ filled, share @ means))
        value = jnp.where(mass > 0, value, 0)
        after = choose(mass > 0, Chains(h_after if self.persistent else None, path), memory)
        return Gathered(Slope(mass, -value, ascent), after)

    def move(
        self, model: RestrictedBoltzmannMachine, state: Centers, message: Slope, clock: Clock
    ) -> tuple[RestrictedBoltzmannMachine, Centers, StepInfo]:
        """Take the step, and renew the centers."""
        ascent: Ascent = message.gradient
        dtype = jnp.asarray(model.weights).dtype
        left = 2 * (1 - (clock.step - self.first) / self.steps)  # a part of the rate, in the second half
        rate = (self.rate * jnp.clip(left, 0, 1)).astype(dtype)
        moved = jax.tree.map(lambda leaf, along: (leaf + rate * along).astype(leaf.dtype), model, ascent.machine)
        centers = jax.tree.map(lambda center, mean: center + _RENEWED * (mean - center), state, ascent.means)
        return moved, centers, StepInfo(jnp.negative(message.loss), message.mass)

    def _filled(self, model: RestrictedBoltzmannMachine, v: Array, observed: Array, key: Array) -> Array:
        """Return rows with what they lack drawn given the rest, by a few Gibbs steps from guesses of its means."""

        def turn(number: Array, x: Array) -> Array:
            return jnp.where(observed, v, model.sweep(jax.random.fold_in(key, number), x))

        return jax.lax.fori_loop(0, _FILLED, turn, model.fill(v, observed))

    def _likelihoods(
        self,
        model: RestrictedBoltzmannMachine,
        path: PathWeights | None,
        v: Array,
        filled: Array,
        log_odds: Array,
        means: Array,
        batch: Batch,
        key: Array,
    ) -> tuple[Float[Array, " rows"], PathWeights | None]:
        """Return log-likelihoods, or pseudo-likelihoods of binary units where log Z is not known.

        Between two visits log Z is that of the last one. A binary row whose probability comes out above 1 shows that
        the machine has left it behind: by so many nats at least, which count as spread.
        """
        if path is None:
            return _pseudo_likelihoods(model, filled, means, key), None
        values = self._values(model, v, filled, log_odds, batch) - path.log_partition_estimate.value
        if model.log_scale is not None:
            return values, path
        path = path._replace(spread=jnp.maximum(path.spread, jnp.max(values)))
        lost = path.lost
        return jax.lax.cond(lost, lambda: _pseudo_likelihoods(model, filled, means, key), lambda: values), path

    @staticmethod
    def _values(
        model: RestrictedBoltzmannMachine, v: Array, filled: Array, log_odds: Array, batch: Batch
    ) -> Float[Array, " rows"]:
        """Return −F(v); of rows that lack entries −F at their means plus the entropy of these, a lower bound."""
        if batch.observed is None:
            return jnp.sum(jax.nn.softplus(log_odds), axis=1) - model.visible_energy(filled)
        missing = ~jnp.asarray(batch.observed)
        means = model.fill(v, batch.observed)
        if model.log_scale is None:
            inside = jnp.clip(means, 1e-6, 1 - 1e-6)
            entropy = -inside * jnp.log(inside) - (1 - inside) * jnp.log1p(-inside)
        else:
            entropy = jnp.broadcast_to(model.log_scale + 0.5 * np.log(2 * np.pi), means.shape)
        return -model.energy(means) + jnp.sum(jnp.where(missing, entropy, 0), axis=1)

    def _chain(
        self, model: RestrictedBoltzmannMachine, hidden: Any, v: Array, log_odds: Array, key: Array
    ) -> tuple[Array, Array, Array]:
        """Return visible units of the chains, the means of hidden units given them, and a draw of these."""
        if not self.persistent:
            hidden = draw_binary(jax.random.fold_in(key, self.sweeps.astype(int)), log_odds)

        def turn(number: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            first, second = jax.random.split(jax.random.fold_in(key, number))
            v = model.draw_visible(first, carry[2])
            means = jax.nn.sigmoid(model.hidden_logits(v))
            return v, means, (uniform(second, means.shape, means.dtype) < means).astype(means.dtype)

        blank = jnp.zeros((len(hidden), v.shape[1]), v.dtype), jnp.zeros_like(hidden)
        # a loop whose turns the compiler cannot count: what is drawn is kept, and not drawn anew wherever it is used
        found: tuple[Array, Array, Array] = jax.lax.fori_loop(0, self.sweeps.astype(int), turn, (*blank, hidden))
        return found


def _pseudo_likelihoods(model: RestrictedBoltzmannMachine, v: Array, means: Array, key: Array) -> Float[Array, " rows"]:
    """Return n·log p(v_i | the rest of the row) with an entry i of each row that is drawn, of binary units."""
    rows, count = v.shape
    column = jax.random.randint(key, (rows,), 0, count)
    turned = 1 - 2 * v[jnp.arange(rows), column]
    weights = turned[:, None] * jnp.asarray(model.weights)[column]
    # softplus(a + w) − softplus(a) = log(1 − s + s·eʷ), with s the mean of a hidden unit; nothing in it is infinite
    gain = jnp.sum(jnp.log(1 - means + means * jnp.exp(jnp.clip(weights, -_MOST, _MOST))), axis=1)
    return -count * jax.nn.softplus(gain + turned * jnp.asarray(model.visible_bias)[column])
