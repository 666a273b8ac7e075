"""Small machines, and sums over all of their states in NumPy: the oracle."""

import itertools

import numpy as np

from kullback.models import RestrictedBoltzmannMachine


def machine(visible=5, hidden=4, gaussian=False, spread=0.8, seed=0):
    rng = np.random.default_rng(seed)
    return RestrictedBoltzmannMachine(
        rng.normal(0, spread, (visible, hidden)),
        rng.normal(0, 0.5, visible),
        rng.normal(0, 0.5, hidden),
        rng.normal(0, 0.2, visible) if gaussian else None,
    )


def states(units):
    return np.array(list(itertools.product([0.0, 1.0], repeat=units)))


def joint(model):
    """Return e^(−E) of all pairs of states, visible ones in rows, of binary units."""
    v, h = states(len(model.visible_bias)), states(len(model.hidden_bias))
    W, b, c = (np.asarray(part) for part in (model.weights, model.visible_bias, model.hidden_bias))
    return np.exp(v @ W @ h.T + (v @ b)[:, None] + h @ c)


def law(model):
    mass = joint(model).sum(axis=1)
    return mass / mass.sum()


def gibbs_matrix(model):
    """Return the probabilities of one step v → h → v, from joint probabilities alone."""
    p = joint(model)
    return (p / p.sum(axis=1, keepdims=True)) @ (p / p.sum(axis=0)).T


def number_of(v):
    """Return the place of each state in the list of all."""
    return (np.asarray(v) @ 2 ** np.arange(v.shape[-1])[::-1]).astype(int)


def excess(counts, expected):
    """Return by how many standard deviations a χ² of counts exceeds what it is on average."""
    seen = expected > 0
    chi = np.sum((counts[seen] - expected[seen]) ** 2 / expected[seen])
    freedom = seen.sum() - 1
    return (chi - freedom) / np.sqrt(2 * freedom)
