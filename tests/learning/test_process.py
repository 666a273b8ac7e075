"""Online learning of memories: windows against a textbook loop, means against the exact field, and small streams."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.special import softmax

from kullback.assess import mean_field, rate
from kullback.core import Batch, TimeIndex
from kullback.families import Categorical, DiagonalGaussian
from kullback.learning import (
    Epochs,
    Minibatches,
    Optimizer,
    ProcessGradient,
    begin,
    decaying_adam,
    fit,
    process_window,
)
from kullback.models import SpikingMemory, TabularMemory, golden_mean
from models.process.fixtures import SECOND, tabular
from tiers import slow

ROWS, CHAINS = 12, 3
X = np.array([0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0], float)
WEIGHT = np.array([1, 1, 0.5, 1, 0, 1, 1, 2, 1, 1, 1, 0.25])
STARTS = np.arange(ROWS) == 7
CRITIC = np.array([0.3, -0.7, 0.4])


def begun(learner, process):
    """Return a memory with a past: a row before, and traces that are not empty."""
    memory = learner.memory(process, lambda: None, jax.random.key(4))
    trace = eqx.tree_at(
        lambda t: t.memory_logits, memory.trace, np.cos(np.arange(8.0 * learner.chains)).reshape(-1, 2, 2, 2)
    )
    return memory._replace(last=jnp.asarray(1.0), begun=jnp.asarray(True), trace=trace)


def tables(process):
    """Return q(z' | z, x), p(z' | z, x) and p(x' | z, x)."""
    logits = process.memory_logits, process.expected_logits, process.prediction_logits
    return [softmax(np.asarray(part), axis=-1) for part in logits]


def textbook(process, memory, key, discount, critic):
    """Return direction and traces by Exp-GPOMDP, one row and one chain after the other, in NumPy.

    The reward is −γ, the action is the next memory, averaged out at its own row; a trace is updated after its use here,
    and blamed for what follows.
    """
    q, a, b = tables(process)
    first, second = jax.random.split(key)
    noise, fresh = np.asarray(process.noise(first, (ROWS, CHAINS))), np.asarray(process.start(second, CHAINS))
    z, last, trace = np.array(memory.z), int(memory.last), np.array(memory.trace.memory_logits)
    total = [np.zeros((2, 2, 2)) for _ in range(3)]

    def value(z, x):
        return 0.0 if critic is None or z == 1 else critic[0] + critic[1 + x]

    for t in range(ROWS):
        if WEIGHT[t] == 0:
            continue
        x, following = last, int(X[t])
        last = following
        if STARTS[t]:
            z, trace = fresh.copy(), np.zeros_like(trace)
            continue
        after = np.array([np.argmax(np.log(q[z[m], x]) + noise[t, m]) for m in range(CHAINS)])
        kl = np.array([np.sum(q[z[m], x] * np.log(q[z[m], x] / a[z[m], x])) for m in range(CHAINS)])
        gamma = kl - np.log(b[z, x, following])
        gamma = gamma + np.array([discount * value(after[m], following) - value(z[m], x) for m in range(CHAINS)])
        for m in range(CHAINS):
            here, p = (z[m], x), q[z[m], x]
            gain = gamma[m] - np.mean(np.delete(gamma, m))
            logs = np.log(p / a[here]) + discount * np.array([value(w, following) for w in range(2)])
            total[0] += WEIGHT[t] * discount * trace[m] * gain
            total[0][here] += WEIGHT[t] * p * (logs - p @ logs)
            total[1][here] += WEIGHT[t] * (a[here] - p)
            total[2][here] += WEIGHT[t] * (b[here] - np.eye(2)[following])
            trace[m] *= discount
            trace[m][here] += np.eye(2)[after[m]] - p
        z = after
    mass = WEIGHT[(WEIGHT > 0) & ~STARTS].sum()
    return [part / mass / CHAINS for part in total], trace, z


@pytest.mark.parametrize("critic", [slow(None), CRITIC], ids=["plain", "critic"])
def test_a_window_is_the_sum_of_its_rows_one_by_one(critic):
    learner, process, key = ProcessGradient(chains=CHAINS), tabular(), jax.random.key(3)
    memory, batch = begun(learner, process), Batch(X, WEIGHT, time=TimeIndex(STARTS))
    window = jax.jit(process_window)
    found = window(process, memory, batch, key, 0.8, critic)
    parts, trace, z = textbook(process, memory, key, 0.8, critic)
    names = ("memory_logits", "expected_logits", "prediction_logits")
    for name, part in zip(names, parts, strict=True):
        np.testing.assert_allclose(getattr(found.direction, name), part, atol=1e-14)
    np.testing.assert_allclose(found.memory.trace.memory_logits, trace, atol=1e-14)
    np.testing.assert_array_equal(found.memory.z, z)
    assert float(found.memory.last) == X[-1]
    # what another predictor says of the rows moves nothing, and is reported
    told = window(
        process,
        memory,
        Batch(X, WEIGHT, time=TimeIndex(STARTS), inputs=np.sin(np.arange(12.0))[:, None]),
        key,
        0.8,
        critic,
    )
    for name in names:
        np.testing.assert_allclose(getattr(told.direction, name), getattr(found.direction, name), atol=1e-12)
    assert abs(float(told.report.exploration) + float(found.report.single)) > 1e-3
    np.testing.assert_array_equal(np.asarray(found.predicted), (WEIGHT > 0) & ~STARTS)
    assert (np.asarray(found.novelty)[np.asarray(found.predicted) == 0] == 0).all()


@pytest.mark.slow
def test_a_network_predicts_along_the_path_of_its_units():
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(4, columns)) for columns in (1, 1, 1)]
    network = SpikingMemory(*weights, Categorical([0.5, 0.5]).kind)
    found = jax.jit(process_window)(
        network,
        ProcessGradient(chains=4).memory(network, lambda: None, jax.random.key(0)),
        Batch(X),
        jax.random.key(1),
        0.9,
    )
    learner = ProcessGradient(chains=4)
    memory = learner.memory(network, lambda: None, jax.random.key(0))
    first, _ = jax.random.split(jax.random.key(1))
    noise, z, paths = np.asarray(network.noise(first, (ROWS, 4))), np.asarray(memory.z), []
    for t in range(1, ROWS):
        paths.append(z)
        z = np.asarray(network.memory_natural(z, X[t - 1]) + noise[t] > 0, float)

    def nats(prediction):
        moved = eqx.tree_at(lambda n: n.prediction_weights, network, prediction)
        return -jnp.mean(moved.log_prediction(jnp.stack(paths), X[:-1, None], X[1:, None]))

    np.testing.assert_allclose(
        found.direction.prediction_weights, jax.jit(jax.grad(nats))(jnp.asarray(weights[2])), atol=1e-13
    )
    np.testing.assert_array_equal(found.memory.z, z)


@eqx.filter_jit
def simulate(process, memory, windows, discount, critic, key):
    """Return the directions of windows of a stream, one below the other, at fixed parameters."""

    def body(carry, rows):
        memory, number = carry
        found = process_window(process, memory, Batch(rows), jax.random.fold_in(key, number), discount, critic)
        return (found.memory, number + 1), (found.direction, found.report)

    return jax.lax.scan(body, (memory, 0), windows)[1]


def textbook_updates(process, discount, rows, replicas, seed=0):
    """Return α·γ of the plain rule, OLPOMDP with the reward −γ, of several streams side by side."""
    q, a, b = tables(process)
    x = np.asarray(SECOND.sample(seed, rows * replicas)).reshape(replicas, rows).T
    rng = np.random.default_rng(seed)
    z, trace, found = np.zeros(replicas, int), np.zeros((replicas, 2, 2, 2)), np.zeros((rows - 1, replicas, 2, 2, 2))
    each = np.arange(replicas)
    for t in range(rows - 1):
        here, following = (z, x[t]), x[t + 1]
        after = (rng.random(replicas) > q[here][:, 0]).astype(int)
        trace *= discount
        trace[each, z, x[t]] += np.eye(2)[after] - q[here]
        gamma = np.log(q[(*here, after)]) - np.log(a[(*here, after)]) - np.log(b[(*here, following)])
        found[t] = trace * gamma[:, None, None, None]
        z = after
    return found


def spread(means, expected):
    """Return how many standard errors the mean of independent means is from what it should be, at most."""
    error = means.std(axis=0, ddof=1) / len(means) ** 0.5
    return float((np.abs(means.mean(axis=0) - expected) / error).max())


@pytest.mark.slow
def test_updates_have_the_mean_field_for_a_mean_and_a_two_hundredth_of_the_plain_variance():
    process, size, blocks = tabular(), 16, 50
    rows = np.asarray(SECOND.sample(7, 120_000), float).reshape(-1, size)
    learner = ProcessGradient(chains=8)
    memory = learner.memory(process, lambda: None, jax.random.key(0))
    for discount in (0.0, 0.5, 0.9):
        expected = mean_field(SECOND, process, discount)
        found, report = simulate(process, memory, rows, np.asarray(discount), None, jax.random.key(1))
        for name in ("memory_logits", "expected_logits", "prediction_logits"):
            means = np.asarray(getattr(found, name)).reshape(blocks, -1, 2, 2, 2).mean(axis=1)
            assert spread(means, getattr(expected, name)) < 4
        plain = textbook_updates(process, discount, 2_200, 60)[200:].mean(axis=0)
        assert spread(plain, expected.memory_logits) < 4
        costs = (np.asarray(report.exploitation) + np.asarray(report.exploration)).reshape(blocks, -1).mean(axis=1)
        assert spread(costs[:, None], rate(SECOND, process).cross) < 4
    ours = np.asarray(found.memory_logits).reshape(blocks, -1, 2, 2, 2).mean(axis=1).var(axis=0, ddof=1).sum()
    ratio = plain.var(axis=0, ddof=1).sum() * 1_999 / (ours * 120_000 / blocks)
    assert ratio > 200


@pytest.mark.slow
@pytest.mark.parametrize("chains", [1, 4])
def test_a_critic_and_a_single_chain_leave_the_mean_where_it_is(chains):
    process, blocks = tabular(), 50
    rows = np.asarray(SECOND.sample(8, 80_000), float).reshape(-1, 16)
    memory = ProcessGradient(chains=chains).memory(process, lambda: None, jax.random.key(0))
    found, _ = simulate(process, memory, rows, np.asarray(0.9), CRITIC, jax.random.key(1))
    means = np.asarray(found.memory_logits).reshape(blocks, -1, 2, 2, 2).mean(axis=1)
    assert spread(means, mean_field(SECOND, process, 0.9).memory_logits) < 4


# --- learning -----------------------------------------------------------------------------------------


def follow(learner, process, rows, size=16, seed=0, dtype=np.float64):
    """Return where a fit of one stream ends, and the value of each window."""
    values = []
    data = Minibatches(lambda r: Batch(rows[r].astype(dtype), np.ones(len(r), dtype)), len(rows), size, shuffle=False)
    place = begin(learner, process, data, Epochs(1), seed=seed)
    place, _ = fit(
        learner, place, data, Epochs(1), seed=seed, record=lambda infos: values.extend(i.value for i in infos)
    )
    return place, np.array(values)


def test_a_constant_stream_costs_nothing_in_the_end_and_breaks_nothing():
    process = TabularMemory.random(2, 2, 0)
    place, values = follow(ProcessGradient(Optimizer(learning_rate=0.3), chains=2), process, np.ones(4_000))
    assert -values[0] == pytest.approx(np.log(2), abs=1e-12)  # predicted before anything is learned
    assert 0 <= -values[-1] < 1e-3
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(place.model))
    assert place.failures == 0


@pytest.mark.slow
def test_what_is_kept_does_not_grow():
    learner, process = ProcessGradient(chains=2), TabularMemory.random(2, 2, 0)
    rows = np.asarray(SECOND.sample(0, 4_000), float)

    def size(place):
        return sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves((place.model, place.state, place.memories)))

    assert size(follow(learner, process, rows[:400])[0]) == size(follow(learner, process, rows)[0])


@pytest.mark.slow
def test_a_golden_mean_is_learned_with_its_last_symbol():
    learner = ProcessGradient(Optimizer(learning_rate=0.02), chains=4)
    place, _ = follow(learner, TabularMemory.random(2, 2, 0), np.asarray(golden_mean().sample(0, 20_000), float))
    assert rate(golden_mean(), place.model).value < 0.01  # of 0.231


@pytest.mark.slow
def test_a_second_order_chain_is_learned_with_two_memories_and_any_optimizer():
    optimizer = Optimizer(decaying_adam, learning_rate=0.05, delay=1_000, power=0.6)
    rows = np.asarray(SECOND.sample(3, 80_000), float)
    place, values = follow(ProcessGradient(optimizer), TabularMemory.random(2, 2, 1), rows)
    assert rate(SECOND, place.model).value < 0.01  # 0.231 without memory
    assert -values[-2_000:].mean() < SECOND.entropy_rate + 0.03
    slow_one = ProcessGradient(Optimizer(optax.sgd, learning_rate=1.0), critic=Optimizer(learning_rate=0.01))
    place, _ = follow(slow_one, TabularMemory.random(2, 2, 1), rows[:40_000])
    assert rate(SECOND, place.model).value < 0.05
    assert np.abs(place.state.critic[0]).max() > 1e-3


@pytest.mark.slow
def test_a_network_remembers_numbers_too():
    rng = np.random.default_rng(0)
    member = DiagonalGaussian([0.0], [1.0])
    process = SpikingMemory.random(member, 8, 0, center=0.0, scale=1.0, dtype=np.float32)
    # x' = −x of two rows ago, with noise
    series = np.zeros((60_000, 1), np.float32)
    series[:2] = 1
    noise = 0.3 * rng.normal(size=60_000)
    for t in range(2, len(series)):
        series[t] = np.sign(-series[t - 2]) + noise[t]
    _, values = follow(ProcessGradient(Optimizer(learning_rate=5e-3)), process, series, dtype=np.float32)
    floor = 0.5 * np.log(2 * np.pi * np.e * 0.3**2)
    blind = -values[:20].mean()
    assert -values[-500:].mean() < floor + 0.25 * (blind - floor)


def test_what_cannot_be_learned_with_is_refused():
    with pytest.raises(ValueError, match="discount is 1.2"):
        ProcessGradient(discount=1.2)
    with pytest.raises(ValueError, match="chains is 0"):
        ProcessGradient(chains=0)
    with pytest.raises(ValueError, match="chains is 2.5"):
        ProcessGradient(chains=2.5)
