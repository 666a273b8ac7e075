"""Two machines that have seen other digits, combined by their dreams: nearly as good as one that has seen all."""

import jax
import numpy as np
import pytest
from sklearn.datasets import load_digits

from kullback.core import Batch
from kullback.learning import Epochs, Minibatches, NaturalWakeSleep, begin, combine_by_dreams, fit
from kullback.models import HelmholtzMachine
from kullback.runtime import as_numpy, filter_jit
from learning.proof_data import Table

STEPS, TEST = 800, 400


@filter_jit
def scores(model, rows, key):
    return model.estimate_log_likelihood(Batch(rows), key, 100).value


@pytest.mark.slow
def test_machines_of_half_of_the_digits_are_combined_without_data():
    """Measured: all digits 17.4 nats, combined 17.7, parameters averaged 22.4; one half alone 21.0 and 22.1.

    Dreams cost nothing: a step of the combination has 64 of them, where a step of the data has 32 rows.
    """
    values, labels = load_digits(return_X_y=True)
    values = (values > 7.5).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(values))
    train, test = order[:-TEST], values[order[-TEST:]]
    start = as_numpy(HelmholtzMachine.start(values[train].mean(axis=0), (40, 20), 0, np.float32))
    learner, rule = NaturalWakeSleep(), Epochs(1000)

    def learn(rows):
        data = Minibatches(Table(values[rows]), len(rows), 32)
        place = begin(learner, start, data, rule)
        ended = {"callback": lambda place: "enough" if place.step >= STEPS else None, "chunk": 4}
        place, _ = fit(learner, place, data, rule, **ended)
        assert STEPS <= place.step < STEPS + 4  # a chunk ends with an epoch
        return as_numpy(place.model)

    def nats(model):
        return -float(np.mean(scores(model, test, jax.random.key(9))))

    halves = [train[labels[train] < 5], train[labels[train] >= 5]]
    one, other = (learn(rows) for rows in halves)
    weights = [len(rows) for rows in halves]
    combined = combine_by_dreams([one, other], learner, weights, steps=STEPS, points=512)
    averaged = jax.tree.map(lambda a, b: (a + b) / 2, one, other)
    united, found = nats(learn(train)), nats(combined.model)
    assert found < united + 0.5
    assert found < nats(averaged) - 4
    assert found < min(nats(one), nats(other)) - 2
    assert 0 < combined.excess.value < 2
    assert combined.excess.standard_error < 0.2
