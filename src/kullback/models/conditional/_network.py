"""Networks that begin as the marginal: whatever the inputs, they first answer with the member fitted without them."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Fixed
from kullback.families import OutputKind, Role
from kullback.runtime import quick_jit

#: Functions between the layers, by the names that scikit-learn's networks have for them, and one more.
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
    "logistic": jax.nn.sigmoid,
    "silu": jax.nn.silu,
    "identity": lambda x: x,
}
#: By which a coordinate of this role becomes the logarithm of a standard deviation.
_TO_LOG_DEVIATION = {Role.LOG_SCALE: 1.0, Role.LOG_SHAPE: -0.5}
#: The last layer begins with weights so much smaller than those of the others: nearly the marginal for every row.
_SMALL = 0.1
#: Standardized inputs up to this are taken as they are.
_USUAL = 3.0


class FreeOutput(eqx.Module):
    """From what the last layer answers to free coordinates: start + unit·answer, with variances kept from 0.

    `unit` is the standard error of one point where a coordinate is in units of the points, and 1 elsewhere: so a
    network learns as well from targets in other units. Where a coordinate is the logarithm of a standard deviation s,
    it becomes ½log(e^{2s} + width²): a data point has a `width` of its own, and no density above it.
    """

    numbers: Fixed  # start, unit, log width: one node of the tree, for every step takes trees apart
    roles: tuple[Role, ...] = eqx.field(static=True)

    @classmethod
    def around(cls, free: Float[np.ndarray, " size"], kind: OutputKind, width: float, dtype: Any) -> Self:
        """Return the output that begins at these free coordinates; `width` is in units of the deviations there."""
        roles, unit = kind.roles, np.ones_like(free)
        linear = np.array([role is Role.LINEAR for role in roles])
        if linear.any():
            unit[linear] = 1 / np.sqrt(np.asarray(_information(kind, free), np.float64)[linear])
        log_width = free * _factors(roles) + np.log(width)
        return cls(Fixed(tuple(np.asarray(part, dtype) for part in (free, unit, log_width))), roles)

    def __call__(self, answer: Float[Array, " size"]) -> Float[Array, " size"]:
        """Return free coordinates."""
        start, unit, log_width = self.numbers.value
        free = start + unit * answer
        factors = _factors(self.roles).astype(free.dtype)
        kept = factors != 0
        if not kept.any():
            return free
        deviation = 0.5 * jnp.logaddexp(2 * factors * free, 2 * jnp.asarray(log_width))
        return jnp.where(kept, deviation / np.where(kept, factors, 1), free)


class Network(eqx.Module):
    """Layers of a perceptron, from inputs that it standardizes to free coordinates.

    Beyond three standard deviations inputs count by their logarithm only: columns that are nearly always the same would
    otherwise drown all others in the few rows where they are not.
    """

    standardization: Fixed  # center and scale of the inputs
    layers: tuple[eqx.nn.Linear, ...]
    output: FreeOutput
    activation: str = eqx.field(static=True)

    @classmethod
    def start(
        cls,
        member: Any,
        n_inputs: int,
        widths: Sequence[int] = (100,),
        *,
        seed: int = 0,
        center: Any = 0.0,
        scale: Any = 1.0,
        width: float = 1e-3,
        activation: str = "relu",
        dtype: Any = np.float32,
    ) -> Self:
        """Return a network that answers with about the free coordinates of a member, whatever its inputs are.

        The member is that of a family or a mixture, fitted to the targets alone. `widths` are those of the hidden
        layers, `center` and `scale` the mean and the standard deviation of each input; a scale of 0 stands for a
        constant, and is taken as 1. `width` is that of a data point, in units of the standard deviations of the member.
        """
        kind: OutputKind = member.kind
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}: it must be one of {', '.join(map(repr, ACTIVATIONS))}.")
        if not width > 0:
            raise ValueError(f"width is {width}: a data point has a width above 0, in units of standard deviations.")
        free = np.asarray(member.coordinates("free"), np.float64)
        rng, sizes = np.random.default_rng(seed), [n_inputs, *widths, kind.size]
        layers = [_layer(rng, *pair, dtype) for pair in itertools.pairwise(sizes)]
        layers[-1] = eqx.tree_at(lambda layer: (layer.weight, layer.bias), layers[-1], replace_fn=_shrink)
        center, scale = (np.array(np.broadcast_to(np.asarray(part, dtype), (n_inputs,))) for part in (center, scale))
        return cls(
            Fixed((center, np.where(scale > 0, scale, 1).astype(dtype))),
            tuple(layers),
            FreeOutput.around(free, kind, width, dtype),
            activation,
        )

    def __call__(self, x: Float[Array, " k"], shift: Float[Array, " _"] | None = None) -> Float[Array, " size"]:
        """Return the free coordinates for one row of inputs; a shift is added to what the first layer answers."""
        center, scale = self.standardization.value
        x = self.layers[0](_draw_in((x - center) / scale))
        if shift is not None:
            x = x + shift
        for layer in self.layers[1:]:
            x = layer(ACTIVATIONS[self.activation](x))
        return self.output(x)


def _draw_in(x: Float[Array, " k"]) -> Float[Array, " k"]:
    away = jnp.abs(x)
    return jnp.where(away > _USUAL, jnp.sign(x) * (_USUAL + jnp.log(jnp.maximum(away - (_USUAL - 1), 1))), x)


def _diagonal(kind: OutputKind, free: Any) -> Any:
    return jnp.diagonal(kind.fisher_at("free", free))


_information = quick_jit(_diagonal, static_argnums=0)


def _factors(roles: tuple[Role, ...]) -> np.ndarray:
    return np.array([_TO_LOG_DEVIATION.get(role, 0.0) for role in roles])


def _shrink(weight: np.ndarray) -> np.ndarray:
    return (_SMALL * weight if weight.ndim == 2 else 0 * weight).astype(weight.dtype)


def _layer(rng: np.random.Generator, inputs: int, outputs: int, dtype: Any) -> eqx.nn.Linear:
    """Return a layer as equinox begins it, drawn by NumPy, for which nothing has to be compiled."""
    most = 1 / np.sqrt(inputs)
    drawn = [rng.uniform(-most, most, shape).astype(dtype) for shape in ((outputs, inputs), (outputs,))]
    found: eqx.nn.Linear = eqx.tree_at(lambda layer: (layer.weight, layer.bias), _blank_layer(inputs, outputs), drawn)
    return found


@functools.lru_cache(128)
def _blank_layer(inputs: int, outputs: int) -> Any:
    """Return a layer with shapes in the place of arrays."""
    return eqx.filter_eval_shape(lambda: eqx.nn.Linear(inputs, outputs, key=jax.random.key(0)))
