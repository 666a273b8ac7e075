"""What is expected of settings that were not tried: a Gaussian process on the ranks of those that were."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

#: Draws from the prior of kernels, and how many of them are asked, the likeliest ones.
DRAWS, ASKED = 128, 24
#: Medians and spreads of the prior: lengths in units of an axis, the variance of noise and the spread of all risks in
#: units of the normal scores. Spreads are those of logarithms.
LENGTH, NOISE, SCALE = (0.3, 1.0), (1e-3, 1.5), (1.0, 0.5)


class Kernel(NamedTuple):
    """A Matérn-5/2 kernel with a length for each axis: k = s²·(1 + r + r²/3)·e^{−r}, r² = 5·Σ (Δ_p/ℓ_p)²."""

    lengths: NDArray[np.float64]
    noise: NDArray[np.float64]
    scale: NDArray[np.float64]

    def __call__(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return k for squared distances [axes, …] along each axis; for several kernels on a first axis."""
        r = np.sqrt(5 * np.tensordot(self.lengths**-2.0, squares, axes=1))
        scale = np.expand_dims(self.scale, tuple(range(np.ndim(self.scale), r.ndim)))
        return scale**2 * (1 + r + r**2 / 3) * np.exp(-r)


def normal_scores(risks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal quantiles of the ranks: order alone counts, and one outlier is no more than the last.

    >>> normal_scores(np.array([3.0, 1.0, 1e9])).round(3).tolist()
    [0.0, -0.967, 0.967]
    """
    return ndtri((rankdata(risks) - 0.5) / len(risks))


def squared_distances(
    some: NDArray[np.float64], others: NDArray[np.float64], groups: NDArray[np.int_]
) -> NDArray[np.float64]:
    """Return squared distances [axes, some, others]: coordinates of one axis belong together."""
    found = np.zeros((groups[-1] + 1, len(some), len(others)))
    for place, group in enumerate(groups):
        found[group] += (some[:, None, place] - others[:, place]) ** 2
    return found


def expected_improvement(
    tried: NDArray[np.float64],
    risks: NDArray[np.float64],
    candidates: NDArray[np.float64],
    groups: NDArray[np.int_],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return E[max(0, r̂ − r)] of each candidate, r̂ the least risk, in units of the normal scores of the ranks.

    The kernel is not known: the expectation is over its posterior too, ∫ p(r | λ, θ) p(θ | D) dθ, by draws θ from the
    prior that are weighed by their likelihoods.

    Parameters
    ----------
    tried, candidates : arrays of shape (n, coordinates)
        Settings in the unit cube.
    risks : array of shape (n_tried,)
        What was found; +inf is the worst.
    groups : array of shape (coordinates,)
        The axis of each coordinate: those of one axis share a length.
    rng : numpy.random.Generator
        Draws kernels.

    Returns
    -------
    array of shape (n_candidates,)

    """
    scores = normal_scores(risks)
    n, axes = len(scores), int(groups[-1]) + 1
    kernels = _draw_kernels(rng, axes)
    covariances = kernels(squared_distances(tried, tried, groups)) + kernels.noise[:, None, None] * np.eye(n)
    roots = np.linalg.cholesky(covariances)
    whitened = np.linalg.solve(roots, np.broadcast_to(scores[:, None], (DRAWS, n, 1)))[..., 0]
    log_likelihood = -0.5 * np.sum(whitened**2, 1) - np.sum(np.log(np.diagonal(roots, axis1=1, axis2=2)), 1)
    weights = np.exp(log_likelihood - log_likelihood.max())
    squares = squared_distances(tried, candidates, groups)
    improvement = np.zeros(len(candidates))
    for draw in np.argsort(-weights)[:ASKED]:
        kernel = Kernel(kernels.lengths[draw], kernels.noise[draw], kernels.scale[draw])
        ahead = np.linalg.solve(roots[draw], kernel(squares))
        mean = whitened[draw] @ ahead
        spread = np.sqrt(np.maximum(kernel.scale**2 - np.sum(ahead**2, 0), 1e-12))
        improvement += weights[draw] * _improvement(mean, spread, float(scores.min()))
    return improvement / weights[np.argsort(-weights)[:ASKED]].sum()


def _improvement(mean: NDArray[np.float64], spread: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Return E[max(0, least − r)] for r ~ N(mean, spread²)."""
    u = (least - mean) / spread
    return spread * (u * ndtr(u) + np.exp(-0.5 * u**2) / math.sqrt(2 * math.pi))


def _draw_kernels(rng: np.random.Generator, axes: int) -> Kernel:
    def draw(prior: tuple[float, float], *shape: int) -> NDArray[np.float64]:
        return prior[0] * np.exp(prior[1] * rng.standard_normal(shape))

    return Kernel(draw(LENGTH, DRAWS, axes), draw(NOISE, DRAWS), draw(SCALE, DRAWS))
