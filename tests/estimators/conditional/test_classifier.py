"""Classification at the front door."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import kullback
from kullback import Classifier

X, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]


def peer(C=1.0):
    return LogisticRegression(C=C, tol=1e-12, max_iter=10_000, solver="newton-cholesky")


def test_two_classes_are_logistic_regression():
    y = NAMES == "virginica"
    found, other = Classifier().fit(X, y), peer().fit(X, y)
    np.testing.assert_allclose(found.coef_, other.coef_, rtol=1e-6)
    np.testing.assert_allclose(found.intercept_, other.intercept_, rtol=1e-6)
    np.testing.assert_allclose(found.predict_proba(X), other.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(found.decision_function(X), other.decision_function(X), rtol=1e-6)
    np.testing.assert_array_equal(found.predict(X), other.predict(X))


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_three_classes_are_logistic_regression_whatever_the_last_one(C):
    found, other = Classifier(alpha=1 / C).fit(X, NAMES), peer(C).fit(X, NAMES)
    np.testing.assert_allclose(found.coef_, other.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.predict_proba(X), other.predict_proba(X), rtol=1e-5, atol=1e-9)


def test_sets_hold_classes(tmp_path):
    found = Classifier().fit(X, NAMES)
    sets = found.credible_set(X, 0.95)
    codes = np.searchsorted(found.classes_, NAMES)
    probabilities = found.predict_proba(X)
    assert np.all(np.sum(probabilities * sets.members, axis=1) >= 0.95 - 1e-12)
    np.testing.assert_array_equal(sets.contains(NAMES), sets.members[np.arange(150), codes])
    found.save(tmp_path / "model")
    again = kullback.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert again.classes_.dtype.kind == "U"


@pytest.mark.parametrize("classes", [["setosa", "versicolor", "virginica"], [3, 5, 9]])
def test_classes_go_by_their_names(classes):
    """Whether they are text or numbers that are not 0, 1, …: draws, densities, modes and sets speak of them."""
    y = np.array(classes)[SPECIES]
    found = Classifier(random_state=0).fit(X, y)
    predicted, shares = found.predict_distribution(X), found.predict_proba(X)
    drawn = found.sample(X, 400)
    assert drawn.dtype.kind == y.dtype.kind
    error = np.sqrt(shares * (1 - shares) / 400)
    for place, name in enumerate(classes):
        assert np.all(np.abs((drawn == name).mean(axis=0) - shares[:, place]) <= 5 * error[:, place] + 1e-2)
        np.testing.assert_allclose(predicted.log_prob(np.full(150, name)), np.log(shares[:, place]), rtol=1e-9)
    np.testing.assert_allclose(found.score_samples(X, y), predicted.log_prob(y), rtol=1e-12)
    np.testing.assert_array_equal(predicted.mode, found.predict(X))
    assert found.calibrate(X, y).credible_set(X, 0.9).contains(y).mean() > 0.85
    with pytest.raises(ValueError, match="which the fit does not know"):
        predicted.log_prob(np.full(150, "iris" if y.dtype.kind == "U" else 4))


def test_streams_need_all_classes_first():
    order = np.random.default_rng(0).permutation(150)
    online = Classifier()
    for at in range(0, 150, 30):
        online.partial_fit(X[order[at : at + 30]], NAMES[order[at : at + 30]], classes=np.unique(NAMES))
    assert online.score(X, NAMES) > 0.8  # five steps
    early = Classifier().partial_fit(X[:60], NAMES[:60])
    with pytest.raises(ValueError, match="'virginica', which the fit does not know"):
        early.partial_fit(X[100:], NAMES[100:])
    with pytest.raises(ValueError, match="one class only"):
        Classifier().fit(X[:50], NAMES[:50])


def test_separated_classes_end_with_finite_numbers():
    y = NAMES == "setosa"  # a plane separates it from the others
    with pytest.warns(UserWarning, match="without bound"):
        found = Classifier(alpha=0.0, max_iter=20).fit(X, y)
    assert np.isfinite(found.coef_).all()
    assert found.score(X, y) == 1.0
    assert np.isfinite(found.predict_log_proba(X)).all()
