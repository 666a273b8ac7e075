"""A series that never ends: pieces, what waits, what is carried on."""

import numpy as np
import pytest

import kullback

# Few sizes, so that few functions are compiled: three states, two columns, 120 rows.
from estimators.hidden_markov_data import (
    CASES,
    COVARS,
    LENGTHS,
    MEANS,
    MOVES,
    START,
    K,
    N,
    assert_same,
    parameters_of,
    reals,
    started,
    stream,
    symbols,
)
from tiers import slow, slow_among


@pytest.mark.parametrize("name", slow_among(CASES, "MultinomialHMM"))
def test_a_step_of_rate_1_is_a_step_of_em(name):
    X = CASES[name][0]()
    one = stream(name, rate=1.0).partial_fit(X, LENGTHS)
    assert_same(one, stream(name, n_iter=1).fit(X, LENGTHS), rtol=1e-10)
    two = stream(name, n_iter=2, tol=-np.inf).fit(X, LENGTHS)
    assert_same(one.partial_fit(X, LENGTHS), two, rtol=1e-10)
    assert one.n_points_seen_ == 240
    assert one.n_sequences_seen_ == 8
    assert one.n_batches_seen_ == 2


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        slow("stm", "full"),
        slow("stm", "tied"),
        ("stc", "spherical"),
        slow("smc", "diag"),
        ("t", "diag"),
    ],
)
def test_what_is_not_in_params_stays_in_a_stream(params, kind):
    emissions = {"means_": MEANS, "covars_": COVARS[kind]}
    model = started(kullback, "GaussianHMM", emissions, covariance_type=kind, params=params, rate=0.5)
    for seed in range(3):
        model.partial_fit(reals(seed=seed))
    for letter, name, value in (
        ("s", "startprob_", START),
        ("t", "transmat_", MOVES),
        ("m", "means_", MEANS),
        ("c", "covariances_", COVARS[kind]),
    ):
        assert (letter in params) != np.allclose(getattr(model, name), value, rtol=1e-12), name


def test_priors_are_seen_once_by_a_stream():
    model = stream(means_prior=50.0, means_weight=100.0, rate=0.5).partial_fit(reals())
    assert model.means_.min() > 10
    other = kullback.GaussianHMM.from_model(model.to_model(), rate=0.5)
    assert_same(model.partial_fit(reals(seed=1)), other.partial_fit(reals(seed=1)), rtol=1e-12)


def test_the_filtered_state_is_carried_on():
    X = reals()
    model = stream(rate=1e-9, lag=0)  # so that the model is the same for all pieces
    expected = model.filter(X)
    for start in range(0, 120, 60):
        model.partial_fit(X[start : start + 60], continues=True)
        np.testing.assert_allclose(model.filtered_, expected[start + 59], rtol=1e-6)
        assert len(model.waiting_) == 0


def test_with_a_long_lag_pieces_are_the_whole():
    X = reals()
    whole, pieces = stream(lag=500), stream(lag=500)
    whole.partial_fit(X)
    for start in range(0, 120, 40):
        pieces.partial_fit(X[start : start + 40], continues=True)
        assert len(pieces.waiting_) == start + 40
    pieces.partial_fit(X[:0])  # the end
    assert not hasattr(pieces, "waiting_")
    assert_same(pieces, whole, rtol=0, atol=0)
    assert pieces.n_points_seen_ == 120


def test_the_lag_tells_of_what_comes_later():
    """Rows are counted with what the next ones say of them: with a lag they are learned as from the whole series."""
    X = reals()
    model = stream(rate=1.0, lag=20)
    share = model.predict_proba(X)[:100]
    model.partial_fit(X, continues=True)
    np.testing.assert_allclose(model.means_, (share.T @ X[:100]) / share.sum(axis=0)[:, None], rtol=1e-9)
    np.testing.assert_array_equal(model.waiting_, X[100:])
    assert model.n_points_seen_ == 100


@pytest.mark.parametrize("size", [slow(1), 7, slow(60)])
@pytest.mark.parametrize("lag", [slow(0), 5, slow(20)])
def test_every_row_of_a_stream_is_counted_once(size, lag):
    X = reals()
    model = stream(lag=lag)
    model.fit_stream(X[start : start + size] for start in range(0, 120, size))
    assert model.n_points_seen_ == 120
    assert model.n_sequences_seen_ == 1
    assert not hasattr(model, "waiting_")
    assert not hasattr(model, "filtered_")
    assert all(np.isfinite(value).all() for value in parameters_of(model).values())


def test_before_there_are_enough_rows_all_wait():
    X = reals()
    model = kullback.GaussianHMM(K, random_state=0, lag=10)
    for t in range(59):
        model.partial_fit(X[t : t + 1], continues=True)
        assert len(model.waiting_) == t + 1
        assert not hasattr(model, "n_batches_seen_")
    model.partial_fit(X[59:60], continues=True)
    assert model.n_points_seen_ == 50
    assert len(model.waiting_) == 10
    for t in range(60, 109):
        model.partial_fit(X[t : t + 1], continues=True)
        assert model.n_points_seen_ == 50
        assert len(model.waiting_) == t - 49
    model.partial_fit(X[109:110], continues=True)
    assert model.n_points_seen_ == 100
    assert len(model.waiting_) == 10


@pytest.mark.slow
def test_row_by_row_a_stream_learns():
    """Pieces of one row end near what batch EM finds."""
    X = np.concatenate([np.random.default_rng(s).normal(m, 1, (25, 2)) for s, m in enumerate((0, 6) * 12)])
    batch = kullback.GaussianHMM(2, random_state=0, n_iter=30).fit(X)
    online = kullback.GaussianHMM(2, random_state=0).fit_stream(X[t : t + 1] for t in range(len(X)))
    assert online.score(X) > batch.score(X) - 0.02 * len(X)


def test_an_empty_piece_changes_nothing():
    X = reals()
    model, other = stream(), stream()
    for piece in (X[:0], X[:80], X[:0], X[80:], X[:0]):
        model.partial_fit(piece, continues=True)
    for piece in (X[:80], X[80:]):
        other.partial_fit(piece, continues=True)
    assert_same(model, other, rtol=0, atol=0)
    np.testing.assert_array_equal(model.waiting_, other.waiting_)
    with pytest.raises(ValueError, match="0 sample"):
        stream().fit(X[:0])


@pytest.mark.slow
def test_a_series_ends_where_another_begins():
    X, Y = reals(), reals(seed=5)
    model = stream(lag=20)
    model.partial_fit(X, continues=True)
    model.partial_fit(Y)  # a sequence of its own; the rows that wait end theirs
    assert model.n_points_seen_ == 240
    assert model.n_sequences_seen_ == 2
    assert not hasattr(model, "waiting_")
    model.partial_fit(X, continues=True)
    assert model.n_sequences_seen_ == 3
    # the transition from the last row of X to the first of Y is none
    parts, whole = stream(lag=500, rate=1.0), stream(rate=1.0)
    parts.partial_fit(X, continues=True)
    parts.partial_fit(Y)
    whole.partial_fit(np.concatenate([X, Y]), [120, 120])
    assert_same(parts, whole, rtol=1e-10)


def test_the_last_of_several_sequences_goes_on():
    X = reals()
    model = stream(lag=500)
    model.partial_fit(X[:90], [50, 40], continues=True)
    np.testing.assert_array_equal(model.waiting_, X[50:90])
    assert model.n_points_seen_ == 50
    model.partial_fit(X[90:], continues=True)
    np.testing.assert_array_equal(model.waiting_, X[50:])


def test_a_weight_is_refused_for_a_series_that_goes_on():
    with pytest.raises(ValueError, match="sample_weight cannot be given with continues"):
        stream().partial_fit(reals(), sample_weight=[1.0], continues=True)


def test_a_step_that_fails_leaves_a_stream_as_it_was():
    X = reals()
    model = stream().partial_fit(X[:80], continues=True)
    before = {name: np.copy(value) for name, value in vars(model).items() if name.endswith("_")}
    for bad in (np.full((3, N), np.inf), np.zeros((3, 5)), [["a", "b"]]):
        with pytest.raises(ValueError, match="inf|features|holds text"):
            model.partial_fit(bad, continues=True)
    model.rate = lambda step: 2.0
    with pytest.raises(ValueError, match="rate is 2.0"):
        model.partial_fit(X, continues=True)
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert before.keys() == after.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)


def test_a_piece_of_other_columns_is_refused_before_the_first_step_too():
    model = kullback.GaussianHMM(2).partial_fit(reals(5), continues=True)
    with pytest.raises(ValueError, match="X has 3 features, but GaussianHMM is expecting 2"):
        model.partial_fit(np.zeros((5, 3)), continues=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_stream_ends_near_batch_em(seed):
    X = stream().sample(20_000, random_state=seed)[0]
    first = kullback.GaussianHMM(K, n_iter=0, random_state=seed).fit(X[:100])
    begin = {"means_": first.means_, "covars_": first.covariances_}
    batch = started(kullback, "GaussianHMM", begin, n_iter=50, tol=1.0).fit(X)
    online = started(kullback, "GaussianHMM", begin).fit_stream(np.split(X, 200))
    assert online.score(X) > batch.score(X) - 0.02 * len(X)
    assert online.n_points_seen_ == 20_000


def test_a_stream_begins_with_the_start_that_was_set():
    X = reals()
    model = stream(rate=1e-12).fit_stream([X[:60], X[60:]])
    np.testing.assert_allclose(model.means_, MEANS, atol=1e-6)
    again = stream(rate=0.5)
    again.fit_stream([X])
    means = again.means_
    np.testing.assert_allclose(again.set_params(rate=1e-12).fit_stream([X]).means_, means, atol=1e-6)


@pytest.mark.slow
def test_symbols_that_come_later_than_the_first_rows():
    """Rows that wait for the start are looked at together."""
    X = np.concatenate([np.zeros((30, 1), int), symbols()])
    model = kullback.CategoricalHMM(2, random_state=0)
    model.fit_stream(X[t : t + 10] for t in range(0, 150, 10))
    assert model.n_features == 4
    table = kullback.HMM(2, family="categorical", random_state=0)
    table.fit_stream(X[t : t + 10] for t in range(0, 150, 10))
    np.testing.assert_array_equal(table.n_categories_, [4])
    short = kullback.CategoricalHMM(2, random_state=0).fit_stream([np.zeros((100, 1), int)])
    with pytest.raises(ValueError, match="Largest symbol is 3 but the model only emits symbols up to 0"):
        short.partial_fit([[3]])


@pytest.mark.parametrize("name", slow_among(CASES, "GaussianHMM", "PoissonHMM"))
def test_rows_may_be_filtered_one_by_one(name):
    make, emissions = CASES[name]
    X = make(30)
    model = started(kullback, name, emissions, **({"n_trials": 6} if "Multi" in name else {}))
    whole, state = model.filter(X), None
    for t in range(30):
        state = model.filter(X[t : t + 1], state=state)[-1]
        np.testing.assert_allclose(state, whole[t], rtol=1e-10)


@pytest.mark.parametrize("state", [[0.5, 0.5], [0.5, 0.5, 0.5], [0.0, 0.0, 0.0], [np.nan, 0.5, 0.5], [-1.0, 1.0, 1.0]])
def test_a_state_that_is_no_distribution_is_refused(state):
    with pytest.raises(ValueError, match="state (has shape|is)"):
        stream().filter(reals(), state=state)


def test_a_forecast_is_what_the_chain_expects():
    X = reals()
    model = stream()
    found = model.forecast(X, steps=3)
    expected = model.filter(X)[-1] @ MOVES @ MOVES
    np.testing.assert_allclose(found.states[1], expected, rtol=1e-12)
    np.testing.assert_allclose(found.mean[1], expected @ MEANS, rtol=1e-12)
    with pytest.raises(ValueError, match="steps is 0"):
        model.forecast(X, steps=0)


@pytest.mark.parametrize(
    "family", ["gamma", *map(slow, ("exponential", "beta", "bernoulli", "poisson", "categorical"))]
)
def test_the_forecast_of_any_family_has_the_mean_of_what_is_drawn(family):
    rng = np.random.default_rng(0)
    X = {
        "exponential": rng.exponential(3.0, (120, 2)),
        "gamma": rng.gamma(4.0, 2.0, (120, 2)),
        "beta": rng.beta(2.0, 5.0, (120, 2)),
        "bernoulli": rng.integers(2, size=(120, 2)),
        "poisson": rng.poisson(4.0, (120, 2)),
        "categorical": rng.integers(3, size=(120, 2)),
    }[family]
    model = kullback.HMM(1, family=family, n_iter=3).fit(X)
    np.testing.assert_allclose(model.forecast(X).mean[0], X.mean(axis=0), rtol=0.02)
