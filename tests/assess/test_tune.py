"""Tuning: the test is apart, comparisons are by row, and what fails is said."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.svm import SVC

import kullback
from assess.stand_ins import Lottery, Offset, numbered
from kullback.assess import Tuner, tune
from kullback.assess._estimators import row_scores
from kullback.assess._paired import mean_of

RNG = np.random.default_rng(0)


@pytest.fixture
def lottery():
    Lottery.seen.clear()
    return Lottery()


def test_rows_of_the_test_are_met_once_and_last(lottery):
    found = tune(lottery, numbered(60), space={"ticket": range(20)}, budget=7, folds=3)
    apart, others = set(found.test_rows), set(range(60)) - set(found.test_rows)
    assert len(apart) == 12
    *before, (last_fit, learned), (last_score, tested) = Lottery.seen
    assert (last_fit, learned, last_score, tested) == ("fit", others, "score", apart)
    assert len(before) == 2 * 3 * 7
    assert not any(rows & apart for _, rows in before)
    # each setting is scored on every other row, by fits to the rest
    for fit, score in zip(before[::2], before[1::2], strict=True):
        assert fit[0] == "fit"
        assert fit[1] == others - score[1]
    assert sorted(row for _, rows in before[1:6:2] for row in rows) == sorted(others)


def test_the_winners_own_score_is_not_its_test_score(lottery):
    """All settings are alike with mean 0: what has won has a held-out score above 0, and a test score around it."""
    held_out, test, errors = [], [], []
    for repeat in range(20):
        X, space = numbered(80, 1000 * repeat), {"ticket": range(20)}
        found = tune(lottery, X, space=space, method="random", seed=repeat, folds=2, test=0.5)
        held_out.append(next(row["held_out"] for row in found.rows if row["chosen"]))
        assert held_out[-1] == max(row["held_out"] for row in found.rows)
        test.append(found.test.value)
        errors.append(found.test.standard_error)
        assert found.test.value == np.mean(lottery.set_params(**found.setting).score_samples(X[found.test_rows]))
    # the largest of 20 standard normal numbers is 1.867 on average
    winners, tests = mean_of(np.array(held_out)), mean_of(np.array(test))
    assert abs(winners.value - 1.867 / math.sqrt(40)) < 4 * winners.standard_error
    assert abs(tests.value) < 3 * tests.standard_error < winners.value / 2
    # the standard error that is said is the spread that is seen
    assert np.mean(errors) == pytest.approx(np.std(test, ddof=1), rel=0.4)


def test_the_simplest_within_one_standard_error_is_chosen():
    found = tune(Offset(), numbered(300), space={"size": [2, 3, 4, 5, 6, 7]})
    best = found.rows[0]
    level = [row for row in found.rows if row["behind"] <= row["error"]]
    assert (best["behind"], best["error"]) == (0, 0)
    assert [row["complexity"] for row in found.rows] == [row["param_size"] for row in found.rows]
    assert found.setting["size"] == min(row["param_size"] for row in level) < best["param_size"]
    # the same, with another meaning of simple
    largest = tune(Offset(), numbered(300), space={"size": [2, 3, 4, 5, 6, 7]}, complexity=lambda fitted: -fitted.size)
    assert largest.setting["size"] == max(row["param_size"] for row in level)


def test_differences_are_paired_by_row():
    """Rows differ by 5 nats in how hard they are, settings by half a nat: the difference is known to a twentieth."""
    found = tune(Offset(), numbered(300), space={"gain": [0.0, 2.0], "size": [1, 2]})
    worst = found.rows[-1]
    assert worst["param_gain"] == 0.0
    assert worst["behind"] == pytest.approx(2.0, abs=0.2)
    assert worst["error"] == pytest.approx(math.sqrt(2) * 0.5 / math.sqrt(240), rel=0.2) or worst["error"] < 1e-9


def test_fits_that_fail_are_noted_and_count_as_the_worst():
    found = tune(Offset(), numbered(50), space={"gain": [0.0, "fails"]}, folds=2)
    assert found.rows[-1]["note"] == "this gain does not do"
    assert found.rows[-1]["held_out"] == -math.inf
    assert not found.rows[-1]["chosen"]
    assert "this gain does not do" in repr(found)
    with pytest.raises(ValueError, match="All 1 settings failed; the last one because: this gain does not do"):
        tune(Offset(), numbered(50), space={"gain": ["fails"]})


def test_a_parameter_that_scikit_learn_refuses_is_a_setting_that_fails():
    space = {"covariance_type": ["full", "round"]}
    X = np.random.default_rng(0).normal(size=(40, 1))
    found = tune(GaussianMixture(random_state=0), X, space=space)
    assert found.setting == {"covariance_type": "full"}
    assert "covariance_type" in found.rows[1]["note"]


def test_what_a_fit_warns_of_is_in_the_table():
    X = RNG.normal(size=(60, 2))
    with pytest.warns(ConvergenceWarning) as caught:
        found = tune(GaussianMixture(3, max_iter=1, tol=0, random_state=0), X, space={"reg_covar": [1e-3]}, folds=2)
    assert len(caught) == 1  # that of the last fit, which is the user's
    assert "did not converge" in found.rows[0]["note"]


def test_it_prints_a_table(capsys):
    found = tune(Offset(), numbered(60), space={"gain": (0.0, 1.0)}, budget=14, folds=2, verbose=True)
    lines = repr(found).split("\n")
    assert lines[0].startswith(
        "14 settings of Offset by expected-improvement: 48 rows in 2 folds to choose by, 12 rows"
    )
    assert lines[1].split() == ["gain", "held_out", "behind", "error", "complexity"]
    assert sum(line.startswith("*") for line in lines) == 1
    assert "… and" in lines[-3]
    assert lines[-1].startswith(f"Test: {found.test} nats per row, on 12 rows that took no part.")
    assert "14/14" in capsys.readouterr().err


def test_the_estimator_stays_as_it_is_and_the_seed_decides():
    estimator, X = Offset(0.25, 3), numbered(60)
    one, other = (tune(estimator, X, space={"gain": (0.0, 1.0)}, budget=10, folds=2, seed=4) for _ in range(2))
    assert estimator.get_params() == {"gain": 0.25, "size": 3, "noise": 0.5}
    assert one.rows == other.rows
    assert one.test == other.test
    assert one.estimator is not estimator
    third = tune(estimator, X, space={"gain": (0.0, 1.0)}, budget=10, folds=2, seed=5)
    assert set(third.test_rows) != set(one.test_rows)


def test_frames_are_split_by_rows():
    frame = pd.DataFrame(numbered(40), index=np.arange(40)[::-1], columns=["a", "b"])
    found = tune(Offset(), frame, space={"gain": [0.0, 1.0]}, folds=2)
    assert found.test == tune(Offset(), frame.to_numpy(), space={"gain": [0.0, 1.0]}, folds=2).test


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"space": {"depth": range(3)}}, "space has 'depth', which is no parameter of Offset: its parameters are gain"),
        ({"space": {}}, "it must be a dict"),
        ({"budget": 0}, "budget is 0"),
        ({"budget": 2.5}, "budget is 2.5"),
        ({"folds": 1}, "folds is 1: it must be a whole number from 2"),
        ({"folds": 100}, "folds is 100"),
        ({"test": 0.0}, "test is 0.0: it must be a share of the rows between 0 and 1; there always is a test"),
        ({"test": 1.0}, "test is 1.0"),
        ({"test": 0.999}, "test is 0.999: of 50 rows it leaves none to work with"),
        ({"complexity": lambda fitted: math.nan}, "All 2 settings failed; the last one because: complexity is NaN"),
        ({"seed": -1}, "seed is -1"),
        ({"method": "grid"}, "method is 'grid'"),
        ({"X": numbered(1)}, "X has 1 row: 10 or more"),
        ({"X": np.zeros(30)}, "X has shape"),
        ({"y": np.zeros(7)}, "y has 7 entries and X 50 rows"),
    ],
)
def test_bad_arguments(change, sentence):
    arguments = {"X": numbered(50), "y": None, "space": {"gain": [0.0, 1.0]}, **change}
    with pytest.raises(ValueError, match=sentence):
        tune(Offset(), arguments.pop("X"), arguments.pop("y"), **arguments)


@pytest.mark.parametrize(
    ("estimator", "sentence"),
    [
        (SVC(), "SVC has no score_samples: what is compared here needs fit, score_samples, get_params"),
        (Offset, "estimator is the class Offset: give an instance"),
        (3, "int has no fit"),
    ],
)
def test_what_has_no_log_likelihood_is_refused(estimator, sentence):
    with pytest.raises(TypeError, match=sentence):
        tune(estimator, numbered(50), space={"gain": [0.0]})


def test_targets_of_an_estimator_without_are_refused():
    with pytest.raises(TypeError, match=r"Offset.score_samples takes no targets: leave y out"):
        tune(Offset(), numbered(50), np.zeros(50), space={"gain": [0.0]})


@pytest.mark.parametrize("gain", [math.nan, math.inf])
def test_scores_that_are_no_numbers_are_refused(gain):
    with pytest.raises(ValueError, match=rf"Offset.score_samples is {gain} at row 0: it must be a number, or −inf"):
        row_scores(Offset(gain), numbered(3), None)


def test_scores_that_are_not_of_rows_are_refused():
    class Pairs(Offset):
        def score_samples(self, X):
            return 0.0, np.zeros((len(X), 2))

    with pytest.raises(TypeError, match=r"Pairs.score_samples does not return one log-likelihood for each row"):
        tune(Pairs(), numbered(50), space={"gain": [0.0]})


@pytest.mark.slow
def test_a_mixture_of_this_library():
    X = np.concatenate([RNG.normal(-4, 1, (100, 2)), RNG.normal(4, 1, (100, 2))])
    found = kullback.tune(kullback.GaussianMixture(random_state=0), X, space={"n_components": range(1, 5)}, folds=2)
    assert found.setting == {"n_components": 2}
    assert {row["param_n_components"]: row["complexity"] for row in found.rows} == {1: 5, 2: 11, 3: 17, 4: 23}
    scores = found.estimator.score_samples(X[found.test_rows])
    np.testing.assert_allclose(found.test_scores, scores)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [False, True])
def test_targets_given_inputs(classes):
    X = RNG.normal(size=(240, 3))
    y = X @ [1.0, -2.0, 0.0] + RNG.normal(size=240)
    estimator = kullback.Classifier(random_state=0) if classes else kullback.Regressor(random_state=0)
    targets = np.where(y > 1, "high", "low") if classes else y
    found = kullback.tune(estimator, X, targets, space={"alpha": (1e-3, 1e3, "log")}, budget=4, folds=2)
    scores = found.estimator.score_samples(X[found.test_rows], targets[found.test_rows])
    assert found.test.value == pytest.approx(scores.mean())
    assert len(found.rows) == 4
    assert "nothing says how simple" in repr(found)


def test_a_tuner_of_settings_takes_the_same_space():
    space = {"gain": (0.0, 1.0), "size": [1, 2]}
    found = tune(Offset(), numbered(40), space=space, budget=3, folds=2, seed=9)
    tuner = Tuner(space, seed=9)
    tried = [tuner.ask() for _ in range(3)]
    assert sorted(row["param_gain"] for row in found.rows) == sorted(setting["gain"] for setting in tried)
