"""Every estimator keeps scikit-learn's conventions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import kullback

ESTIMATORS = [
    kullback.Mixture(),
    kullback.BernoulliMixture(),
    kullback.PoissonMixture(),
    kullback.CategoricalMixture(),
    kullback.ProbabilisticPCA(),
    kullback.FactorAnalysis(),
    kullback.CompoundDirichlet(),
]


COUNTS = (kullback.PoissonMixture, kullback.CategoricalMixture, kullback.CompoundDirichlet)


def expected_failures(estimator):
    """Counts are whole numbers, and this one check draws fractions without looking at the tags."""
    if isinstance(estimator, COUNTS):
        return {"check_sample_weight_equivalence_on_dense_data": "X must hold whole numbers; the check draws fractions"}
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
