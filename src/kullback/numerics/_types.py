"""What counts as an array here, and how a parameter becomes one."""

from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

# Families and models hold JAX arrays inside a computation and NumPy arrays outside of it. The parameters of
# `np.ndarray` are for the type checker; checks at run time want the plain class.
if TYPE_CHECKING:
    Numeric: TypeAlias = jax.Array | np.ndarray[Any, Any]
else:
    Numeric = jax.Array | np.ndarray


def as_parameter(value: Any) -> Numeric:
    """Keep JAX arrays and tracers; turn everything else into a floating NumPy array.

    NumPy keeps all 64 bits whether or not JAX is in its 64-bit mode, so a member that is made outside
    of `computing()` loses nothing when it is used inside.
    """
    if isinstance(value, jax.Array):
        return value if np.issubdtype(value.dtype, np.floating) else value.astype(float)
    array = np.asarray(value)
    return array if np.issubdtype(array.dtype, np.floating) else array.astype(np.float64)


def share_batch(
    first: tuple[str, Numeric], second: tuple[str, Numeric], axes: tuple[int, int] = (0, 0)
) -> tuple[Numeric, Numeric]:
    """Broadcast the leading axes of two named parameters; the last `axes` of each belong to one member."""
    (name, a), (other, b) = first, second
    own_a, own_b = a.shape[a.ndim - axes[0] :], b.shape[b.ndim - axes[1] :]
    try:
        batch = np.broadcast_shapes(a.shape[: a.ndim - axes[0]], b.shape[: b.ndim - axes[1]])
    except ValueError:
        raise ValueError(
            f"{name} has shape {a.shape} and {other} has shape {b.shape}: their leading axes do not fit together."
        ) from None
    return _stretched(a, batch + own_a), _stretched(b, batch + own_b)


def _stretched(value: Numeric, shape: tuple[int, ...]) -> Numeric:
    if value.shape == shape:
        return value
    return np.broadcast_to(value, shape) if isinstance(value, np.ndarray) else jnp.broadcast_to(value, shape)


def is_concrete(*values: Any) -> bool:
    """Whether all values can be looked at now, that is, none is being traced by jit, vmap or grad."""
    return not any(isinstance(value, jax.core.Tracer) for value in values)
