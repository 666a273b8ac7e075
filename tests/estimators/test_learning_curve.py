"""What a stream leaves behind of its batches: exact as long as there is room, means of neighbors from then on."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.base import clone

import kullback
from kullback import GaussianHMM, GaussianMixture, LinearDynamicalSystem
from kullback.learning import MOST_OF_CURVE as MOST
from kullback.learning import extend_curve
from tiers import slow

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(m, 1, (200, 2)) for m in (-4, 4)])[RNG.permutation(400)]


def streamed(sizes=(100, 50, 150)):
    mixture = GaussianMixture(2, random_state=0)
    for batch in np.split(X[: sum(sizes)], np.cumsum(sizes)[:-1]):
        mixture.partial_fit(batch)
    return mixture


def test_rows_are_the_scores_of_batches_before_they_were_learned_from():
    mixture, expected = streamed((100,)), []
    for begin, end in ((100, 150), (150, 300)):
        expected.append([end, mixture.score(X[begin:end]), end - begin])
        mixture.partial_fit(X[begin:end])
    assert mixture.learning_curve_.shape == (3, 3)
    np.testing.assert_allclose(mixture.learning_curve_[1:], expected, rtol=1e-9)
    assert mixture.learning_curve_[0, [0, 2]].tolist() == [100, 100]


def test_weights_count_as_points():
    mixture = streamed((100,)).partial_fit(X[:50], sample_weight=np.full(50, 0.5))
    assert mixture.learning_curve_[:, [0, 2]].tolist() == [[100, 100], [125, 25]]


@pytest.mark.parametrize("equal", [True, False])
def test_a_long_stream_has_a_curve_of_means_that_is_as_fine_everywhere(equal):
    batches = 4000
    points = np.full(batches, 64.0) if equal else RNG.integers(1, 500, batches).astype(float)
    seen, values = np.cumsum(points), RNG.normal(size=batches)
    curve = np.zeros((0, 3))
    for place in range(batches):
        curve = extend_curve(curve, seen[place], values[place], points[place])
    assert len(curve) == MOST
    ends = np.searchsorted(seen, curve[:, 0])
    np.testing.assert_array_equal(seen[ends], curve[:, 0])  # each row ends with a batch, the last with the last
    assert ends[-1] == batches - 1
    for first, last, (_, mean, mass) in zip(np.append(-1, ends[:-1]) + 1, ends + 1, curve, strict=True):
        assert mass == pytest.approx(points[first:last].sum(), rel=1e-12)
        assert mean == pytest.approx(np.average(values[first:last], weights=points[first:last]), rel=1e-9, abs=1e-12)
        assert last - first == 1 or mass <= 2 * seen[-1] / MOST


def test_a_batch_that_cannot_be_has_no_place_on_the_curve():
    curve = extend_curve(extend_curve(np.zeros((0, 3)), 10.0, -np.inf, 10.0), 20.0, -1.0, 10.0)
    assert curve.tolist() == [[20.0, -1.0, 10.0]]


@pytest.mark.slow
def test_what_begins_anew_has_no_curve_of_before():
    mixture = streamed()
    assert not hasattr(clone(mixture), "learning_curve_")
    assert not hasattr(kullback.combine([mixture, mixture]), "learning_curve_")
    assert len(mixture.fit_stream([X[:100], X[100:]]).learning_curve_) == 2
    assert not hasattr(mixture.fit(X), "learning_curve_")
    assert mixture.partial_fit(X[:50]).learning_curve_[:, [0, 2]].tolist() == [[450, 50]]
    together = kullback.combine([mixture, mixture]).partial_fit(X[:100])
    assert together.learning_curve_[:, [0, 2]].tolist() == [[1000, 100]]


def test_a_batch_that_fails_leaves_the_curve():
    mixture = streamed()
    before = mixture.learning_curve_.copy()
    with pytest.raises(ValueError, match="infinity"):
        mixture.partial_fit(np.array([[np.inf, 0.0], [0.0, 0.0]]))
    with pytest.raises(ValueError, match="no longer finite|ill-defined"):
        mixture.partial_fit(np.full((5, 2), 1e200))
    np.testing.assert_array_equal(mixture.learning_curve_, before)


def test_files_hold_the_curve_and_a_stream_goes_on_as_if_it_had_never_stopped(tmp_path):
    one = streamed()
    one.save(tmp_path / "model")
    other = GaussianMixture.load(tmp_path / "model")
    assert other.learning_curve_.tobytes() == one.learning_curve_.tobytes()
    one.partial_fit(X[300:])
    assert other.partial_fit(X[300:]).learning_curve_.tobytes() == one.learning_curve_.tobytes()


@pytest.mark.parametrize(
    ("forged", "words"),
    [
        (np.zeros((3, 2)), "must have at most 512 rows of 3 or 4 numbers"),
        (np.ones((MOST + 1, 3)), "must have at most 512 rows of 3 or 4 numbers"),
        (np.ones(3), "must have at most 512 rows of 3 or 4 numbers"),
        (np.array([[2.0, 0.0, 1.0], [1.0, 0.0, 1.0]]), "cannot fall from row to row"),
        (np.array([[2.0, np.nan, 1.0]]), "not finite"),
    ],
)
def test_curves_that_are_none_are_refused(forged, words, tmp_path):
    path = tmp_path / "model"
    streamed().save(path)
    content, arrays = path.read_bytes(), load_file(path)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    save_file({**arrays, "attributes.learning_curve_": forged}, path, header)
    with pytest.raises(ValueError, match=words):
        GaussianMixture.load(path)


@pytest.mark.parametrize("kind", [GaussianHMM, slow(LinearDynamicalSystem)])
def test_models_with_time_count_the_rows_that_do_not_wait(kind, tmp_path):
    estimator = kind(2, random_state=0, lag=5)
    for piece in np.split(X, 4):
        estimator.partial_fit(piece, continues=True)
    curve = estimator.learning_curve_
    assert curve[:, 0].tolist() == [95, 195, 295, 395]
    assert curve[-1, 1] == estimator.lower_bound_
    estimator.save(tmp_path / "model")
    assert kullback.load(tmp_path / "model").learning_curve_.tobytes() == curve.tobytes()


@pytest.mark.slow
def test_a_series_that_begins_anew_has_no_curve_of_before():
    hmm = GaussianHMM(2, random_state=0, lag=5)
    for _ in range(2):
        assert hmm.fit_stream(np.split(X, 2)).learning_curve_[:, 0].tolist() == [195, 395, 400]
    assert not hasattr(hmm.fit(X[:60]), "learning_curve_")
