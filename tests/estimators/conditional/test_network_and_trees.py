"""Networks and trees at the front door: they learn what a line cannot, keep their best round and go into files."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import kullback
from kullback import Classifier, Regressor
from kullback.estimators.conditional._design import Design
from kullback.estimators.data import _pairs
from kullback.learning import combine

METHODS = {"network": {"method": "network"}, "trees": {"method": "trees"}}


def bent(rows=600, seed=0):
    """Return numbers around a bent line, whose spread grows."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, rows)
    return x[:, None], np.abs(x) + rng.normal(0, 0.05 + 0.1 * (x > 0), rows)


def nll(found, X, y):
    return -found.score_samples(X, y).mean()


@pytest.fixture(scope="module", params=["trees", pytest.param("network", marks=pytest.mark.slow)])
def fitted(request):
    return Regressor(random_state=0, **METHODS[request.param]).fit(*bent())


def test_a_bend_is_learned_with_its_spread(fitted):
    X, y = bent(400, seed=1)
    line = Regressor(dispersion="linear").fit(*bent())
    assert nll(fitted, X, y) < nll(line, X, y) - 0.5
    spread = fitted.predict_distribution(np.array([[-1.0], [1.0]])).std
    assert spread[1] > 1.5 * spread[0]
    assert fitted.validation_scores_
    assert fitted.lower_bounds_


def test_files_and_seeds_give_the_same_bits(tmp_path, fitted):
    X, _ = bent(50, seed=1)
    fitted.save(tmp_path / "model")
    again = kullback.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_distribution(X).free, fitted.predict_distribution(X).free)
    same = Regressor(random_state=0, method=fitted.method).fit(*bent())
    np.testing.assert_array_equal(same.predict_distribution(X).free, fitted.predict_distribution(X).free)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The network still gains")
def test_networks_of_sites_are_combined_as_their_mixture(tmp_path):
    X, y = bent(600)
    # sites whose inputs have other means and scales: each network has units of its own
    sites = [np.flatnonzero(X[:, 0] < 0.5), np.flatnonzero(X[:, 0] > -0.5)]
    parts = [
        Regressor(method="network", random_state=m, max_iter=40, tol=0).fit(X[s], y[s]) for m, s in enumerate(sites)
    ]
    both = kullback.combine(parts, weights=[1, 3])
    p = [np.exp(one.score_samples(X[:50], y[:50])) for one in parts]
    np.testing.assert_allclose(np.exp(both.score_samples(X[:50], y[:50])), 0.25 * p[0] + 0.75 * p[1], rtol=1e-4)
    both.save(tmp_path / "model")
    again = kullback.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), both.predict(X))
    with pytest.raises(ValueError, match="ensemble of 2 networks, which learns no more"):
        both.partial_fit(X, y)
    with pytest.raises(ValueError, match="method=.trees.: linear fits"):
        kullback.combine([Regressor(method="trees").fit(X, y)] * 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The network still gains")
def test_a_mixture_of_models_has_the_mean_of_their_densities():
    X, y = bent(100)
    one = Regressor(method="network", n_components=2, random_state=0, max_iter=3).fit(X, y).to_model()
    both = combine([one, one], [0.5, 0.5])
    assert both.kind.n_components == 4
    inputs = np.linspace(-1, 1, 7, dtype=np.float32)[:, None]
    points = np.linspace(0, 1, 7, dtype=np.float32)[:, None]
    np.testing.assert_allclose(both.energy(points, inputs=inputs), one.energy(points, inputs=inputs), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters", [{}, {"dispersion": "linear"}, *METHODS.values(), {**METHODS["network"], "solver": "natural"}]
)
def test_no_method_is_worse_than_a_constant_on_diabetes(parameters):
    X, y = load_diabetes(return_X_y=True)
    gap = []
    for split in range(10):
        learn, test, learn_y, test_y = train_test_split(X, y, test_size=0.25, random_state=split)
        mean, variance = learn_y.mean(), learn_y.var()
        constant = 0.5 * np.mean(np.log(2 * np.pi * variance) + (test_y - mean) ** 2 / variance)
        gap.append(nll(Regressor(random_state=split, **parameters).fit(learn, learn_y), test, test_y) - constant)
    assert np.mean(gap) < 0


@pytest.mark.slow
def test_calibrated_sets_of_a_mixture_cover_nine_tenths():
    """The inverse of a sine, in 20 splits of 500 rows to calibrate with and 250 new ones: mean coverage."""
    rng, rows, splits = np.random.default_rng(5), 500, 20

    def draw(count):
        y = rng.random(count)
        return (y + 0.3 * np.sin(2 * np.pi * y) + rng.uniform(-0.1, 0.1, count))[:, None], y

    found = Regressor(method="network", n_components=5, max_iter=60, validation_fraction=0.0, random_state=0)
    found.fit(*draw(1000))
    covered = []
    for _ in range(splits):
        X, y = draw(rows // 2)
        found.calibrate(*draw(rows))
        covered.append(found.credible_set(X, 0.9).contains(y).mean())
    # 4 standard errors of the mean over splits are 0.02
    assert np.mean(covered) == pytest.approx(0.9, abs=0.02)
    assert found.credible_set([[0.5]], 0.9).counts[0] > 1


@pytest.mark.slow
def test_streams_teach_networks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)  # no line separates them
    found = Classifier("network", learning_rate=1e-2, random_state=0)
    for at in range(0, 4000, 500):
        found.partial_fit(X[at : at + 500], y[at : at + 500], classes=[0, 1])
    assert found.score(X, y) > 0.9
    assert found.n_points_seen_ == 4000


@pytest.mark.filterwarnings("ignore:The network still gains")
def test_small_tables_become_inputs_once_and_large_ones_give_the_same_bits(monkeypatch):
    X, y = bent(100)
    rows, matrix = [], Design.matrix
    monkeypatch.setattr(Design, "matrix", lambda self, table: rows.append(len(table)) or matrix(self, table))

    def answers():
        found = Regressor(method="network", hidden_layer_sizes=(4,), max_iter=5, random_state=0).fit(X, y)
        return found.predict_distribution(X[:20]).free

    small, asked = answers(), sum(rows)
    assert asked < 2 * len(X)
    monkeypatch.setattr(_pairs, "RESIDENT", 0)
    np.testing.assert_array_equal(answers(), small)
    assert sum(rows) - asked > 5 * len(X)
