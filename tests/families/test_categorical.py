"""Categories: what is none of them, coins as a special case, and members on the boundary."""

import jax
import numpy as np
import pytest

from contracts.quick import quick
from kullback.families import Batch, Bernoulli, Categorical


def test_what_is_no_category_has_no_mass():
    found = quick(lambda c, x: c.log_prob(x))(Categorical([0.2, 0.3, 0.5]), np.array([-1.0, 3.0, 0.5, np.nan, 2.0]))
    assert np.isneginf(found).tolist() == [True, True, True, True, False]
    np.testing.assert_allclose(found[-1], np.log(0.5), rtol=1e-15)


def test_points_and_members_broadcast():
    p = np.random.default_rng(0).dirichlet(np.ones(3), (4, 2))
    x = np.arange(3).reshape(3, 1, 1)
    found = quick(lambda c: c.log_prob(x))(Categorical(p))
    assert found.shape == (3, 4, 2)
    np.testing.assert_allclose(found, np.moveaxis(np.log(p), -1, 0), rtol=1e-15)
    one = jax.eval_shape(lambda c: c.log_prob(np.zeros((5, 2), int)), Categorical(p[0, 0]))
    assert one.shape == (5, 2)


def test_two_categories_are_a_coin():
    p = np.array([0.2, 0.7, 1e-6])
    coin, pair = Bernoulli(p), Categorical(np.stack([p, 1 - p], axis=-1))
    work = quick(lambda m, x: (m.natural, m.entropy, m.log_prob(x)))
    pairs = zip(work(pair, np.array([[0], [1]])), work(coin, np.array([[1], [0]])), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-10)  # 1 − p is rounded


def test_the_last_category_keeps_its_digits_in_a_fit():
    """Its share is counted, not one minus the others."""
    x = np.zeros(1000, int)
    x[:3] = 2
    weight = np.where(x == 2, 1e-9, 1.0)
    start = Categorical([0.2, 0.3, 0.5])
    fitted = quick(lambda c: c.maximize(c.expected_statistics(Batch(x, weight))[0]))(start)
    np.testing.assert_allclose(fitted.probabilities[2], 3e-9 / weight.sum(), rtol=1e-12)
    assert fitted.probabilities[1] == 0


def test_boundary_members_come_back_from_their_coordinates():
    """Rounding may push the sum of the others past 1 by a last digit: that is still the boundary."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 100)
    p = np.concatenate([p / p.sum(axis=-1, keepdims=True), np.zeros((100, 1))], axis=-1)
    for back in (Categorical.from_source(p[:, :-1]), Categorical.from_expectation(p[:, :-1])):
        np.testing.assert_allclose(back.probabilities, p, atol=1e-15)
        assert np.all(np.asarray(back.probabilities) >= 0)


def test_relative_entropy_of_rare_categories():
    """A probability of 1e-30 is rare, not impossible."""
    p, q = Categorical([0.5, 0.5]), Categorical([1e-30, 1.0])
    apart = quick(lambda p, q: p.relative_entropy(q))
    np.testing.assert_allclose(apart(p, q), 0.5 * np.log(0.5 / 1e-30) + 0.5 * np.log(0.5), rtol=1e-12)
    np.testing.assert_allclose(apart(q, p), np.log(2), rtol=1e-12)
    np.testing.assert_allclose(apart(Bernoulli(0.5), Bernoulli(1e-30)), apart(p, q), rtol=1e-12)


def test_samples_never_take_an_impossible_category():
    x = quick(lambda c: c.sample(jax.random.key(0), (500,)))(Categorical([0.3, 0.0, 0.7]))
    assert set(np.unique(x)) == {0, 2}


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_natural_coordinates_are_finite(value):
    with pytest.raises(ValueError, match=r"natural\[1\] is -?inf: it must be finite"):
        Categorical.from_natural([0.0, value])
