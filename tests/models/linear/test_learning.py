"""Learning linear dynamical systems: EM, regressions, combination, bases, draws and starts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pykalman import KalmanFilter
from scipy.stats import multivariate_normal

from contracts.quick import quick
from kullback.families import Batch, Extent, TimeIndex
from kullback.geometry import relative_entropy
from kullback.learning import combine, em, em_step, online_em_step
from kullback.models import LinearDynamicalSystem, subspace_start
from kullback.models.linear._parameters import PARAMETERS
from models.linear.dense_sequences import dense, random_system
from tiers import slow

ROWS = 40
LENGTHS = (25, 1, 14)

gather = quick(lambda model, batch, carry=None: model.expected_statistics(batch, carry))
maximize = quick(lambda model, statistics: model.maximize(statistics))
apart = quick(relative_entropy)


def data(model, seed, m=0, holes=False):
    """Return a batch of sequences drawn from the system."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(ROWS, m)) if m else None
    _, values = quick(lambda model, key, u: model.sample_sequence(key, ROWS, u))(model, jax.random.key(seed), inputs)
    observed = rng.random((ROWS, 3)) < 0.8 if holes else None
    return Batch(np.asarray(values), observed=observed, time=TimeIndex.of_lengths(LENGTHS), inputs=inputs)


def observables(model):
    """Return mean and covariance of what is visible of 6 steps."""
    joint = dense(model, 6)
    return joint.mean[12:], joint.covariance[12:, 12:]


def assert_same(one, other, rtol=1e-9, atol=1e-11):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


# --- EM -----------------------------------------------------------------------------------------------------


def test_em_is_that_of_pykalman():
    rng = np.random.default_rng(0)
    truth, model = random_system(rng), random_system(rng)
    values = np.asarray(data(truth, 1).values)
    names = PARAMETERS[:6]
    theirs = ("transition_matrices", "observation_matrices", "transition_covariance", "observation_covariance")
    theirs = (*theirs, "initial_state_mean", "initial_state_covariance")
    start = {name: np.asarray(getattr(model, own)) for name, own in zip(theirs, names, strict=True)}
    peer = KalmanFilter(em_vars=list(theirs), **start).em(values, n_iter=3)
    batch = Batch(values, time=TimeIndex.of_lengths([ROWS]))
    for _ in range(3):
        model, _ = em_step(model, batch)
    for name, own in zip(theirs, names, strict=True):
        np.testing.assert_allclose(getattr(model, own), getattr(peer, name), rtol=1e-6, atol=1e-8, err_msg=name)


@pytest.mark.slow
def test_em_never_lowers_the_likelihood_with_gaps_and_inputs():
    rng = np.random.default_rng(1)
    truth, start = (random_system(rng, m=1, offset=True) for _ in range(2))
    _, history = em(start, data(truth, 2, m=1, holes=True), steps=25, tolerance=-np.inf)
    assert np.all(np.diff(history) > -1e-10)
    assert history[-1] > history[0] + 0.1


def test_online_em_with_rate_one_is_batch_em_and_with_rate_zero_stays():
    rng = np.random.default_rng(2)
    truth, start = random_system(rng), random_system(rng)
    batch = data(truth, 3)
    assert_same(online_em_step(start, batch, jnp.asarray(1.0))[0], em_step(start, batch)[0])
    assert_same(online_em_step(start, batch, jnp.asarray(0.0))[0], start)


def test_pieces_with_a_carry_filter_like_the_whole():
    rng = np.random.default_rng(3)
    model = random_system(rng)
    batch = data(model, 4)
    run = quick(lambda m, b, c: (*m.filter(b, c), m.log_likelihood(b, c)))
    whole, _, likelihood = run(model, batch, None)
    carry, means, parts = None, [], []
    for start in (0, 20):
        piece = slice(start, start + 20)
        steps = TimeIndex(batch.time.starts[piece])
        states, carry, found = run(model, Batch(np.asarray(batch.values)[piece], time=steps), carry)
        means.append(states.mean)
        parts.append(found)
    np.testing.assert_allclose(np.concatenate(means), whole.mean, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(np.concatenate(parts), likelihood, rtol=1e-11)


# --- the nearest system ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fixed",
    [slow(()), ("observation", "transition_noise"), ("offset", "input_transition", "initial_mean")],
)
def test_no_parameter_that_is_free_can_come_nearer(fixed):
    """The gradient of the cross-entropy is 0 in all that is free; what is fixed stays."""
    rng = np.random.default_rng(4)
    truth, old = random_system(rng, m=1, offset=True), random_system(rng, m=1, offset=True, fixed=fixed)
    statistics, _ = gather(truth, data(truth, 5, m=1))
    new = maximize(old, statistics)
    slope = quick(jax.grad(lambda m, s: m.cross_entropy(s) / s.mass))(jax.tree.map(jnp.asarray, new), statistics)
    for name in PARAMETERS:
        if name in fixed:
            np.testing.assert_array_equal(getattr(new, name), getattr(old, name))
        else:
            np.testing.assert_allclose(getattr(slope, name), 0, atol=1e-10, err_msg=name)


def test_inputs_that_never_come_leave_their_matrices_as_they_are():
    model = random_system(np.random.default_rng(5), m=1, offset=True)
    batch = data(model, 6, m=1)
    statistics, _ = gather(model, eqx.tree_at(lambda b: b.inputs, batch, np.zeros((ROWS, 1))))
    new = maximize(model, statistics)
    np.testing.assert_allclose(new.input_transition, model.input_transition, rtol=1e-12)
    np.testing.assert_allclose(new.input_observation, model.input_observation, rtol=1e-12)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(new))


@pytest.mark.slow
def test_combination_is_the_formula():
    """A = (Σ α A S)(Σ α S)⁻¹ and so on, with U₁ = V + ππᵀ, U_{t+1} = Q + A U_t Aᵀ and S the sum of them."""
    rng, length, alpha = np.random.default_rng(6), 5, (0.3, 0.7)
    models = [random_system(rng) for _ in alpha]
    found = combine(models, alpha, align=False, like=Extent.of_lengths(length))
    short, long = [], []
    for m in models:
        u = [m.initial_covariance + np.outer(m.initial_mean, m.initial_mean)]
        for _ in range(length - 1):
            u.append(m.transition_noise + m.transition @ u[-1] @ m.transition.T)
        short.append(sum(u[:-1]))
        long.append(sum(u))

    def average(parts):
        return sum(weight * part for weight, part in zip(alpha, parts, strict=True))

    def regression(matrices, noises, sums, steps):
        pairs = list(zip(matrices, sums, strict=True))
        matrix = average([m @ s for m, s in pairs]) @ np.linalg.inv(average(sums))
        spread = [n + (m - matrix) @ s @ (m - matrix).T / steps for n, (m, s) in zip(noises, pairs, strict=True)]
        return matrix, average(spread)

    a, q = regression([m.transition for m in models], [m.transition_noise for m in models], short, length - 1)
    c, r = regression([m.observation for m in models], [m.observation_noise for m in models], long, length)
    mean = average([m.initial_mean for m in models])
    v = average([m.initial_covariance + np.outer(m.initial_mean - mean, m.initial_mean - mean) for m in models])
    for name, expected in zip(PARAMETERS, (a, c, q, r, mean, v), strict=False):
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.slow
def test_copies_in_other_bases_combine_to_the_same_observables():
    rng = np.random.default_rng(7)
    model = random_system(rng, offset=True)
    copies = [model, *(model.changed_basis(rng.normal(size=(2, 2))) for _ in range(2))]
    for copy in copies[1:]:
        assert_same(observables(copy), observables(model), rtol=1e-8)
        assert_same(copy.aligned_to(model), model, rtol=1e-8)
    united = combine(copies, [1, 2, 3], like=Extent.of_lengths(9))
    assert_same(united, model, rtol=1e-7)
    assert float(apart(model, combine(copies, align=False, like=Extent.of_lengths(9)), Extent.of_lengths(9))) > 1e-2


def test_directions_that_are_not_shown_stay_when_systems_are_lined_up():
    eye = np.eye(2)
    model = LinearDynamicalSystem(0.5 * eye, [[1.0, 0.0]], eye, [[1.0]], np.zeros(2), eye)
    other = model.changed_basis(np.array([[2.0, 0.0], [0.0, 3.0]]))
    found = other.aligned_to(model)
    np.testing.assert_allclose(found.observation, model.observation, rtol=1e-12)
    np.testing.assert_allclose(found.transition_noise[1, 1], 9, rtol=1e-12)
    blind = eqx.tree_at(lambda m: m.observation, model, np.array([[0.0, 1.0]]))
    with pytest.raises(ValueError, match="cannot be lined up"):
        eqx.tree_at(lambda m: m.observation, model, np.array([[0.0, 0.0]])).aligned_to(blind)


# --- draws and what is ahead ------------------------------------------------------------------------------------


def test_imputed_entries_are_draws_given_the_rest():
    rng = np.random.default_rng(8)
    model = random_system(rng, n=2, offset=True)
    values, observed = rng.normal(size=(4, 2)), np.array([[1, 0], [0, 0], [1, 1], [0, 1]], bool)
    batch = Batch(values, observed=observed, time=TimeIndex.of_lengths([4]))
    keys = jax.random.split(jax.random.key(0), 20_000)
    draws = np.asarray(quick(jax.vmap(lambda key: model.impute(batch, key)))(keys))
    np.testing.assert_array_equal(draws[:, observed], np.broadcast_to(values[observed], (20_000, 4)))
    joint = dense(model, 4)
    _, given, _ = joint.given(values, observed)
    places = np.concatenate([joint.v(t)[~observed[t]] for t in range(4)])
    mean, covariance = given.mean[places], given.covariance[np.ix_(places, places)]
    away = draws[:, ~observed] - mean
    error = np.sqrt(np.diag(covariance) / len(away))
    assert np.all(np.abs(away.mean(axis=0)) < 4.5 * error)
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / np.sqrt(len(away))
    assert np.all(np.abs(away.T @ away / len(away) - covariance) < 4.5 * scale)


def test_forecasts_are_those_of_the_dense_gaussian():
    rng = np.random.default_rng(9)
    model = random_system(rng, m=1, offset=True)
    inputs, values = rng.normal(size=(7, 1)), rng.normal(size=(7, 3))
    batch = Batch(values[:4], time=TimeIndex.of_lengths([4]), inputs=inputs[:4])
    mean, covariance = quick(lambda m, b, u: m.forecast(m.filter(b)[1], 3, u))(model, batch, inputs[4:])
    joint = dense(model, 7, inputs)
    _, given, _ = joint.given(values, np.arange(7)[:, None] + np.zeros(3, int) < 4)
    for k in range(3):
        place = joint.v(4 + k)
        np.testing.assert_allclose(mean[k], given.mean[place], rtol=1e-10)
        np.testing.assert_allclose(covariance[k], given.covariance[np.ix_(place, place)], rtol=1e-10)


def test_the_energy_of_a_sequence_is_that_of_the_dense_gaussian():
    rng = np.random.default_rng(10)
    model = random_system(rng, m=1, offset=True)
    h, v, inputs = (rng.normal(size=(2, 3, 5, size)) for size in (2, 3, 1))

    @quick
    def asked(model):
        paired = model.energy(v, h, inputs), model.energy(v, inputs=inputs)
        shared = model.energy(v[0, 0], h, inputs[0, 0]), model.energy(v, inputs=inputs[0, 0])
        return *paired, *shared, model.energy(v[0, 0], h[0, 0], inputs[0, 0])

    joint_energy, free, of_states, of_rows, single = asked(model)
    first = inputs[0, 0]
    for place in np.ndindex(2, 3):
        exact = _dense_energies(model, v[place], h[place], inputs[place])
        np.testing.assert_allclose((joint_energy[place], free[place]), exact, rtol=1e-10)
        np.testing.assert_allclose(of_states[place], _dense_energies(model, v[0, 0], h[place], first)[0], rtol=1e-10)
        np.testing.assert_allclose(of_rows[place], _dense_energies(model, v[place], h[place], first)[1], rtol=1e-10)
    assert joint_energy.shape == free.shape == of_states.shape == of_rows.shape == (2, 3)
    assert single.shape == ()
    np.testing.assert_allclose(single, joint_energy[0, 0], rtol=1e-12)


def _dense_energies(model, v, h, inputs):
    """Return −log p(h, v) and −log p(v) of one sequence, from its dense Gaussian."""
    joint = dense(model, len(v), inputs)
    seen = np.concatenate([joint.v(t) for t in range(len(v))])
    together = multivariate_normal(joint.mean, joint.covariance).logpdf(np.concatenate([h.ravel(), v.ravel()]))
    alone = multivariate_normal(joint.mean[seen], joint.covariance[np.ix_(seen, seen)]).logpdf(v.ravel())
    return -together, -alone


# --- digits, starts and errors -----------------------------------------------------------------------------------


def test_data_far_away_keeps_its_digits():
    rng = np.random.default_rng(11)
    model = random_system(rng, offset=True)
    batch, away = data(model, 7), 2.0**30
    batch = eqx.tree_at(lambda b: b.values, batch, np.round(np.asarray(batch.values) * 2**20) / 2**20)
    model = eqx.tree_at(lambda m: m.offset, model, np.round(model.offset * 2**20) / 2**20)
    there = eqx.tree_at(lambda m: m.offset, model, model.offset + away)
    moved = eqx.tree_at(lambda b: b.values, batch, batch.values + away)
    one, other = maximize(model, gather(model, batch)[0]), maximize(there, gather(there, moved)[0])
    assert_same(eqx.tree_at(lambda m: m.offset, other, np.asarray(other.offset) - away), one, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(other.observation_noise, one.observation_noise, rtol=1e-9)


def both(model, batch):
    """Return a step of EM, what the next batch carries on and the log-likelihood."""
    statistics, carry = model.expected_statistics(batch)
    return model.maximize(statistics), carry, statistics.log_likelihood


@pytest.mark.slow
def test_32_bits_stay_32_bits():
    model = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), random_system(np.random.default_rng(12)))
    values = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    batch = Batch(values, time=TimeIndex.of_lengths([300]))
    moved, carry, likelihood = quick(both)(model, batch)
    assert {leaf.dtype for leaf in jax.tree.leaves((moved, carry, likelihood))} == {np.dtype(np.float32)}
    wide = jax.tree.map(lambda leaf: np.asarray(leaf, float), model)
    exact = quick(lambda m, b: jnp.sum(m.log_likelihood(b)))(wide, Batch(values.astype(float), time=batch.time))
    np.testing.assert_allclose(likelihood, exact, rtol=1e-4)


def test_a_start_from_subspaces_is_near_the_end():
    model = random_system(np.random.default_rng(13), offset=True)
    _, values = quick(lambda m, key: m.sample_sequence(key, 2000))(model, jax.random.key(2))
    values = np.array(values)
    start, again = subspace_start(values, 2), subspace_start(values, 2)
    assert_same(start, again, rtol=0, atol=0)
    found, expected = (np.sort_complex(np.linalg.eigvals(m.transition)) for m in (start, model))
    np.testing.assert_allclose(found, expected, atol=0.15)
    batch = Batch(values, time=TimeIndex.of_lengths([2000]))
    likelihood = quick(lambda m, b: jnp.mean(m.log_likelihood(b)))
    assert float(likelihood(start, batch)) > float(likelihood(model, batch)) - 0.01
    shaken = subspace_start(values, 2, rng=np.random.default_rng(0))
    assert np.max(np.abs(shaken.observation - start.observation)) > 1e-3


def test_a_start_exists_for_little_data():
    rng = np.random.default_rng(14)
    values = rng.normal(size=(30, 2))
    values[3:9, 0], values[20:, 1] = np.nan, np.nan
    for lengths in ([30], [10, 20], [1] * 30, [3] * 10):
        start = subspace_start(values, 3, lengths, inputs=rng.normal(size=(30, 1)), offset=False)
        assert np.max(np.abs(np.linalg.eigvals(start.transition))) < 1
        assert start.offset is None
        assert start.input_transition.shape == (3, 1)


def test_errors_say_what_is_wrong():
    eye = np.eye(2)
    with pytest.raises(ValueError, match=r"transition has shape \(2, 3\): with 2 states and 1 outputs"):
        LinearDynamicalSystem(np.ones((2, 3)), [[1.0, 0.0]], eye, [[1.0]], np.zeros(2), eye)
    with pytest.raises(ValueError, match="observation_noise is not positive definite"):
        LinearDynamicalSystem(eye, [[1.0, 0.0]], eye, [[-1.0]], np.zeros(2), eye)
    with pytest.raises(ValueError, match="fixed has 'speed'"):
        LinearDynamicalSystem(eye, [[1.0, 0.0]], eye, [[1.0]], np.zeros(2), eye, fixed=("speed",))
    driven = LinearDynamicalSystem(eye, [[1.0, 0.0]], eye, [[1.0]], np.zeros(2), eye, input_transition=np.ones((2, 1)))
    values, three = np.ones((3, 1)), TimeIndex.of_lengths([3])
    with pytest.raises(ValueError, match="inputs are missing: the system has a matrix for them"):
        driven.log_likelihood(Batch(values, time=three))
    with pytest.raises(ValueError, match=r"inputs have shape \(3, 2\): the system takes 1 for each of 3 steps"):
        driven.log_likelihood(Batch(values, time=three, inputs=np.ones((3, 2))))
    with pytest.raises(ValueError, match=r"inputs have shape \(3, 1\): the system takes 1 for each of 1 steps"):
        driven.own_statistics(Extent(3.0, inputs=values))
    with pytest.raises(ValueError, match=r"v has shape \(3,\): it needs an axis for time"):
        driven.energy(np.ones(3))
    with pytest.raises(ValueError, match="h has 2 steps: v has 3"):
        driven.energy(values, np.ones((2, 2)), values)
    with pytest.raises(ValueError, match="as many outputs and states"):
        driven.aligned_to(random_system(np.random.default_rng(0)))


def test_a_constant_series_has_a_likelihood_whatever_its_offset_is_rounded_to():
    values = np.full((3, 2), -1.0962087912)
    start = LinearDynamicalSystem(
        transition=[[0.9]], transition_noise=[[1.0]], observation=[[0.0], [0.0]], observation_noise=np.eye(2),
        initial_mean=[0.0], initial_covariance=[[1.0]], offset=[0.0, 0.0],
    )  # fmt: skip
    model, _ = em_step(start, Batch(values, time=TimeIndex.of_lengths([3])))
    off_by_rounding = Batch(values * (1 + 2.3e-16), time=TimeIndex.of_lengths([3]))
    assert np.all(np.diagonal(model.observation_noise) >= np.square(np.finfo(float).eps * values[0]))
    assert np.isfinite(np.asarray(model.log_likelihood(off_by_rounding))).all()
