"""Estimators that learn nothing: what they answer is known."""

import functools

import numpy as np
from sklearn.base import BaseEstimator


@functools.cache
def _noise(seed):
    return np.random.default_rng(seed).normal(size=40_000)


class Lottery(BaseEstimator):
    """Scores that are noise, of mean 0, for every setting: whoever wins has won by chance.

    The first column of X is the number of a row. `seen` says which rows were learned from and scored, in order.
    """

    seen: list = []  # noqa: RUF012, shared by all copies

    def __init__(self, ticket=0):
        self.ticket = ticket

    def fit(self, X, y=None):
        self.seen.append(("fit", set(np.asarray(X)[:, 0].astype(int))))
        return self

    def score_samples(self, X):
        rows = np.asarray(X)[:, 0].astype(int)
        self.seen.append(("score", set(rows)))
        return _noise(self.ticket)[rows]


class Offset(BaseEstimator):
    """Rows of known difficulty, and a gain that follows from `gain` with noise by row: complexity is `size`."""

    def __init__(self, gain=0.0, size=1, noise=0.5):
        self.gain, self.size, self.noise = gain, size, noise

    def fit(self, X, y=None):
        if self.gain == "fails":
            raise ValueError("this gain does not do")
        return self

    def partial_fit(self, X, y=None):
        return self.fit(X)

    def score_samples(self, X):
        rows = np.asarray(X)[:, 0].astype(int)
        return 5.0 * _noise(777)[rows] + self.noise * _noise(self.size)[rows] + self.gain

    def bic(self, X):
        return -2 * self.score_samples(X).sum() + self.size * np.log(len(X))

    def aic(self, X):
        return -2 * self.score_samples(X).sum() + 2 * self.size


def numbered(rows, first=0):
    """Return a table whose first column is the number of the row."""
    return np.stack([np.arange(first, first + rows), np.zeros(rows)], axis=1).astype(float)
