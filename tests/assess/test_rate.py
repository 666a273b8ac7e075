"""The rate of a memory, its gradient and the mean of the online rule: against autodiff, differences and brute force."""

import contextlib
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize, root
from scipy.special import softmax

from kullback.assess import mean_field, rate, rate_gradient, rate_parts
from kullback.assess._chain import Chain, tables_of
from kullback.assess._rate import _cost, pull_back
from kullback.families import Categorical
from kullback.models import FiniteGenerative, FinitePair, SpikingMemory, TabularMemory, even_process, golden_mean
from models.process.fixtures import ENTROPY_RATES, SECOND, TRUTHS, entangled_p, fixture_p, series, tabular
from tiers import slow

#: J, V, exploitation, exploration; norms of the gradients in λ, a and b; relative bias at ρ = 0, .5, .9, .99
KNOWN = {
    "second": (
        (0.92828644, 0.47305429, 0.04406764, 0.42898665),
        (0.08178075, 0.10580913, 0.20524970),
        (0.3416, 0.1819, 0.03805, 0.003843),
    ),
    "even": (
        (0.72920426, 0.26710614, 0.03363087, 0.23347527),
        (0.09511131, 0.08426078, 0.13413779),
        (0.3069, 0.1626, 0.03503, 0.003575),
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_rates_and_gradients_and_biases_are_those_that_are_known(name):
    truth, process = TRUTHS[name], tabular()
    (cross, value, exploitation, exploration), norms, biases = KNOWN[name]
    found, parts, slope = rate(truth, process), rate_parts(truth, process), rate_gradient(truth, process)
    np.testing.assert_allclose(found, (value, cross, ENTROPY_RATES[name]), atol=1e-8)
    np.testing.assert_allclose(parts, (exploitation, exploration), atol=1e-8)
    leaves = slope.memory_logits, slope.expected_logits, slope.prediction_logits
    np.testing.assert_allclose([np.linalg.norm(leaf) for leaf in leaves], norms, atol=1e-8)
    for discount, bias in zip((0, 0.5, 0.9, 0.99), biases, strict=True):
        off = mean_field(truth, process, discount).memory_logits - slope.memory_logits
        assert np.linalg.norm(off) / np.linalg.norm(slope.memory_logits) == pytest.approx(bias, rel=5e-4)


def cross_rate(truth, memory, generative):
    """Return J by a linear solve in JAX, over all (u, x, z), for autodiff: nothing here is shared with the library."""
    states, symbols, k = truth.states, truth.symbols, len(memory)
    moves = jnp.einsum("uyv,zxw->uxzvyw", jnp.asarray(truth.transition), memory).reshape((states * symbols * k,) * 2)
    cost = jnp.einsum("uyv,zxw,zxwy->uxz", truth.transition, memory, jnp.log(memory)[..., None] - jnp.log(generative))
    n = len(moves)
    # what is never reached has no way in, so that the law there is 0
    law = jnp.linalg.solve((jnp.eye(n) - moves + 1 / n).T, jnp.full(n, 1 / n))
    return law @ cost.ravel()


@pytest.mark.parametrize("name", ["second", slow("even"), slow("nonunifilar")])
def test_the_gradient_is_that_of_autodiff_and_of_differences(name):
    truth, process = TRUTHS[name], tabular()

    def cross(parts):
        memory, expected, prediction = (jax.nn.softmax(part, axis=-1) for part in parts)
        return cross_rate(truth, memory, expected[..., None] * prediction[:, :, None])

    parts = process.memory_logits, process.expected_logits, process.prediction_logits
    value, slopes = jax.jit(jax.value_and_grad(cross))(parts)
    found = rate_gradient(truth, process)
    assert rate(truth, process).cross == pytest.approx(float(value), abs=1e-14)
    leaves = found.memory_logits, found.expected_logits, found.prediction_logits
    for leaf, slope in zip(leaves, slopes, strict=True):
        np.testing.assert_allclose(leaf, slope, atol=1e-14)
    for place in ((0, 0, 0), (1, 1, 0)):
        ends = [
            rate(truth, eqx.tree_at(lambda p: p.memory_logits, process, process.memory_logits + nudge)).value
            for nudge in (1e-5 * _unit(process.memory_logits, place), -1e-5 * _unit(process.memory_logits, place))
        ]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(found.memory_logits[place], abs=1e-9)


def _unit(like, place):
    found = np.zeros_like(like)
    found[place] = 1
    return found


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.9])
def test_the_mean_field_is_the_sum_over_what_follows_a_score(discount):
    truth, process = SECOND, tabular()
    tables = tables_of(process)
    chain = Chain.of(truth, tables.memory)
    cost = _cost(chain, tables)
    ahead, term = np.zeros(len(chain.law)), (chain.moves * cost).sum(axis=1)
    for k in range(1, 400):  # Σ ρ^k P^{k−1} c; scores have mean 0, so J needs no taking off
        ahead, term = ahead + discount**k * term, chain.moves @ term
    weight = chain.by_memory_move(chain.flow * (cost + ahead), (2, 2))
    expected = pull_back(process, weight, np.zeros((2, 2, 2, 2))).memory_logits
    np.testing.assert_allclose(mean_field(truth, process, discount).memory_logits, expected, atol=1e-13)


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.9, 1.0])
def test_what_may_be_added_to_the_cost_moves_nothing(discount):
    truth, process, rng = SECOND, tabular(), np.random.default_rng(0)
    tables = tables_of(process)
    chain = Chain.of(truth, tables.memory)
    cost = _cost(chain, tables)
    expected = mean_field(truth, process, discount).memory_logits

    def field(added):
        weight = chain.by_memory_move(chain.advantage(cost + added, discount), (2, 2))
        return pull_back(process, weight, np.zeros((2, 2, 2, 2))).memory_logits

    critic, visible = rng.normal(size=len(chain.law)), rng.normal(size=(2, 2))
    x, y = chain.before[1], chain.after[1]
    for added in (3.0, visible[x, y], discount * critic[None, :] - critic[:, None]):
        np.testing.assert_allclose(field(added), expected, atol=1e-12)
    if discount > 0:  # a baseline of memory and symbol alone is not allowed beside a trace
        baseline = rng.normal(size=(2, 2))[chain.before[0], x]
        assert np.abs(field(np.broadcast_to(baseline, cost.shape)) - expected).max() > 1e-3


@pytest.mark.parametrize("discount", [0.0, 0.9, 1.0])
def test_the_cost_of_another_chain_on_the_same_symbols_moves_nothing(discount):
    truth, process = SECOND, tabular()
    q, p = tables_of(process)
    # two memories that see the same symbols, as one memory of pairs
    both = np.einsum("axb,cxd->acxbd", q, q).reshape(4, 2, 4)
    chain = Chain.of(truth, both)
    (z, x), (w, y) = chain.before, chain.after
    costs = [np.log(q[a, x, b]) - np.log(p[a, x, b, y]) for a, b in ((z // 2, w // 2), (z % 2, w % 2))]
    expected = mean_field(truth, process, discount).memory_logits
    for cost in (costs[0], costs[0] - costs[1]):
        pairs = chain.by_memory_move(chain.advantage(cost, discount), (4, 2)).reshape(2, 2, 2, 2, 2)
        found = pull_back(process, pairs.sum(axis=(1, 4)), np.zeros((2, 2, 2, 2))).memory_logits
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("discount", "asymmetry"), [(0.0, 0.21), (0.5, 0.10), (0.9, 0.019), (1.0, 0.0)])
def test_the_mean_field_is_a_gradient_at_discount_one_only(discount, asymmetry):
    process, size = tabular(), 1e-5

    def field(logits):
        moved = eqx.tree_at(lambda p: p.memory_logits, process, logits.reshape(2, 2, 2))
        return np.ravel(mean_field(SECOND, moved, discount).memory_logits)

    at = np.ravel(process.memory_logits)
    slopes = np.array([(field(at + step) - field(at - step)) / (2 * size) for step in size * np.eye(len(at))])
    found = np.linalg.norm(slopes - slopes.T) / np.linalg.norm(slopes)
    assert found == pytest.approx(asymmetry, abs=0.006 if discount < 1 else 1e-7)


def test_the_gradient_of_p_is_minus_the_mean_score():
    truth, process = SECOND, tabular()
    tables = tables_of(process)
    chain = Chain.of(truth, tables.memory)
    seen = chain.by_move(chain.flow, (2, 2)).sum(axis=2)  # of (z, x, x')
    expected = -(seen - seen.sum(axis=2, keepdims=True) * tables.generative.sum(axis=2))
    np.testing.assert_allclose(rate_gradient(truth, process).prediction_logits, expected, atol=1e-15)


@pytest.mark.slow
def test_a_network_of_two_units_is_its_table_of_four_memories():
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(5, columns)) for columns in (2, 2, 1)]
    network = SpikingMemory(*weights, Categorical([0.5, 0.5]).kind)
    pair = network.pair()
    p = np.asarray(pair.generative.transition)
    table = TabularMemory(*(np.log(each) for each in (pair.memory, p.sum(axis=3), p.sum(axis=2))))
    np.testing.assert_allclose(rate(SECOND, network), rate(SECOND, table), atol=1e-13)
    # the derivative of the rate along the network's own gradient, by differences
    slope = rate_gradient(SECOND, network)
    ends = [
        rate(SECOND, eqx.tree_at(lambda n: n.memory_weights, network, weights[0] + by * slope.memory_weights)).value
        for by in (1e-4, -1e-4)
    ]
    assert (ends[0] - ends[1]) / 2e-4 == pytest.approx(np.sum(slope.memory_weights**2), rel=1e-5)
    assert float(slope.center.value) == 0


@pytest.mark.slow
def test_the_rate_is_the_mean_of_a_long_simulation():
    process, steps, blocks = tabular(), 200_000, 40
    x = np.asarray(SECOND.sample(0, steps))
    q, p = tables_of(process)
    noise, z = np.random.default_rng(0).random(steps), np.zeros(steps, int)
    for step in range(steps - 1):
        z[step + 1] = noise[step] > q[z[step], x[step], 0]
    here = z[:-1], x[:-1]
    cost = np.log(q[(*here, z[1:])]) - np.log(p[(*here, z[1:], x[1:])])
    means = cost[: len(cost) // blocks * blocks].reshape(blocks, -1).mean(axis=1)
    assert abs(means.mean() - rate(SECOND, process).cross) < 4 * means.std(ddof=1) / blocks**0.5


# --- best memories ------------------------------------------------------------------------------------


def prediction_excess(truth, memory):
    """Return H(x' | z, x) − h of a memory: what is left where p is best."""
    chain = Chain.of(truth, memory)
    seen = chain.by_move(chain.flow, memory.shape[:2]).sum(axis=2)
    share = seen / np.where(seen.sum(axis=2, keepdims=True) > 0, seen.sum(axis=2, keepdims=True), 1)
    return -np.sum(seen * np.log(np.where(share > 0, share, 1))) - truth.entropy_rate


def best_pair(truth, logits):
    """Return a memory with the p that is best for it."""
    memory = softmax(logits, axis=-1)
    chain = Chain.of(truth, memory)
    seen = chain.by_move(chain.flow, memory.shape[:2]).sum(axis=2)
    return FinitePair(memory, FiniteGenerative.independent(memory, seen / seen.sum(axis=2, keepdims=True)))


@pytest.mark.parametrize(("name", "least"), [("second", 0.23079747), ("even", 0.14384104), ("golden", 0.0)])
def test_without_memory_the_excess_is_known_and_a_chain_needs_none(name, least):
    assert prediction_excess(TRUTHS[name], np.ones((1, 2, 1))) == pytest.approx(least, abs=1e-8)


@pytest.mark.parametrize(
    ("name", "k", "least"),
    [
        ("second", 2, 0.0),
        ("even", 2, 0.0),
        ("nonunifilar", 1, 0.00752390),
        ("nonunifilar", 2, 0.00150368),
        slow("nonunifilar", 3, 0.000385),
    ],
)
def test_the_best_automaton_of_few_memories_is_known(name, k, least):
    found = []
    for moves in itertools.product(range(k), repeat=2 * k):
        memory = np.eye(k)[np.reshape(moves, (k, 2))]
        with contextlib.suppress(ValueError):  # of two parts: each is one of fewer memories
            found.append(prediction_excess(TRUTHS[name], memory))
    assert min(found) == pytest.approx(least, abs=1e-8 if k < 3 else 5e-7)


def test_the_even_process_has_the_local_minimum_that_repeats_the_last_symbol():
    truth, repeats = even_process(), np.log(np.broadcast_to([[[0.99, 0.01], [0.01, 0.99]]], (2, 2, 2)))

    def value(flat):
        pair = best_pair(truth, flat.reshape(2, 2, 2))
        return rate(truth, pair).value, np.ravel(rate_gradient(truth, pair).memory)

    found = minimize(value, repeats.ravel(), jac=True, method="BFGS", options={"gtol": 1e-7})
    assert found.fun == pytest.approx(0.08720802, abs=1e-6)
    assert np.abs(found.jac).max() < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(("discount", "excess"), [(0.99, 2.4e-7), (0.9, 2.4e-5), (0.5, 6.1e-4), (0.0, 2.6e-3)])
def test_the_rule_leads_to_a_zero_of_the_mean_field_a_little_above_the_least_rate(discount, excess):
    def pair(odds):
        logits = np.stack([odds.reshape(2, 2), np.zeros((2, 2))], axis=-1)
        return FinitePair(softmax(logits, axis=-1), fixture_p())

    def field(odds):
        return np.ravel(mean_field(SECOND, pair(odds), discount).memory[..., 0])

    odds = np.zeros(4)
    for _ in range(150):
        odds = odds - 4 * field(odds)
    found = root(field, odds, tol=1e-13)
    assert np.abs(found.fun).max() < 1e-10
    assert rate(SECOND, pair(found.x)).value - 0.44550555 == pytest.approx(excess, rel=0.05, abs=2e-8)


# --- what is refused ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_entangled_p_has_a_rate_and_a_gradient_but_no_parts():
    pair = FinitePair(softmax(series((2, 2, 2), lambda i: np.sin(1 + i)), axis=-1), entangled_p())
    with pytest.raises(ValueError, match="entangles"):
        rate_parts(SECOND, pair)
    expected = cross_rate(SECOND, jnp.asarray(pair.memory), jnp.asarray(pair.generative.transition))
    assert rate(SECOND, pair).cross == pytest.approx(float(expected), abs=1e-13)

    def cross(logits):
        return cross_rate(SECOND, jax.nn.softmax(logits, axis=-1), pair.generative.transition)

    slope = jax.jit(jax.grad(cross))(jnp.log(pair.memory))
    np.testing.assert_allclose(rate_gradient(SECOND, pair).memory, slope, atol=1e-14)


def test_what_has_no_rate_is_refused_and_what_never_happens_costs_infinitely_much():
    with pytest.raises(ValueError, match="must be as many"):
        rate(
            SECOND,
            FinitePair(np.full((1, 3, 1), 1.0), FiniteGenerative(np.full((1, 3), 1 / 3), np.full((1, 3, 1, 3), 1 / 3))),
        )
    with pytest.raises(ValueError, match=r"discount is 1.5: it must be in \[0, 1\]"):
        mean_field(SECOND, tabular(), 1.5)
    with pytest.raises(ValueError, match=r"discount is nan"):
        mean_field(SECOND, tabular(), np.nan)
    with pytest.raises(TypeError, match="it must be a FiniteProcess"):
        rate(tabular(), tabular())
    with pytest.raises(TypeError, match="it must be a MutableProcess"):
        rate(SECOND, SECOND)
    stays = FinitePair(np.broadcast_to(np.eye(2)[:, None], (2, 2, 2)), fixture_p())
    with pytest.raises(ValueError, match="2 sets of states"):
        rate(SECOND, stays)
    never = FiniteGenerative(np.full((1, 2), 0.5), np.broadcast_to([1.0, 0.0], (1, 2, 1, 2)))
    assert rate(golden_mean(), FinitePair(np.ones((1, 2, 1)), never)).value == np.inf
    with pytest.raises(ValueError, match="infinite and has no gradient"):
        rate_gradient(golden_mean(), FinitePair(np.ones((1, 2, 1)), never))
