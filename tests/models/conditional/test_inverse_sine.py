"""Bishop's inverse sine, x = y + 0.3·sin 2πy + noise, for which y given x has up to three branches.

One hundred networks go through one `vmap`. The floor of their energies is the entropy of y given x, by quadrature.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import Batch, DiagonalGaussian
from kullback.geometry import (
    conformal_quantile,
    density_grid,
    highest_density_level,
    highest_density_threshold,
    pieces_above,
)
from kullback.learning import Clock, Gradient, Optimizer, negative_log_likelihood
from kullback.learning._step import run_steps
from kullback.models import Conditional, Network, even_mixture
from kullback.runtime import as_numpy, computing

SEEDS, STEPS, ROWS, BATCH = 100, 1000, 2000, 100


def curve(y):
    return y + 0.3 * np.sin(2 * np.pi * y)


def draw(rows, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(rows)
    x = curve(y) + rng.uniform(-0.1, 0.1, rows)
    return x[:, None].astype(np.float32), y[:, None].astype(np.float32)


def floor():
    """Return H(y | x) = H(x | y) + H(y) − H(x)."""
    y, x = np.linspace(0, 1, 20_001), np.linspace(-0.2, 1.2, 2801)
    p = np.array([np.mean(np.abs(at - curve(y)) <= 0.1) / 0.2 for at in x])
    entropy = -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0)) * (x[1] - x[0])
    return np.log(0.2) - entropy


def start(seed):
    x, y = draw(ROWS, seed)
    member = DiagonalGaussian.fit(y.astype(float))
    mixture = even_mixture(member, 5, Batch(y.astype(float)))
    scales = {"center": x.mean(axis=0), "scale": x.std(axis=0)}
    network = Network.start(mixture, 1, (20,), seed=seed, activation="tanh", **scales)
    return Conditional(network, mixture.kind), x, y


@jax.jit
@jax.vmap
def train(model, x, y, seed):
    """Take steps on batches that are drawn with replacement."""
    learner = Gradient(negative_log_likelihood, Optimizer(learning_rate=0.01))
    rows = jax.random.randint(jax.random.key(seed), (STEPS, 1, BATCH), 0, ROWS)
    parts = y[rows], jnp.ones((STEPS, 1, BATCH)), x[rows], jnp.zeros((STEPS, 1))
    where = lambda b: (b.values, b.weight, b.inputs, b.point_variance)  # noqa: E731
    batches = eqx.tree_at(where, Batch(y[:1], inputs=x[:1]), parts)
    clock = Clock(jnp.int32(0), jnp.float32(0), jax.random.key(0))
    found = run_steps(learner, model, learner.init(model, lambda: None), None, batches, 0, STEPS, clock)
    return found.model, found.infos, found.finite


@jax.jit
@jax.vmap
def log_prob(model, x, y):
    return model.log_likelihood(Batch(y, inputs=x))


@pytest.fixture(scope="module")
def trained():
    with computing(32):
        parts = [start(seed) for seed in range(SEEDS)]
        models, x, y = (jax.tree.map(lambda *leaves: np.stack(leaves), *part) for part in zip(*parts, strict=True))
        return as_numpy(train(models, x, y, np.arange(SEEDS)))


def fresh(rows, first):
    return (np.stack(part) for part in zip(*(draw(rows, first + seed) for seed in range(SEEDS)), strict=True))


@pytest.mark.slow
def test_a_hundred_seeds_have_no_nan_and_come_near_the_floor(trained):
    models, infos, finite = trained
    assert np.all(finite)
    assert np.all(np.isfinite(infos.value))
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(models))
    with computing(32):
        energies = -np.asarray(log_prob(models, *fresh(2000, 10_000)), np.float64)
    error = energies.std() / np.sqrt(energies.size)
    assert floor() == pytest.approx(-1.282, abs=2e-3)  # 4,000,000 draws: −1.2815 ± 0.0004
    assert floor() - 4 * error < energies.mean() <= -1.05


@pytest.mark.slow
def test_calibrated_sets_cover_nine_tenths(trained):
    models, level, splits = trained[0], 0.9, 20
    with computing(32):
        held, new = (np.asarray(log_prob(models, *fresh(500, first)))[:splits] for first in (20_000, 30_000))
    thresholds = [-conformal_quantile(-row, level) for row in held]
    covered = np.mean([row >= t for row, t in zip(new, thresholds, strict=True)])
    assert covered == pytest.approx(level, abs=0.02)


@pytest.mark.slow
def test_sets_by_levels_of_each_row_cover_too_and_have_several_pieces(trained):
    model, level, rows, draws = jax.tree.map(lambda leaf: leaf[0], trained[0]), 0.9, 500, 400
    (x, y), (other_x, other_y) = draw(rows, 1), draw(rows, 2)
    own = jax.jit(lambda model, x, points: jax.vmap(lambda y: model.log_likelihood(Batch(y, inputs=x)))(points))
    with computing(32):
        sets = []
        for inputs in (x, other_x):
            points = np.asarray(model.sample(jax.random.key(0), draws, inputs=inputs))
            sets.append((points[..., 0], np.asarray(own(model, inputs, points))))
        scores = highest_density_level(np.asarray(own(model, x, y[None]))[0], sets[0][1])
        points, densities = sets[1]
        t = highest_density_threshold(densities, conformal_quantile(scores, level))
        found = pieces_above(
            lambda y: own(model, other_x, np.asarray(y, np.float32)[..., None]), t, density_grid(points)
        )
    covered = found.contains(other_y[:, 0])
    assert covered.mean() == pytest.approx(level, abs=3 * np.sqrt(2 * 0.09 / rows))  # of both sets of rows
    middle = np.abs(other_x[:, 0] - 0.5) < 0.02
    assert np.median(found.counts[middle]) == 3
    assert np.median(found.counts[other_x[:, 0] < 0.1]) == 1
    # the sets are those that draws of their own are in
    inside = np.mean((densities >= t).mean(axis=0))
    assert inside == pytest.approx(conformal_quantile(scores, level), abs=0.01)


@pytest.mark.slow
def test_sets_cover_draws_of_their_own_without_calibration(trained):
    model, level, rows = jax.tree.map(lambda leaf: leaf[3], trained[0]), 0.9, 300
    x, _ = draw(rows, 5)
    with computing(32):
        own = [
            np.asarray(jax.vmap(lambda y: model.log_likelihood(Batch(y, inputs=x)))(model.sample(key, 1000, inputs=x)))
            for key in (0, 1)
        ]
    covered = np.mean(own[1] >= highest_density_threshold(own[0], level))
    assert covered == pytest.approx(level, abs=3 * np.sqrt(2 * 0.09 / own[0].size))
