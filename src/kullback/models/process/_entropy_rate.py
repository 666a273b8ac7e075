"""The entropy rate of a process whose states are hidden, between two bounds that close."""

import functools

import numpy as np
from jaxtyping import Float

from kullback.models.process._closed_class import stationary_law

#: Beliefs that agree to so many digits are one; to fewer, down to so many, where there are more than so many of them.
_DIGITS, _LEAST_DIGITS, _MANY = 13, 5, 2**13
#: So many different beliefs are followed at most.
MOST_BELIEFS = 2**17
#: The bounds are to agree so closely.
_TOLERANCE = 1e-9
_LONGEST = 10_000


@functools.lru_cache(maxsize=256)
def entropy_rate(table: bytes, symbols: int) -> float:
    """Return the entropy rate in nats of a process, by the bytes of its table: it may be asked for again and again."""
    flat = np.frombuffer(table)
    states = round((len(flat) / symbols) ** 0.5)
    transition = flat.reshape(states, symbols, states)
    stationary = stationary_law(transition.sum(axis=1))
    emitted = transition.sum(axis=2)
    if (np.count_nonzero(transition, axis=2) <= 1).all():
        return float(stationary @ _entropies(emitted))
    blind, told = Beliefs(stationary[None], np.ones(1)), Beliefs(np.eye(len(stationary)), stationary)
    for _ in range(_LONGEST):
        upper, lower = blind.next_entropy(emitted), told.next_entropy(emitted)
        if upper - lower < _TOLERANCE:
            return float((upper + lower) / 2)
        if max(len(blind.mass), len(told.mass)) > MOST_BELIEFS:
            break
        blind, told = blind.after(transition), told.after(transition)
    raise ValueError(
        f"the entropy rate is between {lower:.8g} and {upper:.8g} nats, and to say more takes too many beliefs about "
        "the hidden state: take one of the bounds, or a process with fewer states."
    )


class Beliefs:
    """What is believed about the hidden state after some symbols, and how probable each belief is."""

    def __init__(self, rows: Float[np.ndarray, "n u"], mass: Float[np.ndarray, " n"]):
        self.rows, self.mass = rows, mass

    def next_entropy(self, emitted: Float[np.ndarray, "u x"]) -> float:
        """Return the mean entropy of the next symbol."""
        return float(self.mass @ _entropies(self.rows @ emitted))

    def after(self, transition: Float[np.ndarray, "u x v"]) -> "Beliefs":
        """Return the beliefs after one more symbol; those that are the same are put together."""
        joint = np.einsum("nu,uxv->nxv", self.rows, transition).reshape(-1, transition.shape[2])
        chance = joint.sum(axis=1)
        mass = np.repeat(self.mass, transition.shape[1]) * chance
        seen = mass > 0
        return Beliefs(*merge_beliefs(joint[seen] / chance[seen, None], mass[seen]))


def merge_beliefs(
    rows: Float[np.ndarray, "n u"], mass: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "m u"], Float[np.ndarray, " m"]]:
    """Put beliefs together that are nearly the same; where they are many, those that are a little less so.

    What stands for several is their mean, so that what is smooth in beliefs changes by the square of their distance.
    """
    factors = np.random.default_rng(0).integers(2**62, size=rows.shape[1])  # a row of whole numbers as one of them
    for digits in range(_DIGITS, _LEAST_DIGITS - 1, -1):
        cells = np.rint(rows * 10.0**digits).astype(np.int64)
        names, place = np.unique(np.sum(cells * factors, axis=1), return_inverse=True)
        if len(names) <= _MANY:
            break
    total = np.bincount(place.ravel(), mass)
    columns = [np.bincount(place.ravel(), mass * column) / total for column in rows.T]
    return np.stack(columns, axis=1), total


def _entropies(laws: Float[np.ndarray, "n x"]) -> Float[np.ndarray, " n"]:
    """Return the entropy of each row."""
    return -np.sum(laws * np.log(np.where(laws > 0, laws, 1)), axis=1)
