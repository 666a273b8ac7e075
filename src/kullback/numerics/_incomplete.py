"""Incomplete gamma and beta functions: distribution functions of counts, amounts and shares."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy import special
from jaxtyping import Array, Float

from kullback.numerics._types import is_concrete


def lower_gamma(shape: Any, x: Any) -> Float[Array, "..."]:
    """Return the regularized lower incomplete gamma function P(shape, x)."""
    return _by_name("gammainc", shape, x)


def upper_gamma(shape: Any, x: Any) -> Float[Array, "..."]:
    """Return the regularized upper incomplete gamma function Q(shape, x) = 1 − P(shape, x)."""
    return _by_name("gammaincc", shape, x)


def lower_beta(alpha: Any, beta: Any, x: Any) -> Float[Array, "..."]:
    """Return the regularized incomplete beta function I_x(alpha, beta)."""
    return _by_name("betainc", alpha, beta, x)


def _by_name(name: str, *values: Any) -> Float[Array, "..."]:
    """Return a function of numbers by SciPy, and of what is traced by JAX.

    JAX sums as many terms as the root of a shape: minutes at 1e14. Its fraction for shares ends after some hundred
    steps, and is 0.01 off at 1e7 and beyond ±1 at 1e10. SciPy has expansions for these.
    """
    arrays = [jnp.asarray(value) for value in values]
    if not is_concrete(*arrays):
        traced: Array = getattr(special, name)(*arrays)
        return traced
    from scipy import special as exact

    return jnp.asarray(getattr(exact, name)(*(np.asarray(array) for array in arrays)))
