"""hmmlearn's tests of `PoissonHMM`, run on ours."""

from peers.hmmlearn_suites import suite

SUITE = suite("test_poisson_hmm", least=12, quick={"test_attributes"})
globals().update(SUITE.tests())
