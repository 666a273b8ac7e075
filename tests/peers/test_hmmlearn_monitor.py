"""hmmlearn's tests of `ConvergenceMonitor`, run on ours."""

import pytest

from peers.bridges import ConvergenceMonitor
from peers.suites import Suite

base = pytest.importorskip("hmmlearn.base")
ITS_OWN = "It is of hmmlearn's base class, and of the recursions that are compiled for it."
SUITE = Suite(
    "hmmlearn.tests.test_base",
    {"ConvergenceMonitor": ConvergenceMonitor},
    [base.ConvergenceMonitor],
    least=5,
    quick={
        "test_converged_by_iterations",
        "test_converged_by_log_prob",
        "test_reset",
        "test_report_first_iteration",
        "test_report",
    },
    apart=dict.fromkeys(
        (
            "TestBaseAgainstWikipedia",
            "TestBaseConsistentWithGMM",
            "test_base_hmm_attributes",
            "test_stationary_distribution",
        ),
        ITS_OWN,
    ),
)
globals().update(SUITE.tests())
