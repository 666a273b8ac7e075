"""scikit-learn's tests of `GaussianMixture`, run on ours."""

import pytest
import sklearn.mixture

from peers.bridges import GaussianMixture
from peers.suites import Suite

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ARRAY_API = "It asks for answers in the namespace of X. Estimators here answer in NumPy, whatever they are given."
SUITE = Suite(
    "sklearn.mixture.tests.test_gaussian_mixture",
    {"GaussianMixture": GaussianMixture},
    [sklearn.mixture, sklearn.mixture.GaussianMixture],
    least=56,
    quick={
        "test_check_weights",
        "test_gaussian_mixture_precisions_init",
        "test_gaussian_mixture_all_init_does_not_estimate_gaussian_parameters",
    },
    apart={  # these are skipped in scikit-learn's own default run, too
        "test_gaussian_mixture_array_api_compliance": ARRAY_API,
        "test_gaussian_mixture_raises_where_array_api_not_implemented": ARRAY_API,
    },
)
globals().update(SUITE.tests())
