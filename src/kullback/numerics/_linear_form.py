"""Log-probabilities that are linear in a few features of a point: many points under many members in one product."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from kullback.numerics._types import Numeric


class LinearForm(NamedTuple):
    """log p(x) = ⟨coefficients, features(x)⟩ + base(x), with features that are finite and not negative.

    A probability of 0 has the coefficient `log_or_lowest(0)`, which is finite: where its feature is 0 it adds nothing,
    and where it is not the sum is so low that it can only mean −inf. The base is −inf outside the support.
    """

    features: Float[Array, "... f"]
    coefficients: Float[Array, "*batch f"]
    base: Float[Array, "..."]


def _lowest(dtype: np.dtype) -> float:
    """Return what stands for log 0: far below any logarithm, and far from overflow when it is added up."""
    return -(float(np.finfo(dtype).max) ** 0.75)


def log_or_lowest(p: Float[Numeric, "..."]) -> Float[Array, "..."]:
    """Return log p, and a finite stand-in at 0; the derivative is finite too."""
    p = jnp.asarray(p)
    return jnp.where(p > 0, jnp.log(jnp.where(p > 0, p, 1)), _lowest(p.dtype))


def log1m_or_lowest(p: Float[Numeric, "..."]) -> Float[Array, "..."]:
    """Return log(1−p) likewise, for p up to 1."""
    p = jnp.asarray(p)
    return jnp.where(p < 1, jnp.log1p(-jnp.where(p < 1, p, 0)), _lowest(p.dtype))


def sum_of_linear_forms(
    form: LinearForm, observed: Bool[Numeric, "rows n"] | None = None
) -> Float[Array, "rows *batch"]:
    """Add up log p of the n columns of each row under each member, as one matrix product.

    Features have shape (rows, n, f), coefficients (*batch, n, f). What is not observed adds nothing.
    """
    features, coefficients, base = form
    if observed is not None:
        features = jnp.where(jnp.asarray(observed)[..., None], features, 0)
        base = jnp.where(observed, base, 0)
    batch, lowest = coefficients.shape[:-2], _lowest(features.dtype)
    total = jnp.tensordot(features.reshape(features.shape[0], -1), coefficients.reshape(*batch, -1), axes=(-1, -1))
    # a product and not a sum: the compiler would take the sum again for each member
    whole = jnp.maximum(base, lowest) @ jnp.ones(base.shape[-1], base.dtype)
    total = total + whole.reshape(-1, *(1,) * len(batch))
    return jnp.where(total < lowest / 2, -jnp.inf, total)
