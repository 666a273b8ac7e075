"""Trees of both libraries as arrays: their answers are those of the library itself."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from kullback.learning.boosting._grower import Growth
from kullback.learning.boosting._lightgbm import LightGBMGrower
from kullback.learning.boosting._sklearn import SklearnGrower, _as_tree
from kullback.models import Trees

GROWTH = Growth(rate=0.3, depth=4, leaf=5, subsample=0.7, reach=0.8, threads=1, seed=3)


def table(rows, missing=True):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 4))
    X[:, 3] = rng.integers(3, size=rows)
    if missing:
        X[rng.random(rows) < 0.2, 0] = np.nan
        X[rng.random(rows) < 0.1, 3] = np.nan
    target = np.stack([np.nan_to_num(X[:, 0], nan=2.0) + X[:, 1], np.where(np.isnan(X[:, 3]), 1.0, -X[:, 2])])
    return X, target, rng.uniform(0.5, 2.0, size=target.shape)


def grown(grower, target, curvature, rounds=4):
    for _ in range(rounds):
        assert grower.grow(curvature * (target - grower.scores[:, : target.shape[1]]), curvature)
    trees = grower.trees(rounds)
    return Trees.stack(trees, [place % 2 for place in range(len(trees))], base=[0.0, 0.0], n_inputs=4)


@pytest.mark.parametrize("make", [LightGBMGrower, SklearnGrower])
@pytest.mark.parametrize("missing", [False, True])
def test_scores_are_those_of_the_arrays(make, missing):
    X, target, curvature = table(300, missing)
    grower = make(X[:220], X[220:], 2, GROWTH)
    trees = grown(grower, target[:, :220], curvature[:, :220])
    np.testing.assert_allclose(trees.evaluate(X).T, grower.scores, rtol=1e-12, atol=1e-12)
    assert np.abs(trees.value).max() <= GROWTH.rate * GROWTH.reach * (1 + 1e-12)
    assert 1 < trees.depth <= GROWTH.depth


def test_predictions_are_lightgbms():
    X, target, curvature = table(300)
    grower = LightGBMGrower(X, None, 2, GROWTH)
    trees = grown(grower, target, curvature)
    fresh = np.concatenate([np.random.default_rng(2).normal(size=(500, 4)), X])
    expected = grower._booster.predict(fresh, raw_score=True)
    np.testing.assert_allclose(trees.evaluate(fresh), expected, rtol=1e-12, atol=1e-12)


def test_predictions_are_scikit_learns():
    X, target, curvature = table(300)
    library = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, target[0], sample_weight=curvature[0])
    tree = _as_tree(library.tree_, GROWTH._replace(rate=1.0, reach=np.inf))
    # numbers that lie between two of 32 bits, on both sides of what rounding makes of them
    near = library.tree_.threshold[library.tree_.children_left >= 0]
    around = np.float64(np.float32(near))
    steps = np.spacing(np.float32(np.abs(near))).astype(float)[:, None] * np.linspace(-1.5, 1.5, 25)
    fresh = np.concatenate([X, *(np.tile(column[:, None], 4) for column in (around[:, None] + steps))])
    trees = Trees.stack([tree], [0], base=[0.0], n_inputs=4)
    np.testing.assert_allclose(trees.evaluate(fresh)[:, 0], library.predict(fresh), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("make", [LightGBMGrower, SklearnGrower])
def test_inputs_that_were_never_missing_go_with_the_most_rows(make):
    X = np.r_[np.zeros(70), np.ones(30)][:, None]
    grower = make(X, None, 1, GROWTH._replace(subsample=1.0))
    assert grower.grow(np.where(X.T > 0, 1.0, -0.2), np.ones((1, 100)))
    trees = Trees.stack(grower.trees(1), [0], base=[0.0], n_inputs=1)
    missing, most = trees.evaluate(np.array([[np.nan], [0.0]]))
    assert missing == most


@pytest.mark.parametrize("make", [LightGBMGrower, SklearnGrower])
def test_a_leaf_is_the_weighted_mean_of_its_rows(make):
    X, target, curvature = table(100, missing=False)
    X = (X > 0).astype(float)[:, :1]
    grower = make(X, None, 2, GROWTH._replace(subsample=1.0, reach=100.0))
    assert grower.grow(curvature * target, curvature)
    for side in (0.0, 1.0):
        rows = X[:, 0] == side
        expected = 0.3 * np.average(target[:, rows], weights=curvature[:, rows], axis=1)
        np.testing.assert_allclose(grower.scores[:, rows], np.tile(expected[:, None], rows.sum()), rtol=1e-6)


@pytest.mark.parametrize("make", [LightGBMGrower, SklearnGrower])
def test_inputs_that_say_nothing_grow_no_tree(make):
    grower = make(np.ones((50, 2)), None, 1, GROWTH)
    assert not grower.grow(np.ones((1, 50)), np.ones((1, 50)))
