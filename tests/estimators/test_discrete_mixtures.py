"""Categories that come later, and what was never seen."""

import numpy as np
import pytest

from kullback import BernoulliMixture, CategoricalMixture, Mixture, PoissonMixture, load
from tiers import slow

RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, size=(60, 2))
LATER = np.concatenate([X, [[3, 4]]])


def test_a_stream_may_show_categories_that_its_first_batch_lacks():
    stream = CategoricalMixture(2, n_categories=5, random_state=0).partial_fit(X)
    assert stream.n_categories_.tolist() == [5, 5]
    assert stream.probabilities_.shape == (2, 2, 5)
    assert (stream.probabilities_[..., 3:] == 0).all()
    stream.partial_fit(LATER)
    assert stream.probabilities_[:, 0, 3].max() > 0
    assert stream.probabilities_[:, 1, 4].max() > 0
    np.testing.assert_allclose(stream.probabilities_.sum(axis=-1), 1)


def test_without_room_a_new_category_is_refused_and_nothing_changes():
    stream = CategoricalMixture(2, random_state=0).partial_fit(X)
    before = stream.probabilities_.copy()
    with pytest.raises(
        ValueError, match="category 3 in column 0: the fit knows 3 categories, from 0. Give n_categories"
    ):
        stream.partial_fit(LATER)
    np.testing.assert_array_equal(stream.probabilities_, before)
    with pytest.raises(ValueError, match="category 4 in column 1: the fit knows 4"):
        CategoricalMixture(2, n_categories=4).fit(LATER)


@pytest.mark.slow
def test_each_column_may_have_its_own_number():
    found = CategoricalMixture(2, n_categories=[3, 6], smoothing=1, random_state=0).fit(X)
    assert found.n_categories_.tolist() == [3, 6]
    assert (found.probabilities_[:, 0, 3:] == 0).all()
    assert (found.probabilities_[:, 1] > 0).all()
    table = np.column_stack([RNG.normal(size=60), X])
    mixed = Mixture(2, family=["gaussian", "categorical", "categorical"], n_categories=[0, 3, 4], random_state=0)
    assert mixed.fit(table).n_categories_.tolist() == [0, 3, 4]


@pytest.mark.parametrize("given", [[3], [3, 3, 3], [[3, 3]], [3, 1], [3, 2.5]])
def test_numbers_that_fit_no_table_are_refused(given):
    table = np.column_stack([X, X])
    with pytest.raises(ValueError, match="n_categories"):
        CategoricalMixture(2, n_categories=given).fit(table)


def test_smoothing_is_counted_exactly():
    """One component: (count + smoothing) / (rows + smoothing · categories)."""
    found = CategoricalMixture(n_categories=[4, 5], smoothing=0.5).fit(X)
    for place, categories in enumerate((4, 5)):
        counts = np.bincount(X[:, place], minlength=categories)
        expected = (counts + 0.5) / (60 + 0.5 * categories)
        np.testing.assert_allclose(found.probabilities_[0, place, :categories], expected, rtol=1e-12)
    bits = np.column_stack([np.ones(40), np.arange(40) < 10])
    np.testing.assert_allclose(BernoulliMixture(smoothing=2).fit(bits).probability_[0], [42 / 44, 12 / 44], rtol=1e-12)


@pytest.mark.parametrize(("batch", "smoothing"), [(True, 0.0), (True, 0.1), (False, 0.0), slow(False, 0.1)])
def test_what_was_never_seen_is_not_impossible(batch, smoothing):
    never = [[4, 0]]
    mixture = CategoricalMixture(2, n_categories=5, smoothing=smoothing, random_state=0)
    mixture = mixture.fit(X) if batch else mixture.partial_fit(X).partial_fit(X)
    assert np.isfinite(mixture.score(never)) == (smoothing > 0)
    coins = BernoulliMixture(smoothing=smoothing)
    coins = coins.fit(np.ones((20, 3))) if batch else coins.partial_fit(np.ones((20, 3)))
    assert np.isfinite(coins.score([[0, 0, 1]])) == (smoothing > 0)


def test_smoothing_fades_in_a_stream():
    """It is data that came before: one batch of n rows dilutes it, further ones do so again, and none adds to it."""
    stream = BernoulliMixture(smoothing=1.0, rate=lambda t: 1 / (t + 1))
    for t in range(1, 6):
        stream.partial_fit(np.ones((10, 1)))
        np.testing.assert_allclose(1 - stream.probability_[0, 0], 1 / 12 / t, rtol=1e-12)


def test_missing_entries_and_weights_go_with_smoothing():
    table = X.astype(float)
    table[::7, 0] = np.nan
    whole = CategoricalMixture(2, smoothing=0.5, random_state=0).fit(table, sample_weight=RNG.uniform(0.5, 2, 60))
    np.testing.assert_allclose(whole.probabilities_.sum(axis=-1), 1)
    np.testing.assert_allclose(whole.weights_.sum(), 1)


def test_counts_have_no_smoothing():
    assert "smoothing" not in PoissonMixture().get_params()


def test_files_hold_the_new_parameters(tmp_path):
    mixture = CategoricalMixture(2, n_categories=[3, 4], smoothing=0.5, random_state=0).fit(X)
    mixture.save(tmp_path / "mixture")
    loaded = CategoricalMixture.load(tmp_path / "mixture")
    assert (loaded.n_categories, loaded.smoothing) == ([3, 4], 0.5)
    np.testing.assert_array_equal(loaded.score_samples(X), mixture.score_samples(X))


@pytest.mark.parametrize("from_model", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_mixture_of_compound_dirichlets_is_saved_and_loaded(tmp_path, from_model):
    X = np.random.default_rng(0).poisson(3.0, (30, 3)).astype(float)
    mixture = Mixture(2, family="compound_dirichlet", random_state=0, tol=1e9).fit(X)
    mixture = Mixture.from_model(mixture.to_model()) if from_model else mixture
    mixture.save(tmp_path / "model.safetensors")
    assert load(tmp_path / "model.safetensors").score(X) == mixture.score(X)
    mixture.n_trials_ = 100  # as files of such models had it
    mixture.save(tmp_path / "earlier.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "earlier.safetensors").concentration_, mixture.concentration_)
