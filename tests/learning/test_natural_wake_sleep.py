"""The natural step: written out in NumPy on the same draws, as an optax transformation, and what keeps it in bounds."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from sklearn.linear_model import LogisticRegression

from contracts.quick import quick
from kullback.core import Batch
from kullback.geometry import scale_by_layer_fisher
from kullback.learning import (
    AllAtOnce,
    Clock,
    Epochs,
    NaturalWakeSleep,
    ReweightedWakeSleep,
    Sleep,
    Wake,
    begin,
    fit,
    merge_messages,
    wake_q,
)
from kullback.models import HelmholtzMachine
from models.helmholtz.small_machine import VISIBLE, random_machine

DATA = np.random.default_rng(0).dirichlet(np.ones(16))
ROWS = 32
DELAY = 10.0


def machine_of(dtype, seed=6):
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), random_machine(seed))


def batch_of(dtype, turn=0, weight=None):
    rows = VISIBLE[np.random.default_rng(turn).choice(16, ROWS, p=DATA)]
    return Batch(rows.astype(dtype), np.ones(ROWS) if weight is None else weight)


def clock_at(turn, points=None):
    return Clock(
        jnp.asarray(turn, jnp.int32), jnp.asarray(turn * ROWS if points is None else points, float), KEYS[turn]
    )


KEYS = [jax.random.fold_in(jax.random.key(0), turn) for turn in range(8)]
ALL = Batch(np.tile(VISIBLE, (4, 1)), np.tile(DATA, 4))


def take(learner, model, state, batch, clock):
    message, _, _ = learner.gather(model, state, None, batch, clock)
    return learner.move(model, state, message, clock)


step = quick(take)


# --- the step in NumPy ----------------------------------------------------------------------------------------


def sigma(odds):
    return 1 / (1 + np.exp(-odds))


def with_one(units):
    return np.concatenate([units, np.ones((len(units), 1))], axis=1)


DRAWS = 5


@quick
def drawn(model, batch, key):
    first, second = jax.random.split(key)
    return Wake.of(model, batch, first, DRAWS, weighted=True), Sleep.of(model, second, len(batch.weight))


def written(model, batch, clock, learner, draws=DRAWS):
    """Return the natural gradient by dense solves in 64 bits, on the draws of the step: the first of a learner's."""
    awake, asleep = drawn(model, batch, clock.key)
    G, R = ([np.asarray(w, float) for w in part] for part in (model.generation, model.recognition))
    top = np.asarray(model.top, float)
    v = np.repeat(np.asarray(batch.values, float), draws, axis=0)
    layers = [v, *(np.asarray(part, float).reshape(len(v), -1) for part in awake.found.layers)]
    dreams = [np.asarray(part, float) for part in asleep.layers]

    def log_probs(units, odds):
        return np.sum(units * odds - np.logaddexp(0, odds), axis=1)

    up = [with_one(below) @ w for below, w in zip(layers[:-1], R, strict=True)]
    down = [with_one(above) @ w for above, w in zip(layers[1:], G, strict=True)]
    ratio = log_probs(layers[-1], top) + sum(log_probs(u, a) for u, a in zip(layers[:-1], down, strict=True))
    ratio = (ratio - sum(log_probs(u, a) for u, a in zip(layers[1:], up, strict=True))).reshape(-1, draws)
    share = np.exp(ratio - ratio.max(axis=1, keepdims=True))
    weight = np.asarray(batch.weight, float)
    share = (share / share.sum(axis=1, keepdims=True) * (weight / weight.sum())[:, None]).ravel()
    wake_p = [
        with_one(a).T @ (share[:, None] * (u - sigma(o))) for a, u, o in zip(layers[1:], layers, down, strict=False)
    ]
    wake_top = share @ (layers[-1] - sigma(top))
    guess = [with_one(b).T @ (share[:, None] * (u - sigma(o))) for b, u, o in zip(layers, layers[1:], up, strict=False)]
    dreamt_up = [with_one(below) @ w for below, w in zip(dreams, R, strict=False)]
    slept = [with_one(b).T @ (u - sigma(o)) / len(b) for b, u, o in zip(dreams, dreams[1:], dreamt_up, strict=False)]
    if learner.fisher == "model":
        inputs, count = dreams, len(dreams[0])
        weights, above = np.full(count, 1 / count), [with_one(a) @ w for a, w in zip(dreams[1:], G, strict=True)]
        below = dreamt_up
    else:
        inputs, weights, above, below = layers, share, down, up
    damping, floor = float(learner.damping), float(learner.floor)

    def moments(units, weights):
        X = with_one(units)
        return (X * weights[:, None]).T @ X

    def scale(odds):
        return weights @ (sigma(odds) * sigma(-odds)) + floor

    def solve(matrix, gradient):
        return np.linalg.solve(matrix + damping * np.diag(np.arange(len(matrix)) < len(matrix) - 1), gradient)

    seen = moments(np.asarray(ALL.values, float), np.asarray(ALL.weight) / np.sum(ALL.weight))
    matrices = [seen, *(moments(units, weights) for units in inputs[1:])]
    slopes = [0.5 * (a + b) for a, b in zip(guess, slept, strict=True)]
    gradient = HelmholtzMachine(wake_p, wake_top, slopes)
    natural = HelmholtzMachine(
        [solve(A, g) / scale(o) for A, g, o in zip(matrices[1:], wake_p, above, strict=True)],
        wake_top / (sigma(top) * sigma(-top) + floor),
        [solve(A, g) / scale(o) for A, g, o in zip(matrices, slopes, below, strict=False)],
    )
    return gradient, natural


def relative(found, expected):
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    return max(np.abs(np.asarray(a) - b).max() / np.abs(b).max() for a, b in pairs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fisher", "dtype", "tolerance"),
    [
        ("data", np.float32, 1e-4),
        ("data", np.float64, 1e-9),
        ("model", np.float32, 1e-4),
        ("model", np.float64, 1e-9),
    ],
)
def test_a_step_is_as_it_is_written_on_the_same_draws(fisher, dtype, tolerance):
    """Rows that do not count among them; 32 bits keep four digits of the step in 64."""
    learner = NaturalWakeSleep(0.2, DELAY, radius=1e9, fisher=fisher, draws=DRAWS, batch=ROWS)
    model, weight = machine_of(dtype), np.r_[np.zeros(4), np.linspace(0.5, 2, ROWS - 4)]
    batch, clock = batch_of(dtype, weight=weight), clock_at(0)
    state = learner.init(model, lambda: ALL)
    moved, _, info = step(learner, model, state, batch, clock)
    _, natural = written(model, batch, clock, learner)
    assert {leaf.dtype for leaf in jax.tree.leaves(moved)} == {np.dtype(dtype)}
    change = jax.tree.map(lambda a, b: (np.asarray(a, float) - np.asarray(b, float)) / 0.2, moved, model)
    if dtype == np.float32:  # the change is small beside the parameters: it is known to their last digits
        tolerance += 2 * 6e-8 * max(np.abs(leaf).max() for leaf in jax.tree.leaves(model)) / 0.2
    assert relative(change, natural) < tolerance
    assert float(info.mass) == pytest.approx(weight.sum(), rel=1e-6)


def leaf_inputs(model, batch, clock, draws):
    """Return what the transformation asks for: inputs and slopes of each leaf, and the weight of each draw."""
    awake = Wake.of(model, batch, jax.random.split(clock.key)[0], draws, weighted=True)
    count = awake.share.size

    def rows(part):
        return jnp.broadcast_to(part, (*awake.share.shape, part.shape[-1])).reshape(count, -1)

    def slope(odds):
        return rows(jax.nn.sigmoid(odds) * jax.nn.sigmoid(-odds))

    hidden = [rows(part) for part in awake.found.layers]
    top = jnp.broadcast_to(jnp.asarray(model.top), (*awake.share.shape, len(model.top)))
    return {
        "inputs": [*hidden, None, None, *hidden[:-1]],
        "slopes": [*map(slope, awake.found.generation_logits), slope(top), *map(slope, awake.found.recognition_logits)],
        "weight": awake.share.ravel(),
    }


@pytest.mark.slow
def test_the_transformation_of_the_gradient_of_reweighted_wake_sleep_is_the_fused_step():
    """In 32 bits to 1e-5, over steps with new inverses and without."""
    learner = NaturalWakeSleep(0.2, DELAY, 0.9, radius=1e9, draws=5, batch=ROWS, refresh=2, memory=0.6)
    model = machine_of(np.float32)
    state = learner.init(model, lambda: ALL)
    known = [None, None, None, state.visible, None]
    schedule = lambda count: -0.2 * (1 + count / DELAY) ** -0.9  # noqa: E731
    transform = optax.chain(
        scale_by_layer_fisher(0.3, 0.02, refresh=2, memory=0.6, known=known), optax.scale_by_schedule(schedule)
    )
    objective = ReweightedWakeSleep(5)

    @quick
    def other(model, state, batch, clock):
        gradient = jax.grad(lambda m: objective(m, batch, None, clock.key).value)(model)
        updates, state = transform.update(gradient, state, model, **leaf_inputs(model, batch, clock, 5))
        return updates, state

    chained = transform.init(model)
    for turn in range(6):
        batch, clock = batch_of(np.float32, turn), clock_at(turn)
        moved, state, _ = step(learner, model, state, batch, clock)
        updates, chained = other(model, chained, batch, clock)
        for before, after, update in zip(*map(jax.tree.leaves, (model, moved, updates)), strict=True):
            np.testing.assert_allclose(after, before + update, rtol=1e-5, atol=1e-5)
            assert np.abs(update).max() > 1e-3
        model = moved
    assert int(state.refreshes) == 4  # at steps 0, 1, 2 and 4


# --- what keeps it in bounds ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_length_of_a_step_is_at_most_the_radius_and_its_rate_decays():
    model, batch = machine_of(np.float64), batch_of(np.float64)

    def changes(turn=0, points=0.0, weight=None, **numbers):
        learner = NaturalWakeSleep(
            **{"rate": 0.2, "delay": DELAY, "radius": 1e9, "draws": DRAWS, "batch": ROWS, **numbers}
        )
        state = learner.init(model, lambda: ALL)
        given = batch if weight is None else Batch(batch.values, weight)
        moved, _, _ = step(learner, model, state, given, clock_at(turn, points))
        return np.concatenate([np.ravel(a - b) for a, b in zip(*map(jax.tree.leaves, (moved, model)), strict=True)])

    free = changes()
    gradient, natural = written(model, batch, clock_at(0), NaturalWakeSleep(draws=DRAWS))
    nats = 0.5 * 0.2**2 * sum(np.vdot(u, g) for u, g in zip(*map(jax.tree.leaves, (natural, gradient)), strict=True))
    np.testing.assert_allclose(changes(radius=1.01 * nats), free, rtol=1e-9)
    np.testing.assert_allclose(changes(radius=nats / 4), free / 2, rtol=1e-9)
    # above the damping, where it would be too long, the guard makes it as long as any other
    np.testing.assert_allclose(changes(rate=50.0, radius=nats / 4), free / 2, rtol=1e-9)
    np.testing.assert_allclose(changes(points=30.0 * ROWS), free * 4**-0.9, rtol=1e-9)
    np.testing.assert_allclose(changes(points=30.0 * ROWS, power=0.5), free / 2, rtol=1e-9)
    # half of the points go half as far, and twice as many not farther
    np.testing.assert_allclose(changes(weight=np.full(ROWS, 0.5)), free / 2, rtol=1e-9)
    np.testing.assert_allclose(changes(weight=np.full(ROWS, 2.0)), free, rtol=1e-9)
    # 27 parameters of the generation network, in place of 180,000
    usual = changes(delay=None, points=1e7 * ROWS) / free
    np.testing.assert_allclose(usual, (1 + 1e7 / (20 * (180_000 / 27) ** 0.75)) ** -0.9, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"fisher": "model"}, {"streams": True}], ids=str)
def test_dead_units_and_flat_slopes_have_finite_steps(options):
    """Units that are always on, and never, of both networks and of the data, in 32 bits."""
    model = machine_of(np.float32)
    generation = [w.at[-1, 0].set(200.0).at[-1, 1].set(-200.0) for w in model.generation]
    recognition = [w.at[-1, 0].set(200.0).at[-1, 1].set(-200.0) for w in model.recognition]
    model = HelmholtzMachine(generation, model.top.at[0].set(200.0), recognition)
    rows = VISIBLE * [1, 0, 1, 0] + [0, 0, 0, 1]
    learner = NaturalWakeSleep(0.3, DELAY, draws=3, batch=16, refresh=2, **options)
    state = learner.init(model, lambda: None)
    for turn in range(4):
        model, state, info = step(learner, model, state, Batch(rows.astype(np.float32), 16 * DATA), clock_at(turn))
        assert np.isfinite(info.value)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves((model, state))]
    assert all(np.isfinite(leaf).all() for leaf in leaves)
    if options.get("streams"):
        X = with_one(rows)
        np.testing.assert_allclose(state.visible, (X * DATA[:, None]).T @ X, atol=1e-6)


@pytest.mark.slow
def test_rows_with_gaps_are_filled_for_the_metric_and_their_steps_are_finite():
    observed = np.random.default_rng(3).random((16, 4)) < 0.6
    batch = Batch(VISIBLE, DATA, observed=observed)
    model = machine_of(np.float64)
    for streams in (False, True):
        learner = NaturalWakeSleep(delay=DELAY, draws=3, batch=1, streams=streams)
        state = learner.init(model, lambda: batch)
        moved, after, _ = step(learner, model, state, batch, clock_at(0))
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(moved))
        X = with_one(np.asarray(model.fill(batch.values, observed)))
        for visible in (state.visible, after.visible):
            np.testing.assert_allclose(visible, (X * DATA[:, None]).T @ X, rtol=1e-10)


def test_what_cannot_be_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="draws is 1: one draw has nothing to be weighed against"):
        NaturalWakeSleep(draws=1)
    with pytest.raises(ValueError, match="fisher is 'dreams': it must be 'data' or 'model'"):
        NaturalWakeSleep(fisher="dreams")


@pytest.mark.slow
def test_messages_of_parts_merge_to_that_of_the_whole():
    """Parts are rows by their weights, so that all of them have the same draws; one has nothing to say."""
    learner = NaturalWakeSleep(0.2, DELAY, draws=3, batch=ROWS, streams=True)
    model, clock = machine_of(np.float64), clock_at(0)
    state, part = learner.init(model, lambda: ALL), np.arange(ROWS) % 3

    @quick
    def message(model, weight, turn):
        given = Batch(batch_of(np.float64).values, weight)
        return learner.gather(model, state, None, given, clock._replace(step=turn)).message

    weights = 2 * part, 2 * (part == 1), 4 * (part == 2), 0 * part
    whole, one, other, none = (message(model, weight.astype(float), 0) for weight in weights)
    for several in ((one, other), (other, none, one)):
        merged = functools.reduce(quick(merge_messages), several)
        for found, expected in zip(jax.tree.leaves(merged), jax.tree.leaves(whole), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert float(none[0].mass) == float(none[1].mass) == 0
    # at a step at which no moments are due there are none, and the state stays
    later = message(model, np.ones(ROWS), 21)
    assert float(later[1].mass) == 0
    _, after, _ = quick(lambda *given: learner.move(*given))(model, state, later, clock)
    for found, expected in zip(jax.tree.leaves(after), jax.tree.leaves(state), strict=True):
        np.testing.assert_array_equal(found, expected)


# --- learning -------------------------------------------------------------------------------------------------


def test_one_layer_with_the_exact_blocks_goes_by_newtons_steps_to_logistic_regression():
    """A rate of 1 and the Fisher blocks of the units are iteratively reweighted least squares: 12 steps are enough."""
    rng = np.random.default_rng(1)
    x = (rng.random((400, 4)) < 0.5).astype(float)
    h = (rng.random((400, 3)) < sigma(with_one(x) @ rng.normal(size=(5, 3)))).astype(float)
    start = random_machine(0, (4, 3))

    @quick
    def newton(weights):
        model = HelmholtzMachine(start.generation, start.top, [weights])
        found = model.recognize(jax.random.key(0), x, 1)._replace(layers=(jnp.asarray(h)[:, None],))
        (slope,) = wake_q(model, Wake(jnp.asarray(x), found, jnp.full((400, 1), 1 / 400), None))
        (blocks,) = model.fisher("recognition", x)
        return weights + jnp.linalg.solve(blocks, slope.gradient.T[..., None])[..., 0].T

    weights = jnp.zeros((5, 3))
    for _ in range(12):
        weights = newton(weights)
    for unit in range(3):
        other = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit(x, h[:, unit])
        np.testing.assert_allclose(weights[:, unit], np.append(other.coef_, other.intercept_), atol=1e-6)


def test_a_step_by_the_exact_blocks_is_the_same_for_units_of_plus_and_minus_1():
    """The machine whose weights are those of the other coordinates: its log odds change alike, by other gradients."""
    start = random_machine(2, (4, 3))

    @quick
    def changes(rows, weights):
        machine = HelmholtzMachine(start.generation, start.top, [weights])
        with_bias = jnp.concatenate([rows, jnp.ones((16, 1))], axis=1)
        odds = with_bias @ weights
        errors = DATA[:, None] * (VISIBLE[:, :3] - jax.nn.sigmoid(odds))
        (blocks,) = machine.fisher("recognition", rows)
        steps = jnp.linalg.solve(blocks, (with_bias.T @ errors).T[..., None])[..., 0].T
        return odds, with_bias @ steps, with_bias @ with_bias.T @ errors

    weights = np.asarray(start.recognition[0])
    halved = np.concatenate([weights[:-1] / 2, weights[-1:] + weights[:-1].sum(axis=0) / 2])
    one, other = changes(VISIBLE, weights), changes(2 * VISIBLE - 1, halved)
    np.testing.assert_allclose(other[0], one[0], atol=1e-12)
    np.testing.assert_allclose(other[1], one[1], rtol=1e-10, atol=1e-10)
    assert np.abs(other[2] - one[2]).max() > 0.1 * np.abs(one[2]).max()  # the gradient itself does depend on it


@pytest.mark.slow
@pytest.mark.parametrize("fisher", ["data", "model"])
def test_a_small_machine_learns_a_law_of_16_patterns(fisher):
    start = HelmholtzMachine.start(DATA @ VISIBLE, (6, 2), 0)
    learner, rule = NaturalWakeSleep(batch=128, fisher=fisher), Epochs(2000)
    data = AllAtOnce(Batch(np.tile(VISIBLE, (8, 1)), np.tile(16 * DATA, 8)))
    place, _ = fit(learner, begin(learner, start, data, rule), data, rule)
    found, least = DATA @ place.model.log_likelihood(Batch(VISIBLE)), DATA @ np.log(DATA)
    assert least - 0.02 < found < least
