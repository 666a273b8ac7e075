"""Mixtures given inputs. Oracles: scipy's densities written out, a grid of points, and all that is discrete."""

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy import stats
from scipy.special import log_softmax, logsumexp

from contracts.quick import quick
from kullback.families import Batch, Categorical, DiagonalGaussian, Poisson
from kullback.models import CompoundDirichlet, Conditional, Mixture, Network, even_mixture
from kullback.runtime import as_numpy as map_numpy
from tiers import slow

RNG = np.random.default_rng(0)
ROWS = 6
X = RNG.normal(size=(ROWS, 2))


def with_last(network, last):
    return eqx.tree_at(lambda n: n.layers[-1], network, last)


def conditional(components, seed=0):
    """Return a model whose rows differ, far from its start."""
    start = Mixture(np.full(3, 1 / 3), components)
    network = Network.start(start, 2, (5,), seed=seed, dtype=np.float64, activation="tanh")
    return Conditional(with_last(network, jax.tree.map(lambda leaf: 6 * leaf, network.layers[-1])), start.kind)


GAUSSIANS = DiagonalGaussian(np.array([[-1.0], [0.0], [1.5]]), np.array([[0.3], [0.5], [0.4]]))


@quick
def answers(model, batch, h):
    modes = model.mode(batch.inputs)
    energies = model.energy(batch.values, h, batch.inputs), model.energy(batch.values, inputs=batch.inputs)
    return model.free(batch.inputs), model.log_likelihood(batch), model.posterior(batch), energies, modes


def written_out(free, y):
    """Return log densities of labels and points y (points, rows) in NumPy and scipy: (points, rows, labels)."""
    labels = np.concatenate([free[:, :2], np.zeros((len(free), 1))], axis=1)
    mean, log_scale = free[:, 2::2], free[:, 3::2]
    return log_softmax(labels, axis=1) + stats.norm(mean, np.exp(log_scale)).logpdf(y[..., None])


@pytest.mark.parametrize("seed", [0, slow(1), slow(2)])
def test_densities_responsibilities_energies_and_modes_are_those_of_each_row_s_mixture(seed):
    model, y, h = conditional(GAUSSIANS, seed), RNG.normal(size=(ROWS, 1)), RNG.integers(0, 3, ROWS)
    free, log_p, share, (joint, energy), modes = map_numpy(answers(model, Batch(y, inputs=X), h))
    expected = written_out(free, y[:, 0])
    np.testing.assert_allclose(joint, -expected[np.arange(ROWS), h], rtol=1e-10)
    np.testing.assert_allclose(log_p, logsumexp(expected, axis=1), rtol=1e-10)
    np.testing.assert_allclose(energy, -log_p)
    np.testing.assert_allclose(share, np.exp(expected - log_p[:, None]), rtol=1e-9, atol=1e-12)
    grid = np.linspace(-10, 10, 20_001)
    heights = logsumexp(written_out(free, np.broadcast_to(grid[:, None], (len(grid), ROWS))), axis=2)
    np.testing.assert_allclose(modes[:, 0], grid[heights.argmax(axis=0)], atol=2e-3)
    assert np.all(logsumexp(written_out(free, modes[:, 0]), axis=1) >= heights.max(axis=0) - 1e-9)


def test_a_family_hides_nothing():
    start = Poisson(2.0)
    model = Conditional(Network.start(start, 2, (), dtype=np.float64), start.kind)
    assert model.posterior(Batch(np.ones(ROWS), inputs=X)) is None
    with pytest.raises(ValueError, match="Poisson with 1 coordinate hides no label"):
        model.energy(np.ones(ROWS), np.zeros(ROWS, int), X)
    np.testing.assert_array_equal(model.mode(X), np.floor(np.exp(np.asarray(model.free(X))[:, 0])))


@pytest.mark.slow
def test_the_mode_of_two_overlapping_components_lies_between_them():
    start = Mixture([0.5, 0.5], DiagonalGaussian([[-0.5], [0.5]], [[1.0], [1.0]]))
    network = Network.start(start, 2, (), dtype=np.float64, width=1e-9)
    still = with_last(network, jax.tree.map(np.zeros_like, network.layers[-1]))
    np.testing.assert_allclose(Conditional(still, start.kind).mode(X), 0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("components", "points"),
    [
        (Poisson(np.array([1.0, 6.0, 20.0])), np.arange(200)),
        (Categorical(np.array([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])), np.arange(3)),
    ],
    ids=["counts", "categories"],
)
def test_modes_of_what_is_discrete_are_the_most_probable_of_all(components, points):
    model = conditional(components)
    found, free = np.asarray(model.mode(X)), np.asarray(model.free(X))
    for row in range(ROWS):
        heights = -np.asarray(model.kind.at("free", free[row]).energy(points))
        assert heights[points == found[row]][0] == pytest.approx(heights.max(), abs=1e-12)


def test_components_begin_evenly_over_the_targets():
    y = RNG.gamma(2.0, size=300)[:, None]
    whole = DiagonalGaussian.fit(y)
    found = even_mixture(whole, 4, Batch(y))
    groups = np.sort(y[:, 0]).reshape(4, -1)
    expected = (groups.mean(axis=1) + 0.1 * y.mean()) / 1.1
    np.testing.assert_allclose(found.components.mean[:, 0], expected, rtol=1e-12)
    spread = (groups.var(axis=1) + 0.1 * y.var() + (groups.mean(axis=1) - y.mean()) ** 2 * 0.1 / 1.1) / 1.1
    np.testing.assert_allclose(found.components.variance[:, 0], spread, rtol=1e-12)
    np.testing.assert_array_equal(found.weights, np.full(4, 0.25))


@pytest.mark.slow
def test_components_of_several_columns_lie_along_the_direction_in_which_they_vary_most():
    y = RNG.normal(size=(40, 2)) @ np.diag([1.0, 1e4])
    y[:, 1] += 2e4 * y[:, 0]
    weight = RNG.integers(1, 4, 40)
    whole = DiagonalGaussian.fit(y, weight)
    weighted = even_mixture(whole, 2, Batch(y, weight.astype(float)))
    assert weighted.components.mean[0, 0] * weighted.components.mean[1, 0] < 0
    assert np.all(np.diff(weighted.components.mean, axis=0) != 0)
    gaps = np.abs(np.diff(weighted.components.mean, axis=0)[0]) / np.sqrt(whole.variance)
    assert np.all(gaps > 0.8)  # in units of each column, both are told apart


@pytest.mark.slow
def test_alike_targets_leave_no_component_degenerate():
    y = np.array([[0.0]] * 50 + [[1.0]] * 50)
    found = even_mixture(DiagonalGaussian.fit(y), 4, Batch(y))
    assert np.all(found.components.variance > 0.01)
    assert np.all(np.isfinite(found.coordinates("free")))


@pytest.mark.parametrize(
    ("count", "match"), [(1, "n_components is 1: one component is no mixture"), (5, "too few points for 5 components")]
)
def test_numbers_of_components_that_do_not_fit_are_refused(count, match):
    y = np.arange(3.0)[:, None]
    with pytest.raises(ValueError, match=match):
        even_mixture(DiagonalGaussian.fit(y), count, Batch(y))


def test_kinds_are_said_in_words():
    gaussian = "DiagonalGaussian with 2 coordinates"
    assert str(Mixture(np.full(3, 1 / 3), GAUSSIANS).kind) == f"Mixture of 3 components: {gaussian}"
    assert str(CompoundDirichlet(np.ones(4), 5).kind) == "CompoundDirichlet of 4 categories and 5 trials"
