"""Scripts as the peers' galleries have them run with either import, and agree."""

import logging

import numpy as np
import pytest
import sklearn.mixture

import kullback
from peers.galleries import HIDDEN_MARKOV, MIXTURES, density
from tiers import slow

hmm = pytest.importorskip("hmmlearn.hmm")


@pytest.fixture(autouse=True)
def _quiet():
    """hmmlearn logs a word about `MultinomialHMM` whenever one is made."""
    logger = logging.getLogger("hmmlearn")
    before = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(before)


def same(one, other, **tolerance):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            same(one[name], other[name], **tolerance)
    elif isinstance(one, (list, tuple)) and one and not np.isscalar(one[0]):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b, **tolerance)
    elif tolerance:
        np.testing.assert_allclose(one, other, **tolerance)
    else:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("script", "theirs"),
    [
        *(
            pytest.param(script, sklearn.mixture, marks=() if script is density else pytest.mark.slow)
            for script in MIXTURES
        ),
        *(slow(script, hmm) for script in HIDDEN_MARKOV),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_script_finds_the_same_with_either_import(script, theirs):
    expected, found = script(theirs), script(kullback)
    same(found.exact, expected.exact)
    same(found.scores, expected.scores, rtol=1e-6)
    same(found.parameters, expected.parameters, rtol=1e-4, atol=1e-5)
    assert found.drawn.keys() == expected.drawn.keys()
    for name, (average, error) in found.drawn.items():  # two draws: their difference has √2 of the error of one
        assert np.max(np.abs(average - expected.drawn[name][0]) / error) < 5 * np.sqrt(2), name
