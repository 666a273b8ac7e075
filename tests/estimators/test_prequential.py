"""How well a stream was foretold: moments of losses before rows were learned from, against losses asked one by one."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import kullback
from kullback import GaussianHMM, GaussianMixture, LinearDynamicalSystem, Regressor
from kullback.assess import prequential_interval
from kullback.estimators import rows_again

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(m, 1, (200, 2)) for m in (-4, 4)])[RNG.permutation(400)]
BATCHES = np.split(X, [100, 150, 300, 301])


def streamed(batches=BATCHES):
    mixture = GaussianMixture(2, random_state=0)
    for batch in batches:
        mixture.partial_fit(batch)
    return mixture


def moments(losses, sizes):
    losses, sizes = np.array(losses), np.array(sizes, float)
    mean = np.average(losses, weights=sizes)
    return [len(losses), sizes.sum(), mean, np.sum(sizes * (losses - mean) ** 2)]


def test_moments_are_those_of_batches_before_they_were_learned_from():
    mixture, losses = GaussianMixture(2, random_state=0).partial_fit(BATCHES[0]), []
    assert not hasattr(mixture, "prequential_")  # it began with these rows
    for batch in BATCHES[1:]:
        losses.append(-mixture.score(batch))
        mixture.partial_fit(batch)
    np.testing.assert_allclose(mixture.prequential_, moments(losses, [len(batch) for batch in BATCHES[1:]]), rtol=1e-9)


def test_single_rows_have_the_moments_of_rows():
    mixture, losses = GaussianMixture(2, random_state=0).fit(X[:300]), []
    for row in X[300:340, None]:
        losses.append(-mixture.score(row))
        mixture.partial_fit(row)
    n, points, mean, m2 = mixture.prequential_
    assert n == points == 40
    np.testing.assert_allclose([mean, m2], [np.mean(losses), 40 * np.var(losses)], rtol=1e-9)
    assert prequential_interval(mixture.prequential_).contains(np.mean(losses))


def test_a_stream_that_is_saved_goes_on(tmp_path):
    path = tmp_path / "model.safetensors"
    streamed(BATCHES[:3]).save(path)
    resumed = GaussianMixture.load(path)
    for batch in BATCHES[3:]:
        resumed.partial_fit(batch)
    np.testing.assert_array_equal(resumed.prequential_, streamed().prequential_)


def test_rows_that_come_again_are_not_foretold():
    once = GaussianMixture(2, random_state=0).fit_stream(BATCHES)
    twice = GaussianMixture(2, random_state=0).fit_stream(BATCHES, passes=3)
    np.testing.assert_array_equal(twice.prequential_, once.prequential_)
    assert twice.n_points_seen_ == 1200
    before = once.prequential_.copy()
    with rows_again(once):
        once.partial_fit(X)
    np.testing.assert_array_equal(once.prequential_, before)


@pytest.mark.slow
def test_what_begins_anew_has_foretold_nothing():
    mixture = streamed()
    assert not hasattr(kullback.combine([mixture, mixture]), "prequential_")
    assert not hasattr(mixture.fit(X), "prequential_")
    assert mixture.partial_fit(X[:50]).prequential_[:2].tolist() == [1, 50]


def test_a_batch_that_fails_leaves_the_moments():
    mixture = streamed()
    before = mixture.prequential_.copy()
    with pytest.raises(ValueError, match="infinity"):
        mixture.partial_fit(np.full((5, 2), np.inf))
    np.testing.assert_array_equal(mixture.prequential_, before)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [GaussianHMM, LinearDynamicalSystem])
def test_series_are_foretold_given_their_past(kind):
    series = np.cumsum(RNG.normal(size=(300, 1)), axis=0) * 0.1 + RNG.normal(size=(300, 1))
    make = {
        GaussianHMM: lambda: GaussianHMM(2, random_state=0),
        LinearDynamicalSystem: lambda: LinearDynamicalSystem(1),
    }
    pieces = np.split(series, 3)
    model = make[kind]().partial_fit(pieces[0])
    losses = []
    for piece in pieces[1:]:
        losses.append(-model.score_next(piece).log_likelihood.mean())
        model.partial_fit(piece)
    np.testing.assert_allclose(model.prequential_, moments(losses, [100, 100]), rtol=1e-6)
    once, again = (make[kind]().fit_stream(pieces, passes=passes) for passes in (1, 2))
    np.testing.assert_array_equal(again.prequential_, once.prequential_)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["linear", "network"])
def test_targets_are_foretold_from_their_inputs(method, tmp_path):
    y = X @ [1.0, -0.5] + RNG.normal(size=400)
    settings = {"batch_size": 1000} if method == "network" else {}
    model = Regressor(method=method, random_state=0, **settings).partial_fit(X[:200], y[:200])
    assert not hasattr(model, "prequential_")
    losses = []
    for part in (slice(200, 260), slice(260, 400)):
        losses.append(-model.score_samples(X[part], y[part]).mean())
        model.partial_fit(X[part], y[part])
    np.testing.assert_allclose(model.prequential_, moments(losses, [60, 140]), rtol=1e-4)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(kullback.load(tmp_path / "model.safetensors").prequential_, model.prequential_)


@pytest.mark.slow
def test_networks_of_rows_are_foretold_by_their_bound():
    rows = (RNG.random((300, 6)) < 0.3).astype(float)
    machine = kullback.HelmholtzMachine((3,), batch_size=50, random_state=0).partial_fit(rows[:100])
    assert not hasattr(machine, "prequential_")
    machine.partial_fit(rows[100:])
    assert machine.prequential_[:2].tolist() == [4, 200]
    assert machine.prequential_[2] == pytest.approx(-machine.lower_bound_, rel=1e-6)
    assert not hasattr(machine.fit(rows), "prequential_")


@pytest.mark.parametrize(
    "value", [[1.0, 2.0], [0.5, 10.0, 1.0, 1.0], [2.0, 1e9, 1.0, 1.0], [2.0, 10.0, np.nan, 1.0], [2.0, 10.0, 1.0, -1.0]]
)
def test_a_file_with_other_moments_is_refused(tmp_path, value):
    path = tmp_path / "model.safetensors"
    streamed().save(path)
    arrays = load_file(path)
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))["__metadata__"]
    name = next(key for key in arrays if key.endswith("prequential_"))
    save_file({**arrays, name: np.array(value)}, path, header)
    with pytest.raises(ValueError, match="prequential_"):
        GaussianMixture.load(path)
