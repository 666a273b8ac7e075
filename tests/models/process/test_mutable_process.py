"""What holds for every memory that follows a stream: each law is asked of each kind of process."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.core import Batch, TimeIndex
from kullback.families import Categorical, DiagonalGaussian, Independent, Poisson
from kullback.models import PROCESSES, FiniteGenerative, FinitePair, SpikingMemory, TabularMemory
from models.process.fixtures import entangled_p, fixture_p, tabular
from tiers import slow

ROWS = np.array([0, 1, 1, 0])


def spiking(units=2, seed=0):
    rng = np.random.default_rng(seed)
    inputs = units + 3
    weights = [rng.normal(size=(inputs, columns)) for columns in (units, units, 1)]
    return SpikingMemory(*weights, Categorical([0.5, 0.5]).kind)


CASES = {"TabularMemory": tabular(3), "SpikingMemory": spiking()}


@pytest.fixture(params=["TabularMemory", slow("SpikingMemory")])
def process(request):
    return CASES[request.param]


def test_every_process_has_a_case():
    assert {type(case) for case in CASES.values()} == set(PROCESSES)


@eqx.filter_jit
def asked(process):
    """Return everything that families say of all memories and symbols, compiled as one."""
    states, x = process.states(), jnp.arange(2)
    z = jnp.expand_dims(states, 1)
    does, expected, ahead = process.memory(z, x), process.expected_memory(z, x), process.prediction(z, x)
    there = jnp.expand_dims(states, (1, 2))
    logs = does.log_prob(there), expected.log_prob(there), ahead.log_prob(jnp.arange(2)[:, None, None])
    excess = process.memory_excess(process.memory_natural(z, x), process.expected_natural(z, x))
    return *(jnp.exp(jnp.moveaxis(log, 0, 2)) for log in logs), excess, does.relative_entropy(expected)


def test_tables_are_those_of_the_families_and_so_is_the_excess(process):
    memory, expected, prediction, excess, entropy = asked(process)
    pair = process.pair()
    assert pair.memory.shape == (process.n_states, 2, process.n_states)
    np.testing.assert_allclose(memory, pair.memory, rtol=1e-12)
    both = expected[..., None] * prediction[:, :, None]
    np.testing.assert_allclose(both, pair.generative.transition, rtol=1e-12)
    np.testing.assert_allclose(excess, entropy, rtol=1e-12)


def test_the_excess_is_finite_with_its_gradient_where_units_never_fail(process):
    size = process.memory_kind.size
    does, expected = jnp.full(size, 400.0), jnp.full(size, -900.0)
    value, slope = jax.jit(jax.value_and_grad(process.memory_excess, argnums=(0, 1)))(does, expected)
    assert np.isfinite(value)
    assert all(np.isfinite(part).all() for part in slope)


@pytest.mark.slow
def test_noise_draws_from_the_memory(process):
    draws = 20_000
    states, table = np.asarray(process.states()), process.pair().memory
    move = jax.jit(lambda: process.step(process.memory_natural(states[1], 1), process.noise(0, draws)))
    drawn = np.asarray(move())
    for place, state in enumerate(states):
        hit, chance = np.all((drawn == state).reshape(draws, -1), axis=1), table[1, 1, place]
        assert abs(hit.mean() - chance) < 4 * (chance * (1 - chance) / draws) ** 0.5


def test_the_energy_of_rows_sums_that_of_all_memories(process):
    states = np.asarray(process.states())
    paths = np.array([states[list(path)] for path in itertools.product(range(len(states)), repeat=len(ROWS))])
    each = process.energy(np.broadcast_to(ROWS, (len(paths), len(ROWS))), paths)
    whole = process.energy(np.stack([ROWS, 1 - ROWS]))
    np.testing.assert_allclose(whole[0], -np.logaddexp.reduce(-np.asarray(each)), rtol=1e-12)
    np.testing.assert_allclose(-np.sum(process.log_likelihood(Batch(ROWS))), whole[0], rtol=1e-12)


@pytest.mark.slow
def test_probabilities_of_sequences_sum_to_one_given_the_first_row(process):
    words = np.array(list(itertools.product(range(2), repeat=4)))
    chances = np.exp(-np.asarray(process.energy(words)))
    for first in range(2):
        assert chances[words[:, 0] == first].sum() == pytest.approx(1, abs=1e-12)


def test_a_new_sequence_forgets_the_one_before(process):
    time = TimeIndex(np.array([True, False, False, False] * 2))
    found = process.log_likelihood(Batch(np.concatenate([ROWS, ROWS]), time=time))
    np.testing.assert_array_equal(found[:4], found[4:])
    assert found[0] == 0


@pytest.mark.slow
def test_draws_of_sequences_have_the_law_of_the_tables(process):
    z, x = (np.asarray(part) for part in process.sample_sequence(0, 20_000))
    place = np.argmax(
        (np.asarray(process.states())[None] == z[:, None]).reshape(len(z), process.n_states, -1).all(2), 1
    )
    table = np.asarray(process.pair().generative.transition)
    for here, symbol in itertools.product(range(process.n_states), range(2)):
        at = np.flatnonzero((place[:-1] == here) & (x[:-1] == symbol))
        for after, following in itertools.product(range(process.n_states), range(2)):
            chance = table[here, symbol, after, following]
            hit = (place[at + 1] == after) & (x[at + 1] == following)
            assert len(at) > 100
            assert abs(hit.mean() - chance) < 4.5 * (chance * (1 - chance) / len(at)) ** 0.5


@pytest.mark.slow
def test_rows_are_predicted_by_the_mean_over_memories(process):
    # brute force: the memory before the third row has moved once by q, from any start
    chains, pair = 20_000, process.pair()
    ahead = np.asarray(pair.generative.transition).sum(axis=2)
    law = np.full(process.n_states, 1 / process.n_states)
    expected = [0.0]
    for before, after in itertools.pairwise(ROWS):
        expected.append(np.log(law @ ahead[:, before, after]))
        law = law @ np.asarray(pair.memory)[:, before]
    np.testing.assert_allclose(process.predict_rows(Batch(ROWS), 0, chains), expected, atol=4 / chains**0.5)
    assert process.posterior(Batch(ROWS), 0, 5).shape[:2] == (4, 5)


def test_the_memory_depends_on_what_it_says(process):
    def total(moving):
        return jnp.sum(eqx.combine(moving, rest).memory_natural(z, x) ** 2)

    moving, rest = eqx.partition(process, process.trainable())
    z, x = process.states()[:, None], jnp.arange(2)
    slopes = jax.jit(jax.grad(total))(moving)
    marks = eqx.filter(process.memory_part(), process.trainable())
    for slope, mark in zip(jax.tree.leaves(slopes), jax.tree.leaves(marks), strict=True):
        assert bool(np.any(np.asarray(slope) != 0)) == mark


@pytest.mark.slow
@pytest.mark.parametrize(
    "member",
    [DiagonalGaussian([0.0, 1.0], [1.0, 2.0]), Poisson(3.0), Independent(Categorical([[0.2, 0.3, 0.5]] * 2))],
    ids=lambda member: type(member).__name__,
)
def test_rows_may_be_of_any_kind(member):
    process = SpikingMemory.random(member, units=2, key=0)
    rows = np.asarray(member.sample(0, (6,)))
    expected = np.array(member.log_prob(rows))
    expected[0] = 0  # it begins as the member, whatever the units do
    np.testing.assert_allclose(process.log_likelihood(Batch(rows)), expected, rtol=1e-10)
    np.testing.assert_allclose(process.predict_rows(Batch(rows), 0), expected, rtol=1e-10)
    assert process.sample_sequence(0, 5)[1].shape == (5, *rows.shape[1:])
    assert process.sample(0, (2, 3)).shape == (2, 3, *rows.shape[1:])
    with pytest.raises(ValueError, match="take a Categorical"):
        process.pair()


def test_what_is_no_process_is_refused(process):
    with pytest.raises(ValueError, match="missing entries"):
        process.log_likelihood(Batch(ROWS, observed=np.array([True, False, True, True])))
    with pytest.raises(ValueError, match="length is 0"):
        process.sample_sequence(0, 0)


def test_tables_and_weights_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match="two at least"):
        TabularMemory(np.zeros((1, 2, 1)), np.zeros((1, 2, 1)), np.zeros((1, 2, 2)))
    with pytest.raises(ValueError, match="memory_logits"):
        TabularMemory(np.full((2, 2, 2), np.nan), np.zeros((2, 2, 2)), np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match="for such rows they are"):
        SpikingMemory(np.zeros((4, 2)), np.zeros((5, 2)), np.zeros((5, 1)), Categorical([0.5, 0.5]).kind)
    with pytest.raises(ValueError, match="one unit at least"):
        SpikingMemory.random(Categorical([0.5, 0.5]), 0, 0)
    with pytest.raises(ValueError, match="q\\(z' \\| z, x\\) needs"):
        FinitePair(np.full((3, 2, 3), 1 / 3), fixture_p())
    with pytest.raises(ValueError, match="sums to"):
        FiniteGenerative(np.full((2, 2), 0.25), np.full((2, 2, 2, 2), 0.3))
    with pytest.raises(ValueError, match="only up to 1024"):
        spiking(11).pair()


def test_p_says_whether_it_entangles():
    assert fixture_p().is_independent
    assert not entangled_p().is_independent
