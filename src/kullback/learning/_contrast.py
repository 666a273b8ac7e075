"""Where data and chains lead a restricted Boltzmann machine: the gradient, with units seen from their means."""

import functools
from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.learning._gram import PairGradient, gram_natural_gradient
from kullback.learning._learner import TreeT
from kullback.models import RestrictedBoltzmannMachine
from kullback.numerics import Numeric


class Centers(NamedTuple):
    """Running means of the data and of the hidden units given it: gradients are taken with units seen from there."""

    visible: Float[Array, " visible"]
    hidden: Float[Array, " hidden"]


class Phase(NamedTuple):
    """Rows of data, whose shares add up to 1, or of chains, whose shares add up to −1."""

    v: Float[Array, "rows visible"]
    h: Float[Array, "rows hidden"]
    share: Float[Array, " rows"]


class Natural(NamedTuple):
    """What the natural gradient takes: draws of the model, over which the metric is a mean, and its damping."""

    v: Float[Array, "draws visible"]
    h: Float[Array, "draws hidden"]
    damping: Numeric


def ascent_of(
    model: RestrictedBoltzmannMachine,
    centers: Centers | None,
    phases: tuple[Phase, Phase],
    natural: Natural | None = None,
) -> RestrictedBoltzmannMachine:
    """Return the step of a machine, before the rate: along the gradient, or the natural gradient.

    Without `centers` units are seen from 0.
    """
    if model.log_scale is not None:
        return gaussian_ascent(model, centers, phases)
    if natural is not None:
        return _natural_ascent(centers or _origin(phases), phases, natural)
    if centers is None:
        return RestrictedBoltzmannMachine(*_summed(_moments(phase) for phase in phases))
    return binary_ascent(centers, phases)


def _moments(phase: Phase) -> PairGradient:
    """Return Σ share·(v hᵀ, v, h)."""
    v, h, share = phase
    return PairGradient(v.T @ (share[:, None] * h), share @ v, share @ h)


def _summed(parts: Iterable[TreeT]) -> TreeT:
    return functools.reduce(lambda one, other: jax.tree.map(jnp.add, one, other), parts)


def _origin(phases: tuple[Phase, Phase]) -> Centers:
    return Centers(jnp.zeros_like(phases[0].v[0]), jnp.zeros_like(phases[0].h[0]))


def _centered_gradient(centers: Centers, phases: tuple[Phase, Phase]) -> PairGradient:
    """Return Σ share·((v − μ)(h − λ)ᵀ, v, h): shares add up to 0, so that centers are rank-one corrections."""
    weights, visible, hidden = _summed(_moments(phase) for phase in phases)
    corrected = weights - jnp.outer(centers.visible, hidden) - jnp.outer(visible, centers.hidden)
    return PairGradient(corrected, visible, hidden)


def _natural_ascent(centers: Centers, phases: tuple[Phase, Phase], natural: Natural) -> RestrictedBoltzmannMachine:
    """Return the natural gradient in W, b + Wλ and c + Wᵀμ as a step in W, b and c."""
    gradient, alpha = _centered_gradient(centers, phases), jnp.asarray(natural.damping, natural.v.dtype)
    v, h = natural.v - centers.visible, natural.h - centers.hidden
    found = gram_natural_gradient(gradient, v, h, alpha)
    visible = found.visible - found.weights @ centers.hidden
    return RestrictedBoltzmannMachine(found.weights, visible, found.hidden - centers.visible @ found.weights)


def binary_ascent(centers: Centers, phases: tuple[Phase, Phase]) -> RestrictedBoltzmannMachine:
    """Return the centered gradient in W, b and c; products with centers go through rows, not the weights."""
    gradient = _centered_gradient(centers, phases)
    mean, odds = centers

    def products(phase: Phase) -> tuple[Array, Array]:
        """Return Σ share·v(h·λ) and Σ share·h(v·μ)."""
        v, h, share = phase
        return (share * (h @ odds)) @ v, (share * (v @ mean)) @ h

    from_left, from_right = _summed(products(phase) for phase in phases)
    along = from_left - mean * (gradient.hidden @ odds) - gradient.visible * (odds @ odds)
    across = from_right - (mean @ mean) * gradient.hidden - odds * (gradient.visible @ mean)
    return RestrictedBoltzmannMachine(gradient.weights, gradient.visible - along, gradient.hidden - across)


def gaussian_ascent(
    model: RestrictedBoltzmannMachine, centers: Centers | None, phases: tuple[Phase, Phase]
) -> RestrictedBoltzmannMachine:
    """Return J·D·Jᵀ∇: the gradient in centered coordinates, in units of σ (D), as a step in W, b, c and log σ."""

    def loss(machine: RestrictedBoltzmannMachine) -> Array:
        return -_summed(phase.share @ machine.energy(phase.v) for phase in phases)

    assert model.log_scale is not None
    slope = jax.grad(loss)(jax.tree.map(jnp.asarray, model))
    variance = jnp.exp(2 * model.log_scale)

    def scaled(along: RestrictedBoltzmannMachine) -> RestrictedBoltzmannMachine:
        weights, bias = variance[:, None] * along.weights, variance * along.visible_bias
        return RestrictedBoltzmannMachine(weights, bias, along.hidden_bias, 0.5 * jnp.asarray(along.log_scale))

    if centers is None:
        return scaled(slope)
    at = center(model, centers)
    _, back = jax.vjp(lambda at: uncenter(at, centers), at)
    along: RestrictedBoltzmannMachine = scaled(back(slope)[0])
    return jax.jvp(lambda at: uncenter(at, centers), (at,), (along,))[1]


def center(model: RestrictedBoltzmannMachine, centers: Centers) -> RestrictedBoltzmannMachine:
    """Return a machine with the biases of units that are seen from their centers: b + Wλ, and log odds at v = μ."""
    return RestrictedBoltzmannMachine(
        model.weights,
        model.visible_bias + model.weights @ centers.hidden,
        model.hidden_bias + model.statistic(centers.visible) @ model.weights,
        model.log_scale,
    )


def uncenter(at: RestrictedBoltzmannMachine, centers: Centers) -> RestrictedBoltzmannMachine:
    """Return the machine that `center` has made this one of."""
    bias = at.visible_bias - at.weights @ centers.hidden
    plain = RestrictedBoltzmannMachine(at.weights, bias, at.hidden_bias, at.log_scale)
    return RestrictedBoltzmannMachine(
        at.weights, bias, at.hidden_bias - plain.statistic(centers.visible) @ at.weights, at.log_scale
    )
