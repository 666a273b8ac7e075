"""hmmlearn's tests of `CategoricalHMM`, run on ours."""

from peers.hmmlearn_suites import suite, with_both

SUITE = suite(
    "test_categorical_hmm",
    least=22,
    quick={"test_attributes"},
    fails=with_both(
        {
            "TestCategoricalHMM::test__check_and_set_categorical_n_features": (
                "It asks that symbols 0.0, 1.0, … are refused for their type. Here they are taken, for a column in "
                "which some are missing is one of floats."
            )
        }
    ),
)
globals().update(SUITE.tests())
