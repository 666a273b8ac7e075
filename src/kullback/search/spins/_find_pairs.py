"""Which pairs of spins matter to f: a sparse regression on the points that were evaluated."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

#: Times that pairs are added and dropped, at most.
ROUNDS = 40


def find_pairs(
    points: NDArray[np.float64], values: NDArray[np.float64], known: Collection[tuple[int, int]] = ()
) -> NDArray[np.int64]:
    """Return the pairs (i, j), i < j, whose products x_i x_j tell of f what singles and the other pairs do not.

    Those that are `known` are among them.

    The normal scores of the values are fitted by least squares with all x_i and the pairs found so far. For a product
    that does not matter, the correlation of N residuals with it is near N(0, 1/N), and the largest of K such near
    √(2 log K / N). Pairs come in by this correlation, strongest first, while it is not far below that; those whose
    slope is then within 1.5 standard errors of 0 leave again. In the end only those stay that are √(2 log K) + 1
    standard errors away from it. There are at most half as many slopes as points.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.choice([-1.0, 1.0], (200, 8))
    >>> find_pairs(x, x[:, 0] - 2 * x[:, 1] * x[:, 4] + x[:, 2] * x[:, 7]).tolist()
    [[1, 4], [2, 7]]
    """
    count, n = points.shape
    first, second = np.triu_indices(n, 1)
    if len(first) == 0 or count < 4:
        return np.empty((0, 2), np.int64)
    target = ndtri((rankdata(np.where(np.isnan(values), np.inf, values)) - 0.5) / count)
    singles = points - points.mean(axis=0)
    # many columns, which are only looked through: 32 bits will do
    products = points[:, first].astype(np.float32) * points[:, second].astype(np.float32)
    means = products.mean(axis=0)
    products -= means
    variances = 1 - np.square(means.astype(float))
    scales = np.sqrt(np.where(variances > 1e-6, variances, np.inf))
    surprise = np.sqrt(2 * np.log(len(first)))
    stays = np.array([pair in known for pair in zip(first.tolist(), second.tolist(), strict=True)])
    chosen = np.flatnonzero(stays)
    residual, _ = _regression(_design(singles, products, chosen), target, n)
    for _ in range(ROUNDS):
        deviation = np.std(residual)
        correlation = np.abs(residual.astype(np.float32) @ products) / scales
        strength = correlation / (np.sqrt(count) * (deviation if deviation > 0 else np.inf))
        strength[chosen] = 0
        room = min(max(10, len(chosen) // 2), count // 2 - n - len(chosen))
        added = np.argsort(-strength, kind="stable")[: max(room, 0)]
        added = added[strength[added] > surprise - 1.5]
        if len(added) == 0:
            break
        chosen = np.concatenate([chosen, added])
        residual, errors_away = _regression(_design(singles, products, chosen), target, n)
        chosen = chosen[(errors_away > 1.5) | stays[chosen]]
    while len(chosen):
        _, errors_away = _regression(_design(singles, products, chosen), target, n)
        sure = (errors_away > surprise + 1) | stays[chosen]
        chosen = chosen[sure]
        if sure.all():
            break
    chosen = np.sort(chosen)
    return np.stack([first[chosen], second[chosen]], axis=1)


def _design(
    singles: NDArray[np.float64], products: NDArray[np.float32], chosen: NDArray[np.int64]
) -> NDArray[np.float64]:
    return np.concatenate([singles, products[:, chosen]], axis=1, dtype=float)


def _regression(
    design: NDArray[np.float64], target: NDArray[np.float64], singles: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the residuals, and how many standard errors the slopes behind those of the singles are away from 0."""
    count, size = design.shape
    inverse = np.linalg.inv(design.T @ design + 1e-6 * count * np.eye(size))
    slopes = inverse @ (design.T @ target)
    residual = target - design @ slopes
    variance = np.sum(np.square(residual)) / max(count - size, 1)
    errors = np.sqrt(np.diag(inverse) * variance + 1e-300)
    return residual, np.abs(slopes / errors)[singles:]
