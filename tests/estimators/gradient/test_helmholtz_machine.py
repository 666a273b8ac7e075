"""The front door of Helmholtz machines: what is learned, asked, combined, and refused."""

import copy
import itertools

import jax
import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import kullback
from kullback.core import Batch
from kullback.estimators import FitCallback
from tiers import slow

METHODS = ("natural", "reweighted", "wake-sleep")


def patterns(rows=320, seed=0):
    """Return rows of two patterns of four bits, one bit in eight turned."""
    rng = np.random.default_rng(seed)
    rows = np.where(rng.random((rows, 1)) < 0.5, [[1.0, 1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0, 1.0]])
    return np.abs(rows - (rng.random(rows.shape) < 0.125))


def machine(**parameters):
    usual = {"hidden": (2,), "max_iter": 4, "batch_size": 32, "random_state": 0, "dtype": "float64"}
    return kullback.HelmholtzMachine(**{**usual, **parameters})


@pytest.fixture(scope="module")
def fitted():
    with pytest.warns(ConvergenceWarning, match="not converged in max_iter = 4 epochs"):
        return machine().fit(patterns())


def leaves(estimator):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(estimator.network_)]


def assert_equal_networks(one, other):
    for a, b in zip(leaves(one), leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


def entropy_of_patterns():
    """Return the entropy of `patterns`, in nats, by going through all rows."""
    every = np.array(list(itertools.product([0, 1], repeat=4)))
    turned = [np.abs(every - pattern).sum(axis=1) for pattern in ([1, 1, 0, 0], [0, 0, 1, 1])]
    p = np.mean([0.125**count * 0.875 ** (4 - count) for count in turned], axis=0)
    return -np.sum(p * np.log(p))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_each_method_learns_what_there_is_to_learn(method):
    found = machine(method=method, max_iter=60).fit(patterns(4000))
    score = found.score(patterns(4000, seed=1))
    assert -entropy_of_patterns() - 0.1 < score < -entropy_of_patterns() + 0.05


def test_scores_are_those_of_the_exact_likelihood_within_their_errors(fitted):
    X = patterns(64, seed=1)
    found, errors = fitted.score_samples(X, draws=2000, return_std=True)
    exact = np.asarray(fitted.to_model().log_likelihood(Batch(X)))
    assert (np.abs(found - exact) < 5 * errors).all()
    np.testing.assert_array_equal(found[::-1], fitted.score_samples(X[::-1], draws=2000))  # wherever a row stands
    missing = X.copy()
    missing[:, 1] = np.nan
    some, errors = fitted.score_samples(missing, draws=2000, return_std=True)
    observed = ~np.isnan(missing)
    assert (np.abs(some - fitted.to_model().log_likelihood(Batch(missing, observed=observed))) < 5 * errors).all()


def test_one_draw_scores_a_row_with_an_error_that_nobody_knows(fitted):
    """It is the weight of one of the four states of what is hidden."""
    X, model = patterns(64, seed=1), fitted.to_model()
    v, h = np.repeat(X[:, None], 4, axis=1), np.array([[[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]] * 64)
    weights = model.log_prob(v, h) - model.recognition_log_prob(v, h)
    found, unknown = fitted.score_samples(X, draws=1, return_std=True)
    np.testing.assert_allclose(np.abs(found[:, None] - weights).min(axis=1), 0, atol=1e-6)
    assert np.isposinf(unknown).all()


def test_what_has_learned_in_one_way_does_not_go_on_in_another(fitted):
    other = copy.deepcopy(fitted).set_params(method="reweighted", warm_start=True)
    for learn in (other.partial_fit, other.fit):
        with pytest.raises(ValueError, match="describe another network than the one that has learned"):
            learn(patterns(64))
    with pytest.raises(NotFittedError):
        kullback.combine([fitted, machine()])


def test_hidden_layers_are_features_and_lead_back(fitted):
    X = patterns(8, seed=1)
    assert fitted.transform(X).shape == (8, 2)
    assert list(fitted.get_feature_names_out()) == ["helmholtzmachine0", "helmholtzmachine1"]
    by_hand = 1 / (1 + np.exp(-(X @ fitted.recognition_[0][:-1] + fitted.recognition_[0][-1])))
    np.testing.assert_allclose(fitted.transform(X, layer=0), by_hand, rtol=1e-12)
    units = np.eye(2)
    by_hand = 1 / (1 + np.exp(-(units @ fitted.generation_[0][:-1] + fitted.generation_[0][-1])))
    np.testing.assert_allclose(fitted.inverse_transform(units), by_hand, rtol=1e-12)
    with pytest.raises(ValueError, match="layer is 1: the machine has 1 hidden layers"):
        fitted.transform(X, layer=1)
    with pytest.raises(ValueError, match="X has 3 columns: hidden layer -1 has 2 units"):
        fitted.inverse_transform(np.ones((2, 3)))
    with pytest.raises(ValueError, match="entries outside of"):
        fitted.inverse_transform(np.array([[0.5, 1.5]]))


@pytest.mark.slow
def test_missing_entries_are_filled_in_by_what_the_machine_says_of_them(fitted):
    row = np.array([[1.0, np.nan, 0.0, 0.0]])
    model = fitted.to_model()
    both = [float(model.log_likelihood(Batch(np.where(np.isnan(row), value, row)))[0]) for value in (0.0, 1.0)]
    probability = np.exp(both[1] - np.logaddexp(*both))
    assert fitted.impute(row, method="mean")[0, 1] == pytest.approx(probability, abs=0.05)
    assert fitted.impute(row, method="mode")[0, 1] == (probability > 0.5)
    drawn = fitted.impute(np.repeat(row, 2000, axis=0))[:, 1]
    assert abs(drawn.mean() - probability) < 5 * np.sqrt(probability * (1 - probability) / 2000) + 0.01
    found = kullback.complete(fitted, row, want="v")
    assert found.exact  # few enough states to go through
    assert found.energy[0] == pytest.approx(-max(both), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_saved_stream_goes_on_bit_for_bit(method, tmp_path):
    began = machine(method=method, dtype="float32").partial_fit(patterns(64))
    began.save(tmp_path / "machine.safetensors")
    loaded = kullback.load(tmp_path / "machine.safetensors")
    assert_equal_networks(began, loaded)
    more = patterns(64, seed=2)
    assert_equal_networks(began.partial_fit(more), loaded.partial_fit(more))


class StopAfter(FitCallback):
    """Ends a fit after some looks, and keeps what it saw."""

    def __init__(self, looks):
        self.looks, self.kept = looks, None

    def step(self, snapshot, history):
        self.looks -= 1
        self.stopped = self.looks == 0
        if self.stopped:
            self.kept = snapshot()
        return self.stopped


@pytest.mark.parametrize(("method", "binarize"), [("natural", "sample"), *(slow(method, None) for method in METHODS)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_was_stopped_goes_on_from_its_file_to_the_same_bits(method, binarize, tmp_path):
    """Without a seed of the caller's; rows that are drawn from grays are the same ones after it."""
    X, how = patterns(), {"method": method, "random_state": None, "binarize": binarize}
    if binarize == "sample":
        X = 0.1 + 0.8 * X
    callback = StopAfter(2)
    stopped = machine(**how).set_callback(callback).fit(X)
    assert stopped.n_iter_ == 2
    callback.kept.save(tmp_path / "kept.safetensors")
    resumed = kullback.load(tmp_path / "kept.safetensors")
    assert_equal_networks(stopped, resumed)
    go_on = StopAfter(-1)
    go_on.resume_from = resumed.to_model(), resumed.lower_bounds_
    resumed.set_callback(go_on).fit(X)
    whole = machine(**how)
    whole.random_state = _Seed(stopped.seed_)
    whole.fit(X)
    assert_equal_networks(whole, resumed)
    assert whole.lower_bounds_ == resumed.lower_bounds_
    assert whole.validation_scores_ == resumed.validation_scores_
    np.testing.assert_array_equal(whole.learning_curve_, resumed.learning_curve_)
    assert "unfinished_" not in vars(resumed)


class _Seed(np.random.RandomState):
    """Draws one seed."""

    def randint(self, *args, **kwargs):
        return self._given

    def __init__(self, seed):
        super().__init__(0)
        self._given = seed


@pytest.mark.slow
def test_inertia_keeps_what_was_learned():
    old, new = np.tile([1.0, 1.0, 0.0, 0.0], (640, 1)), np.tile([0.0, 0.0, 1.0, 1.0], (640, 1))
    before = machine(learning_rate=0.1).partial_fit(np.concatenate([old] * 3))
    forgets, keeps = (kullback.load(_saved(before)).set_params(inertia=share) for share in (0.0, 0.5))
    for part in np.split(new, 4):
        forgets.partial_fit(part)
        keeps.partial_fit(part)
    assert keeps.score(old) > forgets.score(old) + 1
    assert keeps.n_points_seen_ == forgets.n_points_seen_  # dreams are no data


def _saved(estimator):
    import tempfile

    path = tempfile.mkdtemp() + "/machine.safetensors"
    estimator.save(path)
    return path


@pytest.mark.slow
def test_machines_are_combined_by_their_dreams(fitted):
    alone = kullback.combine([fitted])
    assert_equal_networks(alone, fitted)
    assert alone.combination_excess_ == [0.0, 0.0]
    other = machine(random_state=1).partial_fit(patterns(640, seed=3))
    both = kullback.combine([fitted, other])
    value, error = both.combination_excess_
    assert -3 * error < value < 0.2
    assert both.n_points_seen_ == fitted.n_points_seen_ + other.n_points_seen_
    both.partial_fit(patterns(32, seed=4))  # and goes on
    with pytest.raises(ValueError, match="n_components is for mixtures"):
        kullback.combine([fitted, other], n_components=2)
    larger = kullback.combine([fitted, machine(hidden=(3,)).partial_fit(patterns(640))], weights=[1, 2])
    assert larger.network_.sizes == (4, 3)  # dreams do not tell of layers


def test_entries_are_made_binary_as_asked_for(fitted):
    X, asked = np.random.default_rng(0).random((8, 4)), copy.copy(fitted)
    for binarize, entries in ((0.3, X > 0.3), ("threshold", X > 0.5)):
        asked.binarize = binarize
        np.testing.assert_array_equal(asked.transform(X), fitted.transform(entries * 1.0))
    asked.binarize = "sample"
    every = fitted.transform(np.array(list(itertools.product([0.0, 1.0], repeat=4))))
    drawn = asked.transform(np.full((2000, 4), 0.9))[:, None]
    counts = np.bincount(np.argmin(np.abs(drawn - every).sum(axis=2), axis=1), minlength=16)
    expected = [0.9**ones * 0.1 ** (4 - ones) for ones in np.sum(list(itertools.product([0, 1], repeat=4)), axis=1)]
    assert chisquare(counts, 2000 * np.array(expected)).pvalue > 1e-3


def in_units(unit, method, stream):
    """Return a machine that has learned from rows whose weights are in these units, from all of them or in parts."""
    X, weight, found = patterns(), unit * np.linspace(0.5, 1.5, 320), machine(method=method)
    if not stream:
        return found.fit(X, sample_weight=weight)
    for part in np.split(np.arange(320), 4):
        found.partial_fit(X[part], sample_weight=weight[part])
    return found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("method", "stream"), [(METHODS[0], False), *(slow(method, True) for method in METHODS), slow(METHODS[1], False)]
)
def test_weights_of_rows_may_be_in_any_units(method, stream):
    """Those that sum to 1 stopped the natural gradient, whose steps are as long as they have points."""
    usual = in_units(1.0, method, stream)
    for unit in (2.0**-20, 2.0**20):
        found = in_units(unit, method, stream)
        assert_equal_networks(usual, found)
        assert found.n_points_seen_ == usual.n_points_seen_ * unit


class Recorder(kullback.HelmholtzMachine):
    """Keeps the rows of each call that it learns from."""

    def _batch(self, rows, places):
        seen.append(rows.X)
        return super()._batch(rows, places)


seen = []


@pytest.mark.slow
def test_parts_of_a_stream_are_drawn_anew_and_questions_alike():
    """By one seed: the same numbers for each part would make a threshold of each entry, and no draw."""
    gray, stream = np.full((6, 5), 0.5), Recorder((2,), binarize="sample", random_state=0, draws=2)
    seen.clear()
    for _ in range(3):
        stream.partial_fit(gray)
    parts = {rows.tobytes() for rows in seen if len(rows) == 6}
    assert len(parts) == 3
    np.testing.assert_array_equal(stream.score_samples(gray), stream.score_samples(gray))


@pytest.mark.parametrize(
    ("parameters", "change", "sentence"),
    [
        ({}, lambda X: X * 2, "X has entries such as 2: they must be 0 or 1, unless binarize"),
        ({"binarize": "threshold"}, lambda X: X * 255, r"such as 255: they must be in \[0, 1\]: scale them"),
        ({"binarize": "sample"}, lambda X: X - 1, r"such as -1: they must be in \[0, 1\]"),
        ({}, lambda X: X[:1], "minimum of 2 is required"),
        ({"hidden": ()}, None, "hidden is \\(\\): it must name the units of one hidden layer or more"),
        ({}, lambda X: X * (1 + 1e-12), r"such as 1.000000000001: they must be 0 or 1"),
        ({"binarize": True}, None, "binarize is True: give the number above which entries are 1"),
        ({"hidden": (3, 0)}, None, "hidden is \\(3, 0\\)"),
        ({"hidden": ((3, 2), (4, 5))}, None, "it must name the units of one hidden layer or more"),
        ({"hidden": (True,)}, None, "hidden is \\(True,\\)"),
        ({"draws": 1}, None, "draws is 1, and 'natural' weighs several draws against each other"),
        ({"draws": 1, "method": "reweighted"}, None, "draws is 1, and 'reweighted'"),
        ({"learning_rate": 0.6}, None, "learning_rate is 0.6 and damping 0.3: a natural rate above the damping"),
        ({"damping": 0.1}, None, "learning_rate is 0.3 and damping 0.1"),
        ({"inertia": 1.0}, None, "'inertia' parameter of HelmholtzMachine must be a float in the range"),
        ({"method": "sleep"}, None, "'method' parameter of HelmholtzMachine must be a str among"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(parameters, change, sentence):
    X = patterns(16) if change is None else change(patterns(16))
    with pytest.raises(ValueError, match=sentence) as found:
        machine(**parameters).fit(X)
    assert "\n" not in str(found.value)


@pytest.mark.slow
def test_a_constant_column_and_one_without_entries_are_learned_as_they_are():
    X = patterns(64)
    X[:, 0] = 1.0
    X[:, 3] = np.nan
    found = machine().partial_fit(X)
    assert np.isfinite(found.score(X))
    filled = found.impute(X, method="mean")
    assert 0.1 < filled[0, 3] < 0.9
    assert found.sample(400)[:, 0].mean() > 0.9


@pytest.mark.parametrize("kind", [kullback.HelmholtzMachine, kullback.BernoulliRBM, kullback.GaussianRBM])
def test_a_table_without_entries_is_refused(kind):
    for learn in (kind().fit, kind().partial_fit):
        with pytest.raises(ValueError, match=r"X has no entries: all are missing \(NaN\)"):
            learn(np.full((20, 3), np.nan))
