"""The Fisher–Rao geometry against the geodesic equation, quadrature, known closed forms and its own laws."""

import functools
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from contracts.families import each_family
from kullback.families import (
    REGISTRY,
    Bernoulli,
    Beta,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Independent,
    Ising,
    Multinomial,
    Poisson,
    Product,
    SphericalGaussian,
    VonMises,
)
from kullback.geometry._fisher_rao import exponential_map, fisher_rao_distance, logarithm_map
from tiers import slow

#: Each function runs a few times only: most of the time would go into optimizing it.
jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


def random_gaussians(rng, n, apart, spread, count=60):
    """Return Gaussians with eigenvalues in [1/spread, spread] and means of length up to `apart`."""
    mean = rng.normal(size=(count, n))
    mean *= (apart * rng.uniform(0, 1, count) / np.linalg.norm(mean, axis=-1))[:, None]
    axes, _ = np.linalg.qr(rng.normal(size=(count, n, n)))
    values = np.exp(rng.uniform(-np.log(spread), np.log(spread), (count, n)))
    covariance = np.einsum("...ik,...k,...jk->...ij", axes, values, axes)
    return Gaussian(mean, 0.5 * (covariance + np.swapaxes(covariance, -1, -2)))


def two_gaussians(n, apart, spread):
    rng = np.random.default_rng(n)
    return random_gaussians(rng, n, apart, spread), random_gaussians(rng, n, apart, spread)


#: Two batches of members for each family.
PAIRS = {
    "Bernoulli": (Bernoulli([0.2, 0.9, 0.01]), Bernoulli([0.9, 0.4, 0.99])),
    "Categorical": (
        Categorical([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]]),
        Categorical([[0.5, 0.05, 0.4, 0.05], [0.01, 0.01, 0.97, 0.01]]),
    ),
    "Multinomial": (
        Multinomial(7, [[0.2, 0.3, 0.5], [0.8, 0.1, 0.1]]),
        Multinomial(7, [[0.6, 0.3, 0.1], [0.1, 0.1, 0.8]]),
    ),
    "Poisson": (Poisson([1.5, 100.0, 0.02]), Poisson([6.0, 3.0, 0.5])),
    "Exponential": (Exponential([0.7, 30.0]), Exponential([5.0, 0.1])),
    "Gaussian on a line": (Gaussian([[0.5], [1.0]], [[[2.0]], [[0.2]]]), Gaussian([[-3.0], [1.5]], [[[0.4]], [[6.0]]])),
    "Gaussian": two_gaussians(3, 3.0, 3.0),
    "DiagonalGaussian": (
        DiagonalGaussian([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]], [[2.0, 0.5, 1.0], [1.0, 1.0, 1.0]]),
        DiagonalGaussian([[3.0, 1.0, -1.0], [1.0, 2.0, 3.0]], [[1.0, 4.0, 0.2], [3.0, 2.0, 1.0]]),
    ),
    "SphericalGaussian": (
        SphericalGaussian([[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]], [2.0, 0.3]),
        SphericalGaussian([[3.0, 1.0, -1.0], [1.0, 1.0, 1.5]], [0.5, 4.0]),
    ),
    "Product": (
        Product([Poisson([2.0]), Categorical([[0.2, 0.3, 0.5]]), Gaussian([[0.0]], [[[1.0]]])]),
        Product([Poisson([5.0]), Categorical([[0.6, 0.3, 0.1]]), Gaussian([[2.0]], [[[0.3]]])]),
    ),
    "Independent": (
        Independent(Categorical([[[0.2, 0.3, 0.5], [0.8, 0.1, 0.1]]])),
        Independent(Categorical([[[0.6, 0.3, 0.1], [0.1, 0.1, 0.8]]])),
    ),
}


def ask(*names, slow=()):
    """Ask the families of these names; `make test` leaves out some."""
    return pytest.mark.parametrize("name", each_family({name: name for name in names}, slow))


every_pair = ask(*PAIRS)

metric = jit(lambda p: p.fisher("source"))
jeffreys = jit(lambda p, q: p.relative_entropy(q) + q.relative_entropy(p))
step, aim, distance = jit(exponential_map), jit(logarithm_map), jit(fisher_rao_distance)


def close(actual, desired, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(actual), np.asarray(desired), rtol=tolerance, atol=tolerance)


def full(p):
    """Return a spherical or diagonal Gaussian as one with a full covariance."""
    n = p.mean.shape[-1]
    return Gaussian(p.mean, np.asarray(p.variance).reshape(*p.batch_shape, -1, 1) * np.eye(n))


def length(p, velocity):
    return np.sqrt(np.einsum("...i,...ij,...j->...", velocity, metric(p), velocity))


# --- laws of every family -------------------------------------------------------------------------------


@ask(*PAIRS, slow=("Gaussian", "Product"))
def test_the_exponential_map_solves_the_geodesic_equation(name):
    p, q = PAIRS[name]
    d = p.size

    def metric_at(source):
        return p.kind.at("source", source).fisher("source")

    @jit
    def equation(state):
        place, speed = state[:d], state[d:]
        slope = jax.jacfwd(metric_at)(place)  # ∂_k g_ij
        force = jnp.einsum("ijk,j,k->i", slope, speed, speed) - 0.5 * jnp.einsum("jki,j,k->i", slope, speed, speed)
        return jnp.concatenate([speed, -jnp.linalg.solve(metric_at(place), force)])

    velocity = 0.8 * np.asarray(aim(p, q))
    start = np.concatenate([np.asarray(p.source)[0], velocity[0]])
    path = solve_ivp(lambda t, y: np.asarray(equation(y)), (0, 1), start, method="DOP853", rtol=1e-11, atol=1e-12)
    close(step(p, velocity).source[0], path.y[:d, -1])


@ask(*PAIRS, slow=("Gaussian", "Gaussian on a line"))
def test_the_distance_is_the_length_of_the_curve(name):
    """Also at constant speed, and as long as its velocity at the start."""
    p, q = PAIRS[name]
    velocity, whole = np.asarray(aim(p, q)), np.asarray(distance(p, q))

    @jit
    def pace(t):
        place, speed = jax.jvp(lambda t: exponential_map(p, t * velocity).source, (t,), (jnp.ones_like(t),))
        return jnp.sqrt(jnp.einsum("bi,bij,bj->b", speed, p.kind.at("source", place).fisher("source"), speed))

    nodes, weights = np.polynomial.legendre.leggauss(6)
    paces = np.stack([pace(t) for t in (nodes + 1) / 2])
    close(weights / 2 @ paces, whole)
    close(paces, np.broadcast_to(whole, paces.shape))
    close(length(p, velocity), whole, 1e-12)
    assert np.all(whole > 0.1)


@every_pair
def test_the_logarithm_and_the_exponential_map_undo_each_other(name):
    p, q = PAIRS[name]
    close(step(p, aim(p, q)).source, q.source, 1e-11)
    velocity = np.random.default_rng(3).normal(size=(*p.batch_shape, p.size))
    velocity *= (0.5 / length(p, velocity))[..., None]
    close(aim(p, step(p, velocity)), velocity, 1e-12)


@every_pair
def test_the_distance_is_symmetric_and_below_that_of_the_e_geodesic(name):
    """At its own pace the e-geodesic has the squared length D(p, q) + D(q, p)."""
    p, q = PAIRS[name]
    close(distance(p, q), distance(q, p), 1e-13)
    assert np.all(np.asarray(distance(p, q)) ** 2 < jeffreys(p, q))


@every_pair
def test_between_close_members_it_is_the_relative_entropy(name):
    p, q = PAIRS[name]
    velocity = np.asarray(aim(p, q))
    velocity = velocity / length(p, velocity)[..., None]
    for size in (1e-3, 1e-5, 1e-7):
        near = p.kind.at("source", np.asarray(p.source) + size * velocity)
        square = np.asarray(distance(p, near)) ** 2
        np.testing.assert_allclose(square, size**2, rtol=10 * size)
        # the sum of both relative entropies agrees to second order
        np.testing.assert_allclose(square, jeffreys(p, near), rtol=5 * size**2 + 1e-9)


#: Bernoulli and Multinomial are as Categorical here.
@ask(*(name for name in PAIRS if name not in ("Bernoulli", "Multinomial")), slow=("Gaussian", "Product", "Independent"))
def test_derivatives(name):
    """½∇d² = −I(q)·log_q p, and the way there and back has the identity as its derivative, at v = 0 too."""
    p, q = PAIRS[name]
    rng = np.random.default_rng(5)
    change = rng.normal(size=(*p.batch_shape, p.size))

    @jit
    def gradient(source):
        return jax.grad(lambda s: 0.5 * jnp.sum(fisher_rao_distance(p, p.kind.at("source", s)) ** 2))(source)

    @jit
    def there_and_back(velocity):
        return jax.vjp(lambda v: logarithm_map(p, exponential_map(p, v)), velocity)[1](change)[0]

    close(gradient(q.source), -np.einsum("bij,bj->bi", metric(q), aim(q, p)))
    close(gradient(p.source), np.zeros(change.shape))
    close(there_and_back(0.3 * aim(p, q)), change)
    close(there_and_back(np.zeros(change.shape)), change)


@every_pair
def test_a_member_is_at_no_distance_from_itself(name):
    p, _ = PAIRS[name]
    assert not np.any(distance(p, p))
    assert not np.any(aim(p, p))
    close(step(p, np.zeros((*p.batch_shape, p.size))).source, p.source, 1e-14)


@every_pair
def test_float32_stays_float32(name):
    p, q = PAIRS[name]
    short_p, short_q = jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), (p, q))

    @jit
    def work(p, q):
        velocity = logarithm_map(p, q)
        return velocity, fisher_rao_distance(p, q), exponential_map(p, velocity).source

    velocity, whole, end = work(short_p, short_q)
    assert {velocity.dtype, whole.dtype, end.dtype} == {jnp.dtype("float32")}
    close(whole, distance(p, q), 1e-5)
    np.testing.assert_allclose(length(p, np.asarray(velocity) - np.asarray(aim(p, q))), 0, atol=1e-4)
    close(end, q.source, 1e-4)


@pytest.mark.parametrize("name", ["Categorical", "Gaussian on a line", "Product"])
def test_batches_are_members_side_by_side(name):
    p, q = PAIRS[name]
    one_p, one_q = jax.tree.map(lambda a: a[0], (p, q))
    velocity = aim(one_p, one_q)
    close(velocity, aim(p, q)[0], 1e-13)
    close(distance(one_p, one_q), distance(p, q)[0], 1e-13)
    # one start, several velocities
    several = step(one_p, np.stack([velocity, 0 * velocity]))
    close(several.source, np.stack([one_q.source, one_p.source]), 1e-12)


def test_each_family_is_tested_or_has_no_closed_form():
    without = {Gamma, Beta, Dirichlet, VonMises, Ising}  # see test_numerical_geodesic.py
    assert {type(p) for p, _ in PAIRS.values()} == set(REGISTRY) - without


# --- closed forms of single families --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "a", "b"),
    [(Bernoulli, 0.001, 0.97), (Poisson, 0.01, 40.0), (Exponential, 0.02, 30.0)],
)
def test_on_a_line_the_distance_is_an_integral(family, a, b):
    info = jit(lambda source: family.from_source(source).fisher("source")[0, 0])
    length, error = quad(lambda s: float(jnp.sqrt(info(jnp.array([s])))), a, b, epsabs=1e-11, epsrel=1e-11, limit=200)
    assert error < 1e-9
    close(distance(family(a), family(b)), length)


def test_known_distances():
    close(distance(Bernoulli(0.0), Bernoulli(1.0)), np.pi, 1e-14)
    close(distance(Categorical([1.0, 0.0, 0.0]), Categorical([0.0, 0.5, 0.5])), np.pi, 1e-14)
    close(distance(Categorical([1.0, 0.0]), Categorical([1.0, 0.0])), 0)
    close(distance(Poisson(0.0), Poisson(9.0)), 6, 1e-14)
    close(distance(Poisson(0.0), Poisson(0.0)), 0)
    close(distance(Exponential(1e-30), Exponential(1e30)), 60 * np.log(10), 1e-14)
    # Han and Park 2014: N(0, diag(1, 0.1)) and N((1, 1), diag(0.1, 1))
    p, q = DiagonalGaussian([0.0, 0.0], [1.0, 0.1]), DiagonalGaussian([1.0, 1.0], [0.1, 1.0])
    assert float(distance(full(p), full(q))) == pytest.approx(3.1329, abs=5e-5)
    assert float(distance(p, q)) == pytest.approx(3.1594, abs=5e-5)


def test_the_great_circle_comes_back():
    p = Categorical([0.2, 0.3, 0.5])
    velocity = np.array([0.3, -0.1])
    length = np.sqrt(velocity @ np.asarray(p.fisher("source")) @ velocity)
    turn = 2 * np.pi / length * velocity  # √p becomes −√p
    close(step(p, turn).probabilities, p.probabilities, 1e-13)
    for share in np.linspace(0.05, 0.95, 7):
        probabilities = step(p, share * turn).probabilities
        assert np.all(probabilities >= 0)
        assert float(jnp.sum(probabilities)) == pytest.approx(1, abs=1e-14)
    close(step(Poisson(4.0), [-12.0]).rate, 1.0, 1e-14)  # √λ from 2 over 0 to −1
    close(step(Poisson(4.0), [-8.0]).rate, 0.0)


def exact_half_plane(dx, variance_p, variance_q):
    dx, a, b = mp.mpf(dx), mp.mpf(variance_p), mp.mpf(variance_q)
    return mp.sqrt(2) * mp.acosh(1 + (dx**2 / 2 + (mp.sqrt(a) - mp.sqrt(b)) ** 2) / (2 * mp.sqrt(a * b)))


@pytest.mark.parametrize("family", [Gaussian, DiagonalGaussian, SphericalGaussian])
def test_the_half_plane_keeps_its_digits(family):
    def member(mean, variance):
        scale = {Gaussian: [[variance]], DiagonalGaussian: [variance], SphericalGaussian: variance}[family]
        return family([mean], scale)

    cases = [(1e-9, 1.0, 1 + 1e-9), (0.0, 1.0, 1 + 1e-12), (1e8, 1.0, 1.0), (3.0, 1e-12, 1e12), (1e-3, 1.0, 2.0)]
    with mp.workdps(60):
        for dx, a, b in cases:
            p, q = member(0.0, a), member(dx, b)
            exact = float(exact_half_plane(dx, a, b))
            assert float(distance(p, q)) == pytest.approx(exact, rel=1e-13)
            velocity = aim(p, q)
            length = np.sqrt(velocity @ p.fisher("source") @ velocity)
            assert float(length) == pytest.approx(exact, rel=1e-13)
            if dx < 1e3:  # beyond, the end is known less well than the way
                close(step(p, velocity).source, q.source, 1e-9)


def test_long_steps_in_the_half_plane():
    """1/y = cosh ρ − b·sinh(ρ)/ρ from (0, 1) with velocity (a, b), in 60 digits, where all but a little cancels."""
    for a, b in [(1e-6, 20.0), (1e-3, 30.0), (3.0, 10.0), (5.0, -8.0), (0.07, 0.07), (0.08, 0.06)]:
        with mp.workdps(60):
            rho = mp.sqrt(mp.mpf(a) ** 2 + mp.mpf(b) ** 2)
            y = 1 / (mp.cosh(rho) - b * mp.sinh(rho) / rho)
            mean, variance = float(mp.sqrt(2) * a * mp.sinh(rho) / rho * y), float(y**2)
        end = step(DiagonalGaussian([0.0], [1.0]), np.array([np.sqrt(2) * a, 2 * b]))
        assert float(end.mean[0]) == pytest.approx(mean, rel=1e-13)
        assert float(end.variance[0]) == pytest.approx(variance, rel=1e-13)


def test_long_steps_of_a_variance():
    for scale in (-300.0, -20.0, -0.1, 0.1, 20.0, 300.0):
        end = step(DiagonalGaussian([1.0], [2.0]), [0.0, 2.0 * scale])
        assert float(end.variance[0]) == pytest.approx(2 * np.exp(scale), rel=1e-12)
        assert float(end.mean[0]) == 1


def test_the_way_through_full_covariances_is_shorter_than_through_spherical_ones():
    p, q = SphericalGaussian([0.0, 0.0], 1.0), SphericalGaussian([3.0, 0.0], 1.0)
    wider = SphericalGaussian([0.0, 0.0], 7.0)
    assert float(distance(full(p), full(q))) < float(distance(p, q)) - 0.05
    # at equal means only the scale changes: a geodesic in both
    close(distance(full(p), full(wider)), distance(p, wider), 1e-13)


# --- Gaussians ------------------------------------------------------------------------------------------


def spd_distance(a, b):
    """Return √(½ Σ log² λ), λ the eigenvalues of a⁻¹b, from 50 digits."""
    with mp.workdps(50):
        return np.array([_spd_distance(mp.matrix(x), mp.matrix(y)) for x, y in zip(a, b, strict=True)])


def _spd_distance(a, b):
    w = mp.inverse(mp.cholesky(a))
    values = mp.eigsy(w * b * w.T, eigvals_only=True)
    return float(mp.sqrt(sum(mp.log(v) ** 2 for v in values) / 2))


def embedded(p):
    """Return [[Σ + μμᵀ, μ], [μᵀ, 1]]."""
    mean, covariance = np.asarray(p.mean), np.asarray(p.covariance)
    corner = np.concatenate([covariance + mean[..., :, None] * mean[..., None, :], mean[..., :, None]], axis=-1)
    last = np.concatenate([mean, np.ones_like(mean[..., :1])], axis=-1)
    return np.concatenate([corner, last[..., None, :]], axis=-2)


def in_standard_deviations(p, found):
    """Return how far `found` is from p, in the frame in which p is N(0, I)."""
    w = np.linalg.inv(np.linalg.cholesky(np.asarray(p.covariance)))
    mean = np.einsum("...ij,...j->...i", w, np.asarray(found.mean - p.mean))
    covariance = w @ np.asarray(found.covariance) @ np.swapaxes(w, -1, -2) - np.eye(w.shape[-1])
    return max(np.abs(mean).max(), np.abs(covariance).max())


@pytest.mark.parametrize("n", [3, slow(5)])
def test_gaussians_far_apart(n):
    """Means up to 10 standard deviations apart, variances up to a factor of 100 in both directions."""
    p, q = two_gaussians(n, 10.0, 10.0)
    velocity, whole = aim(p, q), np.asarray(distance(p, q))
    assert in_standard_deviations(q, step(p, velocity)) < 1e-9
    close(whole, distance(q, p), 1e-12)
    close(whole, length(p, velocity), 1e-11)
    # Calvo and Oller's lower bound, and the e-geodesic's upper one
    assert np.all(whole > spd_distance(embedded(p), embedded(q)) - 1e-9)
    assert np.all(whole < np.sqrt(jeffreys(p, q)))
    # no way over a third Gaussian is shorter, be it far away or next to the middle of the geodesic
    middle = step(p, 0.5 * velocity)
    close(distance(p, middle), 0.5 * whole, 1e-11)
    close(distance(middle, q), 0.5 * whole, 1e-9)
    rng = np.random.default_rng(n)
    aside = rng.normal(size=velocity.shape)
    for size in (0.03, 0.3, 3.0):
        over = step(middle, (size / length(middle, aside))[:, None] * aside)
        assert np.all(np.asarray(distance(p, over)) + np.asarray(distance(over, q)) > whole)


@pytest.mark.parametrize("n", [2, 5])
def test_distances_between_gaussians_do_not_depend_on_the_frame(n):
    p, q = two_gaussians(n, 5.0, 5.0)
    rng = np.random.default_rng(20 + n)
    matrix, shift = rng.normal(size=(n, n)) + 2 * np.eye(n), rng.normal(size=n)

    def moved(g):
        covariance = matrix @ g.covariance @ matrix.T
        return Gaussian(g.mean @ matrix.T + shift, 0.5 * (covariance + np.swapaxes(covariance, -1, -2)))

    close(distance(moved(p), moved(q)), distance(p, q), 1e-11)


@pytest.mark.parametrize("n", [2, 5])
def test_closed_forms_inside_the_gaussians(n):
    p, q = two_gaussians(n, 5.0, 100.0)
    # equal means: positive definite matrices
    close(distance(p, Gaussian(p.mean, q.covariance)), spd_distance(p.covariance, q.covariance))
    # equal covariances: the half-plane over the line through the means, √2·arccosh(1 + δ²/4)
    mahalanobis = np.einsum("bi,bij,bj->b", q.mean - p.mean, np.linalg.inv(p.covariance), q.mean - p.mean)
    close(distance(p, Gaussian(q.mean, p.covariance)), np.sqrt(2) * np.arccosh(1 + mahalanobis / 4))
    # diagonal covariances, means apart along one axis: the product of the half-planes
    variances = [np.linalg.eigvalsh(g.covariance) for g in (p, q)]
    a, b = (DiagonalGaussian(g.mean * np.eye(n)[0], v) for g, v in zip((p, q), variances, strict=True))
    close(distance(full(a), full(b)), distance(a, b))
    # along several axes that product is a longer way: the geodesic leaves the diagonal covariances
    a, b = (DiagonalGaussian(g.mean, v) for g, v in zip((p, q), variances, strict=True))
    assert np.all(np.asarray(distance(full(a), full(b))) < np.asarray(distance(a, b)))


def test_extreme_covariances():
    p, q = two_gaussians(3, 1.0, 1e3)
    assert in_standard_deviations(q, step(p, aim(p, q))) < 1e-7
    close(distance(p, q), distance(q, p), 1e-10)
    close(distance(p, Gaussian(p.mean, q.covariance)), spd_distance(p.covariance, q.covariance), 1e-10)
    # from a needle to a disc
    wide = 10 ** np.linspace(0, 8, 60)
    scales = np.stack([wide, 1 / wide, np.ones(60)], axis=-1)
    needle, disc = (full(DiagonalGaussian(np.zeros((60, 3)), s)) for s in (scales, scales[:, [1, 0, 2]]))
    close(distance(needle, disc), 2 * np.log(wide), 1e-12)


def test_gaussians_up_to_100000_standard_deviations_apart():
    far = 10 ** np.linspace(2, 5, 60)
    p, q = (Gaussian(m[:, None] * np.array([0.6, 0.8]), np.stack([np.eye(2)] * 60)) for m in (0 * far, far))
    close(distance(p, q), np.sqrt(2) * np.arccosh(1 + far**2 / 4), 1e-10)


def test_too_far_is_an_error_and_not_a_number():
    p, q = two_gaussians(2, 3.0, 3.0)
    too_far = Gaussian(q.mean + 1e12 * np.eye(60)[:, :1], q.covariance)
    with pytest.raises(ValueError, match=r"too far apart .* in float64"):
        fisher_rao_distance(p, too_far)
    with pytest.raises(ValueError, match=r"too far apart .* in float64"):
        logarithm_map(p, too_far)
    assert np.all(np.isfinite(distance(p, q)))
    with pytest.raises(Exception, match="too far apart"):
        jax.block_until_ready(distance(p, too_far))
    # the distance is still known where the geodesic is not, for it would miss its goal
    too_far = Gaussian(q.mean + 1e5, q.covariance)
    assert np.all(np.isfinite(fisher_rao_distance(p, too_far)))
    with pytest.raises(ValueError, match="too far apart"):
        logarithm_map(p, too_far)


@pytest.mark.slow
def test_one_core_is_enough():
    """A batched SVD of jaxlib 0.9 waits for a second thread; the one that is used here must not."""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system does not say which cores a process runs on")
    program = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import jax
import numpy as np
from kullback.families import Gaussian
from kullback.geometry import fisher_rao_distance
p, q = (Gaussian(m * np.ones((10, 5)), np.stack([np.eye(5)] * 10)) for m in (0.0, 1.0))
print(float(jax.jit(fisher_rao_distance)(p, q)[0]))
"""
    plain = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=True, env=plain
    )
    assert float(done.stdout) == pytest.approx(np.sqrt(2) * np.arccosh(1 + 5 / 4), rel=1e-12)


# --- what is wrong is said ------------------------------------------------------------------------------


def test_bad_arguments():
    with pytest.raises(ValueError, match="must be of one family"):
        fisher_rao_distance(Poisson(1.0), Exponential(1.0))
    with pytest.raises(ValueError, match="must be of one family"):
        logarithm_map(Multinomial(3, [0.5, 0.5]), Multinomial(4, [0.5, 0.5]))
    with pytest.raises(ValueError, match=r"velocity has shape \(3,\): p has 2 coordinates"):
        exponential_map(Categorical([0.2, 0.3, 0.5]), [0.1, 0.2, -0.3])
    with pytest.raises(ValueError, match=r"velocity has shape \(\)"):
        exponential_map(Poisson(1.0), 1.0)


@pytest.mark.parametrize(
    ("edge", "inside"),
    [
        (Bernoulli(1.0), Bernoulli(0.5)),
        (Categorical([0.0, 0.4, 0.6]), Categorical([0.2, 0.4, 0.4])),
        (Multinomial(3, [0.0, 0.4, 0.6]), Multinomial(3, [0.2, 0.4, 0.4])),
        (Poisson(0.0), Poisson(1.0)),
    ],
)
def test_the_boundary_can_be_reached_but_not_left(edge, inside):
    close(step(inside, aim(inside, edge)).source, edge.source, 1e-14)
    close(distance(edge, inside), distance(inside, edge), 1e-14)
    with pytest.raises(ValueError, match="must be inside the family"):
        logarithm_map(edge, inside)
    with pytest.raises(ValueError, match="must be inside the family"):
        exponential_map(edge, np.zeros(edge.size))
