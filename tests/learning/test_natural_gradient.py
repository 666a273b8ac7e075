"""Networks trained by the natural gradient, and by Adam on one vector. Oracles: scikit-learn's regression, optax."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from sklearn.linear_model import PoissonRegressor

from kullback.families import Batch, DiagonalGaussian, Poisson
from kullback.learning import (
    AT_ONCE,
    LIMIT,
    AllAtOnce,
    Epochs,
    Gradient,
    NaturalGradient,
    Optimizer,
    adam,
    begin,
    fit,
    gather,
    merge_messages,
    move,
    negative_log_likelihood,
)
from kullback.models import Conditional, Network
from kullback.runtime import as_numpy

RNG = np.random.default_rng(0)
X = np.clip(RNG.normal(size=(200, 3)), -2.9, 2.9)  # beyond 3 a network draws inputs in
Y = RNG.poisson(np.exp(0.3 + X @ [0.5, -0.2, 0.1])).astype(float)
WEIGHT = RNG.integers(0, 3, 200).astype(float)


def linear():
    start = Poisson(3.0)
    return Conditional(Network.start(start, 3, (), dtype=np.float64), start.kind)


def counts(weight=WEIGHT, rows=slice(None)):
    return Batch(Y[rows], weight[rows], inputs=X[rows])


def test_the_natural_gradient_of_a_linear_network_is_fisher_scoring():
    learner, rule, data = NaturalGradient(damping=1e-10), Epochs(12), AllAtOnce(counts())
    place, reason = fit(learner, begin(learner, linear(), data, rule), data, rule)
    peer = PoissonRegressor(alpha=0.0, tol=1e-12, max_iter=1000, solver="newton-cholesky").fit(X, Y, WEIGHT)
    layer, start = place.model.network.layers[0], place.model.network.output.numbers.value[0]
    assert reason == LIMIT
    np.testing.assert_allclose(layer.weight[0], peer.coef_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(layer.bias + start, peer.intercept_, rtol=1e-8)


@pytest.mark.slow
def test_the_objective_is_the_mean_energy_and_rows_without_weight_say_nothing():
    model, batch = linear(), counts()
    expected = np.average(model.energy(Y, inputs=X), weights=WEIGHT)
    assert float(negative_log_likelihood(model, batch).value) == pytest.approx(expected, rel=1e-12)
    padded = Batch(np.append(Y, -1.0), np.append(WEIGHT, 0.0), inputs=np.append(X, [[np.inf] * 3], axis=0))
    assert float(negative_log_likelihood(model, padded).value) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_messages_average_steps_by_mass_and_repeated_rows_are_weights():
    learner, model = NaturalGradient(radius=1e-2), linear()

    def message(batch):
        return as_numpy(gather(model, batch, learner, None, None, AT_ONCE)[0])

    parts = [message(counts(rows=rows)) for rows in (slice(0, 60), slice(60, 200))]
    both, nothing = merge_messages(*parts), message(counts(0 * WEIGHT))
    shares = np.array([part.mass for part in parts]) / both.mass
    for found, *steps in zip(*(jax.tree.leaves(m.gradient) for m in (both, *parts)), strict=True):
        np.testing.assert_allclose(found, sum(w * s for w, s in zip(shares, steps, strict=True)), rtol=1e-12)
    assert jax.tree.all(jax.tree.map(np.array_equal, merge_messages(parts[0], nothing), parts[0]))
    again = np.repeat(np.arange(200), WEIGHT.astype(int))
    repeated = message(Batch(Y[again], inputs=X[again]))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9), repeated, message(counts()))
    unmoved, _, info = move(model, nothing, learner, None, AT_ONCE)
    assert jax.tree.all(jax.tree.map(np.array_equal, as_numpy(unmoved), model))
    assert info.mass == 0


@pytest.mark.slow
def test_adam_on_one_vector_takes_the_steps_of_adam():
    data, rule = AllAtOnce(counts()), Epochs(5)
    found = []
    for factory, numbers in ((adam, {"weight_decay": 0.1}), (optax.adamw, {"weight_decay": 0.1})):
        learner = Gradient(negative_log_likelihood, Optimizer(factory, learning_rate=0.1, **numbers))
        found.append(fit(learner, begin(learner, linear(), data, rule), data, rule)[0].model)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9), *found)
    fixed = found[0].network.standardization.value
    np.testing.assert_array_equal(fixed, linear().network.standardization.value)  # no decay of what is no parameter


@pytest.mark.slow
@pytest.mark.parametrize("learner", [NaturalGradient(), Gradient(negative_log_likelihood)], ids=["natural", "adam"])
def test_networks_of_32_bits_stay_so(learner):
    start = DiagonalGaussian([0.0], [1.0])
    model = Conditional(Network.start(start, 3, (4,)), start.kind)
    batch = Batch(Y[:, None].astype(np.float32), inputs=X.astype(np.float32))
    rule = Epochs(3)
    with jax.enable_x64(False):
        place, _ = fit(learner, begin(learner, model, AllAtOnce(batch), rule), AllAtOnce(batch), rule)
    before, after = (jax.tree.leaves(one) for one in (model, place.model))
    assert all(leaf.dtype == np.float32 for leaf in after)
    assert any(np.any(a != b) for a, b in zip(before, after, strict=True))


def test_inputs_that_are_no_numbers_end_the_fit_with_the_last_model():
    batch = Batch(Y, inputs=np.where(np.arange(200)[:, None] == 5, np.nan, X))
    learner, rule = NaturalGradient(), Epochs(20)
    place, reason = fit(learner, begin(learner, linear(), AllAtOnce(batch), rule), AllAtOnce(batch), rule)
    assert "not finite" in reason
    assert jax.tree.all(jax.tree.map(lambda leaf: bool(jnp.all(jnp.isfinite(leaf))), place.model))
