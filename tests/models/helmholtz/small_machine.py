"""A machine of 4, 3 and 2 units, all of its states, and its laws written out in NumPy: the oracle."""

import itertools

import numpy as np

from kullback.models import HelmholtzMachine

SIZES = (4, 3, 2)


def all_states(count: int) -> np.ndarray:
    """Return all vectors of so many zeros and ones."""
    return np.array(list(itertools.product([0.0, 1.0], repeat=count)))


#: All states of what is visible, and of what is hidden.
VISIBLE, HIDDEN = all_states(SIZES[0]), all_states(sum(SIZES[1:]))


def random_machine(seed: int = 0, sizes: tuple[int, ...] = SIZES, scale: float = 1.0) -> HelmholtzMachine:
    rng = np.random.default_rng(seed)
    pairs = list(itertools.pairwise(sizes))
    generation = [scale * rng.normal(size=(above + 1, below)) for below, above in pairs]
    recognition = [scale * rng.normal(size=(below + 1, above)) for below, above in pairs]
    return HelmholtzMachine(generation, scale * rng.normal(size=sizes[-1]), recognition)


def exact_machine(seed: int = 0) -> HelmholtzMachine:
    """Return a machine of one hidden unit whose guess is the posterior: its log odds are affine in what is visible."""
    rng = np.random.default_rng(seed)
    weights, top = rng.normal(size=(2, 4)), rng.normal(size=1)
    off, on = weights[1], weights[0] + weights[1]
    bias = top + np.sum(np.logaddexp(0, off) - np.logaddexp(0, on))
    return HelmholtzMachine([weights], top, [np.concatenate([(on - off)[:, None], bias[None]])])


def layer_table(units: np.ndarray, weights: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Return the probabilities of all units, a column each, given inputs, a row each."""
    on = 1 / (1 + np.exp(-(inputs @ weights[:-1] + weights[-1])))
    return np.prod(np.where(units[None] == 1, on[:, None], 1 - on[:, None]), axis=-1)


def split(machine: HelmholtzMachine, hidden: np.ndarray) -> list[np.ndarray]:
    return np.split(hidden, np.cumsum(machine.sizes[1:-1]), axis=-1)


def joint_table(machine: HelmholtzMachine) -> np.ndarray:
    """Return p(v, h) of all v, a row each, and all h, a column each."""
    visible, hidden = all_states(machine.sizes[0]), all_states(sum(machine.sizes[1:]))
    layers = split(machine, hidden)
    top = 1 / (1 + np.exp(-np.asarray(machine.top)))
    found = np.prod(np.where(layers[-1] == 1, top, 1 - top), axis=-1)
    for weights, below, above in zip(machine.generation[1:], layers[:-1], layers[1:], strict=True):
        found = found * layer_table(below, weights, above).diagonal()
    return layer_table(visible, machine.generation[0], layers[0]).T * found


def recognition_table(machine: HelmholtzMachine) -> np.ndarray:
    """Return q(h | v) of all v, a row each, and all h, a column each."""
    visible, hidden = all_states(machine.sizes[0]), all_states(sum(machine.sizes[1:]))
    layers = split(machine, hidden)
    found = layer_table(layers[0], machine.recognition[0], visible)
    for weights, below, above in zip(machine.recognition[1:], layers[:-1], layers[1:], strict=True):
        found = found * layer_table(above, weights, below).diagonal()
    return found


def places(states: np.ndarray) -> np.ndarray:
    """Return the numbers of states, as `all_states` counts them."""
    states = np.asarray(states)
    return (states @ 2.0 ** np.arange(states.shape[-1])[::-1]).astype(int)
