"""Starts of a hidden Markov model: what each state begins with, and the best of several starts.

Clusters of rows are a good start where states look different. Where states look alike and differ in what follows them,
clusters lie near a saddle that EM leaves after hundreds of steps only, and random starts are better. A few steps of EM
on a part of the data tell which.
"""

import abc
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from kullback.core import Batch, by_blocks
from kullback.estimators._check_fit import is_clearly_sound
from kullback.estimators.data._sequences import Sequences
from kullback.learning import EM, GainBelow, StepInfo, adaptive_jit, begin, fit
from kullback.runtime import as_numpy

#: Random starts that compete with the clusters.
RANDOM_STARTS = 8
#: Steps of EM after which starts are compared.
TRIAL_STEPS = 5
#: Rows that starts are compared on, and in how many pieces they are taken from a longer table.
TRIAL_ROWS, TRIAL_PIECES = 4096, 8
#: Rows times states up to which all rows are taken: going over them takes less than compiling for another number.
_QUICKLY_DONE = 2**16
#: How much of each row all states share at the start: some families must not start at their boundary.
_SOFTNESS = 0.1


class StateStart(abc.ABC):
    """What the states begin with. Each part is worked out when it is asked for: parameters may be set by hand."""

    @property
    @abc.abstractmethod
    def shares(self) -> np.ndarray:
        """How much of each row belongs to each state, of shape (rows, k)."""

    @property
    @abc.abstractmethod
    def initial(self) -> np.ndarray:
        """How sequences begin."""

    @property
    @abc.abstractmethod
    def transitions(self) -> np.ndarray:
        """Where each state leads."""


class ClusterStart(StateStart):
    """Each state is a cluster of rows that k-means finds in `features(rows)`, averaged over so many neighbors."""

    def __init__(
        self, data: Sequences, k: int, features: Callable[[np.ndarray], np.ndarray], neighbors: int, random: Any
    ):
        self._data, self._k, self._features, self._neighbors, self._random = data, k, features, neighbors, random

    @functools.cached_property
    def _labels(self) -> np.ndarray:
        """The cluster of each row."""
        data, k = self._data, self._k
        if k == 1:
            return np.zeros(len(data), dtype=np.int64)
        seen = _average_neighbors(self._features(data.rows.filled()), self._neighbors)
        if len(np.unique(seen, axis=0)) < k:
            return self._random.randint(k, size=len(data))
        found = KMeans(k, n_init=1, random_state=self._random).fit(seen, sample_weight=data.weight)
        return found.labels_.astype(np.int64)

    @property
    def shares(self) -> np.ndarray:
        """Nearly all of a row belongs to the state of its cluster."""
        shares = np.full((len(self._labels), self._k), _SOFTNESS / self._k)
        shares[np.arange(len(self._labels)), self._labels] += 1 - _SOFTNESS
        return shares

    @property
    def initial(self) -> np.ndarray:
        """The clusters of first rows, each seen once more than it was."""
        first, counts = self._data.starts, np.full(self._k, 1.0)
        np.add.at(counts, self._labels[first], self._data.weight[first])
        return counts / counts.sum()

    @property
    def transitions(self) -> np.ndarray:
        """The clusters of rows that follow each other, each pair seen once more than it was."""
        counts, inside = np.full((self._k, self._k), 1.0), ~self._data.starts[1:]
        np.add.at(counts, (self._labels[:-1][inside], self._labels[1:][inside]), self._data.weight[1:][inside])
        return counts / counts.sum(axis=1, keepdims=True)


class RandomStart(StateStart):
    """States whose emissions depend on `features(rows)` in a random way, with random transitions."""

    def __init__(self, data: Sequences, k: int, features: Callable[[np.ndarray], np.ndarray], seed: int):
        self._data, self._k, self._features = data, k, features
        random = np.random.default_rng(seed)
        self._initial, self._transitions = random.dirichlet(np.ones(k)), random.dirichlet(np.ones(k), k)
        self._seed = random.integers(2**31)

    @property
    def shares(self) -> np.ndarray:
        """The softmax of a random linear map of what a row shows."""
        seen = self._features(self._data.rows.filled())
        spread = seen.std(axis=0)
        seen = (seen - seen.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        logits = seen @ np.random.default_rng(self._seed).normal(size=(seen.shape[1], self._k))
        logits = logits / max(logits.std(), 1e-9)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    @property
    def initial(self) -> np.ndarray:
        """Random probabilities."""
        return self._initial

    @property
    def transitions(self) -> np.ndarray:
        """Random probabilities."""
        return self._transitions


def emissions_from_shares(blank: Any, data: Sequences, start: StateStart) -> Any:
    """Return the emissions nearest to the rows that each state has a share of. Call it in 64 bits."""
    weight, batch = data.padded(start.shares * data.weight[:, None], 0.0), data.batch()
    if batch.distinct is not None:
        place, different = np.asarray(batch.distinct.place), len(batch.distinct.values)
        weight = np.stack([np.bincount(place, column, different) for column in weight.T], axis=1)
        batch = batch.distinct_rows()
    return as_numpy(_maximize_on(blank, batch.weighted(weight)))


@adaptive_jit
def _maximize_on(blank: Any, batch: Batch) -> Any:
    return blank.maximize(by_blocks(lambda block: blank.expected_statistics(block)[0], batch))


def mean_by_label(rows: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Return the mean of the rows of each label, or of all rows where a label has none."""
    return np.stack([(rows[labels == h] if (labels == h).any() else rows).mean(axis=0) for h in range(k)])


def _average_neighbors(features: np.ndarray, neighbors: int) -> np.ndarray:
    """Return the mean of the features of each row and of so many rows before and after it."""
    if not neighbors:
        return features
    window = np.ones(2 * min(neighbors, (len(features) - 1) // 2) + 1)
    count = np.convolve(np.ones(len(features)), window, mode="same")
    return np.stack([np.convolve(column, window, mode="same") for column in features.T], axis=1) / count[:, None]


def trial_rows(data: Sequences, k: int) -> Sequences:
    """Return the rows that starts are compared on: all, or pieces from everywhere in the data, each a sequence."""
    if len(data) * k <= _QUICKLY_DONE:
        return data
    size = TRIAL_ROWS // TRIAL_PIECES
    rows, cuts = np.arange(len(data)), data.starts.copy()
    if len(data) > TRIAL_ROWS:
        begins = np.linspace(0, len(data) - size, TRIAL_PIECES).astype(np.int64)
        rows = (begins[:, None] + np.arange(size)).ravel()
        cuts = data.starts[rows]
        cuts[::size] = True
    return Sequences(data.X[rows], cuts, data.weight[rows], None, None, data.rows.point_variance)


def trial_result(model: Any, rows: Sequences, prior: Any) -> float:
    """Return the log-likelihood of the rows, in nats per row, after a few steps of EM. Call it in 64 bits.

    It is the loop of a fit, so that it has nothing to compile by itself where the fit has the same rows.
    """
    learner: EM[Any] = EM(prior)
    rule, history = GainBelow(-np.inf, TRIAL_STEPS + 1), list[StepInfo]()
    fit(learner, begin(learner, model, rows, rule), rows, rule, watch=is_clearly_sound, record=history.extend)
    return float(np.nan_to_num(history[-1].value, nan=-np.inf))
