"""Laws of one target: against scipy, and mixtures against their draws."""

import numpy as np
import pytest
from scipy import stats

from kullback.estimators.conditional._predicted import PredictedDistribution
from kullback.estimators.conditional._quantiles import find_quantiles
from kullback.estimators.conditional._target_law import AngleLaw, mix_laws
from kullback.estimators.conditional._targets import Targets
from kullback.families import VonMises

LEVELS = (1e-6, 0.05, 0.5, 0.95, 1 - 1e-6)


@pytest.mark.parametrize(
    ("law", "discrete"),
    [
        (stats.gamma([0.1, 3.0, 1e4], scale=[1e-3, 1.0, 1e6]), False),
        (stats.beta([0.2, 5.0, 80.0], [3.0, 0.5, 80.0]), False),
        (stats.norm([0.0, 1e6, -1e-6], [1.0, 1e-3, 1e-9]), False),
        (stats.poisson([0.01, 3.0, 1e5]), True),
        (stats.bernoulli([0.01, 0.5, 0.99]), True),
    ],
)
@pytest.mark.parametrize("level", LEVELS)
def test_quantiles_are_those_of_scipy(law, discrete, level):
    found = find_quantiles(law.cdf, level, law.mean(), law.std(), discrete)
    expected = np.asarray(law.ppf(level), dtype=float)
    # beside a bound, as at 0, digits count in units of the spread
    assert np.all(np.abs(found - expected) <= 1e-9 * np.abs(expected) + 1e-12 * law.std())


@pytest.mark.slow
def test_mixtures_of_angles_average_on_the_circle():
    rng = np.random.default_rng(0)
    weights, means, kappas = np.array([[0.3, 0.7]]), np.array([3.0, -2.5]), np.array([4.0, 2.0])
    laws = [AngleLaw(VonMises(np.array([m]), np.array([k]))) for m, k in zip(means, kappas, strict=True)]
    law = mix_laws(weights, laws)
    label = (rng.random(200_000) < 0.7).astype(int)
    drawn = rng.vonmises(means[label], kappas[label])
    average = np.exp(1j * drawn).mean()
    error = 1 / np.sqrt(len(drawn))
    assert law.mean[0] == pytest.approx(np.angle(average), abs=6 * error)  # not (0.3·3.0 − 0.7·2.5)
    assert law.variance[0] == pytest.approx(1 - np.abs(average), abs=4 * error)
    around = np.angle(np.exp(1j * (drawn - law.mean[0])))
    for level in (0.05, 0.5, 0.95):
        below = np.mean(around <= law.quantile(level)[0] - law.mean[0])
        assert below == pytest.approx(level, abs=4 * 0.5 * error)


@pytest.mark.slow
def test_rows_of_several_kinds_answer_column_by_column():
    rng = np.random.default_rng(1)
    Y = np.column_stack([rng.normal(size=40), rng.poisson(3, 40), rng.integers(0, 3, 40)])
    targets = Targets.learn(["gaussian", "poisson", "categorical"], Y)
    free = np.tile(np.asarray(targets.marginal(Y, None).free), (5, 1))
    found = PredictedDistribution(targets.kind(), free, single=False)
    most = np.bincount(Y[:, 2].astype(int)).argmax()
    np.testing.assert_allclose(found.point, np.tile([Y[:, 0].mean(), Y[:, 1].mean(), most], (5, 1)))
    with pytest.raises(TypeError, match="Categories have no mean"):
        found.mean
    np.testing.assert_allclose(found.laws[1].quantile(0.9), stats.poisson(Y[:, 1].mean()).ppf(0.9))
    np.testing.assert_allclose(found.laws[0].cdf(np.zeros(5)), stats.norm(Y[:, 0].mean(), Y[:, 0].std()).cdf(0))
