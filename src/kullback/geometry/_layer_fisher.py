"""The Fisher metric of layers of units: one matrix for each layer and one number for each unit."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from kullback.numerics import Numeric


def layer_moments(inputs: Float[Array, "samples inputs"], weight: Float[Array, " samples"]) -> Float[Array, "_ _"]:
    """Return Σ weight·(h, 1)(h, 1)ᵀ over the inputs h of a layer."""
    with_one = jnp.concatenate([inputs, jnp.ones_like(inputs[:, :1])], axis=1)
    return (with_one * weight[:, None]).T @ with_one


def damped_inverse(moments: Float[Array, "n n"], damping: Float[Numeric, ""] | float) -> Float[Array, "n n"]:
    """Return (A + λI)⁻¹, where the last entry, that of the bias, is not damped.

    What is inverted is the covariance of the inputs, C + λI, and the mean m is put in afterwards: A itself is so near
    to a singular matrix, of many inputs, that 32 bits would lose three digits.
    """
    mass = moments[-1, -1]
    mean = moments[:-1, -1] / mass
    covariance = moments[:-1, :-1] - mass * jnp.outer(mean, mean)
    identity = jnp.eye(len(mean), dtype=moments.dtype)
    factor = jax.scipy.linalg.cho_factor(covariance + jnp.asarray(damping, moments.dtype) * identity, lower=True)
    inverse = jax.scipy.linalg.cho_solve(factor, identity)
    inverse = (inverse + inverse.T) / 2
    beside = inverse @ mean
    corner = 1 / mass + mean @ beside
    return jnp.block([[inverse, -beside[:, None]], [-beside[None], corner[None, None]]])


def refresh_due(step: Any, refresh: int) -> Bool[Array, ""]:
    """Whether moments are taken in at a step: at every `refresh`-th, and at each of the first so many.

    Those of one batch are few, and the first steps are the longest.
    """
    step = jnp.asarray(step)
    return (step % refresh == 0) | (step < refresh)


def refresh_share(refreshes: Any, memory: Any) -> Float[Array, ""]:
    """Return the share of new moments in their running average: the first ones count alike."""
    return jnp.maximum(1 - jnp.asarray(memory), 1 / (1 + jnp.asarray(refreshes, jnp.result_type(float))))


class LayerFisherState(NamedTuple):
    """Steps and refreshes, and for each leaf the moments of its inputs, the mean of σ′ of its units, an inverse."""

    steps: Array
    refreshes: Array
    moments: tuple[Array, ...]
    scales: tuple[Array, ...]
    inverses: tuple[Array, ...]


def scale_by_layer_fisher(
    damping: Any = 0.3,
    floor: Any = 0.02,
    refresh: int = 20,
    memory: Any = 0.9,
    known: Sequence[Any] | None = None,
) -> Any:
    """Return an optax transformation: the gradient of each layer becomes its natural gradient, A⁻¹∇_j / s_j.

    The Fisher matrix of unit j with slope σ′ that follows a layer h is E[σ′_j·(h, 1)(h, 1)ᵀ], taken as s_j·A with one
    matrix A = E[(h, 1)(h, 1)ᵀ] and one number s_j = E[σ′_j]. `update(gradient, state, parameters, inputs=, slopes=,
    weight=)` is given them for each leaf of the gradient, in the order of leaves: a leaf is a matrix whose last row has
    the biases, or a vector of biases alone, whose inputs are None.

    Parameters
    ----------
    damping, floor : float
        A + damping·I is inverted (but for the bias); s_j + floor is divided by.
    refresh, memory : int, float
        Steps between inverses, which are also made at each of the first so many, and the share of moments that stays.
    known : sequence of arrays or None, one for each leaf
        Moments of inputs that do not change, such as those of the data: their inverses are made once.

    Examples
    --------
    >>> import numpy as np
    >>> transform = scale_by_layer_fisher(damping=0.0, floor=0.0)
    >>> weights, h = np.zeros((3, 1)), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    >>> y = np.array([[1.0], [0.0], [1.0], [1.0]])
    >>> gradient = np.concatenate([h.T, np.ones((1, 4))]) @ (y - 0.5) / 4
    >>> given = {"inputs": [h], "slopes": [np.full((4, 1), 0.25)], "weight": np.full(4, 0.25)}
    >>> step, _ = transform.update(gradient, transform.init(weights), weights, **given)
    >>> step.round(2).ravel().tolist()  # Newton's step of a logistic regression
    [2.0, -2.0, 1.0]

    """
    import optax  # a tenth of a second, for those who chain it

    def init(params: Any) -> LayerFisherState:
        leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(params)]
        given = [None] * len(leaves) if known is None else list(known)
        if len(given) != len(leaves):
            raise ValueError(f"known has {len(given)} entries: there are {len(leaves)} leaves.")
        widths = [leaf.shape[0] if leaf.ndim == 2 else 1 for leaf in leaves]
        moments = tuple(
            jnp.eye(width, dtype=leaf.dtype) if moment is None else jnp.asarray(moment, leaf.dtype)
            for moment, width, leaf in zip(given, widths, leaves, strict=True)
        )
        scales = tuple(jnp.ones(leaf.shape[-1], leaf.dtype) for leaf in leaves)
        inverses = tuple(damped_inverse(moment, damping) for moment in moments)
        return LayerFisherState(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32), moments, scales, inverses)

    def update(
        updates: Any,
        state: LayerFisherState,
        params: Any = None,
        *,
        inputs: Sequence[Any] | None = None,
        slopes: Sequence[Any] | None = None,
        weight: Any = None,
        **others: Any,
    ) -> tuple[Any, LayerFisherState]:
        del params, others
        if inputs is None or slopes is None or weight is None:
            raise ValueError("inputs, slopes or weight is None: pass those of each leaf, for they make the metric.")
        leaves, structure = jax.tree.flatten(updates)
        fixed = [False] * len(leaves) if known is None else [moment is not None for moment in known]
        weight = jnp.asarray(weight)

        def refreshed() -> LayerFisherState:
            share = refresh_share(state.refreshes, memory)
            moments, scales, inverses = [], [], []
            for place, (moment, scale) in enumerate(zip(state.moments, state.scales, strict=True)):
                if not fixed[place] and inputs[place] is not None:
                    fresh = layer_moments(jnp.asarray(inputs[place], moment.dtype), weight.astype(moment.dtype))
                    moment = moment + share.astype(moment.dtype) * (fresh - moment)
                mean = weight.astype(scale.dtype) @ jnp.asarray(slopes[place], scale.dtype)
                moments.append(moment)
                scales.append(scale + share.astype(scale.dtype) * (mean - scale))
                inverses.append(state.inverses[place] if fixed[place] else damped_inverse(moment, damping))
            return LayerFisherState(state.steps, state.refreshes + 1, tuple(moments), tuple(scales), tuple(inverses))

        after = jax.lax.cond(refresh_due(state.steps, refresh), refreshed, lambda: state)
        made = [
            (inverse @ leaf if leaf.ndim == 2 else leaf) / (scale + jnp.asarray(floor, scale.dtype))
            for leaf, scale, inverse in zip(map(jnp.asarray, leaves), after.scales, after.inverses, strict=True)
        ]
        return jax.tree.unflatten(structure, made), after._replace(steps=state.steps + 1)

    return optax.GradientTransformationExtraArgs(init, update)
