"""Wake and sleep: gradients of a model and of a network that guesses what is hidden, by draws of one for the other."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from kullback.core import Batch
from kullback.learning._gradient import Loss
from kullback.learning._learner import Key, Scalar
from kullback.models import HelmholtzMachine, Recognition


class LayerSlope(NamedTuple):
    """The gradient of a layer's weights as a product: (inputs, 1)ᵀ·errors, a row for each draw."""

    inputs: Float[Array, "draws inputs"]
    errors: Float[Array, "draws units"]

    @property
    def gradient(self) -> Float[Array, "_ units"]:
        """The gradient as a matrix, that of the biases in its last row."""
        return jnp.concatenate([self.inputs.T @ self.errors, jnp.sum(self.errors, axis=0, keepdims=True)])


class Wake(NamedTuple):
    """What data says: hidden layers that the recognition network draws for it, with the share of each draw."""

    v: Float[Array, "rows visible"]
    found: Recognition
    share: Float[Array, "rows draws"]
    observed: Any

    @classmethod
    def of(cls, model: HelmholtzMachine, batch: Batch, key: Key, draws: int, weighted: bool) -> "Wake":
        """Draw for each row; shares are those of importance where they are `weighted`, and alike otherwise."""
        assert key is not None  # it draws
        v = jnp.asarray(batch.values, jnp.asarray(model.top).dtype)
        found = model.recognize(key, v, draws, batch.observed)
        of_row = found.weights if weighted else jnp.full_like(found.log_weight, 1 / draws)
        weight = jnp.asarray(batch.weight, v.dtype)
        return cls(v, found, of_row * (weight / jnp.maximum(jnp.sum(weight), 1e-30))[:, None], batch.observed)

    def bound(self, batch: Batch) -> Float[Array, ""]:
        """Return the mean over rows of the log of the mean weight: in nats, at most the log-likelihood on average."""
        weight = jnp.asarray(batch.weight, self.share.dtype)
        rows = jax.nn.logsumexp(self.found.log_weight, axis=1) - jnp.log(self.share.shape[1])
        return jnp.sum(jnp.where(weight > 0, rows * weight, 0)) / jnp.maximum(jnp.sum(weight), 1e-30)


def wake(model: HelmholtzMachine, awake: Wake) -> tuple[tuple[LayerSlope, ...], Float[Array, " units"]]:
    """Return ∇ Σ share·log p(v, h) for the generation network, layer by layer, and for the biases of the top layer."""
    share, layers = awake.share[..., None], awake.found.layers
    units = (awake.v[:, None], *layers[:-1])
    errors = [
        share * (below - jax.nn.sigmoid(log_odds))
        for below, log_odds in zip(units, awake.found.generation_logits, strict=True)
    ]
    if awake.observed is not None:
        errors[0] = jnp.where(jnp.asarray(awake.observed)[:, None], errors[0], 0)
    top = jnp.sum(share * (layers[-1] - jax.nn.sigmoid(jnp.asarray(model.top))), axis=(0, 1))
    return tuple(LayerSlope(_rows(above), _rows(error)) for above, error in zip(layers, errors, strict=True)), top


def wake_q(model: HelmholtzMachine, awake: Wake) -> tuple[LayerSlope, ...]:
    """Return ∇ Σ share·log q(h | v) for the recognition network: without weights it is 0 on average, and pure noise."""
    share, found = awake.share[..., None], awake.found
    # all draws of a row have the same v, so the first layer has one row for all of them
    seen = awake.v if awake.observed is None else model.fill(awake.v, awake.observed)
    first = jnp.sum(share * found.layers[0], axis=1) - jnp.sum(share, axis=1) * jax.nn.sigmoid(
        found.recognition_logits[0][:, 0]
    )
    above = zip(found.layers[:-1], found.layers[1:], found.recognition_logits[1:], strict=True)
    others = [
        LayerSlope(_rows(below), _rows(share * (units - jax.nn.sigmoid(log_odds)))) for below, units, log_odds in above
    ]
    return LayerSlope(seen, first), *others


class Sleep(NamedTuple):
    """What the model says: dreams, all of their layers, and the log odds that the recognition network gives them."""

    layers: tuple[Float[Array, "dreams _"], ...]
    recognition_logits: tuple[Float[Array, "dreams _"], ...]

    @classmethod
    def of(cls, model: HelmholtzMachine, key: Key, dreams: int) -> "Sleep":
        """Dream, and guess what was dreamt."""
        assert key is not None  # it draws
        layers = model.dream(key, (dreams,))
        pairs = zip(model.recognition, layers[:-1], strict=True)
        return cls(layers, tuple(below @ weights[:-1] + weights[-1] for weights, below in pairs))


def sleep(asleep: Sleep) -> tuple[LayerSlope, ...]:
    """Return ∇ log q(h | v) for the recognition network, averaged over dreams: it lowers E_p KL(p(h | v) ‖ q)."""
    count = len(asleep.layers[0])
    triples = zip(asleep.layers[:-1], asleep.layers[1:], asleep.recognition_logits, strict=True)
    return tuple(LayerSlope(below, (units - jax.nn.sigmoid(log_odds)) / count) for below, units, log_odds in triples)


@dataclasses.dataclass(frozen=True)
class WakeSleep:
    """The objective of the wake-sleep algorithm, for `Gradient`: data teaches p, and dreams teach q.

    Draws of a row count alike. Its value is the bound of as many draws.
    """

    draws: int = 1

    def __call__(self, model: HelmholtzMachine, batch: Batch, memory: None, key: Key) -> Loss:
        """Return minus the bound, with the gradients of both phases."""
        return _loss(model, batch, key, self.draws, weighted=False, guessing=0.0)


@dataclasses.dataclass(frozen=True)
class ReweightedWakeSleep:
    """The objective of reweighted wake-sleep, for `Gradient`: draws count by their importance.

    The recognition network follows data (wake-q) and dreams (sleep) in equal parts. One draw has a weight of 1, so it
    takes two at least.
    """

    draws: int = 10

    def __post_init__(self) -> None:
        check_draws(self.draws)

    def __call__(self, model: HelmholtzMachine, batch: Batch, memory: None, key: Key) -> Loss:
        """Return minus the bound, with the gradients of the three phases."""
        return _loss(model, batch, key, self.draws, weighted=True, guessing=0.5)


def check_draws(draws: int) -> None:
    """Raise unless draws can be weighed against each other."""
    if draws < 2:
        raise ValueError(
            f"draws is {draws}: one draw has nothing to be weighed against, and the gradient of the recognition "
            "network would be noise, so take two or more, such as 10."
        )


def recognition_slopes(
    model: HelmholtzMachine, awake: Wake, asleep: Sleep, guessing: float
) -> tuple[tuple[LayerSlope, ...], ...]:
    """Return the slopes of the recognition network from data, in the proportion `guessing`, and from dreams."""
    dreamt = _scaled(sleep(asleep), 1 - guessing)
    return (dreamt,) if guessing == 0 else (_scaled(wake_q(model, awake), guessing), dreamt)


def _loss(model: HelmholtzMachine, batch: Batch, key: Key, draws: int, weighted: bool, guessing: float) -> Loss:
    still: HelmholtzMachine = jax.lax.stop_gradient(model)
    assert key is not None  # it draws
    first, second = jax.random.split(key)
    awake = Wake.of(still, batch, first, draws, weighted)
    generation, top = wake(still, awake)
    slopes = recognition_slopes(still, awake, Sleep.of(still, second, len(batch.weight)), guessing)
    recognition = [join_slopes(layer).gradient for layer in zip(*slopes, strict=True)]
    ascent = HelmholtzMachine([slope.gradient for slope in generation], top, recognition)
    return Loss(_with_gradient(-awake.bound(batch), model, jax.tree.map(jnp.negative, ascent)))


def join_slopes(slopes: tuple[LayerSlope, ...]) -> LayerSlope:
    """Return the slope of one layer in several phases: one product of all their rows, not one for each."""
    if len(slopes) == 1:
        return slopes[0]
    return LayerSlope(*(jnp.concatenate(parts) for parts in zip(*slopes, strict=True)))


def _with_gradient(value: Scalar, model: PyTree, gradient: PyTree) -> Scalar:
    """Return a number that has this gradient in the parameters of a model."""
    fixed = jax.lax.stop_gradient((value, model, gradient))
    pairs = zip(*(jax.tree.leaves(tree) for tree in (model, *fixed[1:])), strict=True)
    return fixed[0] + sum(jnp.vdot(slope, leaf - still) for leaf, still, slope in pairs)


def _scaled(slopes: tuple[LayerSlope, ...], share: float) -> tuple[LayerSlope, ...]:
    return slopes if share == 1 else tuple(slope._replace(errors=share * slope.errors) for slope in slopes)


def _rows(units: Float[Array, "rows draws units"]) -> Float[Array, "_ units"]:
    return units.reshape(-1, units.shape[-1])
