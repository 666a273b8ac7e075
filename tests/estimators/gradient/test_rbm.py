"""`BernoulliRBM` and `GaussianRBM`: what a user asks of them."""

import pickle
import warnings

import jax
import numpy as np
import pytest
import scipy.sparse
from scipy import special
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import kullback
from kullback.core import Batch
from kullback.estimators import Anomalies, FitCallback

TABLE = {"n_components": 3, "batch_size": 20, "n_iter": 80, "n_chains": 16, "random_state": 0}


def patterns(rows=200, noise=0.05, seed=0):
    """Return rows of two patterns of six bits, with some of them turned."""
    rng = np.random.default_rng(seed)
    X = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], float)[rng.integers(0, 2, rows)]
    return np.where(rng.random(X.shape) < noise, 1 - X, X)


@pytest.fixture(scope="module")
def fitted():
    return kullback.BernoulliRBM(**TABLE).fit(patterns())


def exact(machine, X):
    """Return log p of rows by a sum over all states, in NumPy."""
    every = (np.arange(64)[:, None] >> np.arange(6)) & 1

    def minus_free(v):
        field = v @ machine.components_.T.astype(float) + machine.intercept_hidden_
        return v @ machine.intercept_visible_.astype(float) + np.logaddexp(0, field).sum(axis=-1)

    return minus_free(X) - special.logsumexp(minus_free(every.astype(float)))


def test_scores_are_log_likelihoods(fitted):
    X = patterns(50, seed=1)
    found, errors = fitted.score_samples(X, return_std=True)
    np.testing.assert_allclose(found, exact(fitted, X), rtol=1e-5)
    np.testing.assert_array_equal(errors, 0)
    assert fitted.score(X) == pytest.approx(found.mean())
    independent = np.sum(X * np.log(X.mean(axis=0)) + (1 - X) * np.log(1 - X.mean(axis=0)), axis=1).mean()
    assert fitted.score(X) > independent + 1
    _, error = fitted.log_partition()
    assert error == 0
    path, spread = fitted.path_log_partition_
    last = jax.tree.map(lambda leaf: np.asarray(leaf, float), fitted.optimizer_state_.walker)
    assert abs(path - float(last.exact_log_partition())) < 5 * spread + 0.05


def test_the_attributes_of_scikit_learn(fitted):
    assert fitted.components_.shape == (3, 6)
    assert fitted.intercept_hidden_.shape == (3,)
    assert fitted.intercept_visible_.shape == (6,)
    assert fitted.h_samples_.shape == (16, 3)
    assert set(np.unique(fitted.h_samples_)) <= {0, 1}
    assert list(fitted.get_feature_names_out()) == [f"bernoullirbm{i}" for i in range(3)]
    X = patterns(10)
    odds = X @ fitted.components_.T + fitted.intercept_hidden_
    np.testing.assert_allclose(fitted.transform(X), special.expit(odds), rtol=1e-5)
    assert set(np.unique(fitted.gibbs(X))) <= {0, 1}
    np.testing.assert_allclose(fitted.transform(scipy.sparse.csr_matrix(X)), fitted.transform(X))


@pytest.mark.slow
def test_pseudo_likelihoods_are_sums_of_conditionals(fitted):
    X = patterns(5, seed=2)
    expected = np.zeros(5)
    for column in range(6):
        other = X.copy()
        other[:, column] = 1 - other[:, column]
        expected -= np.logaddexp(0, exact(fitted, other) - exact(fitted, X))
    np.testing.assert_allclose(fitted.pseudo_likelihood(X), expected, rtol=1e-5)


def test_contributions_are_surprises_beyond_what_is_usual(fitted):
    X = patterns(5, seed=2)
    column, other = 3, X.copy()
    other[:, column] = 1 - other[:, column]
    surprise = np.logaddexp(0, exact(fitted, other) - exact(fitted, X))
    anomalies = Anomalies(fitted)
    found = anomalies.contributions(X)[:, column]
    np.testing.assert_allclose(found, surprise - anomalies.usual[column], atol=1e-5)
    np.testing.assert_array_equal(anomalies.contributions(np.where(X == 1, np.nan, X))[X == 1], 0)


def test_missing_entries_are_summed_out_and_filled_in(fitted):
    X = np.array([[1, np.nan, 1, 0, np.nan, 0]])
    every = np.array([[1, a, 1, 0, b, 0] for a in (0.0, 1.0) for b in (0.0, 1.0)])
    joint = exact(fitted, every)
    np.testing.assert_allclose(fitted.score_samples(X), special.logsumexp(joint), rtol=1e-5)
    share = special.softmax(joint)
    mean = fitted.impute(X, method="mean")[0]
    np.testing.assert_allclose([mean[1], mean[4]], share @ every[:, [1, 4]], atol=0.05)
    np.testing.assert_array_equal(fitted.impute(X, method="mode")[0], every[np.argmax(joint)])
    assert fitted.impute(X, n=3, random_state=0).shape == (3, 1, 6)
    found = kullback.complete(fitted, X, want="v")
    np.testing.assert_array_equal(found.v, every[[np.argmax(joint)]])
    np.testing.assert_allclose(fitted.transform(X) > 0, True)


@pytest.mark.slow
def test_it_learns_from_rows_that_lack_entries():
    X = patterns(400)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    machine = kullback.BernoulliRBM(**TABLE).fit(holes)
    whole = kullback.BernoulliRBM(**TABLE).fit(X)
    assert machine.score(X) > whole.score(X) - 0.4


@pytest.mark.slow
def test_any_number_of_rows_may_be_learned_at_once():
    """scikit-learn's class diverges here: both phases are divided by the rows, and −20 nats become −2,280."""
    X = (load_digits().data > 7).astype(float)
    scores = []
    for rows in (10, 50, 200):
        machine = kullback.BernoulliRBM(16, batch_size=200, n_chains=10, learning_rate=0.1, random_state=0)
        for first in range(0, 8000, rows):
            machine.partial_fit(X[np.arange(first, first + rows) % len(X)])
        scores.append(machine.score(X))
    assert min(scores) > -26


@pytest.mark.slow
def test_draws_look_like_the_data(fitted):
    drawn = fitted.sample(2000)
    likely = exact(fitted, drawn)
    every = ((np.arange(64)[:, None] >> np.arange(6)) & 1).astype(float)
    entropy = -np.sum(np.exp(exact(fitted, every)) * exact(fitted, every))
    assert abs(likely.mean() + entropy) < 4.5 * likely.std() / np.sqrt(2000)


def test_a_file_holds_all_of_it(fitted, tmp_path):
    fitted.save(tmp_path / "machine")
    back = kullback.load(tmp_path / "machine")
    X = patterns(30, seed=3)
    for one in (back, pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(one.transform(X), fitted.transform(X))
        np.testing.assert_array_equal(one.h_samples_, fitted.h_samples_)
        first, second = one.partial_fit(X), pickle.loads(pickle.dumps(fitted)).partial_fit(X)
        np.testing.assert_array_equal(first.components_, second.components_)


@pytest.mark.slow
def test_weights_count_rows():
    X = patterns(60)
    weight = np.arange(60) % 3
    machine = kullback.BernoulliRBM(**{**TABLE, "n_iter": 2, "batch_size": 60}).fit(X, sample_weight=weight)
    assert machine.n_points_seen_ == 2 * weight.sum()
    assert np.isfinite(machine.score(X, sample_weight=weight))


@pytest.mark.slow
def test_machines_are_combined_by_their_dreams(fitted):
    other = kullback.BernoulliRBM(**{**TABLE, "random_state": 1}).fit(patterns(seed=5))
    both = kullback.combine([fitted, other], random_state=0)
    excess, error = both.combination_excess_
    assert excess < 0.2 + 3 * error
    assert both.score(patterns(seed=7)) > fitted.score(patterns(seed=7)) - 0.3


@pytest.mark.slow
def test_the_rate_ends_at_zero_and_a_stream_goes_on():
    X = patterns(40)
    machine = kullback.BernoulliRBM(**{**TABLE, "n_iter": 3}).fit(X)
    assert machine.schedule_ == [0, 6]
    assert machine.n_steps_ == 6
    before = machine.components_.copy()
    machine.partial_fit(X)
    assert np.all(machine.components_ != before)
    warm = kullback.BernoulliRBM(**{**TABLE, "n_iter": 3, "warm_start": True}).fit(X).fit(X)
    assert warm.schedule_ == [6, 6]


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{"persistent": False, "n_gibbs": 2}, {"centered": False}, {"damping": 0.1}])
def test_other_ways_to_learn(parameters):
    rate = 0.05 if "damping" in parameters else 0.2
    machine = kullback.BernoulliRBM(**{**TABLE, "learning_rate": rate, **parameters}).fit(patterns())
    assert machine.score(patterns(seed=1)) > -3.2
    assert (machine.h_samples_ is None) == (not parameters.get("persistent", True))


@pytest.mark.slow
def test_weights_that_spread_are_told(fitted):
    """A machine too large to be counted, with weights too large to be annealed in a few steps."""
    machine = kullback.BernoulliRBM(**{**TABLE, "n_components": 22, "n_iter": 1})
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (40, 24)).astype(float)
    machine.fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert machine.score_samples(X[:3], return_std=True)[1].max() < 0.1
    steep = jax.tree.map(lambda leaf: np.asarray(60 * rng.normal(size=leaf.shape), leaf.dtype), machine.network_)
    machine.network_ = steep
    with pytest.warns(ConvergenceWarning, match="not to be trusted"):
        machine.score_samples(X[:3], draws=10)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ([[0.0, 2.0], [1.0, 1.0]], "X has entries such as 2: they must be in \\[0, 1\\]"),
        ([[0.0, np.inf], [1.0, 1.0]], "infinity"),
        ([["a", "b"], ["c", "d"]], "could not convert|text|words"),
        (np.zeros((0, 2)), "0 sample|minimum of"),
    ],
)
def test_bad_tables(X, sentence):
    with pytest.raises(ValueError, match=sentence):
        kullback.BernoulliRBM(**TABLE).fit(X)


@pytest.mark.slow
def test_a_rate_at_which_finite_numbers_grow_is_told():
    machine = kullback.BernoulliRBM(2, learning_rate=1e6, n_iter=4, batch_size=50, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"diverged: after step \d+ its rows have -.* nats .* learning_rate"):
        machine.fit(patterns(200))
    assert not machine.converged_
    assert not any(name.startswith("_independent") for name in vars(machine))
    assert np.all(machine.learning_curve_[:, 2] <= 0)  # no row has a probability above 1, whatever log Z is thought
    assert not machine.curve_is_likelihood_


def test_a_column_of_ones_does_not_hide_that_a_fit_has_diverged():
    """Its mean is 1 + 2e-16 in these rows."""
    X = np.column_stack([patterns(200), np.ones(200)])
    machine = kullback.BernoulliRBM(2, learning_rate=1e6, n_iter=4, batch_size=50, random_state=0)
    assert np.isfinite(machine._nats_of_columns(np.array([1 + 2e-16]), np.zeros(1))).all()
    with pytest.warns(ConvergenceWarning, match="diverged"):
        machine.fit(X)


@pytest.mark.parametrize(
    ("name", "value", "what"), [("persistent", False, "memory_"), ("dtype", "float64", "network_")]
)
def test_what_a_machine_keeps_is_not_changed_on_the_way(fitted, tmp_path, name, value, what):
    changed = pickle.loads(pickle.dumps(fitted)).set_params(**{name: value})
    for ask in (lambda: changed.partial_fit(patterns(20)), lambda: changed.save(tmp_path / "kept")):
        with pytest.raises(ValueError, match=rf"another network than the one that has learned \({what}"):
            ask()
    assert not (tmp_path / "kept").exists()
    assert fitted.components_.tobytes() == changed.components_.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_that_gains_nothing_has_not_diverged(seed):
    """A column of noise, and another without entries: of ten rows the first step says little."""
    X = np.random.default_rng(seed).integers(0, 2, (40, 2)).astype(float)
    machine = kullback.BernoulliRBM(2, n_iter=3, batch_size=10, random_state=seed)
    for table in (X[:, :1], np.where([True, False], X, np.nan)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert machine.fit(table).converged_


@pytest.mark.parametrize("value", [1e-39, 1e38])
def test_weights_that_32_bits_do_not_hold_are_told(value):
    for learn in (kullback.BernoulliRBM(**TABLE).fit, kullback.BernoulliRBM(**TABLE).partial_fit):
        with pytest.raises(ValueError, match="sample_weight has values such as .* float32 cannot compute"):
            learn(patterns(20), sample_weight=np.full(20, value))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X: X * [1, 0] + [0, 3], "Column 1 of X is 3 in all rows: leave it out"),
        (lambda X: X + [1e9, 0], "Column 0 of X loses its differences when it is rounded to float32"),
        (lambda X: X * [1, 1e30], "Column 1 of X has a variance of .* float32 cannot compute: use other units"),
        (lambda X: X * [1e-30, 1], "Column 0 of X has a variance of .* float32 cannot compute: use other units"),
    ],
)
def test_columns_that_are_lost_to_rounding_are_refused(change, sentence):
    X = change(np.random.default_rng(0).normal(size=(20, 2)))
    with pytest.raises(ValueError, match=sentence):
        kullback.GaussianRBM(**TABLE).fit(X)


def test_a_machine_that_broke_down_answers_no_nan():
    X = np.random.default_rng(0).normal(size=(40, 5))
    machine = kullback.GaussianRBM(**{**TABLE, "n_iter": 3, "learning_rate": 1e6})
    with pytest.warns(ConvergenceWarning, match="not finite, the last at step"):
        machine.fit(X)
    for question in (machine.score_samples, machine.score, machine.transform, machine.gibbs):
        with pytest.raises(ValueError, match="no answer that is finite"):
            question(X)
    for question in (machine.sample, machine.log_partition):
        with pytest.raises(ValueError, match="no answer that is finite"):
            question()


class _StopAfter(FitCallback):
    """Stops a fit after some of its epochs, and keeps what there is."""

    def __init__(self, epochs):
        self.epochs = epochs

    def step(self, snapshot, bounds):
        if len(bounds) == self.epochs:
            self.kept = snapshot()
            return True
        return False


@pytest.mark.slow
def test_a_fit_that_was_stopped_goes_on_at_the_same_bits(tmp_path):
    X, parameters = patterns(), {**TABLE, "n_iter": 6}
    whole = kullback.BernoulliRBM(**parameters).fit(X)
    callback = _StopAfter(2)
    kullback.BernoulliRBM(**parameters).set_callback(callback).fit(X)
    callback.kept.save(tmp_path / "kept")
    resumed = kullback.load(tmp_path / "kept")
    go_on = _StopAfter(-1)
    go_on.resume_from = resumed.to_model(), resumed.lower_bounds_
    resumed.set_callback(go_on).fit(X)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    np.testing.assert_array_equal(resumed.h_samples_, whole.h_samples_)
    np.testing.assert_array_equal(resumed.learning_curve_, whole.learning_curve_)
    assert resumed.path_log_partition_ == whole.path_log_partition_


@pytest.mark.slow
def test_gaussian_columns_in_any_units():
    rng = np.random.default_rng(0)
    X = rng.choice([-2.0, 2.0], (300, 1)) + rng.normal(size=(300, 3))
    one = kullback.GaussianRBM(**{**TABLE, "n_iter": 60, "dtype": "float64"}).fit(X)
    unit = np.array([100.0, 1.0, 0.01])
    other = kullback.GaussianRBM(**{**TABLE, "n_iter": 60, "dtype": "float64"}).fit(X * unit + 1000 * unit)
    np.testing.assert_allclose(other.score(X * unit + 1000 * unit), one.score(X) - np.log(unit).sum(), atol=1e-5)
    alone = -0.5 * np.log(2 * np.pi * np.e * X.var(axis=0)).sum()
    assert one.score(X) > alone + 0.5
    assert np.all(one.scale_ < X.std(axis=0))
    model = one.to_model()
    np.testing.assert_allclose(one.score_samples(X[:5]), np.asarray(model.log_likelihood(Batch(X[:5]))), rtol=1e-6)
    assert one.sample(5).shape == (5, 3)
    holes = X[:5].copy()
    holes[:, 1] = np.nan
    near = np.abs(one.impute(holes, method="mean")[:, 1] - X[:5, 0])
    assert near.mean() < 2
