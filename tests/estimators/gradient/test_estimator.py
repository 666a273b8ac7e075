"""The front door of models that are trained by gradients, with a small autoencoder behind it."""

import json
import pickle
import struct

import jax
import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from estimators.small_autoencoder import SmallAutoencoder
from fuzz.tensors import parts, written


def table(rows=400, seed=0):
    """Return rows of two clusters on a line in four columns."""
    rng = np.random.default_rng(seed)
    side = rng.integers(2, size=(rows, 1)) * 4.0 - 2.0
    return side * np.array([1.0, -1.0, 0.5, 0.0]) + rng.normal(0, 0.5, (rows, 4))


def small(**parameters):
    return SmallAutoencoder(**{"max_iter": 3, "batch_size": 64, "learning_rate": 1e-2, "random_state": 0, **parameters})


def leaves(estimator):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(estimator.network_) if isinstance(leaf, np.ndarray)]


def assert_equal_networks(one, other):
    for a, b in zip(leaves(one), leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def fitted():
    with pytest.warns(ConvergenceWarning, match="not converged in max_iter = 3 epochs"):
        return small().fit(table())


@pytest.mark.slow
def test_it_learns_what_a_gaussian_cannot():
    X, new = table(2000), table(500, seed=1)
    found = small(max_iter=300, n_iter_no_change=20).fit(X)
    gaussian = multivariate_normal(X.mean(axis=0), np.cov(X.T)).logpdf(new).mean()
    assert found.score(new) > gaussian + 0.3
    assert found.converged_


def test_epochs_steps_and_points_are_counted(fitted):
    # 400 rows, a tenth of them for validation: 360 in batches of 64 are 6 steps in each of 3 epochs
    assert fitted.n_iter_ == 3
    assert fitted.n_steps_ == 18
    assert fitted.n_points_seen_ == 3 * 360
    assert len(fitted.lower_bounds_) == len(fitted.validation_scores_) == 3
    assert fitted.learning_curve_.shape == (18, 4)
    np.testing.assert_array_equal(fitted.learning_curve_[:, 0], np.arange(1, 19))
    assert fitted.learning_curve_[-1, 1] == 1080
    np.testing.assert_array_equal(np.unique(fitted.learning_curve_[:, 3]), [40, 64])


def test_the_best_epoch_is_kept_and_patience_ends_the_fit():
    # a rate that is far too large: the validation part soon gets no better
    found = small(max_iter=200, learning_rate=0.3, n_iter_no_change=3, tol=0.0).fit(table())
    scores = found.validation_scores_
    assert found.converged_
    assert len(scores) == int(np.argmax(scores)) + 1 + 3
    held = np.sort(np.random.default_rng(found.seed_).permutation(400)[:40])
    assert found.score(table()[held]) == pytest.approx(max(scores), rel=1e-6)


def test_networks_have_32_bits_unless_asked_for_more(fitted):
    assert {leaf.dtype for leaf in leaves(fitted)} == {np.dtype("float32")}
    with pytest.warns(ConvergenceWarning):
        double = small(dtype="float64", max_iter=1).fit(table())
    assert {leaf.dtype for leaf in leaves(double)} == {np.dtype("float64")}
    assert fitted.score_samples(table(8)).dtype == np.float64


def test_the_same_seed_gives_the_same_bits_and_another_one_does_not(fitted):
    with pytest.warns(ConvergenceWarning):
        again, other = small().fit(table()), small(random_state=1).fit(table())
    assert_equal_networks(fitted, again)
    assert any((a != b).any() for a, b in zip(leaves(fitted), leaves(other), strict=True))


def test_a_saved_network_goes_on_bit_for_bit(fitted, tmp_path):
    path = tmp_path / "network.safetensors"
    fitted.save(path)
    loaded = SmallAutoencoder.load(path)
    assert_equal_networks(fitted, loaded)
    np.testing.assert_array_equal(loaded.score_samples(table(8)), fitted.score_samples(table(8)))
    more = table(100, seed=2)
    here, there = pickle.loads(pickle.dumps(fitted)).partial_fit(more), loaded.partial_fit(more)
    assert here.n_steps_ == there.n_steps_ == fitted.n_steps_ + 2
    assert_equal_networks(here, there)


def test_partial_fit_is_a_step_for_each_batch_and_a_stream_is_its_calls():
    X = table(256)
    one = small(batch_size=64)
    for part in np.split(X, 2):
        one.partial_fit(part)
    assert one.n_steps_ == 4
    assert_equal_networks(one, small(batch_size=64).fit_stream(np.split(X, 2)))
    assert not hasattr(one, "n_iter_")


def test_warm_start_goes_on_where_the_last_fit_ended():
    with pytest.warns(ConvergenceWarning):
        found = small(warm_start=True, max_iter=1).fit(table())
    before = leaves(found)
    with pytest.warns(ConvergenceWarning):
        found.fit(table())
    assert found.n_steps_ == 12
    assert any((a != b).any() for a, b in zip(before, leaves(found), strict=True))


def test_parameters_that_describe_another_network_are_refused(fitted, tmp_path):
    """Such a network learned as if they had not changed, and its file could not be read."""
    other, path = pickle.loads(pickle.dumps(fitted)), tmp_path / "network.safetensors"
    other.partial_fit(table(64))
    before = leaves(other)
    other.set_params(width=17, warm_start=True)
    sentence = r"another network than the one that has learned \(network_.*, and would be float32 of shape .*17"
    for ask in (lambda: other.partial_fit(table(64)), lambda: other.fit(table()), lambda: other.save(path)):
        with pytest.raises(ValueError, match=sentence):
            ask()
    assert not path.exists()
    for a, b in zip(before, leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)
    other.set_params(width=16, dtype="float64")
    with pytest.raises(ValueError, match="would be float64 of shape"):
        other.partial_fit(table(64))
    other.set_params(dtype="float32", learning_rate=1e-3, batch_size=32).partial_fit(table(64)).save(path)
    assert_equal_networks(SmallAutoencoder.load(path), other)


def test_weights_count_rows():
    X = table(64)
    weight = np.arange(64) % 3 * 1.0
    with pytest.warns(ConvergenceWarning):
        found = small(validation_fraction=0.0, max_iter=2, batch_size=64).fit(X, sample_weight=weight)
    assert found.n_points_seen_ == 2 * weight.sum()
    assert found.validation_scores_ == []
    assert found.score(X, sample_weight=weight) == pytest.approx(
        np.average(found.score_samples(X[weight > 0]), weights=weight[weight > 0]), rel=1e-5
    )


def test_numbers_that_are_not_finite_end_a_fit_with_a_sentence():
    with pytest.warns(ConvergenceWarning, match="5 moves in a row led to numbers that are not finite"):
        found = small(learning_rate=1e30, max_iter=20, validation_fraction=0.0).fit(table())
    assert all(np.isfinite(leaf).all() for leaf in leaves(found))
    started = small().partial_fit(table())
    before = leaves(started)
    started.set_params(learning_rate=1e38)
    with pytest.raises(ValueError, match="not finite: try a smaller learning_rate"):
        started.partial_fit(table())
    for a, b in zip(before, leaves(started), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_is_wrong_is_said(fitted):
    with pytest.raises(NotFittedError):
        small().score(table())
    with pytest.raises(ValueError, match="X has 3 features, but SmallAutoencoder is expecting 4"):
        fitted.score(table()[:, :3])
    with pytest.raises(ValueError, match="'dtype' parameter of SmallAutoencoder must be a str among"):
        small(dtype="float16").fit(table())
    holes = table()
    holes[3, 1] = np.nan
    for ask in (small().fit, small().partial_fit, fitted.score, fitted.score_samples):
        with pytest.raises(
            ValueError, match="missing entries .NaN., and SmallAutoencoder takes none: impute them first"
        ):
            ask(holes)
    with pytest.raises(ValueError, match="X contains infinity"):
        small().fit(np.where(np.isnan(holes), np.inf, holes))
    with pytest.raises(ValueError, match="cannot be made from a model alone"):
        SmallAutoencoder.from_model(fitted.network_)
    assert clone(fitted).get_params() == fitted.get_params()


@pytest.mark.parametrize(
    ("where", "value", "sentence"),
    [
        (("parameters", "width"), 10**9, "its networks are not those that its parameters describe"),
        (("parameters", "width"), 17, "must be float32 of shape"),
        (("attributes", "n_features_in_"), 10**12, "its networks are not those that its parameters describe"),
        (("parameters", "dtype"), "float64", "must be float64"),
        (("attributes", "seed_"), -1, "seed_ is -1: it must be a whole number"),
    ],
)
def test_a_forged_file_is_refused_before_anything_of_its_size_is_made(fitted, tmp_path, where, value, sentence):
    path = tmp_path / "network.safetensors"
    fitted.save(path)
    tensors, held, body = parts(path.read_bytes())
    held["header"][where[0]][where[1]] = value
    path.write_bytes(written(tensors, held, body))
    with pytest.raises(ValueError, match=sentence):
        SmallAutoencoder.load(path)


def test_a_file_that_lacks_a_tensor_or_has_one_that_is_not_finite_is_refused(fitted, tmp_path):
    path = tmp_path / "network.safetensors"
    fitted.save(path)
    tensors, held, body = parts(path.read_bytes())
    name = next(name for name in tensors if name.startswith("trees.network_"))
    renamed = {("trees.x" if each == name else each): told for each, told in tensors.items()}
    path.write_bytes(written(renamed, held, body))
    with pytest.raises(ValueError, match="its networks are not those that its parameters describe"):
        SmallAutoencoder.load(path)
    first = tensors[name]["data_offsets"][0]
    path.write_bytes(written(tensors, held, body[:first] + struct.pack("<f", np.nan) + body[first + 4 :]))
    with pytest.raises(ValueError, match="has entries that are not finite"):
        SmallAutoencoder.load(path)
    assert json.dumps(held["header"])  # the header is JSON: reading it runs no code
