"""An average of parameters on the way: against the way itself, averaged in NumPy."""

import jax
import numpy as np
import pytest

from contracts.quick import quick
from kullback.core import Batch
from kullback.families import DiagonalGaussian
from kullback.learning import AveragedIterates, Clock, Gradient, Optimizer, negative_log_likelihood
from kullback.models import Conditional, Network

STEPS = 12
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(STEPS, 8, 2))


def network():
    start = DiagonalGaussian(np.array([0.5]), np.array([2.0]))
    return Conditional(Network.start(start, 1, (3,), activation="tanh"), start.kind)


@quick
def take(learner, model, state, batch, clock):
    return learner.move(model, state, learner.gather(model, state, None, batch, clock).message, clock)


def walk(learner):
    """Return the models after each step, and the state at the end."""
    model, found = network(), []
    state = learner.init(model, lambda: None)
    for step, rows in enumerate(ROWS):
        clock = Clock(np.int32(step), np.asarray(8.0 * step), jax.random.key(step))
        model, state, info = take(learner, model, state, Batch(rows[:, :1], inputs=rows[:, 1:]), clock)
        found.append((leaves(model), float(info.value)))
    return found, state


def leaves(model):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(model) if np.issubdtype(np.asarray(leaf).dtype, np.floating)]


@pytest.mark.parametrize("degree", [0, 4])
def test_the_model_is_the_average_of_the_way_with_weights_that_grow_with_the_degree(degree):
    """Σ of weights (t + 1)(t + 2)…(t + degree), which are t^degree as t grows; all alike where the degree is 0."""
    plain = Gradient(negative_log_likelihood, Optimizer(learning_rate=0.1))
    way, _ = walk(plain)
    averaged, state = walk(AveragedIterates(plain, degree))
    for one, other in zip(leaves(state.walker), way[-1][0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose([value for _, value in averaged], [value for _, value in way], rtol=1e-12)
    for count in (1, 2, STEPS):
        t = np.arange(count)
        weight = np.prod([t + place for place in range(1, degree + 1)], axis=0) * np.ones(count)
        for place, found in enumerate(averaged[count - 1][0]):
            expected = np.average([parts[place] for parts, _ in way[:count]], axis=0, weights=weight)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_an_average_begins_anew_and_follows_a_stream():
    plain = Gradient(negative_log_likelihood, Optimizer(learning_rate=0.1))
    way = [parts for parts, _ in walk(plain)[0]]
    anew = [parts for parts, _ in walk(AveragedIterates(plain, 2, first=5))[0]]
    t = np.arange(STEPS - 5)
    for place, found in enumerate(anew[-1]):
        expected = np.average([parts[place] for parts in way[5:]], axis=0, weights=(t + 1) * (t + 2))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    stream = [parts for parts, _ in walk(AveragedIterates(plain, 2, horizon=3))[0]]
    for place in range(len(way[0])):
        average = way[0][place]
        for step in range(1, STEPS):
            average = way[step][place] + min(step, 3) / (min(step, 3) + 3) * (average - way[step][place])
        np.testing.assert_allclose(stream[-1][place], average, rtol=1e-6, atol=1e-7)
