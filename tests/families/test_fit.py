"""The member nearest to points: against scipy's fits, near its limits, and what is refused."""

import numpy as np
import pytest
from scipy import stats

from kullback.families import (
    Beta,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Independent,
    Ising,
    Multinomial,
    Poisson,
    Product,
    VonMises,
)

RNG = np.random.default_rng(0)


def test_gamma_as_scipy_finds_it():
    x = RNG.gamma(2.5, 3.0, 300)
    shape, _, scale = stats.gamma.fit(x, floc=0)
    fitted = Gamma.fit(x)
    np.testing.assert_allclose([fitted.shape, fitted.rate], [shape, 1 / scale], rtol=1e-6)


def test_gamma_of_points_that_are_nearly_alike():
    """For small spread the shape is 1/variance of log x, to its second order."""
    u = 1e-7 * RNG.normal(size=200)
    fitted = Gamma.fit(5 * np.exp(u))
    np.testing.assert_allclose(fitted.shape, 1 / np.var(u), rtol=1e-6)


@pytest.mark.slow
def test_beta_and_von_mises_as_scipy_finds_them():
    x = RNG.beta(2.0, 5.0, 300)
    alpha, beta, *_ = stats.beta.fit(x, floc=0, fscale=1)
    fitted = Beta.fit(x)
    np.testing.assert_allclose([fitted.alpha, fitted.beta], [alpha, beta], rtol=1e-5)
    angles = RNG.vonmises(1.0, 4.0, 300)
    kappa, mean, _ = stats.vonmises.fit(angles, fscale=1)
    fitted = VonMises.fit(angles)
    np.testing.assert_allclose([fitted.concentration, fitted.mean], [kappa, mean], rtol=1e-6)


def test_weights_count_points_more_than_once():
    x = RNG.normal(size=(20, 2))
    weight = np.where(np.arange(20) < 5, 2.0, 1.0)
    fitted = Gaussian.fit(x, weight)
    np.testing.assert_allclose(fitted.mean, np.average(x, axis=0, weights=weight), rtol=1e-12)
    np.testing.assert_allclose(fitted.covariance, np.cov(x.T, aweights=weight, ddof=0), rtol=1e-12)


def test_columns_parts_and_structure():
    x = RNG.poisson([1.0, 5.0], (50, 2)).astype(float)
    np.testing.assert_allclose(Poisson.fit(x).rate, x.mean(axis=0))
    np.testing.assert_allclose(Independent.fit(x, column=Poisson).columns.rate, x.mean(axis=0))
    np.testing.assert_allclose(Categorical.fit([0, 0, 2, 1], categories=5).probabilities, [0.5, 0.25, 0.25, 0, 0])
    np.testing.assert_allclose(Multinomial.fit([[1, 2], [3, 0]]).probabilities, [2 / 3, 1 / 3])
    assert float(Poisson.fit([0, 0]).rate) == 0
    both = Product.fit(x, kinds=[Poisson, Exponential])
    np.testing.assert_allclose([both.parts[0].rate, 1 / both.parts[1].rate], x.mean(axis=0))


@pytest.mark.parametrize(
    ("fit", "sentence"),
    [
        (lambda: Gamma.fit([2.0, 2.0]), "no nearest Gamma: all points are alike, and its likelihood grows"),
        (lambda: Beta.fit([0.5, 0.5]), "no nearest Beta: all points are alike"),
        (lambda: Dirichlet.fit([[0.5, 0.5]] * 3), "no nearest Dirichlet: all points are alike"),
        (lambda: VonMises.fit([1.0, 1.0 + 2 * np.pi]), "no nearest VonMises: all points of the circle are alike"),
        (lambda: Exponential.fit([0, 0]), "no nearest Exponential: all points are 0"),
        (lambda: Gaussian.fit([[0.1, 2.0], [0.1, 4.0], [0.1, 7.0]]), "column 0 has no spread"),
        (lambda: Gaussian.fit([[0.1, 0.3], [0.2, 0.6], [0.7, 2.1]]), "its points lie in a plane"),
        (lambda: Ising.fit([[1, 1], [1, -1]]), "no nearest Ising: "),
        (lambda: Gamma.fit([1.0, -1.0]), r"x\[1\] is -1: it must be positive"),
        (lambda: Gamma.fit([1.0, np.nan]), r"x\[1\] is nan: fit takes whole points"),
        (lambda: Multinomial.fit([[1, 2], [2, 2]]), r"x\[1\] sums to 4: all rows must sum to 3"),
        (lambda: Dirichlet.fit([[0.5, 0.5], [0.4, 0.5]]), r"x\[1\] sums to 0.9: all rows must sum to 1"),
        (lambda: Gamma.fit([]), "x is empty"),
        (lambda: Gamma.fit(3.0), "needs one entry for each point"),
        (lambda: Gaussian.fit([1.0, 2.0]), "needs two axes, with a row for each point"),
        (lambda: Gamma.fit([1.0, 2.0], [1.0]), "x has 2 points, and each needs one"),
        (lambda: Gamma.fit([1.0, 2.0], [0.0, 0.0]), "weight is 0 for all points"),
        (lambda: Gamma.fit([1.0, 2.0], [1.0, -1.0]), r"weight\[1\] is -1"),
        (lambda: Categorical.fit([0, 3], categories=2), "x has category 3, and categories is 2"),
        (lambda: Independent.fit([[1.0, 2.0]]), "column is None: it must be a family of single numbers"),
        (lambda: Independent.fit([[1.0, 2.0]], column=Gaussian), "must be a family of single numbers"),
        (lambda: Product.fit([[1.0, 2.0]], kinds=[Poisson]), "x has 2 columns, and kinds are for 1"),
        (
            lambda: Product.fit([[1.0, 2.0], [3.0, -1.0]], kinds=[Poisson, Poisson]),
            r"columns of x from 1 on: x\[1\] is -1",
        ),
    ],
)
def test_what_is_refused(fit, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit()


def test_what_has_no_use_is_refused():
    with pytest.raises(TypeError, match="categories is given: the fit of Gaussian takes points and weights only"):
        Gaussian.fit([[1.0, 2.0], [2.0, 1.0]], categories=3)
