"""What scikit-learn asks of every estimator, asked of those of sequences: another one is one more line in `CASES`."""

import copy
import pickle
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

import kullback
from contracts.estimators import each_estimator

# Pieces of 40 and of 120 rows only: few sizes, few compiled functions.
LENGTHS = [40, 40, 40]
ROWS = sum(LENGTHS)


def path(seed):
    rng = np.random.default_rng(seed)
    return (np.cumsum(rng.random(ROWS) < 0.1) + seed) % 2, rng


def reals(seed=0):
    """Numbers that 32 bits hold."""
    h, rng = path(seed)
    return np.float32(rng.normal(3.0 * h[:, None], 1.0, (ROWS, 2))).astype(np.float64)


def counts(seed=0):
    h, rng = path(seed)
    return rng.poisson(2.0 + 6.0 * h[:, None], (ROWS, 2)).astype(np.float64)


def symbols(seed=0):
    h, rng = path(seed)
    return np.where(rng.random(ROWS) < 0.8, h, rng.integers(3, size=ROWS))[:, None].astype(np.float64)


def tallies(seed=0):
    h, rng = path(seed)
    return np.array([rng.multinomial(6, [0.7, 0.2, 0.1] if s else [0.1, 0.2, 0.7]) for s in h]).astype(np.float64)


def mixed(seed=0):
    return np.hstack([reals(seed)[:, :1], counts(seed)[:, :1]])


class Case(NamedTuple):
    """How to make an estimator of two hidden states, and data for it; its questions; a parameter that cannot be."""

    make: Any
    data: Any
    answers: tuple[str, ...]
    wrong: dict[str, Any]


STATES = ("score", "predict_proba", "predict", "filter")
WRONG = {"n_components": 0, "n_iter": -1, "rate": 2.0, "lag": -1, "n_init": 0}


def hidden(kind, **fixed):
    def make(**parameters):
        return kind(
            **{"n_components": 2, "random_state": 0, "n_iter": 4, "tol": -np.inf, "lag": 40, **fixed, **parameters}
        )

    return make


CASES = {
    "GaussianHMM": Case(
        hidden(kullback.GaussianHMM), reals, STATES, {**WRONG, "covariance_type": "round", "min_covar": -1.0}
    ),
    "PoissonHMM": Case(hidden(kullback.PoissonHMM), counts, STATES, {**WRONG, "algorithm": "best"}),
    "CategoricalHMM": Case(hidden(kullback.CategoricalHMM, n_features=3), symbols, STATES, {**WRONG, "n_features": 0}),
    "MultinomialHMM": Case(hidden(kullback.MultinomialHMM), tallies, STATES, {**WRONG, "n_trials": 0}),
    "HMM": Case(hidden(kullback.HMM, family=["gaussian", "poisson"]), mixed, STATES, {**WRONG, "reg_covar": -1.0}),
    "LinearDynamicalSystem": Case(
        lambda **p: kullback.LinearDynamicalSystem(**{"random_state": 0, "max_iter": 4, "tol": 0.0, "lag": 40, **p}),
        reals,
        ("score",),
        {"n_latents": 0, "max_iter": -1, "rate": 2.0, "lag": -1, "n_init": 0},
    ),
}


@pytest.fixture(params=each_estimator(CASES.keys()), scope="module")
def case(request):
    return CASES[request.param]


@pytest.fixture(scope="module")
def fitted(case):
    """Return an estimator that is fitted once for all tests that only ask."""
    return case.make().fit(case.data(), LENGTHS)


def attributes(estimator):
    return {
        name: value for name, value in vars(estimator).items() if name.endswith("_") and not isinstance(value, list)
    }


def assert_same(one, other, rtol=1e-12):
    a, b = attributes(one), attributes(other)
    assert a.keys() == b.keys()
    for name, value in a.items():
        if isinstance(value, np.ndarray) and value.dtype == object:
            np.testing.assert_array_equal(b[name], value)
        else:
            np.testing.assert_allclose(b[name], value, rtol=rtol, atol=1e-12, err_msg=name)


def asked(estimator, case, X, lengths=LENGTHS):
    return {name: np.asarray(getattr(estimator, name)(X, lengths)) for name in case.answers}


def test_the_constructor_sets_parameters_and_nothing_else(case):
    estimator = case.make()
    assert vars(estimator).keys() == estimator.get_params().keys()
    plain = type(estimator)()
    for name, value in plain.get_params().items():
        assert getattr(plain, name) is value


def test_parameters_can_be_read_and_set(case):
    estimator = case.make()
    assert estimator.set_params(n_init=3, lag=7) is estimator
    assert estimator.get_params()["n_init"] == 3
    assert clone(estimator).get_params() == estimator.get_params()
    with pytest.raises(ValueError, match="Invalid parameter"):
        estimator.set_params(nonsense=1)
    assert "n_init=3" in repr(estimator)


def test_a_clone_of_a_fit_is_not_fitted(case, fitted):
    fresh = clone(fitted)
    assert not attributes(fresh)
    assert fresh.get_params() == case.make().get_params()  # a fit has changed none of them


def test_a_fit_returns_itself_and_leaves_the_data_as_it_was(case):
    X, lengths, weight = case.data(), np.array(LENGTHS), np.array([1.0, 2.0, 1.0])
    before = X.copy()
    estimator = case.make()
    assert estimator.fit(X, lengths, sample_weight=weight) is estimator
    assert estimator.partial_fit(X, lengths, sample_weight=weight) is estimator
    assert estimator.partial_fit(X, continues=True) is estimator
    assert estimator.fit_stream([X]) is estimator
    asked(estimator, case, X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(lengths, LENGTHS)
    np.testing.assert_array_equal(weight, [1, 2, 1])


def test_questions_before_a_fit_are_refused(case, tmp_path):
    estimator, X = case.make(), case.data()
    for name in (*case.answers, "forecast", "impute", "aic", "bic"):
        with pytest.raises(NotFittedError):
            getattr(estimator, name)(X)
    for ask in (estimator.sample, estimator.to_model, lambda: estimator.save(tmp_path / "no")):
        with pytest.raises(NotFittedError):
            ask()
    assert not (tmp_path / "no").exists()


def test_the_same_random_state_gives_the_same_fit(case, fitted):
    assert_same(case.make().fit(case.data(), LENGTHS), fitted, rtol=0)
    one, other = (fitted.sample(20, random_state=1)[0] for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(fitted.sample(20, random_state=2)[0], one)


def test_to_fit_twice_is_to_fit_once(case, fitted):
    estimator = case.make().fit(case.data(1), LENGTHS)
    assert_same(estimator.fit(case.data(), LENGTHS), fitted, rtol=0)


def forms(X, folder):
    """Return the same table in all forms that people have it in."""
    np.save(folder / "X.npy", X)
    spread = np.zeros((2 * len(X), X.shape[1] + 1))
    spread[::2, 1:] = X
    return {
        "list": X.tolist(),
        "Fortran": np.asfortranarray(X),
        "32 bits": X.astype(np.float32),
        "strided": spread[::2, 1:],
        "file": np.load(folder / "X.npy", mmap_mode="r"),
        "pandas": pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]),
        "polars": pl.DataFrame(X, schema=[f"c{i}" for i in range(X.shape[1])]),
    }


def test_all_forms_of_a_table_give_the_same(case, fitted, tmp_path):
    X = case.data()
    expected = asked(fitted, case, X)
    for form, table in forms(X, tmp_path).items():
        found = case.make().fit(table, LENGTHS)
        answers = asked(found, case, table)
        for name, value in expected.items():
            np.testing.assert_allclose(answers[name], value, rtol=1e-9, atol=1e-12, err_msg=f"{form} {name}")
        stream = clone(found).partial_fit(table, continues=True)
        assert stream.waiting_.dtype == np.float64


def test_names_of_columns_are_kept_and_others_refused(case):
    X = case.data()
    names = [f"c{i}" for i in range(X.shape[1])]
    estimator = case.make().fit(pd.DataFrame(X, columns=names), LENGTHS)
    np.testing.assert_array_equal(estimator.feature_names_in_, names)
    other = pd.DataFrame(X, columns=[name.upper() for name in names])
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.score(other)
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.partial_fit(other)
    assert estimator.n_features_in_ == X.shape[1]


def test_other_numbers_of_columns_are_refused(case, fitted):
    wider = np.hstack([case.data()] * 2)
    for ask in (fitted.score, fitted.partial_fit, fitted.filter):
        with pytest.raises(ValueError, match=f"X has {wider.shape[1]} features, but"):
            ask(wider)


def test_scores_of_sequences_add_up(case, fitted):
    X = case.data()
    parts = np.split(X, np.cumsum(LENGTHS)[:-1])
    assert fitted.score(X, LENGTHS) == pytest.approx(sum(fitted.score(part) for part in parts), rel=1e-10)
    assert isinstance(fitted.score(X), float)


def test_the_order_of_sequences_does_not_matter(case, fitted):
    """From a start that is the same, for k-means draws its own."""
    X, lengths = case.data(), [50, 20, 50]
    parts = np.split(X, np.cumsum(lengths)[:-1])
    start = fitted.to_model()
    one, other = (type(fitted).from_model(start, rate=1.0) for _ in range(2))
    one.partial_fit(X, lengths)
    other.partial_fit(np.concatenate(parts[::-1]), lengths[::-1])
    assert_same(one, other, rtol=1e-9)


def test_a_sample_has_the_shape_of_the_data(case, fitted):
    X = case.data()
    for n in (1, 17):
        drawn, states = fitted.sample(n, random_state=0)
        assert drawn.shape == (n, X.shape[1])
        assert len(states) == n
    assert np.isfinite(fitted.score(drawn))
    with pytest.raises(ValueError, match="n_samples is 0"):
        fitted.sample(0)


def test_copies_answer_the_same(case, fitted, tmp_path):
    X = case.data()
    fitted.save(tmp_path / "model")
    expected = asked(fitted, case, X)
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), kullback.load(tmp_path / "model")):
        assert type(other) is type(fitted)
        assert_same(other, fitted, rtol=0)
        for name, value in asked(other, case, X).items():
            np.testing.assert_array_equal(value, expected[name])


def test_parameters_that_cannot_be_are_refused(case):
    for name, value in case.wrong.items():
        for learn in ("fit", "partial_fit"):
            with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter"):
                getattr(case.make(**{name: value}), learn)(case.data())


def test_what_fails_leaves_the_estimator_as_it_was(case, fitted):
    estimator, X = copy.deepcopy(fitted), case.data()
    estimator.partial_fit(X, continues=True)
    before = copy.deepcopy(estimator)
    bad = X.copy()
    bad[3, 0] = np.inf
    for learn in (estimator.fit, estimator.partial_fit, lambda table: estimator.fit_stream([table])):
        with pytest.raises(ValueError, match="infinity"):
            learn(bad)
        assert_same(estimator, before, rtol=0)
    assert_same(estimator.partial_fit(X[:80], continues=True), before.partial_fit(X[:80], continues=True), rtol=0)


def test_a_stream_is_a_loop_of_steps(case):
    X = case.data()
    pieces = [X[:40], X[40:]]
    stream, loop = case.make().fit_stream(pieces), case.make()
    for piece in pieces:
        loop.partial_fit(piece, continues=True)
    loop.partial_fit(X[:0])  # the end
    assert_same(stream, loop, rtol=0)
    assert stream.n_points_seen_ == ROWS
    twice = case.make().fit_stream(pieces, passes=2)
    assert twice.n_points_seen_ == 2 * ROWS
    assert twice.n_sequences_seen_ == 2


def test_streams_that_are_none_are_refused(case):
    X = case.data()
    for stream, words in ((X, "one table"), ([], "too few rows")):
        with pytest.raises(ValueError, match=words):
            case.make().fit_stream(stream)
    with pytest.raises(ValueError, match="passes"):
        case.make().fit_stream(iter([X]), passes=2)

    def breaks():
        yield X
        raise RuntimeError("the line is dead")

    estimator = case.make()
    with pytest.raises(RuntimeError, match="the line is dead"):
        estimator.fit_stream(breaks())
    assert estimator.n_points_seen_ == ROWS - estimator.lag


def test_progress_is_shown_if_it_is_asked_for(case, capsys):
    case.make(verbose=True).fit(case.data(), LENGTHS)
    assert "nats per point" in capsys.readouterr().err
    case.make().fit(case.data(), LENGTHS)
    assert capsys.readouterr().err == ""


def test_nothing_warns_in_ordinary_use(case):
    X = case.data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator = case.make().fit(X, LENGTHS)
        asked(estimator, case, X)
        estimator.forecast(X, 2)
        estimator.partial_fit(X)
        kullback.combine([estimator, clone(estimator).fit(case.data(1))])


def test_attributes_are_numpy_in_64_bits(fitted):
    arrays = [value for value in attributes(fitted).values() if not isinstance(value, (int, float, bool))]
    assert len(arrays) >= 3
    for value in arrays:
        assert type(value) is np.ndarray
        assert value.dtype in (np.float64, np.int64)


def test_probabilities_of_states_sum_to_1(fitted, case):
    if "predict_proba" not in case.answers:
        pytest.skip("its states are not counted")
    X = case.data()
    for found in (fitted.predict_proba(X, LENGTHS), fitted.filter(X, LENGTHS), fitted.forecast(X, 3).states):
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
        assert (found >= 0).all()
