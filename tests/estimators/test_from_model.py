"""Estimators take the models they can hold, and refuse others with one sentence."""

import numpy as np
import pytest

import kullback
from kullback import models
from kullback.families import (
    Bernoulli,
    Categorical,
    DiagonalGaussian,
    Gaussian,
    Independent,
    Poisson,
    Product,
    SphericalGaussian,
)

HALF = [0.5, 0.5]


def mixture(components, **more):
    return models.Mixture(HALF, components, **more)


BITS = Independent(Bernoulli(np.full((2, 3), 0.25)))
COUNTS = Independent(Poisson(np.ones((2, 3))))
CATEGORIES = Independent(Categorical(np.full((2, 3, 4), 0.25)))
GAUSSIANS = Gaussian(np.zeros((2, 3)), np.tile(np.eye(3), (2, 1, 1)))
MODELS = {
    "BernoulliMixture": mixture(BITS),
    "PoissonMixture": mixture(COUNTS),
    "CategoricalMixture": mixture(CATEGORIES),
    "GaussianMixture": mixture(GAUSSIANS),
    "ProbabilisticPCA": models.ProbabilisticPCA(np.zeros(3), np.ones((3, 1)), 0.5),
    "FactorAnalysis": models.FactorAnalysis(np.zeros(3), np.ones((3, 1)), np.full(3, 0.5)),
    "CompoundDirichlet": models.CompoundDirichlet(np.ones(3)),
}


@pytest.mark.parametrize("name", MODELS)
def test_each_takes_its_own_and_refuses_the_others(name):
    estimator = getattr(kullback, name)
    taken = estimator.from_model(MODELS[name])
    assert taken.n_features_in_ == 3
    taken.to_model()
    for other, model in MODELS.items():
        if other != name:
            with pytest.raises(ValueError, match=r"^(model is a kullback|model has components of )[^\n]*\.$"):
                estimator.from_model(model)


@pytest.mark.parametrize("name", [*MODELS, "Mixture"])
def test_an_estimator_is_not_a_model(name):
    with pytest.raises(ValueError, match=r"model is a kullback\.estimators\.Mixture: .* needs a kullback\.models\."):
        getattr(kullback, name).from_model(kullback.Mixture())


@pytest.mark.parametrize(
    ("name", "components"),
    [
        ("GaussianMixture", GAUSSIANS),
        ("GaussianMixture", DiagonalGaussian(np.zeros((2, 3)), np.ones((2, 3)))),
        ("GaussianMixture", SphericalGaussian(np.zeros((2, 3)), np.ones(2))),
        ("BernoulliMixture", BITS),
        ("CategoricalMixture", CATEGORIES),
        ("PoissonMixture", COUNTS),
    ],
)
def test_fixed_weights_need_the_mixture_that_has_them(name, components):
    model = mixture(components, fixed_weights=True)
    with pytest.raises(ValueError, match="fixed_weights"):
        getattr(kullback, name).from_model(model)
    assert kullback.Mixture.from_model(model).to_model().fixed_weights


def test_components_that_no_table_has():
    with pytest.raises(ValueError, match="Independent columns"):
        kullback.PoissonMixture.from_model(mixture(Poisson([1.0, 2.0])))
    with pytest.raises(ValueError, match="side by side"):
        kullback.Mixture.from_model(mixture(Product([COUNTS, COUNTS])))
    mixed = kullback.Mixture.from_model(mixture(Product([COUNTS, BITS])))
    assert mixed.family == ["poisson"] * 3 + ["bernoulli"] * 3
    mixed.to_model()
