"""Expected improvement against quadrature and against the Gaussian process of scikit-learn."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from kullback.assess import _surrogate
from kullback.assess._surrogate import Kernel, expected_improvement, normal_scores

RNG = np.random.default_rng(0)
TRIED, ASKED = RNG.random((9, 3)), RNG.random((5, 3))
RISKS = RNG.normal(size=9)
# the last two coordinates belong to one axis
GROUPS = np.array([0, 1, 1])
LENGTHS, NOISE, SCALE = np.array([[0.3, 0.8], [1.5, 0.4]]), np.array([0.01, 0.1]), np.array([1.2, 0.7])


def _peer(draw):
    """Return mean, deviation and log-likelihood of scikit-learn's process with the same kernel."""
    lengths = LENGTHS[draw][GROUPS]
    kernel = ConstantKernel(SCALE[draw] ** 2, "fixed") * Matern(lengths, "fixed", nu=2.5)
    process = GaussianProcessRegressor(kernel + WhiteKernel(NOISE[draw], "fixed"), optimizer=None)
    process.fit(TRIED, normal_scores(RISKS))
    mean, deviation = process.predict(ASKED, return_std=True)
    # what is asked for is without noise
    return mean, np.sqrt(deviation**2 - NOISE[draw]), process.log_marginal_likelihood_value_


@pytest.mark.parametrize("draws", [1, 2])
def test_it_is_the_mean_over_kernels_by_their_likelihoods(draws, monkeypatch):
    monkeypatch.setattr(_surrogate, "DRAWS", draws)
    monkeypatch.setattr(_surrogate, "_draw_kernels", lambda *_: Kernel(LENGTHS[:draws], NOISE[:draws], SCALE[:draws]))
    found = expected_improvement(TRIED, RISKS, ASKED, GROUPS, RNG)
    peers = [_peer(draw) for draw in range(draws)]
    weights = np.exp([peer[2] for peer in peers])
    least = normal_scores(RISKS).min()
    for place, value in enumerate(found):
        each = [
            quad(lambda r, m=mean[place], s=spread[place]: (least - r) * norm.pdf(r, m, s), least - 12, least)[0]
            for mean, spread, _ in peers
        ]
        assert value == pytest.approx(np.average(each, weights=weights), rel=1e-6)


def test_only_the_order_of_risks_counts():
    first = expected_improvement(TRIED, RISKS, ASKED, GROUPS, np.random.default_rng(1))
    other = expected_improvement(TRIED, np.exp(9 * RISKS), ASKED, GROUPS, np.random.default_rng(1))
    np.testing.assert_array_equal(first, other)
    worst = np.where(RISKS.max() == RISKS, np.inf, RISKS)
    np.testing.assert_array_equal(first, expected_improvement(TRIED, worst, ASKED, GROUPS, np.random.default_rng(1)))


def test_there_is_more_to_gain_where_risks_were_low():
    tried = np.linspace(0, 1, 11)[:, None]
    gain = expected_improvement(tried, (tried[:, 0] - 0.32) ** 2, np.array([[0.33], [0.85]]), np.array([0]), RNG)
    assert gain[0] > 10 * gain[1] >= 0
