"""What holds for every learner, whatever it learns: each law is asked of each member of one list."""

import functools
import os
import pickle
import subprocess
import sys

import equinox as eqx
import jax
import numpy as np
import pytest

from kullback.learning import LIMIT, Clock, Epochs, begin, fit, gather, load_place, merge_messages, move, save_place
from kullback.learning._step import run_steps
from kullback.runtime import as_numpy, is_array
from learning import proof_data
from learning.learner_cases import CASES, ROWS, STEPS, members
from learning.proof_data import equal_bits
from tiers import slow


def ran(case, *, learner=None, steps=STEPS, chunk=STEPS, place=None, data=None, callback=None):
    """Return where a fit of one epoch ends."""
    learner = case.learner if learner is None else learner
    data, rule = data or proof_data.GivenSteps(case.batches()[:steps]), Epochs(1)
    start = begin(learner, case.model(), data, rule, seed=3) if place is None else place
    return fit(learner, start, data, rule, chunk=chunk, seed=3, callback=callback)


def learned(place):
    return place.model, place.state, place.memories


def garbage(values):
    return np.full_like(values, np.nan if np.issubdtype(values.dtype, np.floating) else -1)


def same(one, other, tolerance):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        if is_array(a):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


# --- laws ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", members(variants=True))
def test_chunks_of_1_16_and_64_steps_end_at_the_same_bits(name):
    (one, reason), (some, _), (all_, _) = (ran(CASES[name], chunk=chunk) for chunk in (1, 16, 64))
    assert reason == LIMIT
    assert one.step == STEPS
    assert one.points == sum(float(batch.weight.sum()) for batch in CASES[name].batches())
    assert not equal_bits(one.model, CASES[name].model())
    assert equal_bits(one, some)
    assert equal_bits(one, all_)


@pytest.mark.slow
def test_chunks_end_at_the_same_bits_as_a_user_compiles_them():
    # tests compile in a hurry, which hides that a loop of one step is put together in another way
    words = [sys.executable, "-m", "pytest", "-n", "0", "-m", "slow or not slow", __file__, "-k"]
    asked = "test_chunks_of_1_16 and (EM or VAE) and not decaying"
    done = subprocess.run([*words, asked], env={**os.environ, "XLA_FLAGS": ""}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", members())
def test_a_step_that_is_not_active_changes_no_bit(name):
    expected, _ = ran(CASES[name], steps=16, chunk=16)
    batches = CASES[name].batches()
    batches[16:] = [eqx.tree_at(lambda b: b.values, batch, garbage(batch.values)) for batch in batches[16:]]
    found, reason = ran(CASES[name], data=proof_data.GivenSteps(batches, np.arange(STEPS) < 16))
    assert (reason, found.step, found.failures) == (LIMIT, 16, 0)
    assert equal_bits(learned(found), learned(expected))
    assert equal_bits((found.rule, found.curve, found.points), (expected.rule, expected.curve, expected.points))


@pytest.mark.parametrize("name", members())
def test_a_step_without_weight_changes_no_bit(name):
    expected, _ = ran(CASES[name], steps=16, chunk=16)
    batches = CASES[name].batches()
    batches[16:] = [eqx.tree_at(lambda b: b.weight, batch, np.zeros_like(batch.weight)) for batch in batches[16:]]
    found, reason = ran(CASES[name], data=proof_data.GivenSteps(batches))
    assert (reason, found.points, found.failures) == (LIMIT, expected.points, 0)
    assert equal_bits(learned(found), learned(expected))


@pytest.mark.parametrize("name", members("NaturalGradientEM", "Averaged"))
def test_structure_and_types_stay_as_they_were(name):
    case = CASES[name]
    start = begin(case.learner, case.model(), proof_data.GivenSteps(case.batches()), Epochs(1), seed=3)
    found, _ = ran(case, steps=16, chunk=16)
    for before, after in zip(learned(start), learned(found), strict=True):
        assert jax.tree.structure(before) == jax.tree.structure(after)
        for one, other in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
            if is_array(one):
                assert (np.shape(one), one.dtype) == (np.shape(other), other.dtype)


@pytest.mark.parametrize("name", members(variants=True))
def test_a_fit_goes_on_from_its_file_at_the_same_bits(name, tmp_path):
    case = CASES[name]
    whole, _ = ran(case, chunk=16)
    half, reason = ran(case, chunk=16, callback=lambda place: "half" if place.step == 32 else None)
    assert (reason, half.step) == ("half", 32)
    save_place(tmp_path / "place", half)
    start = begin(case.learner, case.model(), proof_data.GivenSteps(case.batches()), Epochs(1), seed=3)
    back = load_place(tmp_path / "place", start)
    assert equal_bits(back, half)
    assert equal_bits(ran(case, chunk=16, place=back)[0], whole)


@pytest.mark.parametrize("name", members())
def test_a_second_fit_with_other_numbers_traces_nothing(name, monkeypatch):
    monkeypatch.setattr("kullback.runtime._compiled.MOST", sys.maxsize)  # the tests before left room for any number
    case = CASES[name]
    first, _ = ran(case, steps=16, chunk=16)
    copied = pickle.loads(pickle.dumps(case.learner))
    proof_data.COMPILED.clear()
    second, _ = ran(case, learner=case.other, steps=16, chunk=16)
    third, _ = ran(case, learner=copied, steps=16, chunk=16)
    assert not proof_data.COMPILED, proof_data.COMPILED
    assert equal_bits(first.model, second.model) == (name == "EM")  # it has no numbers
    assert equal_bits(first, third)


@pytest.mark.parametrize("name", members("Averaged", quick={"OnlineEM", "Gradient"}, divide=True))
def test_messages_of_a_partition_merge_to_that_of_the_whole_and_mass_0_is_the_unit(name):
    case = CASES[name]
    place, _ = ran(case, steps=16, chunk=16)
    clock, (learner, _) = Clock(np.int32(16), np.asarray(0.0), jax.random.key(7)), case.learner.at(16, 0.0)

    def message(batch, memory=place.memories[0]):
        return as_numpy(gather(place.model, batch, learner, place.state, memory, clock))

    def moved(message):
        return move(place.model, message, learner, place.state, clock)

    batch = case.batches()[20]
    halves = slice(0, ROWS // 2), slice(ROWS // 2, ROWS)
    one, other = (jax.tree.map(lambda leaf, here=here: leaf[here] if leaf.ndim else leaf, batch) for here in halves)
    (first, between), (whole, after) = message(one), message(batch)
    second, last = message(other, between if "HMM" in name else place.memories[0])
    nothing, _ = message(eqx.tree_at(lambda b: b.weight, batch, np.zeros_like(batch.weight)))
    same(last, after, 1e-12)
    expected = moved(whole)
    for several in ((first, second), (nothing, first, second), (first, nothing, second), (whole, nothing)):
        several = pickle.loads(pickle.dumps(several))
        same(moved(functools.reduce(merge_messages, several)), expected, 1e-12)


#: One of each way to move, for each compiles two loops more.
REPLICATED = ("OnlineEM", "FisherScoring", "ContrastiveDivergence", "NaturalWakeSleep", "Only", "ProcessGradient")


@pytest.mark.parametrize("name", ["Gradient", *map(slow, REPLICATED)])
def test_replicas_under_vmap_go_as_they_go_one_by_one(name):
    case = CASES[name]
    learner, _ = case.learner.at(0, 0.0)
    batches = case.batches()
    places = [ran(case, data=proof_data.GivenSteps(batches[first : first + 16]), chunk=16)[0] for first in (0, 16, 32)]
    fixed = eqx.filter(places[0].model, is_array, inverse=True)
    data = proof_data.GivenSteps(batches[48:]).steps(None, 16)

    @jax.jit
    def run(arrays, state, memory, seed):
        clock = Clock(np.int32(16), np.asarray(0.0), jax.random.key(seed) if learner.draws_at_random else None)
        found = run_steps(learner, eqx.combine(arrays, fixed), state, memory, data.batches, 0, 16, clock)
        return eqx.filter(found, is_array)

    each = [(eqx.filter(place.model, is_array), place.state, place.memories[0]) for place in places]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *each)
    together = jax.jit(jax.vmap(run))(*stacked, np.arange(3))
    kinds = {leaf.dtype.name for leaf in jax.tree.leaves(each) if np.issubdtype(leaf.dtype, np.floating)}
    for place, one in enumerate(each):
        found = jax.tree.map(lambda leaf, place=place: leaf[place], together)
        same(found, run(*one, place), 1e-6 if "float32" in kinds else 1e-12)
