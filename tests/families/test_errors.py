"""Bad parameters get one sentence that names the argument, the entry and what would be right."""

import re

import jax
import numpy as np
import pytest

from kullback.families import (
    Bernoulli,
    Beta,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Ising,
    Multinomial,
    Poisson,
    Product,
    SphericalGaussian,
    VonMises,
)

NAN, INF = float("nan"), float("inf")
EYE = np.eye(2)
SKEW = [[1.0, 0.5], [0.2, 1.0]]
KINDS = Product([Poisson(1.0), Exponential(1.0)]).kinds

#: what is done, and what the message must say
BAD_PARAMETERS = [
    (lambda: Gaussian(np.zeros((2, 2)), np.stack([EYE, -EYE])), ["covariance[1]", "not positive definite", "-1"]),
    (lambda: Gaussian([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]), ["covariance is not positive definite"]),
    (lambda: Gaussian([0.0, 0.0], SKEW), ["not symmetric", "covariance[0, 1] is 0.5", "covariance[1, 0] is 0.2"]),
    (lambda: Gaussian(np.zeros((2, 2)), np.stack([EYE, SKEW])), ["not symmetric", "covariance[1, 0, 1] is 0.5"]),
    (lambda: Gaussian([0.0, 0.0], [[1.0, NAN], [NAN, 1.0]]), ["covariance[0, 1] is nan", "finite"]),
    (lambda: Gaussian([0.0, 0.0], np.eye(3)), ["covariance has shape (3, 3)", "(2, 2)"]),
    (lambda: Gaussian([0.0, 0.0], [1.0, 1.0]), ["covariance has shape (2,)", "two axes"]),
    (lambda: Gaussian(0.0, [[1.0]]), ["mean has shape ()", "one axis"]),
    (lambda: Gaussian([0.0, NAN], EYE), ["mean[1] is nan", "finite"]),
    (lambda: Gaussian(np.zeros((2, 2)), np.stack([EYE] * 3)), ["mean", "covariance", "(2, 2)", "(3, 2, 2)"]),
    (lambda: DiagonalGaussian([0.0, 0.0], [1.0, -1.0]), ["variance[1] is -1", "positive"]),
    (lambda: DiagonalGaussian([0.0, 0.0], [1.0, 1.0, 1.0]), ["variance has shape (3,)", "2 entries"]),
    (lambda: DiagonalGaussian(np.zeros((2, 2)), np.ones((3, 2))), ["mean", "variance", "(2, 2)", "(3, 2)"]),
    (lambda: SphericalGaussian([0.0, 0.0], 0.0), ["variance is 0", "positive"]),
    (lambda: SphericalGaussian(np.zeros((2, 2)), np.ones(3)), ["mean", "variance", "(2, 2)", "(3,)"]),
    (lambda: Bernoulli([0.5, 1.2]), ["probability[1] is 1.2", "in [0, 1]"]),
    (lambda: Bernoulli(NAN), ["probability is nan", "in [0, 1]"]),
    (lambda: Categorical([1.2, -0.2]), ["probabilities[0] is 1.2", "in [0, 1]"]),
    (lambda: Categorical([[0.5, 0.5], [0.5, 0.4]]), ["probabilities[1] sums to 0.9", "must sum to 1"]),
    (lambda: Categorical([NAN, 0.5]), ["probabilities[0] is nan", "in [0, 1]"]),
    (lambda: Categorical(1.0), ["probabilities has shape ()", "one axis"]),
    (lambda: Multinomial(0, [0.5, 0.5]), ["trials is 0", "whole number"]),
    (lambda: Multinomial(2.5, [0.5, 0.5]), ["trials is 2.5", "whole number"]),
    (lambda: Multinomial(NAN, [0.5, 0.5]), ["trials is nan", "whole number"]),
    (lambda: Multinomial(3, [0.5, 0.4]), ["probabilities sums to 0.9", "must sum to 1"]),
    (lambda: Poisson([1.0, -1.0]), ["rate[1] is -1", "not negative"]),
    (lambda: Poisson(INF), ["rate is inf", "finite"]),
    (lambda: Exponential(0.0), ["rate is 0", "positive"]),
    (lambda: Gamma([1.0, 0.0], 1.0), ["shape[1] is 0", "positive"]),
    (lambda: Gamma(1.0, -1.0), ["rate is -1", "positive"]),
    (lambda: Gamma([1.0, 2.0], [1.0, 2.0, 3.0]), ["shape", "rate", "(2,)", "(3,)"]),
    (lambda: Beta(1.0, NAN), ["beta is nan", "positive"]),
    (lambda: Beta([1.0, 2.0], [1.0, 2.0, 3.0]), ["alpha", "beta", "(2,)", "(3,)"]),
    (lambda: Dirichlet([[1.0, 2.0], [1.0, 0.0]]), ["concentration[1, 1] is 0", "positive"]),
    (lambda: Dirichlet([1.0]), ["concentration has shape (1,)", "two categories"]),
    (lambda: Dirichlet(1.0), ["concentration has shape ()"]),
    (lambda: VonMises(0.0, -1.0), ["concentration is -1", "not negative"]),
    (lambda: VonMises(INF, 1.0), ["mean is inf", "finite"]),
    (lambda: VonMises([0.0, 1.0], [1.0, 2.0, 3.0]), ["mean", "concentration", "(2,)", "(3,)"]),
    (lambda: Ising(np.zeros(21)), ["biases has 21 spins", "20"]),
    (lambda: Ising([0.0, NAN]), ["biases[1] is nan", "finite"]),
    (lambda: Ising(np.zeros(3), [1.0, 2.0]), ["couplings has shape (2,)", "3"]),
    (lambda: Ising(np.zeros(3), [1.0, INF, 2.0]), ["couplings[1] is inf", "finite"]),
    (lambda: Ising(np.zeros((2, 3)), np.zeros((4, 3))), ["biases", "couplings", "(2, 3)", "(4, 3)"]),
    (lambda: Ising(np.zeros(3), interactions="none"), ["interactions is 'none'", "'all'"]),
    (lambda: Ising(np.zeros(3), interactions=[(0, 1), (2, 2)]), ["interactions[1] is (2, 2)", "different"]),
    (lambda: Ising(np.zeros(3), interactions=[(0, 3)]), ["interactions[0] is (0, 3)", "0…2"]),
    (lambda: Ising(np.zeros(3), interactions=[(0, 1), (1, 0)]), ["interactions[1] is (1, 0)", "twice"]),
    (lambda: Ising(np.zeros(3), interactions=[(0, 1, 2)]), ["interactions[0] is (0, 1, 2)"]),
    (lambda: Product([]), ["parts is empty"]),
    (lambda: Product([Poisson(1.0), 3]), ["parts[1]", "int", "exponential family"]),
    (lambda: Product([Poisson([1.0, 2.0]), Poisson(1.0)]), ["parts[1]", "()", "(2,)"]),
]

#: coordinates of no member: too many, too few, or outside
BAD_COORDINATES = [
    (lambda: Gaussian.from_natural(0.0), ["natural has shape ()"]),
    (lambda: Gaussian.from_natural([0.0, NAN]), ["natural[1] is nan", "finite"]),
    (lambda: Gaussian.from_natural([0.0, 0.0, -0.5, 0.5, 0.0]), ["natural", "not positive definite"]),
    (lambda: Gaussian.from_natural([0.0, 0.0, -0.5, 0.5]), ["natural", "4 coordinates do not fit", "n(n+3)/2"]),
    (lambda: Gaussian.from_expectation([1.0, 0.0, 0.5, 1.0, 0.0]), ["expectation", "not positive definite"]),
    (lambda: DiagonalGaussian.from_natural([0.0, 0.0, -0.5, 0.5]), ["natural", "[1]", "positive"]),
    (lambda: DiagonalGaussian.from_natural([0.0, 0.0, -0.5]), ["natural", "3 coordinates do not fit", "2n"]),
    (lambda: DiagonalGaussian.from_expectation([1.0, 0.0, 0.5, 1.0]), ["expectation", "variance[0] is -0.5"]),
    (lambda: SphericalGaussian.from_natural([0.0, 0.0, 0.5]), ["natural", "positive"]),
    (lambda: SphericalGaussian.from_natural([-0.5]), ["natural", "coordinate"]),
    (lambda: SphericalGaussian.from_expectation([1.0, 1.0, 1.0]), ["expectation", "variance is -0.5"]),
    (lambda: Bernoulli.from_expectation([[0.5], [1.5]]), ["expectation", "probability[1] is 1.5"]),
    (lambda: Bernoulli.from_natural([1.0, 2.0]), ["natural", "2", "1"]),
    (lambda: Categorical.from_source([0.7, 0.6]), ["source", "probabilities[2] is -0.3"]),
    (lambda: Multinomial.from_expectation([3.0, 6.0], trials=8), ["expectation", "[2]", "-"]),
    (lambda: Poisson.from_natural([1.0, 2.0]), ["natural", "2", "1"]),
    (lambda: Poisson.from_natural([800.0]), ["natural", "rate is inf"]),
    (lambda: Poisson.from_expectation([-1.0]), ["expectation", "rate is -1"]),
    (lambda: Exponential.from_natural([1.0]), ["natural", "rate is -1", "positive"]),
    (lambda: Exponential.from_natural([-1.0, -2.0]), ["natural", "2", "1"]),
    (lambda: Exponential.from_expectation([[1.0], [-1.0]]), ["expectation", "[1] is -1", "positive"]),
    (lambda: Gamma.from_natural([1.0, 1.0]), ["natural", "rate is -1", "positive"]),
    (lambda: Gamma.from_natural([1.0]), ["natural", "1", "2"]),
    (lambda: Gamma.from_natural([1.0, -1.0, 5.0]), ["natural", "3", "2"]),
    (lambda: Gamma.from_expectation([[0.0, 2.0], [1.0, 2.0]]), ["expectation", "log E[x] − E[log x]", "positive"]),
    (lambda: Gamma.from_expectation([0.0, -2.0]), ["expectation", "E[x] is -2", "positive"]),
    (lambda: Beta.from_natural([1.0, 2.0, 3.0]), ["natural", "3", "2"]),
    (lambda: Beta.from_expectation([-0.1, -0.2]), ["sum(exp(expectation))", "less than 1"]),
    (lambda: Beta.from_expectation([0.1, -0.2]), ["expectation[0] is 0.1", "negative"]),
    (lambda: Dirichlet.from_expectation([[-1.0, -1.0], [-0.1, -0.2]]), ["expectation", "[1]", "less than 1"]),
    (lambda: Dirichlet.from_natural([1.0, -1.0]), ["natural", "concentration[1] is -1"]),
    (lambda: VonMises.from_expectation([0.8, 0.7]), ["length of expectation", "1.063", "less than 1"]),
    (lambda: VonMises.from_natural([0.8, 0.7, 0.3]), ["natural", "3", "2"]),
    (lambda: Ising.from_natural([1.0, 2.0]), ["natural", "2 coordinates do not fit", "n(n+1)/2"]),
    (
        lambda: Ising.from_natural([1.0, 2.0], interactions=[(0, 1), (1, 2), (0, 2)]),
        ["natural", "2 coordinates", "3 interactions"],
    ),
    (lambda: Ising.from_expectation([1.0, 0.2, 0.3]), ["expectation[0] is 1", "(−1, 1)"]),
    (lambda: Ising.from_expectation([0.9, 0.9, 0.5]), ["expectation", "no distribution on spins"]),
    (lambda: Product.from_natural([1.0, 2.0, 3.0], kinds=KINDS), ["natural", "3 coordinates do not fit", "2"]),
    (lambda: Product.from_natural([1.0, 2.0], kinds=KINDS), ["natural", "rate is -2", "positive"]),
    (lambda: Poisson(1.0).coordinates("theta"), ["coordinates is 'theta'", "'natural'"]),
    (lambda: Poisson(1.0).fisher("theta"), ["coordinates is 'theta'", "'natural'"]),
    (lambda: Poisson(1.0).kind.at("theta", [1.0]), ["coordinates is 'theta'", "'natural'"]),
    (lambda: Bernoulli([[0.5, 0.5], [0.2, 1.0]]).natural, ["probability[1, 1] is 1", "do not exist"]),
    (lambda: Categorical([0.5, 0.5, 0.0]).natural, ["probabilities[2] is 0", "do not exist"]),
    (lambda: Poisson([1.0, 0.0]).natural, ["rate[1] is 0", "do not exist"]),
]


def named(rows):
    return [f"{place}: {' '.join(words)}" for place, (_, words) in enumerate(rows)]


def check(make, words):
    with pytest.raises(ValueError, match=r".") as caught:
        make()
    message = str(caught.value)
    missing = [word for word in words if word not in message]
    assert not missing, message
    assert "\n" not in message
    assert message.endswith(".")


@pytest.mark.parametrize(("make", "words"), BAD_PARAMETERS, ids=named(BAD_PARAMETERS))
def test_bad_parameters(make, words):
    check(make, words)


@pytest.mark.parametrize(("make", "words"), BAD_COORDINATES, ids=named(BAD_COORDINATES))
def test_bad_coordinates(make, words):
    check(make, words)


def test_shapes_are_checked_under_jit_and_values_are_not():
    """Inside of jit nothing can be looked at: a bad value gives NaN or an answer, a bad shape still an error."""
    with pytest.raises(ValueError, match=re.escape("covariance has shape (3, 3)")):
        jax.jit(lambda m, c: Gaussian(m, c).entropy)(np.zeros(2), np.eye(3))
    assert np.isnan(jax.jit(lambda v: Exponential(v).entropy)(-1.0))
    bad = jax.jit(lambda c: Gaussian(np.zeros(2), c).interior)(-EYE)
    assert not bad


def test_good_parameters_at_the_edge_are_not_refused():
    """Rounding of the last digits is no mistake."""
    Categorical(np.full(7, 1 / 7))
    Categorical(np.float32([0.1, 0.2, 0.7]))
    nearly = np.array([[1.0, 0.3], [0.3 + 1e-12, 1.0]])
    Gaussian([0.0, 0.0], nearly)
    Gaussian([0.0, 0.0], np.diag([1e-12, 1e12]))
    Bernoulli([0, 1])
    Poisson(0)
    VonMises(0, 0)
    Dirichlet([1, 2])
