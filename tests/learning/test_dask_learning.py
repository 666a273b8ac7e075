"""Gradients and chains over blocks of a Dask array: one step is one sum, whoever takes it."""

import functools
from pathlib import Path

import jax
import numpy as np
import pytest

from kullback.estimators import Columns, Preparation, ProviderContext, Rows
from kullback.learning import LIMIT, AllAtOnce, Epochs, Gradient, Loss, Optimizer, begin, fit, gather, merge_messages
from learning import proof_models as proof
from learning.proof_data import equal_bits
from tiers import slow

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

import dask.array as da  # noqa: E402

from kullback.distributed import DaskRows, connect  # noqa: E402

SIZES = (300, 500, 224)
STEPS = 12


PREPARATION = Preparation(Columns("RBM", 6, None), np.asarray, 0.0)
LEARNING = ProviderContext(lambda table, weight, highest: Rows(table, weight), lambda: PREPARATION)


def exact_loss(model, batch, memory, key):
    """Return minus the log-likelihood: nothing is drawn."""
    return Loss(-proof.weighted_mean(model.estimate_log_likelihood(batch).value, batch.weight))


LEARNERS = {"exact": Gradient(exact_loss, Optimizer(learning_rate=0.05)), "chains": proof.rbm_learner(0.05)}
ROWS = proof.rbm_rows(sum(SIZES))


class Sites:
    """The same blocks in this process, without Dask: what each says, merged in their order."""

    whole, sites = True, len(SIZES)

    def __init__(self):
        self._blocks = [next(Rows(part).batches_with_places())[1] for part in np.split(ROWS, np.cumsum(SIZES)[:-1])]

    def start(self):
        return None

    def steps(self, position, most):
        return None

    def resident(self, model):
        return None

    def gather(self, learner, model, state, memories, clock):
        found = [
            gather(model, block, learner, state, memory, clock._replace(key=jax.random.fold_in(clock.key, site)))
            for site, (block, memory) in enumerate(zip(self._blocks, memories, strict=True))
        ]
        return functools.reduce(merge_messages, [message for message, _ in found]), tuple(after for _, after in found)


def ended(name, data):
    learner, rule = LEARNERS[name], Epochs(STEPS)
    place, reason = fit(learner, begin(learner, proof.rbm_start(), data, rule, seed=2), data, rule, seed=2)
    assert (reason, place.step, place.points) == (LIMIT, STEPS, STEPS * sum(SIZES))
    return place


def over_dask(name):
    return ended(name, DaskRows(da.from_array(ROWS, chunks=(SIZES, 6)), None, LEARNING, first=True))


@pytest.mark.parametrize("name", [slow("exact"), "chains"])
def test_blocks_of_dask_are_blocks_in_this_process_bit_for_bit(name):
    with dask.config.set(scheduler="synchronous"):
        found = over_dask(name)
    assert equal_bits(found, ended(name, Sites()))


@pytest.mark.slow
def test_a_gradient_over_blocks_is_that_of_the_whole():
    blocks, whole = ended("exact", Sites()), ended("exact", AllAtOnce(next(Rows(ROWS).batches_with_places())[1]))
    for one, other in zip(jax.tree.leaves(blocks.model), jax.tree.leaves(whole.model), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)  # Adam divides by small numbers that differ by rounding


def test_each_block_has_chains_of_its_own():
    blocks = Sites()
    start = begin(LEARNERS["chains"], proof.rbm_start(), blocks, Epochs(STEPS), seed=2).memories
    after = ended("chains", blocks).memories
    assert [np.shape(chains) for chains in after] == [(proof.CHAINS, 6)] * 3
    for chains in (start, after):
        assert not any(equal_bits(chains[one], chains[other]) for one, other in ((0, 1), (0, 2), (1, 2)))
    assert not any(equal_bits(one, other) for one, other in zip(start, after, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_workers_of_a_cluster_end_at_the_same_bits(workers, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    alone = [ended(name, Sites()) for name in LEARNERS]
    with connect(f"local:{workers}") as client:
        assert len(client.scheduler_info()["workers"]) == workers
        found = [over_dask(name) for name in LEARNERS]
    assert equal_bits(found, alone)
