"""Tables of few different rows: what is found of them, and that it changes nothing but speed."""

import jax
import numpy as np
import pytest

import kullback
from contracts.quick import quick
from kullback.core import replace
from kullback.estimators.data._distinct import find_distinct_rows
from kullback.estimators.data._sequences import Sequences
from kullback.families import Categorical, Independent, Poisson
from kullback.models import HiddenMarkovModel

RNG = np.random.default_rng(5)

gather = quick(lambda model, batch: model.expected_statistics(batch))


def test_each_row_is_the_one_it_points_to():
    values = RNG.integers(0, [3, 5], (300, 2)).astype(float)
    found = find_distinct_rows(values, None)
    np.testing.assert_array_equal(found.values[found.place], values)
    assert len(found.values) == 16  # 15 combinations, rounded up


def test_missing_entries_are_entries_of_their_own():
    values = RNG.integers(0, 3, (300, 2)).astype(float)
    observed = RNG.random((300, 2)) < 0.7
    found = find_distinct_rows(np.where(observed, values, 0), observed)
    np.testing.assert_array_equal(found.observed[found.place], observed)
    np.testing.assert_array_equal(found.values[found.place], np.where(observed, values, 0))


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(size=(300, 1)),
        RNG.integers(-1, 3, (300, 1)).astype(float),
        np.append(RNG.integers(0, 3, (300, 1)), [[0.5]], axis=0),
        np.append(RNG.integers(0, 3, (300, 1)), [[4096.0]], axis=0),
        RNG.integers(0, 20, (300, 2)).astype(float),
        np.zeros((0, 1)),
    ],
    ids=["numbers", "negative", "one fraction", "one large count", "many combinations", "no rows"],
)
def test_other_tables_have_none(values):
    assert find_distinct_rows(values, None) is None


def emissions(name, k):
    if name == "categorical":
        return Independent(Categorical(RNG.dirichlet(np.ones(4), (k, 2))))
    return Independent(Poisson(RNG.gamma(2.0, 1.0, (k, 2))))


@quick
def answers(model, batch):
    return (
        model.expected_statistics(batch),
        model.viterbi(batch),
        model.filter(batch),
        model.log_likelihood(batch),
        model.posterior(batch),
    )


@pytest.mark.parametrize("k", [2, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 11))])
@pytest.mark.parametrize(
    ("name", "missing"), [("categorical", True), pytest.param("poisson", False, marks=pytest.mark.slow)]
)
def test_statistics_and_answers_are_the_same_without_them(k, name, missing):
    rows = 400
    X = RNG.integers(0, 4, (rows, 2)).astype(float)
    if missing:
        X[RNG.random(X.shape) < 0.2] = np.nan
    starts = np.isin(np.arange(rows), [0, 1, 150])
    weight = np.where(np.arange(rows) < 150, 2.0, 1.0)
    model = HiddenMarkovModel(RNG.dirichlet(np.ones(k)), RNG.dirichlet(np.ones(k), k), emissions(name, k))
    batch = Sequences(X, starts, weight).batch(model)
    assert batch.distinct is not None
    _same(answers(model, batch), answers(model, replace(batch, distinct=None)))


@pytest.mark.slow
def test_what_cannot_be_is_counted_the_same_without_them():
    """The recursion in logarithms takes over, and adds up for each of the different rows too."""
    X = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [1.0]] * 10)
    blocked = HiddenMarkovModel(
        [1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], Independent(Categorical([[[0.5, 0.5, 0.0]], [[0.5, 0.5, 0.0]]]))
    )
    batch = Sequences(X, np.arange(60) == 0).batch(blocked)
    assert batch.distinct is not None
    found, expected = (gather(blocked, one) for one in (batch, replace(batch, distinct=None)))
    assert found[0].log_likelihood == -np.inf
    _same(found, expected)


def test_a_table_may_lack_symbols_of_the_model():
    """The table of symbols is that of the data, and not of the model."""
    hmm = kullback.CategoricalHMM(2)
    hmm.startprob_, hmm.transmat_ = RNG.dirichlet(np.ones(2)), RNG.dirichlet(np.ones(2), 2)
    hmm.emissionprob_ = RNG.dirichlet(np.ones(6), 2)
    X = RNG.integers(0, 4, (100, 1))
    alpha, total = hmm.startprob_ * hmm.emissionprob_[:, X[0, 0]], 0.0
    for symbol in X[1:, 0]:
        total, alpha = total + np.log(alpha.sum()), alpha / alpha.sum()
        alpha = (alpha @ hmm.transmat_) * hmm.emissionprob_[:, symbol]
    assert hmm.score(X) == pytest.approx(total + np.log(alpha.sum()), rel=1e-13)


def _same(found, expected):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
