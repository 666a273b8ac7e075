"""The natural gradient of one data point, and what free coordinates mean to the rest of geometry."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import optax
import pytest

from contracts.quick import quick
from kullback.families import Bernoulli, Beta, DiagonalGaussian, Dirichlet, Gamma, Gaussian, Ising, Poisson, VonMises
from kullback.geometry import descend, flow, gradient, natural_gradient, relative_entropy, toward
from tiers import slow


@pytest.mark.slow
def test_a_step_of_online_em_is_a_step_toward_the_point():
    """η + γ(T(y) − η) moves the free coordinates by γ·toward, to first order in γ."""
    for p, y in (
        (Gamma(2.0, 3.0), 0.4),
        (Poisson(3.0), 7.0),
        (Gaussian([1.0, 2.0], [[1.0, 0.3], [0.3, 2.0]]), [0.0, 3.0]),
    ):

        @quick
        def moved(rate, p=p, y=y):
            eta = p.expectation + rate * (p.statistics(jnp.asarray(y)) - p.expectation)
            return p.kind.at("expectation", eta).free

        _, velocity = jax.jvp(moved, (0.0,), (1.0,))
        np.testing.assert_allclose(toward(p, y), velocity, rtol=1e-9)


def test_working_response_of_a_logistic_regression():
    p = Bernoulli([0.2, 0.7])
    y = np.array([1.0, 0.0])
    np.testing.assert_allclose(
        toward(p, y)[:, 0], (y - p.probability) / (p.probability * (1 - p.probability)), rtol=1e-14
    )


def test_members_far_from_zero_keep_their_digits():
    """Of N(1e4, 1e-4) the expectation E[x²] has no digits left of the variance; the step has all of them."""
    mean, sigma = 1e4, 1e-2
    y = mean + 0.003
    z = (y - mean) / sigma
    for p, point in ((DiagonalGaussian([mean], [sigma**2]), [y]), (Gaussian([mean], [[sigma**2]]), [y])):
        np.testing.assert_allclose(toward(p, point), [y - mean, 0.5 * (z**2 - 1)], rtol=1e-12)


def in_many_digits(statistics, means, fisher):
    """Solve Fisher·u = T − η in log α, by mpmath."""
    return np.array([float(entry) for entry in mp.lu_solve(fisher, mp.matrix(statistics) - mp.matrix(means))])


@pytest.mark.slow
@pytest.mark.parametrize("size", [1.0, slow(1e4), 1e8])
def test_sharp_members_keep_their_digits(size):
    """Concentrations of 1e8: what is left of log y − E[log y] is 1e-8 of it, and of second order along α."""
    alpha, y = size * np.array([1.0, 2.5, 0.7]), np.array([0.25, 0.59375, 0.15625])
    k = 3.0 * size
    steps = quick(
        lambda: (Dirichlet(alpha).toward(y), Gamma(k, k / 2).toward(2.0 + 2**-20), Beta(*alpha[:2]).toward(0.28125))
    )()
    with mp.workdps(60):
        for found, a, x in ((steps[0], alpha, y), (steps[2], alpha[:2], [0.28125, 0.71875])):
            a, x = [mp.mpf(float(v)) for v in a], [mp.mpf(float(v)) for v in x]
            means = [mp.digamma(v) - mp.digamma(sum(a)) for v in a]
            slope = mp.matrix(len(a))
            for i in range(len(a)):
                for j in range(len(a)):
                    slope[i, j] = ((i == j) * mp.psi(1, a[i]) - mp.psi(1, sum(a))) * a[j]
            np.testing.assert_allclose(found, in_many_digits(list(map(mp.log, x)), means, slope), rtol=1e-11)
        k, ratio = mp.mpf(k), (mp.mpf(2) + mp.mpf(2) ** -20) / 2
        known = [ratio - 1, (mp.log(k) - mp.digamma(k) - (ratio - 1 - mp.log(ratio))) / (k * mp.psi(1, k) - 1)]
        np.testing.assert_allclose(steps[1], np.array(known, dtype=float), rtol=1e-9)


@pytest.mark.slow
def test_sharp_directions_keep_their_digits():
    p = VonMises(0.5, 1e6)
    with mp.workdps(60):
        kappa, away = mp.mpf(10) ** 6, mp.mpf(0.501) - mp.mpf(0.5)
        ratio = mp.besseli(1, kappa) / mp.besseli(0, kappa)
        along = (mp.cos(away) - ratio) / (1 - ratio / kappa - ratio**2)
        across = mp.sin(away) * kappa / ratio
        turn = mp.mpf(0.5)
        known = [along * mp.cos(turn) - across * mp.sin(turn), along * mp.sin(turn) + across * mp.cos(turn)]
    np.testing.assert_allclose(toward(p, 0.501), np.array(known, dtype=float), rtol=1e-9)


def test_spins_that_do_not_interact_are_on_their_own():
    p = Ising([0.3, -2.0], interactions=[])
    y = np.array([1.0, 1.0])
    eta = np.tanh([0.3, -2.0])
    np.testing.assert_allclose(toward(p, y), (y - eta) / (1 - eta**2), rtol=1e-12)


# --- the rest of geometry in free coordinates -----------------------------------------------------------------


GOAL = Gamma(3.0, 0.5)


def objective(p):
    return relative_entropy(GOAL, p)


@pytest.mark.slow
def test_gradients_in_free_coordinates():
    p = Gamma(1.5, 2.0)
    slope, steepest, fisher = quick(
        lambda p: (gradient(objective, p, "free"), natural_gradient(objective, p, "free"), p.fisher("free"))
    )(p)
    np.testing.assert_allclose(fisher @ steepest, slope, rtol=1e-10)
    # D(goal, p) is E_goal[−log p(y)] and a constant: its natural gradient is the mean of the steps, turned around
    y = np.random.default_rng(0).gamma(3.0, 2.0, 20_000)
    steps = -np.asarray(toward(p, y))
    error = steps.std(axis=0) / np.sqrt(len(y))
    assert np.all(np.abs(steps.mean(axis=0) - steepest) < 4.5 * error)


@pytest.mark.slow
@pytest.mark.parametrize(
    "go",
    [
        lambda: descend(objective, Gamma(1.5, 2.0), 0.3, 60, coordinates="free"),
        slow(lambda: flow(objective, Gamma(1.5, 2.0), coordinates="free", until=30.0)),
    ],
    ids=["descend", "flow"],
)
def test_ways_down_in_free_coordinates(go):
    """Steps need not be small: no step of free coordinates leaves the family."""
    track = go()
    end = jax.tree.map(lambda leaf: np.asarray(leaf)[-1], track.members)
    np.testing.assert_allclose([end.shape, end.rate], [GOAL.shape, GOAL.rate], rtol=1e-5)
    assert track.coordinates("free").shape[-1] == 2


def test_optax_moves_free_coordinates():
    """Any vector is a member, so plain optimizers need no projection."""
    kind, optimizer = Gamma(1.0, 1.0).kind, optax.adam(0.3)

    @quick
    def run(vector):
        def step(state, _):
            vector, memory = state
            slope = jax.grad(lambda v: objective(kind.at("free", v)))(vector)
            updates, memory = optimizer.update(slope, memory)
            return (optax.apply_updates(vector, updates), memory), None

        return jax.lax.scan(step, (vector, optimizer.init(vector)), None, 400)[0][0]

    end = kind.at("free", run(jnp.array([5.0, -5.0])))
    np.testing.assert_allclose([end.shape, end.rate], [GOAL.shape, GOAL.rate], rtol=1e-3)
