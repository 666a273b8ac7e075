"""The natural gradient of a network whose answers are the free coordinates of a distribution."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from kullback.families import OutputKind

if TYPE_CHECKING:
    import optax

Outputs = Callable[[Any], Float[Array, "rows size"]]
Product = Callable[[Any], Any]


def network_fisher_product(kind: OutputKind, outputs: Outputs, params: Any, weight: Any = None) -> Product:
    """Return the function u → F·u of trees like the parameters, with the Fisher matrix F of a network.

    `outputs(params)` are the free coordinates of a member of the kind for each row, and F the mean of JᵀIJ over the
    rows, by their weights: J is the derivative of a row's coordinates by the parameters, and I the Fisher matrix of its
    member. So ½uᵀFu is the mean relative entropy between the members before and after the step u, to second order. F
    itself is never there: a product pushes u forward, multiplies by I, and pulls back. Where the kind hides something,
    as a mixture hides its label, I is that of both together (`OutputKind.fisher_at`), and bounds the relative entropy.
    """
    vectors, push = jax.linearize(outputs, params)
    pull = jax.linear_transpose(push, params)
    each = jnp.ones(vectors.shape[0], vectors.dtype) if weight is None else jnp.asarray(weight, vectors.dtype)
    total = jnp.sum(each)
    fisher = kind.fisher_at("free", vectors) * (each / jnp.where(total > 0, total, 1))[:, None, None]

    def product(u: Any) -> Any:
        return pull(jnp.einsum("rij,rj->ri", fisher, push(u)))[0]

    return product


def scale_by_network_fisher(
    kind: OutputKind, damping: Any = 0.003, radius: Any = 0.1, products: int = 10
) -> "optax.GradientTransformationExtraArgs":
    """Turn the gradient of a loss by a network's parameters into the natural gradient.

    It solves (F + damping·I)u = gradient with so many products F·u, by conjugate gradients from 0, which are always a
    way down. With F the Fisher matrix of `network_fisher_product`, ½uᵀFu is how many nats the step moves the members of
    a row, in the mean: a step that is longer than `radius` is made shorter, so that it is `radius`. Without damping the
    step does not depend on how the network is parametrized.

    `update` needs the parameters, and two arguments more: `outputs`, the function from parameters to the free
    coordinates of each row of the batch, and `weight`, that of the rows. Chain it with a step size:

    >>> import jax, optax
    >>> from kullback.families import Poisson
    >>> kind, x, y = Poisson(1.0).kind, jax.numpy.array([0.0, 1.0, 2.0]), jax.numpy.array([1.0, 3.0, 8.0])
    >>> def outputs(line):
    ...     return (line["slope"] * x + line["offset"])[:, None]
    >>> def loss(line):
    ...     return -jax.numpy.mean(kind.log_prob_at("free", outputs(line), y))
    >>> optimizer = optax.chain(scale_by_network_fisher(kind, damping=1e-6), optax.scale(-1.0))
    >>> @jax.jit
    ... def step(line):
    ...     updates, _ = optimizer.update(jax.grad(loss)(line), optimizer.init(line), line, outputs=outputs)
    ...     return optax.apply_updates(line, updates)
    >>> line = {"slope": 0.0, "offset": 0.0}
    >>> for _ in range(10):
    ...     line = step(line)
    >>> round(float(line["slope"]), 3), round(float(line["offset"]), 3)  # the Poisson regression
    (1.019, 0.047)
    """
    import optax  # a tenth of a second, for those who chain it

    def init(params: Any) -> optax.EmptyState:
        del params
        return optax.EmptyState()

    def update(
        updates: Any,
        state: optax.EmptyState,
        params: Any = None,
        *,
        outputs: Outputs | None = None,
        weight: Any = None,
        **others: Any,
    ) -> tuple[Any, optax.EmptyState]:
        del others  # of other transformations in the chain
        if params is None or outputs is None:
            raise ValueError("params or outputs is None: pass the parameters, and outputs=, a function of them.")
        slope, shape = ravel_pytree(updates)
        times = network_fisher_product(kind, outputs, params, weight)
        step = _solve(lambda u: ravel_pytree(times(shape(u)))[0], slope, damping, radius, products)
        return shape(step), state

    return optax.GradientTransformationExtraArgs(init, update)


def _solve(
    product: Callable[[Array], Array], slope: Float[Array, " n"], damping: Any, radius: Any, products: int
) -> Float[Array, " n"]:
    """Return u with (F + damping·I)u = slope, as near as so many products lead, and no longer than ½uᵀFu = radius."""
    damping, radius = jnp.asarray(damping, slope.dtype), jnp.asarray(radius, slope.dtype)

    def one(_: Any, found: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        u, rest, way, square = found
        turned = product(way) + damping * way
        curvature = way @ turned
        # what is solved stays as it is: 0/0 and what rounding leaves of the rest lead nowhere
        goes_on = (curvature > 0) & (square > 0)
        far = jnp.where(goes_on, square / jnp.where(goes_on, curvature, 1), 0)
        u, rest = u + far * way, rest - far * turned
        after = rest @ rest
        way = rest + jnp.where(goes_on, after / jnp.where(goes_on, square, 1), 0) * way
        return u, rest, way, after

    start = jnp.zeros_like(slope), slope, slope, slope @ slope
    u, rest, _, _ = jax.lax.fori_loop(0, products, one, start)
    nats = 0.5 * (u @ (slope - rest) - damping * (u @ u))  # ½uᵀFu, for (F + damping·I)u = slope − rest
    return u * jnp.sqrt(jnp.where(nats > radius, radius / jnp.where(nats > 0, nats, 1), 1))
