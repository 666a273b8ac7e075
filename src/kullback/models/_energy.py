"""Mean and variance of the energy over hidden states: derivatives of one sum in the inverse temperature."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.numerics import Numeric


class EnergyMoments(NamedTuple):
    """The mean and the variance of the energy under a law of the hidden states."""

    mean: Float[Array, "*rows"]
    variance: Float[Array, "*rows"]


def energy_moments(
    energies: Float[Numeric, "*rows states"], log_prior: Any = 0.0, inverse_temperature: float | Array = 0.0
) -> EnergyMoments:
    """Return mean and variance of the energy of hidden states under p(h)·e^(−β·energy), normalized.

    They are the first derivative, negative, and the second in β of log Σ_h p(h)·e^(−β·energy(h)), by autodiff. The last
    axis of `energies` has all states, of any model: `jax.vmap(lambda h: model.energy(v, h))(states)`. At β = 0 the law
    is the prior, whose logarithm is given up to a constant. With β = 1, no prior and the energies −log p(h, v) of a
    model it is the posterior, and the mean less the entropy of the posterior is the free energy −log p(v).

    >>> from kullback.families import Poisson
    >>> from kullback.models import Mixture
    >>> shop = Mixture(weights=[0.75, 0.25], components=Poisson(rate=[2.0, 20.0]))
    >>> found = energy_moments(shop.energy([3, 3], [0, 1]), inverse_temperature=1.0)
    >>> round(float(found.mean), 4), round(float(found.variance), 4)
    (2.0001, 0.0008)
    """
    energies = jnp.asarray(energies)

    def log_sum(beta: Array) -> Array:
        return jax.nn.logsumexp(jnp.asarray(log_prior) - beta * energies, axis=-1)

    def slope(beta: Array) -> Array:
        return jax.jvp(log_sum, (beta,), (jnp.ones_like(beta),))[1]

    beta = jnp.asarray(inverse_temperature, energies.dtype)
    down, curvature = jax.jvp(slope, (beta,), (jnp.ones_like(beta),))
    return EnergyMoments(-down, curvature)
