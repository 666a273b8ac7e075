"""Networks whose weights are drawn anew for every row, from independent Gaussians."""

import functools
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import trainable_leaves
from kullback.numerics import Numeric


class GaussianWeights(eqx.Module):
    """Independent Gaussians N(mean, scale²) over the weights of a network; what is `Fixed` in it is no weight.

    `mean` is a network, `log_scale` a tree like it with the logarithms of standard deviations, and None elsewhere.
    """

    mean: Any
    log_scale: Any

    @classmethod
    def around(cls, network: Any, scale: float) -> Self:
        """Return Gaussians around the weights of a network, all of the same standard deviation."""
        return cls(network, jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.log(scale)), weights_of(network)))

    def sample(self, key: Any) -> Any:
        """Return a network."""
        weights, rest = eqx.partition(self.mean, trainable_leaves(self.mean))
        leaves, tree = jax.tree.flatten(weights)
        noise = jax.tree.unflatten(
            tree,
            [
                jax.random.normal(jax.random.fold_in(key, place), jnp.shape(leaf), jnp.result_type(leaf))
                for place, leaf in enumerate(leaves)
            ],
        )
        drawn = jax.tree.map(lambda mean, log_scale, e: mean + jnp.exp(log_scale) * e, weights, self.log_scale, noise)
        return eqx.combine(drawn, rest)

    def answer(self, key: Any, x: Float[Numeric, "rows ..."]) -> Float[Array, "rows ..."]:
        """Return what a network answers to each row, with weights of its own for every row.

        In perceptrons (`Linear`, `MLP`, `Sequential` of those and of functions) what enters a unit is drawn in place of
        the weights: given the layer below it is Gaussian, and rows are independent. That is exact, and costs two
        products of matrices. Other networks are drawn row by row.
        """
        return _answer(self.mean, self.log_scale, key, jnp.asarray(x))

    def relative_entropy(self, other: "GaussianWeights") -> Float[Array, ""]:
        """Return KL(self ‖ other), in nats."""

        def of_leaf(mean: Any, log_scale: Any, others: Any, other_log_scale: Any) -> Any:
            ratio = 2 * (log_scale - other_log_scale)
            apart = (mean - others) * jnp.exp(-other_log_scale)
            return 0.5 * jnp.sum(jnp.expm1(ratio) - ratio + apart * apart)

        trees = weights_of(self.mean), self.log_scale, weights_of(other.mean), other.log_scale
        return jnp.asarray(sum(jax.tree.leaves(jax.tree.map(of_leaf, *trees))))


def weights_of(network: Any) -> Any:
    """Return the weights of a network, and None in the place of all else."""
    return eqx.filter(network, trainable_leaves(network))


@functools.singledispatch
def _answer(mean: Any, log_scale: Any, key: Any, x: Any) -> Any:
    """Draw a network for every row."""
    weights = GaussianWeights(mean, log_scale)
    return jax.vmap(lambda key, row: weights.sample(key)(row))(jax.random.split(key, len(x)), x)


@_answer.register
def _(mean: eqx.nn.Linear, log_scale: Any, key: Any, x: Any) -> Any:
    if x.shape[1:] != (() if mean.in_features == "scalar" else (mean.in_features,)):
        raise ValueError(f"x has shape {x.shape}: a layer of {mean.in_features} inputs needs a number for each.")
    x = x.reshape(len(x), -1)
    center, variance = x @ mean.weight.T, (x * x) @ jnp.exp(2 * log_scale.weight).T
    if mean.bias is not None:
        center, variance = center + mean.bias, variance + jnp.exp(2 * log_scale.bias)
    found = center + jnp.sqrt(variance) * jax.random.normal(key, center.shape, center.dtype)
    return found[:, 0] if mean.out_features == "scalar" else found


@_answer.register
def _(mean: eqx.nn.MLP, log_scale: Any, key: Any, x: Any) -> Any:
    if mean.scan or jax.tree.leaves(weights_of((mean.activation, mean.final_activation))):
        return _answer.dispatch(object)(mean, log_scale, key, x)  # layers in one array, or activations that learn
    for place, (layer, scales) in enumerate(zip(mean.layers, log_scale.layers, strict=True)):
        x = _answer(layer, scales, jax.random.fold_in(key, place), x)
        last = place + 1 == len(mean.layers)
        if not last or mean.depth > 0:
            x = _each_entry(mean.final_activation if last else mean.activation, x)
    return x


@_answer.register
def _(mean: eqx.nn.Sequential, log_scale: Any, key: Any, x: Any) -> Any:
    for place, (layer, scales) in enumerate(zip(mean.layers, log_scale.layers, strict=True)):
        x = _answer(layer, scales, jax.random.fold_in(key, place), x)
    return x


def _each_entry(function: Any, x: Any) -> Any:
    """Apply a function of a number to each entry, as `MLP` does."""
    for _ in range(x.ndim):
        function = jax.vmap(function)
    return function(x)
