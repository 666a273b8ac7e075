"""The estimators that are like others: `make test` asks those all laws, and these a few."""

from collections.abc import Iterable, Mapping
from typing import Any

from tiers import each_member

LIKE = {
    "BernoulliMixture": "Mixture",
    "PoissonMixture": "Mixture",
    "CategoricalMixture": "Mixture",
    "CompoundDirichlet": "Mixture",
    "FactorAnalysis": "ProbabilisticPCA",
    "PoissonHMM": "GaussianHMM",
    "CategoricalHMM": "GaussianHMM",
    "MultinomialHMM": "GaussianHMM",
    "HMM": "GaussianHMM",
    "Classifier": "Regressor",
    "SpikingNetwork": "GaussianHMM",
    "VariationalAutoencoder": "Mixture",
    "HelmholtzMachine": "Mixture",
    "EnergySampler": "ProbabilisticPCA",
    "BernoulliRBM": "Mixture",
    "GaussianRBM": "Mixture",
}


def each_estimator(cases: Mapping[str, Any] | Iterable[str], slow: Iterable[str] = ()) -> list[Any]:
    """Return cases by the names of classes, or these names, as parameters of a test or of a fixture."""
    return each_member(
        "estimators", cases if isinstance(cases, Mapping) else {name: name for name in cases}, LIKE, slow
    )
