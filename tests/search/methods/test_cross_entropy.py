import jax
import numpy as np
import pytest

from kullback.families import Batch, Gaussian
from kullback.search import CrossEntropy


def test_the_fit_is_the_model_nearest_to_the_best_points_and_the_one_before():
    search = CrossEntropy(np.array([1.0, -1.0]), [0.5, 2.0], population=40, elite=0.25, rate=0.3)
    state = search.init(jax.random.key(0))
    points, state = search.ask(state)
    values = np.random.default_rng(0).normal(size=40)
    after = search.distribution(jax.jit(lambda *told: search.tell(*told))(state, points, values))

    best = np.asarray(points)[np.argsort(values)[:10]]
    before = Gaussian([1.0, -1.0], np.diag([0.25, 4.0]))

    @jax.jit
    def oracle(batch):
        seen, _ = before.expected_statistics(batch)
        return before.maximize(before.own_statistics(batch.extent).scale(0.7).merge(seen.scale(0.3)))

    nearest = oracle(Batch(best))
    np.testing.assert_allclose(after.mean, nearest.mean, rtol=1e-10)
    np.testing.assert_allclose(after.covariance, nearest.covariance, rtol=1e-10)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_rate_one_is_the_fit_itself(covariance):
    search = CrossEntropy(np.zeros(3), 1.0, population=40, covariance=covariance, rate=1.0, elite=0.5)
    points, state = search.ask(search.init(jax.random.key(0)))
    after = jax.jit(lambda *told: search.tell(*told))(state, points, np.arange(40.0))
    best = np.asarray(points)[:20]
    np.testing.assert_allclose(after.mean, best.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(search.spread(after), best.std(axis=0), rtol=1e-10)


def test_a_slope_does_not_end_the_search():
    search = CrossEntropy(np.zeros(2), 1.0)
    ask, tell = jax.jit(lambda state: search.ask(state)), jax.jit(lambda *told: search.tell(*told))
    state = search.init(jax.random.key(0))
    for _ in range(40):
        points, state = ask(state)
        state = tell(state, points, np.asarray(points)[:, 0])
    assert float(search.spread(state)[0]) > 1


def test_errors():
    with pytest.raises(ValueError, match="elite is 1.5: it must be between 0 and 1"):
        CrossEntropy([0.0], elite=1.5)
    with pytest.raises(ValueError, match="rate is 0: it must be above 0"):
        CrossEntropy([0.0], rate=0)
    with pytest.raises(ValueError, match="covariance is 'spherical'"):
        CrossEntropy([0.0], covariance="spherical")
