import numpy as np
import pytest
import scipy.stats
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from kullback.assess import (
    bias_variance,
    generalization_gap,
    loss_variation,
    negative_log_likelihoods,
    out_of_bag,
    zero_one_losses,
)


class Normal:
    """A normal density of one column, as plain as an estimator can be."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def get_params(self, deep=False):
        return {"shift": self.shift}

    def set_params(self, **parameters):
        vars(self).update(parameters)
        return self

    def fit(self, X, y=None):
        self.mean_, self.deviation_ = float(np.mean(X)) + self.shift, float(np.std(X))
        return self

    def score_samples(self, X):
        return scipy.stats.norm.logpdf(X[:, 0], self.mean_, self.deviation_)


class Broken(Normal):
    def score_samples(self, X):
        return np.where(X[:, 0] > 0, np.inf, 0.0)


def coin_flips(rows=200):
    rng = np.random.default_rng(3)
    return rng.normal(size=(rows, 2)), rng.integers(0, 2, rows)


def test_labels_of_coins_cannot_be_predicted():
    X, y = coin_flips()
    found = out_of_bag(KNeighborsClassifier(1), X, y, loss=zero_one_losses, n_resamples=40)
    assert 0.45 <= found.loss <= 0.58
    assert found.seen.max() == 0
    assert found.outside.mean() == pytest.approx(np.exp(-1), abs=0.01)
    gap = found.gap()
    assert gap.contains(-found.loss)
    assert gap.upper < -0.4


def test_resampling_before_the_split_leaks():
    """The procedure as it is printed in 2.4.3 finds coins predictable: so the fixture can fail."""
    X, y = coin_flips()
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(20):
        rows = rng.integers(0, len(X), len(X))
        left, right = rows[: len(X) // 2], rows[len(X) // 2 :]
        errors.append(np.mean(KNeighborsClassifier(1).fit(X[left], y[left]).predict(X[right]) != y[right]))
    assert np.mean(errors) < 0.38


def test_out_of_bag_asks_a_fit_about_rows_it_has_not_seen_only():
    X = np.random.default_rng(1).normal(size=(30, 1))
    asked = []

    def which(fitted, X, y):
        asked.append(fitted.mean_)
        return negative_log_likelihoods(fitted, X)

    found = out_of_bag(Normal(), X, loss=which, n_resamples=25, seed=4)
    rng = np.random.default_rng(4)
    for fit in range(25):
        rows = rng.integers(0, 30, 30)
        assert asked[fit] == pytest.approx(X[rows].mean())
        assert set(np.flatnonzero(found.outside[fit])) == set(range(30)) - set(rows.tolist())
    by_hand = np.mean([found.values[found.outside[:, row], row].mean() for row in range(30)])
    assert found.loss == pytest.approx(by_hand, abs=1e-12)
    assert found.standard_error == pytest.approx(scipy.stats.sem(found.held_out), abs=1e-12)


def test_frames_keep_their_columns():
    pandas = pytest.importorskip("pandas")

    class Named(Normal):
        def fit(self, X, y=None):
            return super().fit(X["v"].to_numpy()[:, None])

        def score_samples(self, X):
            return super().score_samples(X["v"].to_numpy()[:, None])

    X = np.random.default_rng(1).normal(size=(30, 1))
    plain, named = (out_of_bag(kind, table, n_resamples=25) for kind, table in (
        (Normal(), X), (Named(), pandas.DataFrame({"v": X[:, 0]})))
    )  # fmt: skip
    np.testing.assert_allclose(named.values, plain.values)


@pytest.mark.slow
def test_the_gap_of_a_normal_is_that_of_theory():
    """Over many data sets, E[train loss − held-out loss] of a fit with d parameters is about −d/n."""
    rng = np.random.default_rng(0)
    n, sets = 50, 400
    gaps, held = [], 0
    for _ in range(sets):
        train, other = rng.normal(size=(n, 1)), rng.normal(size=(n, 1))
        fitted = Normal().fit(train)
        one, two = negative_log_likelihoods(fitted, train), negative_log_likelihoods(fitted, other)
        gaps.append(one.mean() - two.mean())
    assert np.mean(gaps) == pytest.approx(-2 / n, abs=3 * np.std(gaps) / sets**0.5 + 2 * (2 / n) ** 2)
    for _ in range(40):
        one, two = rng.exponential(size=60), rng.exponential(size=40) + 0.5
        held += bool(generalization_gap(one, two, 0.1).contains(-0.5))
    assert 30 <= held <= 40


def test_pairs_are_narrower_where_rows_differ_more_than_losses():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=200)
    one, two = 10 * rows, 10 * rows + 1 + 0.1 * rng.normal(size=200)
    pairs, apart = generalization_gap(one, two, paired=True), generalization_gap(one, two)
    assert pairs.contains(-1)
    assert pairs.width < 0.1 < apart.width
    direct = scipy.stats.t.interval(0.95, 199, np.mean(one - two), scipy.stats.sem(one - two))
    np.testing.assert_allclose([pairs.lower, pairs.upper], direct, atol=2e-3)
    assert generalization_gap([1.0, 1.0], [0.5, 0.5, 0.5]).width == 0
    assert generalization_gap(rng.normal(size=6_000), rng.normal(size=10)).width > 0  # by quantiles


def test_three_sources_are_told_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    found = loss_variation(Normal(), X[:200], X[200:], n_resamples=200)
    assert found.seeds == 0  # nothing is drawn
    losses = negative_log_likelihoods(Normal().fit(X[:200]), X[200:])
    assert found.loss == pytest.approx(losses.mean(), abs=1e-12)
    assert found.test_rows == pytest.approx(scipy.stats.sem(losses), abs=1e-12)
    # a loss at its least moves by the square of the parameters: far less than with test rows
    assert 0 < found.training_rows < 0.5 * found.test_rows
    shifted = loss_variation(Normal(2.0), X[:200], X[200:], n_resamples=200)
    # away from the least a loss moves as the parameters do: by the influence of each training row on both of them
    x, fitted = X[:200, 0], Normal(2.0).fit(X[:200])
    away, s = X[200:, 0] - fitted.mean_, fitted.deviation_
    by_mean, by_deviation = -np.mean(away) / s**2, 1 / s - np.mean(away**2) / s**3
    influence = by_mean * (x - x.mean()) + by_deviation * ((x - x.mean()) ** 2 - s**2) / (2 * s)
    assert shifted.training_rows == pytest.approx(influence.std() / 200**0.5, rel=0.15)


def test_seeds_count_where_the_estimator_draws():
    X, y = coin_flips(120)
    tree = DecisionTreeClassifier(max_features=1, random_state=7)
    found = loss_variation(tree, X[:80], X[80:], y[:80], y[80:], loss=zero_one_losses, n_seeds=6, seed=3)
    by_hand = [
        zero_one_losses(DecisionTreeClassifier(max_features=1, random_state=s).fit(X[:80], y[:80]), X[80:], y[80:])
        for s in range(3, 9)
    ]
    np.testing.assert_allclose(found.by_seed, np.mean(by_hand, axis=1))
    assert found.seeds == pytest.approx(np.std(np.mean(by_hand, axis=1), ddof=1))


@pytest.mark.parametrize("loss", ["squared", "zero-one"])
@pytest.mark.parametrize("partly", [False, True])
def test_noise_bias_and_variance_add_up(loss, partly):
    rng = np.random.default_rng(0)
    predictions, y = 1e3 + rng.normal(size=(7, 40)), 1e3 + 3 + rng.normal(size=(5, 40))
    if loss == "zero-one":
        predictions, y = np.sign(predictions - 1e3), np.sign(y - 1e3 - 3)
    where = rng.random((7, 40)) < 0.5 if partly else None
    if partly:
        where[0] = True
    found = bias_variance(predictions, y, where=where, loss=loss)
    assert found.noise + found.bias + found.variance == pytest.approx(found.loss, abs=1e-12)
    counted = np.ones((7, 40), bool) if where is None else where
    direct = np.mean([np.mean((y[:, row, None] - predictions[counted[:, row], row]) ** 2) for row in range(40)])
    assert found.loss == pytest.approx(direct * (0.25 if loss == "zero-one" else 1), rel=1e-12)
    if loss == "zero-one" and not partly:
        assert found.loss == pytest.approx(np.mean(y[:, None] != predictions), abs=1e-12)


def test_known_noise_takes_the_place_of_repeats():
    """Many repeats of targets with known mean and variance end at the parts that these have."""
    rng = np.random.default_rng(0)
    predictions, mean = rng.normal(size=(4, 6)), rng.normal(size=6)
    known = bias_variance(predictions, mean, noise=np.full(6, 0.3))
    assert known.noise + known.bias + known.variance == pytest.approx(known.loss, abs=1e-12)
    assert known.noise == pytest.approx(0.3)
    drawn = bias_variance(predictions, mean + 0.3**0.5 * rng.normal(size=(20_000, 6)))
    assert drawn.loss == pytest.approx(known.loss, abs=0.02)
    alone = bias_variance(predictions, mean)
    assert alone.noise is None
    assert alone.bias + alone.variance == pytest.approx(alone.loss, abs=1e-12)
    labels = bias_variance([[1.0, -1.0]], [0.6, 0.0], noise=[1 - 0.36, 1.0], loss="zero-one")
    assert labels.loss == pytest.approx((0.2 + 0.5) / 2)  # the probability of the other label


def test_more_parameters_have_more_variance_and_less_bias():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(60, 1))
    truth = np.sin(3 * x[:, 0])
    parts = []
    for powers in (1, 5):
        inputs = x ** np.arange(1, powers + 1)
        y = truth + 0.3 * rng.normal(size=60)
        fits = out_of_bag(LinearRegression(), inputs, y, loss=lambda fitted, X, y: fitted.predict(X))
        parts.append(bias_variance(fits.values, truth, noise=np.full(60, 0.09), where=fits.outside))
    assert parts[0].bias > 2 * parts[1].bias
    assert parts[0].variance < parts[1].variance


X, Y = coin_flips(20)
BAD = [
    (lambda: out_of_bag(Normal(), X[:1]), "it needs at least 2 rows"),
    (lambda: out_of_bag(Normal(), X, n_resamples=1), "n_resamples is 1"),
    (lambda: out_of_bag(Normal(), X, n_resamples=2), "all 2 resamples: ask for more"),
    (lambda: out_of_bag(KNeighborsClassifier(1), X, Y[:3], loss=zero_one_losses), r"y has shape \(3,\)"),
    (lambda: out_of_bag(Normal(), X, loss=lambda *_: 1.0), r"loss returned shape \(\) for 20 rows"),
    (lambda: out_of_bag(Broken(), X), "losses must be finite"),
    (lambda: generalization_gap([1.0], [1.0, 2.0]), "at least 2 rows"),
    (lambda: generalization_gap([1.0, np.nan], [1.0, 2.0]), r"train\[1\] is nan"),
    (lambda: generalization_gap([1.0, 2.0], [1.0, 2.0, 3.0], paired=True), "pairs need as many of both"),
    (lambda: generalization_gap([1.0, 2.0], [1.0, 2.0], 2.0), "alpha is 2.0"),
    (lambda: loss_variation(Normal(), X, X, Y), "y and y_test must both be there"),
    (lambda: loss_variation(Normal(), X, X[:1]), "X_test has shape"),
    (lambda: loss_variation(Normal(), X, X, n_seeds=1), "n_seeds is 1"),
    (lambda: bias_variance([1.0, 2.0], [1.0, 2.0]), "predictions has shape"),
    (lambda: bias_variance([[1.0, 2.0]], [[1.0, np.inf]]), r"y\[0, 1\] is inf"),
    (lambda: bias_variance([[1.0, 2.0]], [1.0, 2.0], where=[[True, False]]), "at least one prediction of each row"),
    (lambda: bias_variance([[1.0, 0.5]], [1.0, -1.0], loss="zero-one"), "labels must be −1 and 1"),
    (lambda: bias_variance([[1.0, 0.5]], [1.0, -1.0], loss="hinge"), "loss is 'hinge'"),
    (lambda: bias_variance([[1.0, 0.5]], [[1.0, 0.0]] * 2, noise=[1.0, 1.0]), "noise is the variance of each row"),
    (lambda: bias_variance([[1.0, 1.0]], [0.5, 0.0], noise=[1.0, 1.0], loss="zero-one"), "noise must be 1 − y²"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "sentence"), BAD)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
