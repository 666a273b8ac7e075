"""One case or more for each model of the registry: how to make a random member, and how its points are drawn."""

import numpy as np

from kullback.families import Categorical, DiagonalGaussian, Dirichlet, Gamma, Gaussian, Poisson, Product
from kullback.models import Mixture

K = 3


def _spread(rng, n):
    root = rng.normal(size=(K, n, n))
    return root @ root.swapaxes(-1, -2) + np.eye(n)


def _components(name, rng):
    match name:
        case "Gaussian":
            return Gaussian(3 * rng.normal(size=(K, 2)), _spread(rng, 2))
        case "Categorical":
            return Categorical(rng.dirichlet(np.ones(4), K))
        case "Dirichlet":
            return Dirichlet(rng.uniform(0.5, 6, (K, 3)))
        case "Gamma":
            return Gamma(rng.uniform(1, 6, K), rng.uniform(0.5, 3, K))
        case "Product":
            return Product(
                [
                    DiagonalGaussian(3 * rng.normal(size=(K, 2)), rng.uniform(0.5, 2, (K, 2))),
                    Poisson(rng.uniform(1, 9, K)),
                    Categorical(rng.dirichlet(np.ones(3), K)),
                ]
            )
    raise KeyError(name)


def mixture(name):
    """Return a maker of random mixtures of this family."""
    return lambda rng: Mixture(rng.dirichlet(np.full(K, 5.0)), _components(name, rng))


CASES = {
    f"Mixture of {name}": (Mixture, mixture(name))
    for name in ("Gaussian", "Categorical", "Dirichlet", "Gamma", "Product")
}
