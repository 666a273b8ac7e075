"""The linear conditional nearest to several."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from kullback.models.conditional._linear import LinearConditional
from kullback.numerics import is_concrete
from kullback.runtime import in_given_precision


@in_given_precision
def combine_linear(models: Sequence[LinearConditional], weights: Sequence[Any]) -> LinearConditional:
    """Return the linear conditional nearest to several, to second order: coefficients weighted by their information.

    The relative entropy of two members at inputs x is half the square of their difference in the Fisher metric, and
    terms of third order. Summed over the data of model m that is ½(β − β_m)ᵀ H_m (β − β_m), so that Σ α_m of it is
    least at β = (Σ α_m H_m)⁻¹ Σ α_m H_m β_m, with information Σ α_m H_m. For Gaussians with constant variance and equal
    σ it is exact. What no model has information about is at the average.
    """
    first = models[0]
    for place, model in enumerate(models):
        same = (model.kind, model.varies, np.shape(model.coefficients))
        if same != (first.kind, first.varies, np.shape(first.coefficients)):
            raise ValueError(
                f"models[{place}] is of {model.kind} with coefficients of shape {np.shape(model.coefficients)}, and "
                f"models[0] of {first.kind} with {np.shape(first.coefficients)}: all must be alike, with the same "
                "coordinates that depend on inputs."
            )
        if is_concrete(model.information) and not np.any(model.information):
            raise ValueError(f"models[{place}] has no information: fit it to data before it is combined.")
    alpha = jnp.asarray(weights)
    information = alpha[:, None, None] * jnp.stack([jnp.asarray(model.information) for model in models])
    parameters = jnp.stack([model.parameters for model in models])
    total, mean = jnp.sum(information, axis=0), alpha @ parameters
    pull = jnp.einsum("mij,mj->i", information, parameters - mean)
    diagonal = jnp.diagonal(total)
    unit = jnp.where(diagonal > 0, 1 / jnp.sqrt(jnp.where(diagonal > 0, diagonal, 1)), 0)
    inverse = jnp.linalg.pinv(total * unit * unit[:, None], rtol=1e-10, hermitian=True)
    return first.at(mean + unit * (inverse @ (unit * pull)), total)
