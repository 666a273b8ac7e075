"""Races: who is behind is dropped, who is level stays, and what breaks down is said."""

import math

import numpy as np
import pytest
from sklearn.svm import SVC

import kullback
from assess.stand_ins import Offset, numbered
from kullback.assess import Race, race

CENTERS = 4.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])


def clusters(seed, batches, rows=128):
    """Yield batches of three clusters."""
    rng = np.random.default_rng([11, seed])
    for _ in range(batches):
        yield CENTERS[rng.integers(3, size=rows)] + rng.normal(size=(rows, 2))


def batches(count, rows=50, first=0):
    return [numbered(rows, first + rows * batch) for batch in range(count)]


@pytest.mark.slow
def test_the_true_number_of_components_stays_and_one_less_goes():
    dropped = []
    for seed in range(20):
        candidates = {k: kullback.GaussianMixture(k, random_state=seed) for k in (1, 2, 3, 4)}
        dropped.append(set(race(candidates, clusters(seed, 9)).dropped))
    assert not any(3 in each for each in dropped)
    assert sum(2 in each for each in dropped) >= 18
    assert sum(1 in each for each in dropped) >= 18


def test_who_is_behind_is_dropped_and_learns_no_more():
    learned = []

    class Recorded(Offset):
        def partial_fit(self, X, y=None):
            learned.append((self.gain, int(X[0, 0])))
            return self

    found = race({"low": Recorded(-1.0, 2), "high": Recorded(0.0, 3)}, batches(8))
    assert list(found.dropped) == ["low"]
    assert found.leader == "high"
    assert list(found.running) == ["high"]
    after, ahead, reason = found.dropped["low"]
    assert (ahead, reason) == ("high", "behind high")
    assert max(row for gain, row in learned if gain == -1.0) < 50 * (1 + after // 50)
    assert (0.0, 350) in learned
    assert found.n_rows == 350


def test_differences_and_scores_are_those_of_rows_that_are_new():
    """Each batch is scored before it is learned from, and the first one is only learned from."""
    found = race([Offset(0.0, 2), Offset(0.05, 3)], batches(5))
    rows = np.concatenate(batches(5)[1:])
    one, other = Offset(0.0, 2).score_samples(rows), Offset(0.05, 3).score_samples(rows)
    lines = {row["candidate"]: row for row in found.rows}
    assert lines[0]["score"] == pytest.approx(one.mean())
    assert lines[1]["score"] == pytest.approx(other.mean())
    behind = lines[1 - found.leader]
    sign = 1 if found.leader == 0 else -1
    assert behind["behind"] == pytest.approx(sign * np.mean(one - other))
    assert behind["low"] < behind["behind"] < behind["high"]


def test_clipping_bounds_the_difference_and_is_said():
    found = race([Offset(-10.0, 1, noise=0.0), Offset(0.0, 1, noise=0.0)], batches(2), clip=2.0)
    line = found.rows[-1]
    assert (line["behind"], line["clipped"], line["dropped"]) == (2.0, 1.0, 50)
    assert "clipped to ±2" in repr(found)
    assert "clipped" in repr(found).split("\n")[1]


def test_rows_that_are_impossible_for_all_tell_nothing():
    class Impossible(Offset):
        def score_samples(self, X):
            return np.full(len(X), -math.inf)

    found = race([Impossible(), Impossible(), Offset()], batches(6))
    assert set(found.dropped) == {0, 1}
    assert found.leader == 2
    assert found.rows[0]["candidate"] == 2
    level = Race([Impossible(), Impossible()])
    for batch in batches(6):
        level.update(batch)
    assert not level.dropped


def test_candidates_that_are_level_are_rarely_dropped():
    """Looked at after every batch: by betting, and by two standard errors, which fails."""
    dropped = naive = 0
    for stream in range(40):
        candidates = [Offset(0.0, 1), Offset(0.0, 2)]
        found = race(candidates, batches(17, 25, first=800 * stream), alpha=0.2)
        dropped += len(found.dropped)
        rows = np.concatenate(batches(17, 25, first=800 * stream)[1:])
        gaps = candidates[0].score_samples(rows) - candidates[1].score_samples(rows)
        looks = range(25, 401, 25)
        naive += any(abs(gaps[:n].mean()) > 1.28 * gaps[:n].std() / math.sqrt(n) for n in looks)
    assert dropped <= 0.2 * 40
    assert naive > 0.3 * 40


def test_one_that_breaks_down_is_dropped_and_the_others_go_on():
    class Breaks(Offset):
        def partial_fit(self, X, y=None):
            if X[0, 0] >= 100:
                raise ValueError("collapsed")
            return self

    found = race({"a": Breaks(), "b": Offset()}, batches(5))
    assert found.dropped["a"].reason == "failed: collapsed"
    assert "failed: collapsed" in repr(found)
    with pytest.raises(ValueError, match="No candidate is left: b failed last, because: collapsed"):
        race({"a": Breaks(), "b": Breaks()}, batches(5))
    with pytest.raises(ValueError, match="Candidate b cannot learn from the first batch: collapsed"):
        race({"a": Offset(), "b": Breaks()}, batches(5, first=100))


def test_a_batch_that_no_candidate_can_score_changes_nothing():
    class Narrow(Offset):
        def score_samples(self, X):
            if np.shape(X)[1] > 2:
                raise ValueError(f"X has {np.shape(X)[1]} columns")
            return super().score_samples(X)

    found, other = (Race({"a": Narrow(), "b": Narrow(gain=0.1)}) for _ in range(2))
    for batch in batches(2):
        found.update(batch)
        other.update(batch)
    with pytest.raises(ValueError, match="^No candidate can score the batch; [ab], because: X has 3 columns$"):
        found.update(np.zeros((5, 3)))
    assert found.rows == other.rows
    assert found.n_rows == other.n_rows
    assert not found.dropped


def test_targets_come_in_pairs():
    class Targets(Offset):
        def partial_fit(self, X, y):
            return self

        def score_samples(self, X, y):
            return y * self.gain

    found = race([Targets(0.0), Targets(1.0)], [(numbered(50), np.ones(50))] * 5)
    assert found.leader == 1


def test_it_stops_when_one_is_left_and_goes_on_when_asked(capsys):
    stream = iter(batches(9))
    found = race([Offset(-2.0), Offset()], stream, stop=True, verbose=True)
    left = len(list(stream))
    assert left > 0
    assert found.update(numbered(50)) == []
    assert found.update(np.zeros((0, 2))) == []
    assert found.n_rows == 50 * (9 - left)
    assert "1 left, 1 ahead" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("candidates", "options", "error", "sentence"),
    [
        ([Offset()], {}, ValueError, "two estimators or more"),
        (Offset(), {}, ValueError, "two estimators or more"),
        ([Offset(), SVC()], {}, TypeError, "SVC has no score_samples"),
        ([Offset(), Offset()], {"alpha": 0.0}, ValueError, "alpha is 0.0"),
        ([Offset(), Offset()], {"clip": 0.0}, ValueError, "clip is 0.0"),
        ([Offset(), Offset()], {"clip": math.inf}, ValueError, "clip is inf"),
        ([Offset(), Offset()], {"warm_up": 0}, ValueError, "warm_up is 0"),
    ],
)
def test_bad_arguments(candidates, options, error, sentence):
    with pytest.raises(error, match=sentence):
        race(candidates, batches(3), **options)


def test_bad_streams():
    with pytest.raises(TypeError, match="stream is int: it must be an iterable of tables"):
        race([Offset(), Offset()], 3)
    with pytest.raises(ValueError, match="no batch after the first 2: nothing was compared"):
        race([Offset(), Offset()], batches(2), warm_up=2)
    with pytest.raises(ValueError, match="X has shape"):
        race([Offset(), Offset()], [np.zeros(4)])
