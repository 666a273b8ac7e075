"""Mixtures with spare components are the mixtures without them, and compile less."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import kullback
from kullback.estimators.mixtures import _spares
from kullback.runtime._compiled import compiled_functions
from tiers import slow

RNG = np.random.default_rng(0)
NUMBERS = np.concatenate([RNG.normal(center, 1, (60, 3)) for center in (-6, 0, 6)])
HOLES = np.where(RNG.random(NUMBERS.shape) < 0.1, np.nan, NUMBERS)
POSITIVE = np.exp(NUMBERS / 4)
COUNTS = RNG.poisson(POSITIVE * 5).astype(float)
MIXED = np.stack([NUMBERS[:, 0], POSITIVE[:, 1], COUNTS[:, 2]], axis=1)
DRAWS = RNG.multinomial(9, [0.2, 0.3, 0.5], 180).astype(float)
BITS = (NUMBERS + RNG.normal(0, 2, NUMBERS.shape) > 0).astype(float)

CASES = {
    "full": (kullback.GaussianMixture, {}, NUMBERS),
    "tied": (kullback.GaussianMixture, {"covariance_type": "tied"}, NUMBERS),
    "diag": slow((kullback.GaussianMixture, {"covariance_type": "diag"}, NUMBERS)),
    "missing": slow((kullback.GaussianMixture, {}, HOLES)),
    "hard": slow((kullback.GaussianMixture, {"covariance_type": "spherical", "temperature": 0.0}, NUMBERS)),
    "equal weights": slow((kullback.Mixture, {"equal_weights": True}, NUMBERS)),
    "poisson": slow((kullback.PoissonMixture, {}, COUNTS)),
    "bernoulli": slow((kullback.BernoulliMixture, {}, BITS)),
    "categorical": slow((kullback.CategoricalMixture, {}, BITS)),
    "mixed": slow((kullback.Mixture, {"family": ["gaussian", "gamma", "poisson"]}, MIXED)),
    "von mises": slow((kullback.Mixture, {"family": "von_mises"}, np.arctan(NUMBERS))),
    "beta": slow((kullback.Mixture, {"family": "beta"}, 1 / (1 + POSITIVE))),
    "dirichlet": slow((kullback.Mixture, {"family": "dirichlet"}, POSITIVE / POSITIVE.sum(axis=1, keepdims=True))),
    "multinomial": slow((kullback.Mixture, {"family": "multinomial"}, DRAWS)),
    "compound": slow((kullback.Mixture, {"family": "compound_dirichlet"}, COUNTS + 1)),
}  # fmt: skip


def _learned(kind, parameters, X):
    estimator = kind(3, random_state=0, max_iter=8, tol=0, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X)
    return [
        *(np.asarray(leaf) for leaf in estimator._attributes(estimator.to_model()).values()),
        np.asarray(estimator.lower_bounds_),
        estimator.score_samples(X),
        estimator.predict_proba(X),
    ]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_spares_change_nothing(case, monkeypatch):
    with_spares = _learned(*case)
    monkeypatch.setattr(_spares, "MULTIPLE", 1)
    for one, other in zip(with_spares, _learned(*case), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_another_number_of_components_compiles_nothing(monkeypatch):
    monkeypatch.setattr("kullback.runtime._compiled.MOST", sys.maxsize)  # the tests before left room for any number
    X = RNG.normal(size=(90, 2))
    for k in (8, 3, 5):
        before = len(compiled_functions)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            kullback.GaussianMixture(k, random_state=0, max_iter=2).fit(X).bic(X)
        assert k == 8 or len(compiled_functions) == before


def test_a_large_mixture_has_no_spares(monkeypatch):
    large = kullback.GaussianMixture(1).fit(RNG.normal(size=(200, 60))).to_model()
    assert _spares.Spares(np.zeros((10, 60))).added(large) is large
    small = kullback.GaussianMixture(1).fit(RNG.normal(size=(20, 2))).to_model()
    assert _spares.Spares(np.zeros((10_000, 2))).added(small) is small
    spares = _spares.Spares(np.zeros((10, 2)))
    assert len(spares.added(small).weights) == _spares.MULTIPLE
    assert len(spares.removed(spares.added(small)).weights) == 1
