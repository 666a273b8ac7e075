"""hmmlearn's tests of `MultinomialHMM`, run on ours."""

from peers.hmmlearn_suites import suite, with_both

SUITE = suite(
    "test_multinomial_hmm",
    least=16,
    quick={"test_attributes"},
    fails=with_both(
        {
            "TestMultinomialHMM::test__check_and_set_multinomial_n_features_n_trials": (
                "It asks that a fit writes the totals of its rows into the parameter `n_trials`, after which no other "
                "table can be fitted. Here the parameter stays, and `totals_` has them."
            )
        }
    ),
)
globals().update(SUITE.tests())
