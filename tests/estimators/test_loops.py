"""Iterations under one compiled loop, against a fit that someone looks at after every iteration."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Theirs

from kullback import CategoricalHMM, GaussianHMM, GaussianMixture
from kullback.estimators import FitCallback
from kullback.estimators.data._rows import RESIDENT, Rows, padded_size
from tiers import slow

RNG = np.random.default_rng(3)
NEAR = np.concatenate([RNG.normal(m, 1, (70, 3)) for m in (0, 2, 5)])
#: Clusters so narrow that moments around one center lose their digits once components have found them.
CENTERS = np.array([[0.0, 0.0], [1e4, 0.0], [0.0, 1e4]])
NARROW = np.concatenate([RNG.normal(center, 1e-2, (40, 2)) for center in CENTERS])
#: A row by itself: without a width of points, a component shrinks onto it from iteration to iteration.
LONELY = np.concatenate([RNG.normal(size=(60, 2)), [[9.0, 9.0]]])


class Looks(FitCallback):
    """Counts iterations."""

    def __init__(self):
        self.bounds = []

    def step(self, snapshot, history):
        assert len(history) == len(self.bounds) + 1
        self.bounds = list(history)
        assert snapshot().lower_bounds_ == self.bounds
        return False


def both(estimator, *data):
    """Return an estimator that was fitted alone, and one that was looked at; they must agree in every bit."""
    alone, seen = estimator(), estimator().set_callback(Looks())
    alone.fit(*data)
    seen.fit(*data)
    names = [name for name, value in vars(seen).items() if name.endswith("_") and isinstance(value, np.ndarray)]
    assert names
    for name in names:
        assert np.array_equal(getattr(alone, name), getattr(seen, name)), name
    assert (alone.n_iter_, alone.converged_, alone.lower_bounds_) == (seen.n_iter_, seen.converged_, seen.lower_bounds_)
    return alone, seen


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["full", slow("diag"), slow("tied"), slow("spherical")])
def test_a_fit_that_is_looked_at_ends_at_the_same_bits(kind):
    alone, seen = both(lambda: GaussianMixture(3, covariance_type=kind, tol=1e-7, max_iter=150, random_state=0), NEAR)
    assert 8 < alone.n_iter_ <= 150
    assert len(seen._callback.bounds) in (alone.n_iter_ - 1, alone.n_iter_)  # of the last one the rule is told first
    peer = Theirs(3, covariance_type=kind, tol=1e-7, max_iter=150, random_state=0).fit(NEAR)
    assert (peer.n_iter_, peer.converged_) == (alone.n_iter_, alone.converged_)
    np.testing.assert_allclose(alone.means_, peer.means_, rtol=1e-6)


@pytest.mark.parametrize("limit", [1, 64, 65])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_there_are_as_many_iterations_as_are_asked_for(limit):
    mixture = GaussianMixture(3, tol=0, max_iter=limit, random_state=0).fit(NEAR)
    assert (mixture.n_iter_, len(mixture.lower_bounds_), mixture.converged_) == (limit, limit, False)
    assert np.diff(mixture.lower_bounds_).min(initial=0) > -1e-12


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_loop_ends_where_the_quick_kernel_would_lose_digits():
    """The covariances of clusters that are 10,000 apart are those of their rows, to all digits that these have."""
    start = {
        "means_init": CENTERS + [[1e3, 1e3], [-1e3, 1e3], [1e3, -1e3]],
        "precisions_init": np.tile(3e-8 * np.eye(2), (3, 1, 1)),
    }
    mixture, _ = both(lambda: GaussianMixture(3, tol=1e-9, reg_covar=0.0, **start), NARROW)
    first = GaussianMixture(3, max_iter=1, reg_covar=0.0, **start).fit(NARROW)
    quick, exact = (Rows(NARROW).standardization_for(fit.to_model()) for fit in (first, mixture))
    assert quick is not None
    assert exact is None
    for k, covariance in enumerate(mixture.covariances_):
        np.testing.assert_allclose(covariance, np.cov(NARROW[40 * k : 40 * k + 40].T, bias=True), rtol=1e-7)


def test_a_loop_ends_before_the_iteration_in_which_a_component_collapses():
    start = {
        "means_init": [[0.0, 0.0], [3.0, 3.0]],
        "weights_init": [0.5, 0.5],
        "precisions_init": [[1.0, 1.0], [0.05, 0.05]],
    }

    def mixture():
        return GaussianMixture(2, covariance_type="diag", reg_covar=0.0, **start)

    with pytest.warns(ConvergenceWarning, match="ended before an iteration in which a component collapses"):
        ended, _ = both(mixture, LONELY)
    assert ended.n_iter_ > 4
    assert (ended.covariances_ > 0).all()
    np.testing.assert_allclose(ended.score(LONELY), ended.lower_bound_)  # of the model that is kept


@pytest.mark.slow
def test_hidden_markov_models_have_the_loop_too():
    both(lambda: GaussianHMM(2, tol=1e-3, n_iter=60, random_state=0), NEAR, [100, 110])
    counts = RNG.integers(3, size=(200, 1))
    both(lambda: CategoricalHMM(2, tol=1e-4, n_iter=70, random_state=0), counts)


@pytest.mark.slow
def test_tables_are_held_whole_up_to_a_size_and_answer_alike_beyond(monkeypatch):
    X = RNG.normal(size=(40_000, 2)) + 3 * RNG.integers(2, size=(40_000, 1))
    assert padded_size(len(X)) == 40_960
    weight = RNG.uniform(0.5, 2, len(X))
    whole = GaussianMixture(2, max_iter=4, tol=0, random_state=0)
    parts = GaussianMixture(2, max_iter=4, tol=0, random_state=0)
    with pytest.warns(ConvergenceWarning):
        whole.fit(X, sample_weight=weight)
    assert X.size < RESIDENT
    monkeypatch.setattr("kullback.estimators.data._rows.RESIDENT", X.size - 1)
    with pytest.warns(ConvergenceWarning):
        parts.fit(X, sample_weight=weight)
    np.testing.assert_allclose(whole.lower_bounds_, parts.lower_bounds_, rtol=1e-13)
    np.testing.assert_allclose(whole.covariances_, parts.covariances_, rtol=1e-10)
