"""`kullback.complete`: tables, frames and sequences with NaN for what is missing, by estimators and by models."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kullback
from kullback.families import Gaussian, Poisson
from kullback.models import HiddenMarkovModel, Mixture

RNG = np.random.default_rng(0)
TABLE = np.concatenate([RNG.normal([0, 0], 1, (60, 2)), RNG.normal([4, 4], 0.3, (60, 2))])
LACKING = np.where(RNG.random(TABLE.shape) < 0.3, np.nan, TABLE)
LACKING[3] = np.nan


@pytest.fixture(scope="module")
def mixture():
    means, covariances = np.array([[0.1, 0.0], [4.0, 4.1]]), np.array([[[1.1, 0.2], [0.2, 0.9]], 0.1 * np.eye(2)])
    model = Mixture([0.52, 0.48], Gaussian(means, covariances))
    return kullback.GaussianMixture(2, random_state=0).set_model(model)


def test_labels_are_those_of_predict_and_draws_those_of_impute(mixture):
    labels = kullback.complete(mixture, LACKING, want="h")
    np.testing.assert_array_equal(labels.h, mixture.predict(LACKING))
    assert (labels.v, labels.exact) == (None, True)
    assert labels.energy[3] == pytest.approx(-np.log(0.52))  # nothing is known of this row
    drawn = kullback.complete(mixture, LACKING, want="v", temperature=1)
    np.testing.assert_array_equal(drawn.v, mixture.impute(LACKING))
    np.testing.assert_allclose(drawn.energy, -mixture.score_samples(drawn.v), rtol=1e-9)
    assert kullback.complete(mixture, LACKING, want="v", temperature=1, random_state=5).v[3, 0] != drawn.v[3, 0]


def test_the_lowest_joint_energy_of_a_row_may_have_another_label(mixture):
    """The narrow component has the higher density; without any entry both labels have a half, to 0.05."""
    narrow = int(np.argmin([np.linalg.det(c) for c in mixture.covariances_]))
    found = kullback.complete(mixture, LACKING)
    assert found.h[3] == narrow
    np.testing.assert_allclose(found.v[3], mixture.means_[narrow])
    best = np.log(mixture.weights_[narrow]) - 0.5 * np.linalg.slogdet(2 * np.pi * mixture.covariances_[narrow])[1]
    assert found.energy[3] == pytest.approx(-best, rel=1e-9)
    there = ~np.isnan(LACKING)
    np.testing.assert_array_equal(found.v[there], LACKING[there])


@pytest.mark.slow
def test_several_draws_have_a_leading_axis(mixture):
    found = kullback.complete(mixture, LACKING, temperature=1, n=3)
    assert (found.v.shape, found.h.shape, found.energy.shape) == ((3, 120, 2), (3, 120), (3, 120))
    assert found.v[0, 3, 0] != found.v[1, 3, 0]
    np.testing.assert_array_equal(kullback.complete(mixture, LACKING, temperature=1, n=1).v[0], found.v[0])


def test_what_cannot_be_asked_for(mixture):
    for model, X, arguments, words in (
        (mixture, LACKING, {"want": "x"}, "want is 'x': it must be 'h'"),
        (mixture, LACKING, {"temperature": "cold"}, "temperature is 'cold': it must be 0"),
        (mixture, LACKING, {"n": 3}, "n is 3 and temperature 0: only draws differ"),
        (mixture, LACKING, {"temperature": 1, "n": 0}, "n is 0: it must be 1 or more"),
        (mixture, LACKING, {"lengths": [120]}, "lengths are given, and GaussianMixture has independent rows"),
        (mixture, LACKING, {"temperature": 0.5, "want": "v"}, "temperature is 0.5: what is missing of a row"),
        (mixture, LACKING[:, :1], {}, "X has 1 features, but GaussianMixture is expecting 2"),
        (mixture, LACKING[:0], {}, "Found array with 0 sample"),
        (3, LACKING, {}, "model is 3: it must be an estimator or a model"),
        (kullback.Imputer(), LACKING, {}, "which cannot complete rows: give a model of rows or of sequences"),
        (Gaussian([0.0], [[1.0]]), LACKING, {}, "X has 2 features, but Gaussian is expecting 1"),
    ):
        with pytest.raises(ValueError, match=words):
            kullback.complete(model, X, **arguments)
    with pytest.raises(NotFittedError):
        kullback.complete(kullback.GaussianMixture(2), LACKING)


@pytest.mark.slow
def test_a_model_of_the_library_completes_arrays():
    shop = Mixture([0.5, 0.5], Poisson([1.5, 9.5]))
    found = kullback.complete(shop, [3.0, np.nan, 12.0])
    assert (found.v.tolist(), found.h.tolist(), found.exact) == ([3.0, 1.0, 12.0], [0, 0, 1], True)
    at_once = kullback.complete(shop, [np.nan], want="v")
    assert (at_once.v.tolist(), at_once.exact) == ([1.0], False)


@pytest.mark.slow
def test_sequences_have_one_energy_each():
    lengths = [60, 60]
    chain = kullback.GaussianHMM(2, random_state=0).fit(TABLE)
    path = kullback.complete(chain, LACKING, want="h", lengths=lengths)
    log_probability, decoded = chain.decode(LACKING, lengths)
    np.testing.assert_array_equal(path.h, decoded)
    assert path.energy.shape == (2,)
    assert path.energy.sum() == pytest.approx(-log_probability, rel=1e-9)
    drawn = kullback.complete(chain, LACKING, want="v", temperature=1, lengths=lengths)
    np.testing.assert_array_equal(drawn.v, chain.impute(LACKING, lengths))
    model = chain.to_model()
    for want in ("v", ("h", "v")):
        found = kullback.complete(chain, LACKING, want=want, lengths=lengths)
        h = (None, None) if found.h is None else (found.h[:60], found.h[60:])
        each = [model.energy(v, s) for v, s in zip((found.v[:60], found.v[60:]), h, strict=True)]
        np.testing.assert_allclose(found.energy, each, rtol=1e-8)
    bare = HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], Poisson([2.0, 20.0]))
    assert kullback.complete(bare, [1.0, np.nan, 19.0, 22.0], lengths=[2, 2]).h.tolist() == [0, 0, 1, 1]


@pytest.mark.slow
def test_few_missing_symbols_of_chains_are_enumerated():
    """With the path summed out there is no closed form: all symbols are tried, at temperature 0 and at others."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (40, 1))
    chain = kullback.CategoricalHMM(3, random_state=1, n_iter=3).fit(X)
    lacking = X[:9].astype(float)
    lacking[[1, 2, 6]] = np.nan
    found = kullback.complete(chain, lacking, want="v", lengths=[5, 4])
    model = chain.to_model()
    for start, end, energy in ((0, 5, found.energy[0]), (5, 9, found.energy[1])):
        gaps = np.flatnonzero(np.isnan(lacking[start:end, 0]))
        filled = np.repeat(lacking[None, start:end], 3 ** len(gaps), axis=0)
        filled[:, gaps, 0] = list(itertools.product(range(3), repeat=len(gaps)))
        energies = np.array([model.energy(v) for v in filled])
        assert energy == pytest.approx(energies.min(), abs=1e-9)
        np.testing.assert_array_equal(found.v[start:end], filled[np.argmin(energies)])
    assert found.exact
    assert kullback.complete(chain, lacking, want="v", temperature=2.0, random_state=0).exact


@pytest.mark.slow
def test_factors_and_frames():
    factors = kullback.FactorAnalysis(1, random_state=0).fit(LACKING)
    found = kullback.complete(factors, LACKING)
    np.testing.assert_allclose(found.h, factors.transform(LACKING), rtol=1e-12)
    np.testing.assert_allclose(found.v, factors.impute(LACKING, method="mean"), rtol=1e-9)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"visits": RNG.poisson(3, 60), "plan": RNG.choice(["free", "paid"], 60, p=[0.2, 0.8])})
    model = kullback.Mixture(2, family=["poisson", "categorical"], random_state=0).fit(frame)
    gaps = frame.astype({"visits": "Int64"})
    gaps.loc[2, "visits"], gaps.loc[3, "plan"] = pandas.NA, None
    completed = kullback.complete(model, gaps, want="v")
    assert list(completed.v.columns) == ["visits", "plan"]
    assert completed.v.loc[3, "plan"] == "paid"
    pandas.testing.assert_series_equal(completed.v["plan"].drop(3), gaps["plan"].drop(3))
    both = kullback.complete(model, gaps, temperature=1, n=2)
    assert [type(each) for each in both.v] == [pandas.DataFrame] * 2


@pytest.mark.slow
def test_long_tables_are_completed_in_chunks(mixture):
    """Two chunks of rows, with other draws in each, and labels as by themselves."""
    rows = np.tile(LACKING, (300, 1))
    found = kullback.complete(mixture, rows, temperature=1)
    assert (found.v.shape, found.h.shape) == (rows.shape, (36_000,))
    assert len(np.unique(found.v[3::120, 0])) == 300
    labels = kullback.complete(mixture, rows, want="h").h
    np.testing.assert_array_equal(labels, np.tile(mixture.predict(LACKING), 300))


@pytest.mark.slow
def test_what_is_known_keeps_its_digits_where_a_model_has_32_bits():
    X = np.random.default_rng(0).normal(1e3, 1.0, (60, 2))
    machine = kullback.GaussianRBM(1, n_iter=1, random_state=0).fit(X)
    gaps = X[:4].copy()
    gaps[1, 0] = np.nan
    assert (gaps.astype(np.float32) != gaps).any()
    for draws in ({}, {"temperature": 1, "n": 2}):
        found = kullback.complete(machine, gaps, want="v", random_state=0, **draws).v.reshape(-1, 4, 2)
        assert (found[:, ~np.isnan(gaps)] == gaps[~np.isnan(gaps)]).all()
        assert np.isfinite(found).all()
