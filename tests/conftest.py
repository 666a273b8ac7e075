"""Tests compute in 64 bits, draw without a screen, and compile in a hurry.

Nearly all of the time goes into compiling functions that run once or twice, so XLA is asked to spend little on each:
half as much in all. `XLA_FLAGS= make test` runs everything as a user would.

JAX's compilation cache on disk stays off: jaxlib 0.9.2 crashes when it loads some of the functions it has stored there
(the Hessian of a relative entropy of Dirichlets among them), in one session too when several workers share it.
"""

import os
import pathlib

import pytest

IN_A_HURRY = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)

os.environ.setdefault("XLA_FLAGS", " ".join(IN_A_HURRY))
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("MPLBACKEND", "agg")

#: Members of the registries whose laws `make test` leaves to `make test-all`: for each there is one like it that stays.
LIKE_OTHERS = {
    "DiagonalGaussian", "SphericalGaussian", "Bernoulli", "Multinomial", "Exponential", "Beta", "Dirichlet", "VonMises",
    "Poisson", "Ising", "Independent Gamma", "Mixture of FactorAnalysis", "Mixture of CompoundDirichlet",
    "ProbabilisticPCA", "FactorAnalysis()", "PoissonMixture()", "CategoricalMixture()", "BernoulliMixture()",
    "CompoundDirichlet()", "PoissonHMM", "MultinomialHMM", "CategoricalHMM", "HMM", "BernoulliMixture",
    "PoissonMixture", "CategoricalMixture", "bernoulli-mixture", "poisson-mixture", "mixture",
    "categorical-hmm", "poisson-hmm", "multinomial-hmm", "hmm", "factor-analysis", "compound-dirichlet",
}  # fmt: skip
#: Where each member of a registry is asked the same.
REGISTRIES = {
    "test_families.py", "test_models.py", "test_conventions.py", "test_sequence_conventions.py", "test_fisher_rao.py",
    "test_retraction.py", "test_mixture_of_every_family.py", "test_factor_model.py", "test_checkpoint.py",
    "test_fit.py", "test_report.py", "test_questions.py",
}  # fmt: skip


#: Tests that took longest when they were measured, a line each: `make test-all` runs them.
LONG = frozenset((pathlib.Path(__file__).parent / "long.txt").read_text(encoding="utf-8").splitlines())


def pytest_collection_modifyitems(items):
    """Mark what took longest as slow, and the laws of members that are like others."""
    for item in items:
        if item.nodeid in LONG:
            item.add_marker(pytest.mark.slow)
        if item.path.name in REGISTRIES and hasattr(item, "callspec"):
            name = item.callspec.id
            first = name.partition("-")[0].rpartition(".")[2].rstrip("'>")
            if name in LIKE_OTHERS or first in LIKE_OTHERS:
                item.add_marker(pytest.mark.slow)
