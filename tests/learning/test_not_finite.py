"""Moves to what is not finite are left out and counted; five in a row end a fit, and what was best is kept."""

import itertools

import equinox as eqx
import numpy as np
import optax
import pytest

from kullback.learning import LIMIT, Epochs, Gradient, Optimizer, begin, fit
from learning import proof_models as proof
from learning.learner_cases import CASES
from learning.proof_data import GivenSteps, equal_bits
from tiers import slow

NAMES = ["Gradient with chains", slow("Gradient of a VAE")]
#: One of each way to move: numbers that are not finite stay so, by which steps that go together notice them.
ALL = [*NAMES, *map(slow, ("OnlineEM", "AveragedIterates", "ContrastiveDivergence", "NaturalWakeSleep"))]
CHUNKS = [1, 16]


def spoiled(batch):
    """Return a batch with one entry that is not a number: its loss and its gradient are none either."""
    values = batch.values.copy()
    values[3, 0] = np.nan
    return eqx.tree_at(lambda b: b.values, batch, values)


def ran(name, bad, *, steps=16, epoch=None, chunk=1, callback=None, validate=None, learner=None):
    case = CASES[name]
    learner = learner or case.learner
    batches = [spoiled(batch) if place in bad else batch for place, batch in enumerate(case.batches()[:steps])]
    data, rule = GivenSteps(batches, epoch=epoch), Epochs(steps // (epoch or steps))
    start = begin(learner, case.model(), data, rule, seed=3)
    return start, *fit(learner, start, data, rule, chunk=chunk, seed=3, callback=callback, validate=validate)


def learned(place):
    return place.model, place.state, place.memories


@pytest.mark.parametrize("name", ALL)
def test_a_batch_that_makes_the_gradient_nan_is_left_out_and_counted(name):
    seen = []
    _, end, reason = ran(name, bad={5, 6, 9}, callback=lambda place: seen.append(place))
    assert reason == LIMIT
    assert [place.failures for place in seen] == [0, 0, 0, 0, 0, 1, 2, 0, 0, 1, 0, 0, 0, 0, 0]
    assert [place.step for place in seen] == list(range(1, 16))
    for number, (before, after) in enumerate(itertools.pairwise(seen), start=1):
        assert equal_bits(learned(before), learned(after)) == (number in {5, 6, 9})
    assert np.isfinite(end.curve).all()
    assert end.curve[:, 0].tolist() == [step + 1 for step in range(16) if step not in {5, 6, 9}]
    assert equal_bits(ran(name, bad={5, 6, 9}, chunk=16)[1], end)


@pytest.mark.parametrize("name", NAMES)
def test_four_in_a_row_do_not_end_a_fit(name):
    _, end, reason = ran(name, bad={0, 1, 2, 3, 12, 13, 14, 15}, chunk=16)
    assert (reason, end.step, end.failures) == (LIMIT, 16, 4)


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("name", NAMES)
def test_five_in_a_row_end_it_at_the_best_model_in_one_sentence(name, chunk):
    models, values = [], iter([-3.0, -2.0, -4.0, 1.0])

    def validate(model):
        models.append(model)
        return next(values)

    # of three epochs the second is best; the fourth does not come to its end, whatever its value might be
    _, end, reason = ran(name, set(range(50, 55)), steps=64, epoch=16, chunk=chunk, validate=validate)
    assert reason.startswith("5 moves in a row led to numbers that are not finite, the last at step 55, ")
    assert "on a batch of nan nats per point: the best model, of step 32, is kept" in reason
    assert equal_bits(end.model, models[1])
    assert equal_bits(end.found, models[1])
    assert (end.step, end.failures) == (55, 5)


@pytest.mark.parametrize("chunk", CHUNKS)
def test_without_an_epoch_that_was_best_the_last_finite_model_is_kept(chunk):
    name, seen = "Gradient with chains", []
    ran(name, set(), chunk=1, callback=lambda place: seen.append(place))
    _, end, reason = ran(name, set(range(3, 8)), chunk=chunk)
    assert "the last at step 8, on a batch of nan nats per point: the last finite model is kept" in reason
    assert equal_bits(learned(end), learned(seen[2]))


@pytest.mark.parametrize("chunk", [slow(1), 16])
def test_a_finite_gradient_that_leads_out_of_the_numbers_is_left_out_too(chunk):
    learner = Gradient(proof.contrast, Optimizer(optax.sgd, learning_rate=np.inf), proof.persistent_chains)
    start, end, reason = ran("Gradient with chains", set(), learner=learner, chunk=chunk)
    assert "the last at step 5, on a batch of " in reason
    assert "nan" not in reason
    assert equal_bits(learned(end), learned(start))
