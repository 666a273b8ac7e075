"""Where data and chains lead a restricted Boltzmann machine: the gradient, with units seen from their means."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.learning._gram import PairGradient, gram_natural_gradient
from kullback.models import RestrictedBoltzmannMachine
from kullback.numerics import Numeric


class Centers(NamedTuple):
    """Running means of the data and of the hidden units given it: gradients are taken with units seen from there."""

    visible: Float[Array, " visible"]
    hidden: Float[Array, " hidden"]


class Phases(NamedTuple):
    """Rows of both phases, with the share of each: those of the data add up to 1, those of the chains to −1."""

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
    rows: Phases,
    natural: Natural | None = None,
) -> RestrictedBoltzmannMachine:
    """Return the step of a machine, before the rate: along the gradient, or the natural gradient.

    Without `centers` units are seen from 0.
    """
    if model.log_scale is not None:
        return gaussian_ascent(model, centers, rows)
    if centers is None:
        centers = Centers(jnp.zeros_like(rows.v[0]), jnp.zeros_like(rows.h[0]))
    if natural is None:
        return binary_ascent(centers, rows)
    gradient, alpha = _centered_gradient(centers, rows), jnp.asarray(natural.damping, rows.v.dtype)
    v, h = natural.v - centers.visible, natural.h - centers.hidden
    return _uncentered(centers, gram_natural_gradient(gradient, v, h, alpha))


def _centered_gradient(centers: Centers, rows: Phases) -> PairGradient:
    """Return Σ share·((v − μ)(h − λ)ᵀ, v, h): shares add up to 0, so that centers are rank-one corrections."""
    shared = rows.share[:, None] * rows.h
    visible, hidden = rows.share @ rows.v, jnp.sum(shared, axis=0)
    # two rows more in the product, in place of two passes over the weights
    left = jnp.concatenate([rows.v, -centers.visible[None], -visible[None]])
    right = jnp.concatenate([shared, hidden[None], centers.hidden[None]])
    return PairGradient(left.T @ right, visible, hidden)


def _uncentered(centers: Centers, found: PairGradient) -> RestrictedBoltzmannMachine:
    """Return a step in W, b + Wλ and c + Wᵀμ as one in W, b and c."""
    return RestrictedBoltzmannMachine(
        found.weights,
        found.visible - found.weights @ centers.hidden,
        found.hidden - centers.visible @ found.weights,
    )


def binary_ascent(centers: Centers, rows: Phases) -> RestrictedBoltzmannMachine:
    """Return the centered gradient in W, b and c; products with centers go through rows, not the weights."""
    gradient = _centered_gradient(centers, rows)
    mean, odds = centers
    from_left, from_right = rows.share * (rows.h @ odds), rows.share * (rows.v @ mean)
    along = from_left @ rows.v - mean * (gradient.hidden @ odds) - gradient.visible * (odds @ odds)
    across = from_right @ rows.h - (mean @ mean) * gradient.hidden - odds * (gradient.visible @ mean)
    return RestrictedBoltzmannMachine(gradient.weights, gradient.visible - along, gradient.hidden - across)


def gaussian_ascent(
    model: RestrictedBoltzmannMachine, centers: Centers | None, rows: Phases
) -> RestrictedBoltzmannMachine:
    """Return J·D·Jᵀ∇: the gradient in centered coordinates, in units of σ (D), as a step in W, b, c and log σ."""

    def loss(machine: RestrictedBoltzmannMachine) -> Array:
        return -jnp.sum(rows.share * machine.energy(rows.v))

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
