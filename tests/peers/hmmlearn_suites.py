"""hmmlearn's test modules, with our classes."""

import types

import pytest

from peers import bridges
from peers.suites import Suite

hmm = pytest.importorskip("hmmlearn.hmm")
NAMES = ("GaussianHMM", "CategoricalHMM", "PoissonHMM", "MultinomialHMM")
OURS = types.SimpleNamespace(**{name: getattr(bridges, name) for name in NAMES})


def suite(name, least, quick, fails=()):
    """Return one of its modules; every case has two implementations, and what fails with a reason may fail in both."""
    theirs = [hmm, *(getattr(hmm, one) for one in hmm.__all__)]
    return Suite(f"hmmlearn.tests.{name}", {"hmm": OURS}, theirs, least, quick, fails)


def with_both(cases):
    """Return reasons for both implementations of each case."""
    return {f"{case}[{which}]": reason for case, reason in cases.items() for which in ("scaling", "log")}
