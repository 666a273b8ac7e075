"""EM on a mixture of each family of the registry, with rows that are there, missing or half there."""

import jax
import numpy as np
import pytest

from contracts.families import CASES, each_family
from contracts.quick import quick
from kullback.families import Batch
from kullback.models import Mixture


@pytest.mark.parametrize("name", each_family())
def test_em_never_lowers_the_likelihood(name):
    rng = np.random.default_rng(3)
    members = CASES[name].moderate(rng, (4,))
    truth, start = (jax.tree.map(lambda leaf, rows=rows: leaf[rows], members) for rows in (slice(2), slice(2, 4)))
    values = np.asarray(Mixture([0.3, 0.7], truth).sample(jax.random.key(0), (200,)), dtype=float)
    observed = rng.random(values.shape) > 0.2

    @quick
    def step(model, batch):
        data, _ = model.expected_statistics(batch)
        return model.maximize(data), data.log_likelihood

    model, history = Mixture([0.5, 0.5], start), []
    for _ in range(8):
        model, reached = step(model, Batch(values, observed=observed))
        history.append(float(reached))
    assert np.isfinite(history).all()
    assert np.diff(history).min() > -1e-9 * abs(history[0])
    assert history[-1] > history[0]
