"""Combining what was fitted apart."""

import warnings

import jax
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

import kullback
from kullback import GaussianMixture
from kullback.families import Gaussian, Poisson
from kullback.models import Mixture
from tiers import slow

X = load_iris().data
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def clusters(seed, rows=12_000, n=4, k=6):
    """Return rows of a mixture with clusters that a fit may well confuse."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(k, n, n)) / np.sqrt(n)
    label, noise = rng.integers(k, size=rows), rng.normal(size=(rows, n))
    return 3 * rng.normal(size=(k, n))[label] + np.einsum("rij,rj->ri", root[label], noise) + 0.5 * noise


def test_from_a_common_start_four_machines_are_as_good_as_one():
    data = clusters(0)
    first = GaussianMixture(6, random_state=0, max_iter=0).fit(data[:500])
    start = {
        "weights_init": first.weights_,
        "means_init": first.means_,
        "precisions_init": first.precisions_,
        "max_iter": 40,
        "tol": 1e-4,
    }
    everything = GaussianMixture(6, **start).fit(data)
    together = kullback.combine([GaussianMixture(6, **start).fit(data[i::4]) for i in range(4)])
    assert together.n_points_seen_ == len(data)
    assert together.score(data) > everything.score(data) - 0.02


@pytest.mark.slow
def test_fits_that_differ_by_chance_only_are_averaged_though_their_components_are_far_apart():
    """Digits on 4 axes, 599 at each of three sites: components are up to some nats from each other, by chance."""
    X = PCA(4, random_state=0).fit_transform(load_digits().data)
    X = np.random.default_rng(2).permutation(X)
    start = GaussianMixture(8, random_state=2, max_iter=0).fit(X[:300])
    given = {f"{name}_init": getattr(start, f"{name}_") for name in ("weights", "means", "precisions")}
    fits = [GaussianMixture(8, max_iter=30, **given).fit(site) for site in np.array_split(X, 3)]
    assert kullback.combine(fits).score(X) > max(fit.score(X) for fit in fits) + 0.04
    with jax.enable_x64(True):
        far = [fit.to_model() for fit in fits]
        apart = [float(np.max(both_ways(far[0].components, one.aligned_to(far[0]).components))) for one in far[1:]]
    assert max(apart) > 1


def both_ways(a, b):
    return np.asarray(a.relative_entropy(b)) + np.asarray(b.relative_entropy(a))


@pytest.mark.slow
def test_from_their_own_starts_four_machines_are_as_good_as_the_best_of_them():
    """Local optima differ from machine to machine: ten seeds, of which nine must do."""
    best, plain, unaligned = [], [], []
    for seed in range(10):
        data = clusters(seed)
        fits = [GaussianMixture(6, random_state=i, max_iter=40, tol=1e-4).fit(data[i::4]) for i in range(4)]
        score = kullback.combine(fits).score(data)
        best.append(score - max(fit.score(data) for fit in fits))
        plain.append(score - averaged(fits).score(data))
        unaligned.append(score - kullback.combine(fits, align=False).score(data))
    assert np.sum(np.array(best) > -0.02) >= 9
    assert np.sum(np.array(plain) > -1e-4) >= 9
    assert np.sum(np.array(unaligned) > 1) >= 9


def averaged(fits):
    """Return the mixture with the averages of parameters that are lined up."""
    models = [fit.to_model().aligned_to(fits[0].to_model()) for fit in fits]
    weights = np.mean([m.weights for m in models], axis=0)
    means = np.mean([m.components.mean for m in models], axis=0)
    covariances = np.mean([m.components.covariance for m in models], axis=0)
    return GaussianMixture.from_model(Mixture(weights, Gaussian(means, covariances)))


@pytest.mark.slow
def test_sites_with_different_data_lose_no_cluster():
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0], [8.0, 8.0]])
    sites = [
        np.concatenate([rng.normal(c, 1, (400, 2)) for c in centers[list(which)]]) for which in ((0, 1, 2), (1, 2, 3))
    ]
    fits = [GaussianMixture(3, random_state=0).fit(site) for site in sites]
    together = kullback.combine(fits, n_components=4)
    away = np.linalg.norm(together.means_[:, None] - centers, axis=-1)
    assert sorted(away.argmin(axis=0)) == [0, 1, 2, 3]
    assert away.min(axis=0).max() < 0.3
    np.testing.assert_allclose(np.sort(together.weights_), [1 / 6, 1 / 6, 1 / 3, 1 / 3], atol=0.03)


@pytest.mark.slow
def test_different_numbers_of_components_can_be_united():
    fits = [GaussianMixture(k, random_state=0).fit(X) for k in (2, 3)]
    with pytest.raises(ValueError, match=r"fitted\[1\] has 3 components, fitted\[0\] has 2: pass n_components"):
        kullback.combine(fits)
    together = kullback.combine(fits, n_components=3)
    assert together.means_.shape == (3, 4)
    assert together.n_components == 3
    assert together.score(X) > fits[0].score(X) - 0.2
    with pytest.raises(ValueError, match="n_components is 9: the models have 5 components together"):
        kullback.combine(fits, n_components=9)


@pytest.mark.parametrize("covariance_type", [slow("full"), "tied", "diag", "spherical"])
def test_copies_and_permuted_copies_combine_to_themselves(covariance_type):
    one = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    model = one.to_model()
    turned = Mixture(model.weights[[2, 0, 1]], at(model.components, [2, 0, 1]), model.temperature, model.tied)
    same = kullback.combine([one, GaussianMixture.from_model(turned)], weights=[1, 1])
    np.testing.assert_allclose(same.means_, one.means_, rtol=1e-12)
    np.testing.assert_allclose(same.covariances_, one.covariances_, rtol=1e-10, atol=1e-14)
    assert same.covariance_type == covariance_type


def at(components, order):
    import jax

    return jax.tree.map(lambda leaf: np.asarray(leaf)[order], components)


def test_weights_default_to_the_points_seen():
    rng = np.random.default_rng(0)
    few, many = (GaussianMixture(1).fit(rng.normal(m, 1, (rows, 2))) for m, rows in ((0, 100), (1, 900)))
    expected = 0.1 * few.means_ + 0.9 * many.means_
    np.testing.assert_allclose(kullback.combine([few, many]).means_, expected, rtol=1e-12)
    np.testing.assert_allclose(kullback.combine([few, many], weights=[1, 0]).means_, few.means_, rtol=1e-12, atol=1e-15)


def test_factors_are_turned_onto_each_other():
    whole = kullback.ProbabilisticPCA(2).fit(X)
    parts = [kullback.ProbabilisticPCA(2).fit(X[i::2]) for i in range(2)]
    parts[1].components_ = -parts[1].components_
    assert kullback.combine(parts).score(X) > whole.score(X) - 0.01
    assert kullback.combine(parts, align=False).score(X) < whole.score(X) - 0.2


def test_models_combine_as_estimators_do():
    a, b = (Mixture([0.5, 0.5], Poisson(rates)) for rates in ([1.0, 9.0], [10.0, 1.2]))
    found = kullback.combine([a, b])
    assert sorted(np.round(found.components.rate, 3).tolist()) == [1.1, 9.5]


def test_what_cannot_be_combined_is_named():
    full = GaussianMixture(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"fitted\[1\] is a ProbabilisticPCA, fitted\[0\] a GaussianMixture"):
        kullback.combine([full, kullback.ProbabilisticPCA(2).fit(X)])
    with pytest.raises(ValueError, match=r"fitted\[1\] has 2 features, fitted\[0\] has 4"):
        kullback.combine([full, GaussianMixture(2, random_state=0).fit(X[:, :2])])
    with pytest.raises(ValueError, match="covariance_type='diag'"):
        kullback.combine([full, GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)])
    with pytest.raises(ValueError, match="fitted is empty"):
        kullback.combine([])
    with pytest.raises(ValueError, match="n_components is 0"):
        kullback.combine([full], n_components=0)


@pytest.mark.slow
def test_relative_entropy_of_fits():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        a, b = (GaussianMixture(2, random_state=0).fit(part) for part in (X[::2], X[1::2]))
    joint, bound = (kullback.relative_entropy(a, b, of=of) for of in ("joint", "bound"))
    value, error = kullback.relative_entropy(a, b, of="marginal", n=50_000)
    assert value - 4 * error > 0
    assert value - 4 * error < bound <= joint + 1e-12
    with pytest.raises(ValueError, match="of is 'both'"):
        kullback.relative_entropy(a, b, of="both")
    with pytest.raises(ValueError, match="for mixtures"):
        kullback.relative_entropy(Poisson(1.0), Poisson(2.0), of="bound")
    conditional = kullback.relative_entropy(a, b, of="conditional", n=50_000)
    assert conditional.value + value == pytest.approx(joint, rel=1e-12)
    assert conditional.standard_error == error
    assert kullback.relative_entropy(Poisson(1.0), Poisson(2.0), of="conditional") == (0, 0)


def test_a_fit_of_no_weight_says_nothing():
    fits = [GaussianMixture(3, random_state=seed, max_iter=2).fit(part) for seed, part in enumerate((X[:75], X[75:]))]
    alone = kullback.combine(fits, weights=[0, 1])
    order = np.argmin(np.linalg.norm(alone.means_[:, None] - fits[1].means_, axis=-1), axis=0)
    np.testing.assert_allclose(alone.means_[order], fits[1].means_, rtol=1e-10)
    assert np.isfinite(alone.weights_).all()
