"""Every estimator keeps scikit-learn's conventions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import kullback
from contracts.estimators import each_estimator
from kullback.estimators import REGISTRY, estimator_class

#: Those of independent rows, with targets or without; that of scikit-learn's own has its checks beside it.
ESTIMATORS = [
    estimator_class(name)()
    for name, entry in REGISTRY.items()
    if entry.capabilities.data in ("rows", "pairs") and name != "GaussianMixture"
]

COUNTS = (kullback.PoissonMixture, kullback.CategoricalMixture, kullback.CompoundDirichlet)


def expected_failures(estimator):
    """Counts are whole numbers, and this one check draws fractions without looking at the tags."""
    if isinstance(estimator, COUNTS):
        return {"check_sample_weight_equivalence_on_dense_data": "X must hold whole numbers; the check draws fractions"}
    return {}


def checks():
    """Return scikit-learn's checks of all estimators as cases, with the marks of both."""
    for member in each_estimator({type(estimator).__name__: estimator for estimator in ESTIMATORS}):
        _, cases = parametrize_with_checks(member.values, expected_failed_checks=expected_failures).args
        for case in cases:
            values, marks = (case.values, case.marks) if hasattr(case, "marks") else (case, ())
            yield pytest.param(*values, id=f"{member.id}-{named(values[1])}", marks=[*marks, *member.marks])


def named(check):
    """Return the name of a check and its options."""
    options = ",".join(f"{name}={value}" for name, value in check.keywords.items())
    return f"{check.func.__name__}({options})" if options else check.func.__name__


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
