"""Gammas, exponentials and betas: one inside the other, and the ends of their supports."""

import jax
import numpy as np
from scipy import stats

from contracts.quick import quick
from kullback.families import Beta, Dirichlet, Exponential, Gamma


def test_the_exponential_is_a_gamma_of_shape_one():
    rate = np.array([1e-6, 0.3, 1e6])
    e, g = Exponential(rate), Gamma(1.0, rate)
    x = np.array([0.0, 0.1, 1.0, 5.0])[:, None] / rate
    work = quick(lambda p, q: (p.log_prob(x), p.entropy, p.relative_entropy(q)))
    pairs = zip(work(g, Gamma(1.0, 2 * rate)), work(e, Exponential(2 * rate)), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_support_of_the_half_line():
    x = np.array([[-1.0], [-1e-300], [0.0], [1.0]])
    work = quick(lambda m: m.log_prob(x))
    e, g = work(Exponential(np.array([2.0]))), work(Gamma(np.array([3.0, 0.5]), np.array([2.0, 2.0])))
    for found in (e, g):
        assert np.isneginf(found[:2]).all()
        assert np.isfinite(found[3]).all()
    assert e[2] == np.log(2)
    assert g[2].tolist() == [-np.inf, np.inf]


def test_support_of_the_unit_interval():
    x = np.array([[-0.1], [1.1], [0.0], [1.0], [0.25]])
    found = quick(lambda b: b.log_prob(x))(Beta(np.array([2.0, 1.0]), np.array([0.5, 1.0])))
    assert found[:4, 0].tolist() == [-np.inf, -np.inf, -np.inf, np.inf]
    np.testing.assert_allclose(found[4, 0], stats.beta(2, 0.5).logpdf(0.25), rtol=1e-13)
    np.testing.assert_allclose(found[2:, 1], 0, atol=1e-15)


def test_a_beta_is_a_dirichlet_of_two():
    a, b = Beta([2.0, 0.5], [3.0, 1e-3]), Dirichlet([[2.0, 3.0], [0.5, 1e-3]])
    x = np.array([0.2, 0.7])
    work = quick(lambda m, x: (m.log_prob(x), m.entropy, m.expectation))
    for one, other in zip(work(a, x), work(b, np.stack([x, 1 - x], axis=-1)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_narrow_gammas_come_back():
    """At shape 1e10 log E[x] − E[log x] is 5e-11: few of its digits are left, and none may be wrong by more."""
    shape, rate = 1e10, 3.0
    back = quick(lambda g: Gamma.from_expectation(g.expectation))(Gamma(shape, rate))
    np.testing.assert_allclose(back.shape, shape, rtol=1e-3)
    np.testing.assert_allclose(back.shape / back.rate, shape / rate, rtol=1e-14)


def test_samples_of_all_shapes():
    """Kolmogorov and Smirnov, from shapes where most points are tiny to nearly Gaussian ones."""
    shape = np.array([0.05, 0.5, 3.0, 1e3, 1e6])
    x = np.asarray(quick(lambda g: g.sample(jax.random.key(4), (2000,)))(Gamma(shape, 2.0)))
    for place, k in enumerate(shape):
        assert stats.kstest(x[:, place], stats.gamma(k, scale=0.5).cdf).pvalue > 1e-3, k


def test_broadcasting_keeps_numpy_leaves():
    """Outside of 64-bit mode a parameter that is broadcast must not turn into 32 bits."""
    with jax.enable_x64(False):
        made = [Gamma([1.0, 2.0], 0.1), Beta(0.1, [1.0, 2.0])]
    for member in made:
        for leaf in jax.tree.leaves(member):
            assert isinstance(leaf, np.ndarray), type(member).__name__
            assert leaf.dtype == np.float64
