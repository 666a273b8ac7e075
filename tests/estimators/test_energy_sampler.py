"""Samplers of an energy at the front door: a small one is fitted once, and asked everything."""

import copy
import pickle

import jax.numpy as jnp
import numpy as np
import pytest

import kullback

RNG = np.random.default_rng(0)
#: Two clusters in the first column; the second is in other units.
ROWS = np.stack([RNG.choice([-2.0, 2.0], 400) + 0.3 * RNG.normal(size=400), 5 + 100 * RNG.normal(size=400)], axis=1)


def small(**options):
    settings = {"entropy": "mmd", "hidden": (16,), "draws": 64, "batch_size": 50, "max_iter": 3, "random_state": 0}
    return kullback.EnergySampler(**{**settings, **options})


@pytest.fixture(scope="module")
def fitted():
    return small().fit(ROWS)


def quadratic(x):
    return 0.5 * jnp.sum(((x - jnp.array([3.0, 0.0])) / jnp.array([1.0, 0.1])) ** 2)


def test_what_it_answers(fitted):
    assert fitted.n_steps_ == 3 * 8
    assert len(fitted.lower_bounds_) == fitted.n_iter_ == 3
    energies = fitted.energies(ROWS)
    np.testing.assert_array_equal(energies, -fitted.score_samples(ROWS))
    assert fitted.score(ROWS) == pytest.approx(-energies.mean(), rel=1e-6)
    drawn = fitted.sample(500)
    assert drawn.shape == (500, 2)
    np.testing.assert_allclose(drawn.std(0) / ROWS.std(0), 1, atol=0.4)
    np.testing.assert_array_equal(drawn, fitted.sample(500))
    polished = fitted.polish(drawn, steps=50)
    assert np.isfinite(polished).all()
    assert not np.array_equal(polished, drawn)
    with pytest.raises(ValueError, match="method is 'gibbs': it must be 'langevin' or 'hmc'"):
        fitted.polish(drawn, method="gibbs")


def test_missing_entries_are_drawn(fitted):
    holes = ROWS[:5].copy()
    holes[::2, 0] = np.nan
    filled = fitted.impute(holes)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[:, 1], holes[:, 1])


def test_a_file_holds_all_of_it(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    again = kullback.load(tmp_path / "model")
    np.testing.assert_array_equal(again.sample(20), fitted.sample(20))
    np.testing.assert_array_equal(again.energies(ROWS), fitted.energies(ROWS))
    ahead = [copy.deepcopy(one).partial_fit(ROWS[:100]).energies(ROWS) for one in (fitted, again)]
    np.testing.assert_array_equal(*ahead)


def test_the_last_epoch_is_kept_and_a_longer_fit_is_a_fit_that_goes_on(fitted):
    """In a game no epoch is the best: what a fit ends with is what its last step has made."""
    warm = small(max_iter=1, warm_start=True)
    for _ in range(3):
        warm.fit(ROWS)
    assert warm.n_steps_ == fitted.n_steps_
    shorter = small(max_iter=2).fit(ROWS)
    assert not np.array_equal(shorter.energies(ROWS), fitted.energies(ROWS))


@pytest.mark.slow
def test_several_are_combined_by_their_dreams(fitted):
    other = small(random_state=1).fit(ROWS + [0, 100])
    both = kullback.combine([fitted, other])
    assert not hasattr(both, "combination_excess_")  # energies have constants that nobody knows
    assert np.isfinite(both.energies(ROWS)).all()
    assert 5 < both.sample(2000)[:, 1].mean() < 105
    alone = kullback.combine([fitted])
    np.testing.assert_array_equal(alone.energies(ROWS), fitted.energies(ROWS))


@pytest.mark.slow
def test_a_given_energy():
    sampler = small(draws=128, sampler_rate=0.01).fit_energy(
        quadratic, 2, steps=200, center=[2.0, 0.0], scale=[1.0, 0.1]
    )
    drawn = sampler.sample(4000)
    np.testing.assert_allclose(drawn.mean(0), [3, 0], atol=0.15)
    np.testing.assert_allclose(drawn.std(0), [1, 0.1], rtol=0.15)
    np.testing.assert_allclose(sampler.energies(drawn[:3]), [quadratic(row) for row in drawn[:3]], rtol=1e-4)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(sampler)).sample(3), sampler.sample(3))
    with pytest.raises(ValueError, match="a Python function, which a file cannot hold"):
        sampler.save("never")
    with pytest.raises(ValueError, match="learns nothing from rows"):
        sampler.partial_fit(ROWS)
    with pytest.raises(ValueError, match="learns nothing from rows"):
        kullback.combine([sampler, sampler])


@pytest.mark.parametrize(
    ("energy", "sentence"),
    [
        (lambda x: x, r"energy returns an array of shape \(2,\) for a point of shape \(2,\): it must be one number"),
        (lambda x: jnp.log(x[0]), "energy is not finite at .* of 256 points"),
        ("mlp", "energy is mlp: it must be a function of one point"),
        (lambda x: float(x[0]), "use functions of jax.numpy"),
    ],
)
def test_bad_energies_are_refused(energy, sentence):
    with pytest.raises(ValueError, match=sentence):
        small().fit_energy(energy, 2)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ({"scale": -1.0}, "scale is -1.0: it must be above 0"),
        ({"scale": [1.0, 0.0]}, "it must be above 0"),
        ({"center": [1.0, 2.0, 3.0]}, "center is .*: it must be a finite number, or one for each of 2"),
        ({"center": np.nan}, "center is nan: it must be a finite number"),
    ],
)
def test_places_that_are_none_are_refused(where, sentence):
    with pytest.raises(ValueError, match=sentence):
        small().fit_energy(quadratic, 2, **where)


def test_columns_that_are_lost_to_rounding_are_refused():
    with pytest.raises(ValueError, match="Column 1 of X loses its differences"):
        small().fit(ROWS + [0, 1e12])
    with pytest.raises(ValueError, match="Column 0 of X has a variance of .* use other units"):
        small().fit(ROWS * [1e30, 1])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"draws": 2}, "draws is 2, and there are 2 columns: .* so raise draws"),
        ({"hidden": ()}, "hidden is"),
        ({"entropy": "renyi"}, "entropy"),
        ({"regularization": 0.0}, "regularization"),
    ],
)
def test_bad_parameters_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        small(**options).fit(ROWS)


@pytest.mark.slow
def test_a_fit_that_diverges_says_so_and_keeps_what_is_finite():
    sampler = small(learning_rate=1e30)
    with pytest.warns(UserWarning, match="not finite, the last at step .* nats per point"):
        sampler.fit(ROWS)
    assert np.isfinite(sampler.sample(10)).all()


def test_rows_with_missing_entries_are_no_data():
    with pytest.raises(ValueError, match="takes none: impute them first"):
        small().fit(np.where(ROWS > 3, np.nan, ROWS))


@pytest.mark.slow
def test_five_by_five_gaussians_in_one_fit():
    """Sampler and Langevin: 23 modes of 25, and four fifths of the points within 4 standard deviations of one."""
    grid = np.stack(np.meshgrid(range(-2, 3), range(-2, 3)), axis=-1).reshape(-1, 2)
    rng = np.random.default_rng(9)
    X = grid[rng.integers(25, size=10_000)] + 0.1 * rng.normal(size=(10_000, 2))
    sampler = kullback.EnergySampler(random_state=9).fit(X)
    polished = sampler.polish(sampler.sample(2500))
    apart = np.linalg.norm(polished[:, None] - grid[None], axis=-1)
    good = apart.min(axis=1) < 0.4
    counts = np.bincount(apart.argmin(axis=1)[good], minlength=25)
    assert np.sum(counts >= 10) >= 23
    assert good.mean() >= 0.8
