"""The ladder of costs: against numbers that are known, enumeration of all paths, and direct minimization."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from kullback.assess import cost_rates, costs, rate
from kullback.assess._costs import _online, _Words
from kullback.assess._limited_memory import _Positions
from kullback.models import FiniteGenerative, FinitePair, even_process, nonunifilar
from models.process.fixtures import SECOND, entangled_p, fixture_p, hidden_pair, markov_pair, with_unsensed

V = [0, 0, 1, 1]
LADDERS = {
    "second": (SECOND, fixture_p(), 5, None, (1.36013042, 1.52748305, 1.54841417)),
    "second, entangled": (SECOND, entangled_p(), 5, None, (0.77685699, 2.44985456, 2.99435914)),
    "even": (even_process(), fixture_p(), 5, None, (0.46049467, 0.58440182, 0.58951384)),
    "(v, u)": (
        markov_pair(0.9, (0.15, 0.85)),
        with_unsensed(entangled_p()),
        4,
        V,
        (2.06651222, 3.30866276, 3.30866276, 3.78102154),
    ),
    "(v, u), hidden": (
        hidden_pair(0.9, 0.85, 0.75),
        with_unsensed(entangled_p()),
        4,
        V,
        (0.61634583, 2.26479526, 2.29780122, 2.33085515),
    ),
}


@pytest.mark.parametrize("name", LADDERS)
def test_ladders_are_those_that_are_known(name):
    truth, generative, steps, senses, known = LADDERS[name]
    found = costs(truth, generative, steps, senses)
    ladder = found[: len(known)]
    np.testing.assert_allclose(ladder, known, atol=1e-8)
    assert (np.diff(ladder) > -1e-12).all()
    assert (found.sensing is None) == (senses is None)


def test_memory_costs_nothing_where_it_sees_all_of_a_chain():
    truth, generative = markov_pair(0.7, (0.3, 0.6)), with_unsensed(entangled_p())
    found = costs(truth, generative, 3, V)
    assert found.memory == pytest.approx(found.online, abs=1e-9)
    assert found.sensing > found.memory + 1e-3


def words_of(truth, steps):
    """Return all words, and their probabilities by products of matrices."""
    words = list(itertools.product(range(truth.symbols), repeat=steps))
    chances = []
    for word in words:
        row = truth.stationary
        for symbol in word:
            row = row @ truth.transition[:, symbol]
        chances.append(row.sum())
    return np.array(words), np.array(chances)


def path_cost(truth, generative, log_q, steps):
    """Return D(q(z, x), p(z, x)) as a sum over all paths of memories and symbols; log_q(k, path, word) is log q_k."""
    words, chances = words_of(truth, steps)
    start, table = jnp.log(generative.start), jnp.log(generative.transition)
    total = 0.0
    for word, chance in zip(words, chances, strict=True):
        if chance == 0:
            continue
        for path in itertools.product(range(generative.memories), repeat=steps):
            log_p = start[path[0], word[0]]
            for k in range(1, steps):
                log_p = log_p + table[path[k - 1], word[k - 1], path[k], word[k]]
            log_path = sum(log_q(k, path, word) for k in range(steps))
            total = total + chance * jnp.exp(log_path) * (log_path + np.log(chance) - log_p)
    return total


@pytest.mark.slow
def test_the_online_cost_is_the_least_over_all_memories_that_look_back():
    truth, generative, steps = even_process(), entangled_p(), 3
    sizes = [2**k * 2**k for k in range(steps)]  # pasts of memories and symbols
    ends = np.cumsum(sizes)

    def value(logits):
        tables = jax.nn.log_softmax(logits.reshape(-1, 2), axis=-1)

        def log_q(k, path, word):
            past = 0
            for z, x in zip(path[:k], word[:k], strict=True):
                past = 4 * past + 2 * z + x
            return tables[ends[k] - sizes[k] + past, path[k]]

        return path_cost(truth, generative, log_q, steps)

    compiled = jax.jit(jax.value_and_grad(value))
    begin = np.random.default_rng(0).normal(size=2 * ends[-1])
    found = minimize(lambda flat: [np.asarray(part) for part in compiled(flat)], begin, jac=True, tol=1e-12)
    assert costs(truth, generative, steps).online == pytest.approx(found.fun, abs=1e-8)


@pytest.mark.slow
def test_the_cost_of_limited_memory_is_the_least_over_memories_that_see_the_last():
    truth, generative, steps = SECOND, entangled_p(), 3

    def value(logits):
        first = jax.nn.log_softmax(logits[:2])
        tables = jax.nn.log_softmax(logits[2:].reshape(steps - 1, 2, 2, 2), axis=-1)

        def log_q(k, path, word):
            return tables[k - 1, path[k - 1], word[k - 1], path[k]] if k else first[path[0]]

        return path_cost(truth, generative, log_q, steps)

    compiled = jax.jit(jax.value_and_grad(value))
    rng, least = np.random.default_rng(0), np.inf
    for _ in range(6):
        begin = rng.normal(size=2 + 8 * (steps - 1))
        found = minimize(lambda flat: [np.asarray(part) for part in compiled(flat)], begin, jac=True, tol=1e-12)
        least = min(least, found.fun)
    assert costs(truth, generative, steps).memory == pytest.approx(least, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "seed", "least"), [(SECOND, 1, 0.14290752), (even_process(), 3, 0.06658734)], ids=("second", "even")
)
def test_with_p_made_best_too_a_memory_that_is_large_enough_costs_nothing(truth, seed, least):
    """p(z₁, x₁) and p(z', x' | z, x) by descent on the online cost; from these starts it finds the known least."""

    def best(logits):
        tables = softmax(logits.reshape(5, 4), axis=1)
        return FiniteGenerative(tables[0].reshape(2, 2), tables[1:].reshape(2, 2, 2, 2))

    def online(logits):
        p = best(logits)
        return _online(words, np.asarray(p.start), np.asarray(p.transition))

    words, begin = _Words.of(truth, 5), 2 * np.random.default_rng(seed).normal(size=20)
    found = minimize(online, begin, method="BFGS")
    ladder = costs(truth, best(found.x), 5)
    assert least - 1e-8 < ladder.online < least + 1e-6
    assert ladder.memory == pytest.approx(ladder.online, abs=1e-9)


def test_sweeps_never_rise():
    rng = np.random.default_rng(0)
    p = entangled_p()
    positions = _Positions(SECOND, np.asarray(p.start), np.asarray(p.transition), np.arange(2))
    log_q = np.log(rng.dirichlet(np.ones(2), (4, 6, 2, 2)))
    first, values = np.log(np.full((6, 2), 0.5)), []
    for _ in range(30):
        value, first = positions.sweep(log_q, first)
        values.append(value)
    assert (np.diff(values, axis=0) < 1e-12).all()
    assert values[0].max() - values[-1].min() > 0.01


def test_in_the_long_run_rates_are_those_that_are_known():
    found = cost_rates(SECOND, fixture_p())
    np.testing.assert_allclose(found[:3], (0.3980569, 0.4346757, 0.4455056), atol=1e-7)


@pytest.mark.slow
def test_rates_are_the_differences_of_ladders():
    np.testing.assert_allclose(cost_rates(SECOND, entangled_p())[:3], (0.2468900, 0.4957842, 0.6744104), atol=1e-7)
    truth, p = nonunifilar(0.3, 0.6), fixture_p()
    long, short = costs(truth, p, 13), costs(truth, p, 12)
    np.testing.assert_allclose(np.subtract(long[:3], short[:3]), cost_rates(truth, p)[:3], atol=2e-5)
    with pytest.raises(ValueError, match="different beliefs"):
        cost_rates(nonunifilar(0.5, 0.5), p)


@pytest.mark.slow
def test_sensing_less_costs_more_in_the_long_run():
    truth, p = markov_pair(0.9, (0.15, 0.85)), with_unsensed(entangled_p())
    found = cost_rates(truth, p, V)
    assert found.free < found.online
    assert found.memory == pytest.approx(found.online, abs=1e-7)
    long, short = costs(truth, p, 9, V), costs(truth, p, 8, V)
    assert found.sensing == pytest.approx(long.sensing - short.sensing, abs=1e-5)


def test_a_memory_that_p_has_no_use_for_costs_nothing():
    fair = FiniteGenerative.independent(np.full((2, 2, 2), 0.5), np.full((2, 2, 2), 0.5))
    found = costs(SECOND, fair, 4)
    assert found.memory == pytest.approx(found.free, abs=1e-12)
    assert cost_rates(SECOND, fair).memory == pytest.approx(
        rate(SECOND, FinitePair(np.full((2, 2, 2), 0.5), fair)).value, abs=1e-10
    )


def test_impossible_questions_are_refused_and_impossible_words_cost_infinitely_much():
    never = FiniteGenerative(np.full((1, 2), 0.5), np.broadcast_to([1.0, 0.0], (1, 2, 1, 2)))
    assert costs(SECOND, never, 3)[:3] == (np.inf, np.inf, np.inf)
    with pytest.raises(ValueError, match="without zeros"):
        cost_rates(SECOND, never)
    with pytest.raises(ValueError, match="steps is 0"):
        costs(SECOND, fixture_p(), 0)
    with pytest.raises(ValueError, match="too many to enumerate"):
        costs(SECOND, fixture_p(), 40)
    with pytest.raises(ValueError, match="senses has shape"):
        costs(SECOND, fixture_p(), 3, [0, 1, 1])
    with pytest.raises(ValueError, match="must be as many"):
        costs(SECOND, with_unsensed(fixture_p()), 3)
    assert costs(SECOND, fixture_p(), 1).online >= 0
