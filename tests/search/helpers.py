"""Functions to minimize, and a run of a search on one of them."""

import jax
import jax.numpy as jnp
import numpy as np


def sphere(x):
    return jnp.sum(jnp.square(x), axis=-1)


def rosenbrock(x):
    return jnp.sum(100 * (x[..., 1:] - x[..., :-1] ** 2) ** 2 + (1 - x[..., :-1]) ** 2, axis=-1)


def rotated_ellipsoid(n, condition=1e6):
    """Return a quadratic whose axes lie askew, with curvatures from 1 to `condition`."""
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))
    curvature = condition ** np.linspace(0, 1, n)
    return lambda x: jnp.sum(curvature * jnp.square(x @ turn.T), axis=-1)


def best_values(search, f, evaluations, seeds=1):
    """Return the best value of each population, a row for each seed."""

    def one(key):
        def generation(state, _):
            points, state = search.ask(state)
            values = f(points)
            return search.tell(state, points, values), jnp.min(values)

        return jax.lax.scan(generation, search.init(key), None, length=evaluations // search.population)[1]

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), seeds)))
