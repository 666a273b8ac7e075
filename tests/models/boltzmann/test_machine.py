"""Restricted Boltzmann machines against sums over all states, and integrals over a grid."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special

from kullback.core import Batch
from kullback.models import RestrictedBoltzmannMachine, complete
from models.boltzmann.small import excess, gibbs_matrix, joint, law, machine, number_of, states


@pytest.fixture(autouse=True)
def _in_64_bits():
    with jax.enable_x64(True):
        yield


def rows(model, count=6, seed=1):
    rng = np.random.default_rng(seed)
    values = np.asarray(model.sample(0, count))
    observed = rng.random(values.shape) < 0.5
    observed[0], observed[1] = True, False
    return Batch(values, observed=observed)


@pytest.mark.parametrize("shape", [(5, 4), (3, 6)])
def test_log_z_and_free_energies_are_sums_over_all_states(shape):
    model = machine(*shape)
    p = joint(model)
    np.testing.assert_allclose(model.exact_log_partition(), np.log(p.sum()), rtol=1e-13)
    np.testing.assert_allclose(-model.energy(states(shape[0])), np.log(p.sum(axis=1)), rtol=1e-12, atol=1e-13)
    v, h = states(shape[0])[:, None], states(shape[1])[None]
    pair = model.energy(np.broadcast_to(v, (len(p), p.shape[1], shape[0])), np.broadcast_to(h, (*p.shape, shape[1])))
    np.testing.assert_allclose(-pair, np.log(p), rtol=1e-12, atol=1e-13)


def test_the_gradient_of_the_likelihood_is_the_difference_of_the_phases():
    model, data = machine(), states(5)[[3, 17, 30]]
    p = law(model)

    def loss(model):
        return jnp.mean(model.energy(data)) + model.exact_log_partition()

    slope = jax.grad(loss)(jax.tree.map(jnp.asarray, model))
    odds = special.expit(states(5) @ model.weights + model.hidden_bias)
    seen = special.expit(data @ model.weights + model.hidden_bias)
    np.testing.assert_allclose(slope.weights, states(5).T @ (p[:, None] * odds) - data.T @ seen / 3, atol=1e-13)
    np.testing.assert_allclose(slope.visible_bias, p @ states(5) - data.mean(axis=0), atol=1e-13)
    np.testing.assert_allclose(slope.hidden_bias, p @ odds - seen.mean(axis=0), atol=1e-13)


@pytest.mark.slow
def test_gaussian_visible_units_against_integrals():
    model = machine(2, 3, gaussian=True)

    def density(*v):
        return np.exp(-np.asarray(energy(jnp.array(v))))

    energy = jax.jit(lambda v: model.energy(v))
    line = np.linspace(-14, 14, 401)
    step = line[1] - line[0]
    grid = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
    mass = np.exp(-np.asarray(energy(grid)))
    np.testing.assert_allclose(model.exact_log_partition(), np.log(mass.sum() * step**2), rtol=1e-10)
    # with the second entry missing, of a row whose first is 0.7
    batch = Batch(np.array([[0.7, np.nan]]), observed=np.array([[True, False]]))
    alone, _ = integrate.quad(lambda x: density(0.7, x), -20, 20)
    np.testing.assert_allclose(model.unnormalized(batch)[0], np.log(alone), rtol=1e-9)
    # Σ_h of the joint is the free energy
    pairs = model.energy(np.broadcast_to([0.7, -1.2], (8, 2)), states(3))
    np.testing.assert_allclose(-special.logsumexp(-pairs), model.energy(np.array([0.7, -1.2])), rtol=1e-12)


def test_another_origin_and_unit_of_gaussian_columns_change_the_density_by_the_unit_only():
    model = machine(3, 4, gaussian=True)
    moved = RestrictedBoltzmannMachine(
        10 * model.weights, 10 * model.visible_bias + 1e4, model.hidden_bias, model.log_scale + np.log(10)
    )
    v = np.random.default_rng(0).normal(size=(4, 3))
    found = moved.log_likelihood(Batch(10 * v + 1e4)) + 3 * np.log(10)
    np.testing.assert_allclose(found, model.log_likelihood(Batch(v)), rtol=1e-8)


def test_missing_entries_are_summed_out():
    model = machine()
    batch = rows(model)
    p, every = law(model), states(5)
    for value, v, there in zip(model.log_likelihood(batch), batch.values, batch.observed, strict=True):
        fits = np.all(every[:, there] == np.asarray(v)[there], axis=1)
        np.testing.assert_allclose(value, np.log(p[fits].sum()), rtol=1e-11, atol=1e-12)


def test_surprises_of_binary_entries_are_ratios_of_probabilities():
    model, every = machine(), states(5)
    p = law(model)
    found = np.asarray(model.surprises(Batch(every)))
    for column in range(5):
        turned = every.copy()
        turned[:, column] = 1 - turned[:, column]
        expected = np.log(p + p[number_of(turned)]) - np.log(p)
        np.testing.assert_allclose(found[:, column], expected, rtol=1e-11, atol=1e-12)
    lacking = Batch(every, observed=np.tile(np.arange(5) != 2, (32, 1)))
    assert np.isnan(np.asarray(model.surprises(lacking))).sum() == 32


@pytest.mark.parametrize("spread", [1.0, 12.0])
def test_surprises_of_gaussian_entries_are_those_of_a_mixture(spread):
    model, h = machine(3, 4, gaussian=True, spread=spread), states(4)
    means, scale = model.visible_bias + h @ model.weights.T, np.exp(model.log_scale)
    log_weight = h @ model.hidden_bias + 0.5 * np.sum((h @ model.weights.T / scale) ** 2, axis=1)
    v = np.concatenate([means[[0, 5, 15]], means[[3]] + [0.5, -3.0, 20.0]])
    each = -0.5 * ((v[:, None] - means) / scale) ** 2 - np.log(scale) - 0.5 * np.log(2 * np.pi)
    whole = special.logsumexp(log_weight + each.sum(axis=-1), axis=1)
    found = model.surprises(Batch(v))
    for column in range(3):
        rest = special.logsumexp(log_weight + np.delete(each, column, axis=-1).sum(axis=-1), axis=1)
        np.testing.assert_allclose(found[:, column], rest - whole, rtol=1e-10, atol=1e-10)


def test_surprises_of_weights_out_of_all_proportion_are_none():
    model = RestrictedBoltzmannMachine(np.full((2, 3), 1e6), np.zeros(2), np.zeros(3), np.zeros(2))
    assert np.isnan(np.asarray(model.surprises(Batch(np.zeros((1, 2)))))).all()


@pytest.mark.parametrize("gaussian", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_draws_have_the_law(gaussian):
    model = machine(4, 3, gaussian=gaussian)
    drawn = np.asarray(model.sample(3, 20_000))
    if not gaussian:
        assert abs(excess(np.bincount(number_of(drawn), minlength=16), 20_000 * law(model))) < 4
        return
    # by the moments of v: E v = b + W E h, with h from its own table
    log_mass = 0.5 * np.sum((states(3) @ model.weights.T / np.exp(model.log_scale)) ** 2, axis=1)
    p = special.softmax(log_mass + states(3) @ model.hidden_bias)
    mean = model.visible_bias + p @ states(3) @ model.weights.T
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 4.5 * drawn.std(axis=0) / np.sqrt(len(drawn)))


@pytest.mark.slow
def test_draws_by_parallel_tempering_have_the_law():
    """A machine too large for the table, whose last hidden units are idle: the law of the others is known."""
    small = machine(4, 3, spread=2.0)
    idle = np.zeros((4, 20))
    model = RestrictedBoltzmannMachine(
        np.block([[small.weights, idle], [np.zeros((16, 23))]]),
        np.append(small.visible_bias, np.zeros(16)),
        np.append(small.hidden_bias, np.zeros(20)),
    )
    drawn = np.asarray(model.sample(0, 2000))
    assert abs(excess(np.bincount(number_of(drawn[:, :4]), minlength=16), 2000 * law(small))) < 6  # chains remember


@pytest.mark.slow
def test_imputed_entries_have_the_conditional_law():
    model = machine(4, 3)
    batch = Batch(np.tile([1.0, 0, 0, 0], (6000, 1)), observed=np.tile([True, True, False, False], (6000, 1)))
    found = np.asarray(model.impute(batch, jax.random.key(0)))
    assert np.all(found[:, :2] == [1, 0])
    p = law(model)[8:12]
    assert abs(excess(np.bincount(number_of(found) - 8, minlength=4), 6000 * p / p.sum())) < 4


@pytest.mark.slow
def test_the_posterior_is_that_of_the_joint():
    model = machine(4, 3)
    p = joint(model)
    exact = (p / p.sum(axis=1, keepdims=True)) @ states(3)
    np.testing.assert_allclose(model.posterior(Batch(states(4))), exact, rtol=1e-12)
    part = Batch(np.tile([1.0, 0, 0, 0], (400, 1)), observed=np.tile([True, True, False, False], (400, 1)))
    found = np.asarray(model.posterior(part, 0))
    expected = (p[8:12].sum(axis=0) / p[8:12].sum()) @ states(3)
    error = found.std(axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(found.mean(axis=0) - expected) < 4.5 * error)


@pytest.mark.slow
@pytest.mark.parametrize("want", ["h", "v", ("h", "v")])
def test_what_is_completed_by_descent_is_the_lowest_of_all_states(want):
    """Enumeration by `complete` against the descent that larger machines take."""
    from kullback.models.boltzmann import _completion

    model = machine(6, 5)
    batch = rows(model)
    exact = complete(model, batch, want=want)
    assert exact.exact
    before, _completion._ENUMERATED = _completion._ENUMERATED, -1
    try:
        found = complete(model, batch, want=want)
        drawn = complete(model, batch, want=want, temperature=1.0, key=0)
    finally:
        _completion._ENUMERATED = before
    assert not found.exact
    np.testing.assert_allclose(found.energy, exact.energy, rtol=1e-10)
    assert np.all(drawn.energy >= exact.energy - 1e-9)


@pytest.mark.slow
def test_hidden_units_of_whole_rows_are_completed_in_closed_form():
    model = machine()
    batch = Batch(states(5))
    found = complete(model, batch, want="h")
    assert found.exact
    np.testing.assert_allclose(found.energy, -np.log(joint(model).max(axis=1)), rtol=1e-12, atol=1e-12)
    drawn = complete(model, batch, want="h", temperature=3.0, key=0, n=2000)
    odds = special.expit((states(5) @ model.weights + model.hidden_bias) / 3)
    assert np.all(np.abs(drawn.h.mean(axis=0) - odds) < 5 * 0.5 / np.sqrt(2000))


def test_a_gibbs_step_has_the_transition_probabilities_of_the_joint():
    model = machine(3, 3)
    T, p = gibbs_matrix(model), law(model)
    np.testing.assert_allclose(p @ T, p, rtol=1e-12)  # the oracle itself is reversible
    np.testing.assert_allclose(p[:, None] * T, (p[:, None] * T).T, rtol=1e-10)
    start = np.repeat(states(3), 4000, axis=0)
    after = number_of(np.asarray(model.sweep(0, start))).reshape(8, 4000)
    for row, expected in zip(after, T, strict=True):
        assert abs(excess(np.bincount(row, minlength=8), 4000 * expected)) < 4.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spread", "temperatures", "gaussian"),
    [(0.05, 100, False), (0.3, 1000, False), (1.0, 1000, False), (0.3, 1000, True)],
)
def test_annealed_importance_is_within_its_error(spread, temperatures, gaussian):
    model = machine(30, 16, spread=spread, gaussian=gaussian)
    found = model.anneal_log_partition(1, 200, temperatures)
    exact = model.exact_log_partition()
    assert abs(found.value - exact) < 3.5 * found.standard_error + 1e-3
    assert found.trusted
    assert found.note == ""


@pytest.mark.slow
def test_rows_that_lack_entries_are_annealed_within_their_error():
    from kullback.models.boltzmann import _path

    model = machine(12, 6)
    batch = rows(model)
    found = _path.anneal_rows(model, jax.random.key(0), jnp.asarray(batch.values), jnp.asarray(batch.observed), 100)
    exact = model.unnormalized(batch)
    assert np.all(np.abs(found.value - exact) < 4.5 * found.standard_error + 1e-9)


def test_weights_that_spread_are_not_to_be_trusted():
    model = machine(12, 6, spread=6.0)
    found = model.anneal_log_partition(0, 50, 2)
    assert found.spread > 3
    assert not found.trusted
    assert "not to be trusted" in found.note


@pytest.mark.slow
def test_estimates_have_no_error_where_they_are_exact():
    model = machine()
    batch = rows(model)
    found = model.estimate_log_likelihood(batch, 0)
    np.testing.assert_array_equal(found.standard_error, 0)
    np.testing.assert_allclose(found.value, model.log_likelihood(batch), rtol=1e-12)


def test_a_machine_begins_as_independent_units_with_the_means():
    model = RestrictedBoltzmannMachine.start([0.9, 0.0, 0.5], 4, key=0)
    np.testing.assert_allclose(special.expit(model.visible_bias), [0.9, 1e-3, 0.5], rtol=1e-6)
    assert np.abs(model.weights).max() < 0.05
    gaussian = RestrictedBoltzmannMachine.start([5.0, -3.0], 4, key=0, scale=[2.0, 0.1])
    np.testing.assert_allclose(gaussian.visible_bias, [5, -3])
    np.testing.assert_allclose(np.exp(gaussian.log_scale), [2, 0.1])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([1.0], [1.0], [1.0]), "weights has shape \\(1,\\): it must be a matrix"),
        (([[1.0]], [1.0, 2.0], [1.0]), "visible_bias has shape \\(2,\\)"),
        (([[1.0]], [1.0], [np.nan]), "hidden_bias\\[0\\] is nan: it must be finite"),
        (([[1.0]], [1.0], [1.0], [1.0, 2.0]), "log_scale has shape"),
    ],
)
def test_bad_parameters(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        RestrictedBoltzmannMachine(*arguments)


def test_layers_too_large_to_be_summed_out():
    model = RestrictedBoltzmannMachine(np.zeros((30, 25)), np.zeros(30), np.zeros(25))
    assert not model.enumerable
    with pytest.raises(ValueError, match="25 binary units: up to 24"):
        model.exact_log_partition()
