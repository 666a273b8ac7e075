"""Where hidden Markov models begin: states that look alike are found, what is set by hand stays."""

import warnings

import numpy as np
import pytest

import kullback
from estimators.hidden_markov_data import LENGTHS, symbols
from kullback.estimators.hidden_markov import _starts
from tiers import slow

#: Of the even process, in nats per symbol.
ENTROPY_RATE = 2 / 3 * np.log(2)


def even_process(rows, seed):
    """Runs of ones have even lengths: after a 0, or two ones, a coin is tossed."""
    coins = np.random.default_rng(seed).integers(0, 2, rows)
    values, odd = np.empty((rows, 1)), False
    for row, coin in enumerate(coins):
        values[row] = 1 if odd else coin
        odd = bool(values[row, 0]) and not odd
    return values


def later_nats(model, X, rows):
    """Return the nats per row of what comes after the first rows, given them."""
    return (model.score(X[:rows]) - model.score(X)) / (len(X) - rows)


def as_emitted(name, X):
    return np.concatenate([X, 1 - X], axis=1) if name == "MultinomialHMM" else X


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("CategoricalHMM", {}),
        ("HMM", {"family": "categorical"}),
        slow("MultinomialHMM", {}),
    ],
)
def test_states_that_look_alike_are_found(name, parameters):
    X = as_emitted(name, even_process(4000, 0))
    model = getattr(kullback, name)(3, n_iter=100, random_state=0, **parameters).fit(X)
    assert -model.lower_bound_ < 0.47  # from clusters .61 and .64


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_entropy_of_the_even_process_is_reached(seed):
    X = even_process(55_000, 10 + seed)
    model = kullback.CategoricalHMM(3, n_iter=200, random_state=seed).fit(X[:15_000])
    assert ENTROPY_RATE - 0.005 < later_nats(model, X, 15_000) <= 0.465


def test_a_stream_starts_from_the_best_start_too(monkeypatch):
    X, tried = even_process(4000, 3), []
    result = _starts.trial_result

    def noted(start, *rest):
        tried.append((result(start, *rest), start))
        return tried[-1][0]

    monkeypatch.setattr("kullback.estimators.hidden_markov._estimator.trial_result", noted)
    model = kullback.CategoricalHMM(3, random_state=0, rate=1e-12, lag=0).partial_fit(X)  # it stays at its start
    best = max(tried, key=lambda one: one[0])[1]
    assert len(tried) == 1 + _starts.RANDOM_STARTS
    np.testing.assert_allclose(model.transmat_, best.transitions, atol=1e-9)
    assert not np.allclose(best.transitions, tried[0][1].transitions)  # it is not the start from clusters


def test_starts_are_the_same_for_the_same_seed():
    one, other = (kullback.CategoricalHMM(3, random_state=1, n_iter=3).fit(symbols(), LENGTHS) for _ in range(2))
    np.testing.assert_array_equal(one.emissionprob_, other.emissionprob_)
    np.testing.assert_array_equal(one.transmat_, other.transmat_)


@pytest.mark.parametrize("kept", ["s", "t", "e", "st"])
def test_what_is_set_by_hand_is_in_every_start(kept, monkeypatch):
    parts = {"s": ("startprob_", [0.5, 0.5]), "t": ("transmat_", [[0.7, 0.3], [0.2, 0.8]])}
    parts["e"] = ("emissionprob_", [[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
    model = kullback.CategoricalHMM(
        2, n_iter=0, random_state=0, init_params="ste".translate({ord(c): "" for c in kept})
    )
    for letter in kept:
        setattr(model, parts[letter][0], np.array(parts[letter][1]))
    tried = []
    monkeypatch.setattr(
        "kullback.estimators.hidden_markov._estimator.trial_result",
        lambda start, *_: tried.append(start) or -len(tried),
    )
    model.fit(symbols())
    assert len(tried) == 1 + _starts.RANDOM_STARTS
    for start in tried:
        found = {"s": start.initial, "t": start.transitions, "e": start.emissions.columns.probabilities[:, 0]}
        for letter in kept:
            np.testing.assert_array_equal(found[letter], parts[letter][1])
    assert len({start.transitions.tobytes() for start in tried}) == (1 if "t" in kept else len(tried))


def test_the_best_start_is_taken(monkeypatch):
    tried = []
    monkeypatch.setattr(
        "kullback.estimators.hidden_markov._estimator.trial_result",
        lambda start, *_: tried.append(start) or (1.0 if len(tried) == 4 else 0.0),
    )
    model = kullback.CategoricalHMM(2, n_iter=0, random_state=0).fit(symbols())
    np.testing.assert_array_equal(model.transmat_, tried[3].transitions)
    np.testing.assert_array_equal(model.emissionprob_, tried[3].emissions.columns.probabilities[:, 0])


def test_a_start_that_is_set_needs_no_trial(monkeypatch):
    monkeypatch.setattr("kullback.estimators.hidden_markov._estimator.trial_result", None)
    model = kullback.CategoricalHMM(2, n_iter=1, init_params="s", random_state=0)
    model.transmat_, model.emissionprob_ = np.full((2, 2), 0.5), np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
    model.fit(symbols())


def test_trials_see_all_of_a_long_series():
    rows = np.arange(50_000.0)[:, None]
    first = np.zeros(len(rows), bool)
    first[[0, 30_000]] = True
    some = _starts.trial_rows(_starts.Sequences(rows, first), 2)
    assert len(some) == _starts.TRIAL_ROWS
    assert (some.X[0], some.X[-1]) == (0, 49_999)
    np.testing.assert_array_equal(np.flatnonzero(some.starts), np.flatnonzero(np.diff(some.X[:, 0], prepend=-2) != 1))


def test_an_impossible_beginning_names_its_prior():
    model = kullback.CategoricalHMM(2)
    model.startprob_, model.transmat_ = np.array([1.0, 0.0]), np.full((2, 2), 0.5)
    model.emissionprob_ = np.eye(2)
    with pytest.warns(UserWarning, match=r"X\[0\] is impossible.*startprob_prior"):
        assert model.score([[1], [0]]) == -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(model.score([[0], [1]]))
