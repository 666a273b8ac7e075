"""hmmlearn's tests of `GaussianHMM`, run on ours."""

import pytest

from peers.hmmlearn_suites import suite, with_both

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

AT_THE_TOP = (
    "It asks that the likelihood rises after the first iteration. The start here knows the spread within clusters, and "
    "of clusters as far apart as these it is at the top after one."
)
SUITE = suite(
    "test_gaussian_hmm",
    least=98,
    quick={"test_bad_covariance_type", "test_fit_too_little_data"},
    fails={
        **with_both(
            {
                "TestGaussianHMMWithSphericalCovars::test_fit_with_priors": AT_THE_TOP,
                "TestGaussianHMMWithDiagonalCovars::test_fit_with_priors": AT_THE_TOP,
            }
        ),
        "TestGaussianHMMWithSphericalCovars::test_underflow_from_scaling[scaling]": (
            "It asks that one outlier ends a fit with an error, for so it does in hmmlearn's recursion without "
            "logarithms. The recursion here does not underflow, whatever `implementation` is."
        ),
    },
)
globals().update(SUITE.tests())
