"""Boosting: what a leaf does, where the rounds end, and what is refused."""

import subprocess
import sys

import jax
import numpy as np
import pytest

from contracts.families import CASES, each_family, name_of
from kullback.families import (
    Bernoulli,
    Categorical,
    DiagonalGaussian,
    Exponential,
    Gamma,
    Independent,
    Poisson,
    Product,
    VonMises,
)
from kullback.geometry import toward
from kullback.learning import boost
from kullback.learning.boosting import _boost
from kullback.models import Mixture
from kullback.runtime import computing
from tiers import slow

GAUSSIAN = DiagonalGaussian([0.0], [1.0]).kind
#: Families that `make test` asks: they compile quickly.
QUICK = (Poisson,)
EVERYTHING = {"subsample": 1.0, "leaf": 1}


def nll(kind, free, y):
    with computing():
        return -float(np.mean(kind.log_prob_at("free", free, y)))


@pytest.mark.parametrize(
    ("member", "y"),
    [
        slow(Poisson(1.0), [0, 1, 2, 0, 1, 3, 4, 2, 5, 3]),
        slow(Exponential(1.0), [0.3, 1.0, 2.0, 0.1, 0.4, 3.0, 4.0, 2.0, 1.0, 3.0]),
        slow(Bernoulli(0.5), [0, 1, 0, 0, 0, 1, 1, 0, 1, 1]),
        slow(DiagonalGaussian([0.0], [1.0]), [0.3, -1.0, 2.0, 0.1, 0.4, 3.0, 4.0, 2.0, 1.0, 3.0]),
    ],
)
@pytest.mark.parametrize("learner", ["lightgbm", slow("sklearn")])
def test_a_leaf_is_maximize_of_its_rows_to_first_order(member, y, learner):
    """The member nearest to what is there, and to a little of the rows of the leaf: online EM's step."""
    X, y = np.repeat([[0.0], [1.0]], 5, axis=0), np.array(y, float)
    little = 1e-6
    trees = boost(member.kind, X, y, rounds=1, rate=little, depth=1, learner=learner, **EVERYTHING).trees
    points = y.reshape(-1, *member.event_shape)
    marginal = member.fit(points)
    for side in (0.0, 1.0):
        mean = np.asarray(marginal.statistics(points))[X[:, 0] == side].mean(axis=0)
        nearest = marginal.at("expectation", marginal.expectation + little * (mean - marginal.expectation))
        moved = np.asarray(nearest.free - marginal.free) / little
        found = (trees.evaluate(np.array([[side]]))[0] - marginal.free) / little
        np.testing.assert_allclose(found, moved, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_a_leaf_of_a_gaussian_is_the_mean_of_toward():
    """Mean and log scale are orthogonal: the direction is the mean of (y − μ, (z² − 1)/2)."""
    rng = np.random.default_rng(0)
    X, y = np.repeat([[0.0], [1.0]], 50, axis=0), rng.normal(size=100)
    marginal = DiagonalGaussian.fit(y[:, None])
    trees = boost(GAUSSIAN, X, y, rounds=1, rate=1.0, depth=1, **EVERYTHING).trees
    step = trees.evaluate(np.array([[1.0]]))[0] - marginal.free
    z = (y - y.mean()) / y.std()
    natural = np.stack([y - y.mean(), (z**2 - 1) / 2], axis=1)
    np.testing.assert_allclose(toward(marginal, y[:, None]), natural, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(step, natural[50:].mean(axis=0), rtol=1e-6)


@pytest.mark.slow
def test_the_direction_is_that_of_ngboost():
    normal = pytest.importorskip("ngboost.distns").Normal
    y = np.linspace(-3, 3, 7)
    theirs = normal(np.array([np.full(7, 0.4), np.full(7, np.log(1.7))]))
    score = normal.scores[0]
    gradient = np.linalg.solve(score.metric(theirs), score.d_score(theirs, y)[..., None])[..., 0]
    np.testing.assert_allclose(toward(DiagonalGaussian([0.4], [1.7**2]), y[:, None]), -gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("learner", ["lightgbm", "sklearn"])
@pytest.mark.slow
def test_a_saturated_tree_at_rate_1_has_no_residual(learner):
    rng = np.random.default_rng(0)
    X, y = rng.permutation(np.arange(50.0))[:, None], rng.uniform(size=50)
    trees = boost(GAUSSIAN, X, y, rounds=1, rate=1.0, depth=49, learner=learner, **EVERYTHING).trees
    np.testing.assert_allclose(trees.evaluate(X)[:, 0], y, atol=1e-6)


@pytest.mark.parametrize("family", each_family(slow=[name_of(key) for key in CASES if key not in QUICK]))
def test_every_family_becomes_likelier(family):
    """An input tells draws of two members apart: the loss falls in every round."""
    member = CASES[family].moderate(np.random.default_rng(0), (2,))
    with computing():
        drawn = np.asarray(member.sample(jax.random.key(0), (100,)), float)
    y = drawn.reshape(200, *drawn.shape[2:])
    found = boost(member.kind, np.tile([[0.0], [1.0]], (100, 1)), y, rounds=4, depth=1, **EVERYTHING)
    assert found.best_round == 4
    assert (np.diff(found.training) < 0).all()
    assert len(found.trees.value) == 4 * member.size


@pytest.mark.slow
def test_it_ends_at_the_distributions_that_drew_the_targets():
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(2000, 1)).astype(float)
    mean, scale = np.array([0.0, 5.0, 5.0, -2.0])[X[:, 0].astype(int)], np.array([1, 1, 3, 0.2])[X[:, 0].astype(int)]
    found = boost(GAUSSIAN, X, mean + scale * rng.normal(size=2000), rounds=150)
    free = found.trees.evaluate(np.arange(4.0)[:, None])
    np.testing.assert_allclose(free[:, 0], [0, 5, 5, -2], atol=5 * 3 / np.sqrt(500))
    np.testing.assert_allclose(free[:, 1], np.log([1, 1, 3, 0.2]), atol=5 / np.sqrt(2 * 500))


def noisy(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    return X, X[:, 0] + np.where(np.isnan(X[:, 1]), 0, np.abs(X[:, 1])) + rng.normal(size=rows)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["lightgbm", slow("sklearn")])
def test_the_round_that_was_best_is_kept(learner):
    X, y = noisy(600)
    asked = []
    found = boost(
        GAUSSIAN,
        X[:400],
        y[:400],
        validation=(X[400:], y[400:], np.arange(200.0)),
        rate=0.3,
        patience=6,
        learner=learner,
        callback=lambda *entry: asked.append(entry),
    )
    assert found.best_round == np.argmin(found.validation)
    assert len(found.validation) == len(found.training) == found.best_round + 7
    assert asked == list(zip(range(len(found.training)), found.training, found.validation, strict=True))
    free = found.trees.evaluate(X[400:])
    with computing():
        energies = -np.asarray(GAUSSIAN.log_prob_at("free", free, y[400:, None]))
    assert np.average(energies, weights=np.arange(200.0)) == pytest.approx(found.validation.min(), rel=1e-9)
    assert found.validation.min() < found.validation[0] - 0.1


def test_a_callback_ends_the_rounds():
    X, y = noisy(100)
    found = boost(GAUSSIAN, X, y, rounds=9, callback=lambda count, training, validation: count == 3)
    assert len(found.training) == 4


@pytest.mark.parametrize("learner", ["lightgbm", "sklearn"])
@pytest.mark.slow
def test_the_same_seed_gives_the_same_trees(learner):
    X, y = noisy(200)
    one, same, other = (boost(GAUSSIAN, X, y, rounds=4, seed=seed, learner=learner).trees for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(same), strict=True))
    assert not np.array_equal(one.evaluate(X), other.evaluate(X))


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["lightgbm", "sklearn"])
def test_weights_count_rows(learner):
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(60, 2)).astype(float)
    y, weight = rng.poisson(1 + X[:, 0] + 2 * X[:, 1]).astype(float), rng.integers(0, 4, size=60)
    settings = {"rounds": 6, "learner": learner, **EVERYTHING}
    by_weight = boost(Poisson(1.0).kind, X, y, weight=weight, **settings)
    repeated = boost(Poisson(1.0).kind, np.repeat(X, weight, axis=0), np.repeat(y, weight), **settings)
    np.testing.assert_allclose(by_weight.training, repeated.training, rtol=1e-6)
    np.testing.assert_allclose(by_weight.trees.evaluate(X), repeated.trees.evaluate(X), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["lightgbm", "sklearn"])
def test_what_is_missing_may_tell(learner):
    X, y = noisy(400)
    missing = np.random.default_rng(1).random(400) < 0.3
    X[missing, 2] = np.nan
    y = y + 20 * missing
    found = boost(GAUSSIAN, X, y, rounds=100, learner=learner)
    free = found.trees.evaluate(X)
    assert abs(free[missing, 0].mean() - y[missing].mean()) < 1
    assert abs(free[~missing, 0].mean() - y[~missing].mean()) < 1


@pytest.mark.slow
def test_a_far_point_leads_nowhere():
    X, y = noisy(300)
    y[7] = 1e6
    found = boost(GAUSSIAN, X, y, validation=noisy(100, seed=1), rounds=60, patience=60, leaf=5)
    assert np.isfinite(found.training).all()
    assert np.isfinite(found.validation).all()
    base = np.asarray(DiagonalGaussian.fit(y[:, None]).free)
    reach = 0.1 * 3 * np.array([np.exp(base[1]), np.sqrt(0.5)])
    assert (np.abs(found.trees.value) <= reach[found.trees.coordinate][:, None] * (1 + 1e-9)).all()


@pytest.mark.slow
def test_targets_of_several_kinds():
    rng = np.random.default_rng(0)
    X = rng.random((500, 2))
    counts, angles = rng.poisson(np.exp(2 * X[:, 0])), rng.vonmises(3 * X[:, 1] - 1, 4.0)
    kind = Product([Poisson(1.0), VonMises(0.0, 1.0)]).kind
    found = boost(kind, X, np.stack([counts, angles], axis=1), rounds=40)
    free = found.trees.evaluate(X)
    assert np.corrcoef(free[:, 0], X[:, 0])[0, 1] > 0.9
    assert np.corrcoef(np.arctan2(free[:, 2], free[:, 1]), X[:, 1])[0, 1] > 0.9


@pytest.mark.slow
def test_inputs_that_say_nothing_leave_the_marginal():
    y = np.arange(40.0)
    for learner in ("lightgbm", "sklearn"):
        found = boost(GAUSSIAN, np.ones((40, 1)), y, rounds=5, learner=learner)
        assert found.best_round == 0
        np.testing.assert_allclose(found.trees.evaluate(np.ones((1, 1)))[0], DiagonalGaussian.fit(y[:, None]).free)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"y": np.ones(30)}, "x has no nearest DiagonalGaussian: column 0 has no spread"),
        slow({"kind": Poisson(1.0).kind, "y": np.zeros(30)}, "y has no Poisson inside the family that is nearest"),
        slow({"kind": Bernoulli(0.5).kind, "y": np.ones(30)}, "y has no Bernoulli inside the family"),
        slow(
            {"kind": Categorical([0.2, 0.3, 0.5]).kind, "y": np.arange(30) % 2},
            "y has no Categorical inside the family",
        ),
        slow({"kind": Gamma(1.0, 1.0).kind, "y": np.arange(30.0)}, r"x\[0\] is 0: it must be positive"),
        ({"y": np.r_[np.nan, np.arange(29)]}, r"x\[0, 0\] is nan"),
        ({"y": np.ones((30, 2))}, r"y has shape \(30, 2\): X has 30 rows, and a target 1 columns."),
        ({"y": np.arange(29)}, r"y has shape \(29,\): X has 30 rows"),
        ({"X": np.arange(30.0)}, r"X has shape \(30,\): it needs a row for each point and a column for each input."),
        ({"X": np.r_[np.inf, np.arange(29)][:, None]}, r"X\[0, 0\] is infinite: inputs are finite, or NaN"),
        ({"weight": np.zeros(30)}, "weight is 0 for all rows"),
        ({"weight": -np.ones(30)}, "weight has an entry that is negative or not finite."),
        ({"weight": np.ones(3)}, r"weight has shape \(3,\): X has 30 rows, and each needs one."),
        ({"validation": (np.ones((3, 2)), np.ones(3))}, "X has 1 columns, and that of the validation part 2."),
        ({"validation": (np.ones((3, 1)),)}, r"validation has 1 parts: it is \(X, y\) or \(X, y, weight\)."),
        ({"validation": (np.ones((3, 1)), np.ones(3), np.zeros(3))}, "weight of the validation part is 0"),
        (
            {"validation": (np.ones((3, 1)), np.full(3, np.nan))},
            "y of the validation part has a target that is impossible",
        ),
        ({"rate": 0.0}, r"rate is 0.0: it must be in \(0, 1\]."),
        ({"subsample": 1.5}, r"subsample is 1.5: it must be in \(0, 1\]."),
        ({"depth": 0}, "depth is 0: it must be a whole number of at least 1."),
        ({"learner": "forest"}, "learner is 'forest': it must be 'auto', 'lightgbm' or 'sklearn'."),
        ({"X": np.r_[1e300, np.arange(29)][:, None], "learner": "sklearn"}, "X has an entry beyond 3.4e"),
    ],
)
def test_what_cannot_be_is_refused(changed, sentence):
    settings = {"kind": GAUSSIAN, "X": np.arange(30.0)[:, None], "y": np.arange(30.0)} | changed
    with pytest.raises(ValueError, match=sentence):
        boost(settings.pop("kind"), settings.pop("X"), settings.pop("y"), **settings)


def test_mixtures_are_refused():
    mixture = Mixture([0.5, 0.5], Poisson([1.0, 2.0]))
    with pytest.raises(TypeError, match="trees are fitted to the natural gradient of a family"):
        boost(mixture.kind, np.ones((3, 1)), np.arange(3))


def test_without_lightgbm_there_are_scikit_learns_trees(monkeypatch):
    monkeypatch.setattr(_boost, "is_installed", lambda: False)
    X, y = noisy(100)
    plain, named = (boost(GAUSSIAN, X, y, rounds=2, learner=learner).trees for learner in ("auto", "sklearn"))
    assert np.array_equal(plain.value, named.value)
    with pytest.raises(ImportError, match=r"learner='lightgbm' needs LightGBM: pip install 'kullback\[trees\]'"):
        boost(GAUSSIAN, X, y, learner="lightgbm")


@pytest.mark.slow
def test_libraries_of_trees_are_imported_when_they_are_used():
    script = "import sys, kullback.learning; assert not {'lightgbm', 'sklearn.tree'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.slow
def test_columns_of_one_family():
    rng = np.random.default_rng(0)
    X = rng.random((200, 1))
    y = rng.poisson(np.exp(2 * X * [1.0, -1.0]))
    found = boost(Independent(Poisson([1.0, 1.0])).kind, X, y, rounds=20)
    assert (np.diff(found.trees.evaluate(np.array([[0.1], [0.9]])), axis=0) * [1, -1] > 0).all()
