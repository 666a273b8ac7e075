"""scikit-learn's tests of `BernoulliRBM`, run on ours."""

import sklearn.neural_network

from peers.bridges import BernoulliRBM
from peers.suites import Suite

BITS = "It pins weights to the bits of NumPy's generator, and says itself that it depends on the seed."
POORER = "It pins the pseudo-likelihood of a poorer fit: score_samples is the log-likelihood here."
LINE = "It pins the line that is printed: estimators here print theirs, to stderr."
SUITE = Suite(
    "sklearn.neural_network.tests.test_rbm",
    {"BernoulliRBM": BernoulliRBM},
    [sklearn.neural_network, sklearn.neural_network.BernoulliRBM],
    least=24,
    quick={"test_transform"},
    fails={
        "test_fit": POORER,
        "test_partial_fit": POORER,
        **{f"test_fit_gibbs[{kind}]": BITS for kind in ("csc_matrix", "csc_array")},
        **{f"test_score_samples[{kind}]": POORER for kind in ("lil_matrix", "lil_array")},
        **{f"test_sparse_and_verbose[{kind}]": LINE for kind in ("csc_matrix", "csc_array")},
    },
)
globals().update(SUITE.tests())
