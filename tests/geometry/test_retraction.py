"""Retractions: right to first order, and inside the family however long the step."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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
from kullback.geometry._fisher_rao import exponential_map
from kullback.geometry._retraction import retraction

#: Each function runs a few times only: most of the time would go into optimizing it.
jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})

MEMBERS = [
    Gaussian([0.0, 1.0, -1.0], [[2.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 0.7]]),
    DiagonalGaussian([0.0, 1.0], [2.0, 0.5]),
    SphericalGaussian([0.0, 1.0], 0.5),
    Bernoulli(0.2),
    Categorical([0.1, 0.2, 0.3, 0.4]),
    Multinomial(7, [0.2, 0.3, 0.5]),
    Poisson(1.5),
    Exponential(0.7),
    Gamma(2.0, 0.3),
    Beta(0.5, 3.0),
    Dirichlet([0.5, 3.0, 1.0]),
    VonMises(9.0, 2.0),  # an angle beyond one turn
    Ising([0.1, -0.2, 0.3]),
    Product([Poisson(2.0), Categorical([0.2, 0.3, 0.5]), Gaussian([0.0], [[1.0]])]),
    Independent(Categorical([[0.2, 0.3, 0.5], [0.8, 0.1, 0.1]])),
]
every_member = pytest.mark.parametrize("p", each_family({type(p).__name__: p for p in MEMBERS}))
with_geodesics = pytest.mark.parametrize(
    "p",
    each_family({type(p).__name__: p for p in MEMBERS if type(p) not in (Gamma, Beta, Dirichlet, VonMises, Ising)}),
)

move = jit(retraction)


@functools.cache
def directions(size):
    return np.random.default_rng(size).normal(size=(40, size))


def test_every_family_has_one():
    assert {type(p) for p in MEMBERS} == set(REGISTRY)


@every_member
def test_it_starts_at_p_with_the_velocity(p):
    @jit
    def start(velocity):
        def end(v):
            return retraction(p, v).source

        return end(velocity), jax.jacfwd(end)(velocity)

    place, slope = start(jnp.zeros(p.size))
    np.testing.assert_allclose(place, p.source, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(slope, np.eye(p.size), rtol=1e-13, atol=1e-13)


@with_geodesics
def test_it_leaves_the_geodesic_at_second_order(p):
    @jit
    def gap(velocity):
        return jnp.max(jnp.abs(retraction(p, velocity).source - exponential_map(p, velocity).source))

    velocity = 0.1 * directions(p.size)[0] * np.abs(p.source + 0.1)
    large, small = float(gap(velocity)), float(gap(0.01 * velocity))
    assert large < np.max(np.abs(velocity))
    assert small < 2e-4 * large + 1e-16  # 1e-4 or less, and the rounding of the coordinates


@every_member
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6, 1e12])
def test_it_never_leaves_the_family(p, scale):
    """The constructors check the members that come out; `natural` also asks that they are not on the boundary."""
    for velocity in directions(p.size)[:10]:
        end = move(p, scale * velocity)
        assert np.all(np.isfinite(end.source))
        checked = p.kind.at("source", np.asarray(end.source))
        assert np.all(np.isfinite(checked.natural))
        if scale > 1:
            assert not np.allclose(end.source, p.source, rtol=1e-3)


@pytest.mark.parametrize(
    ("p", "velocity"),
    [
        (Bernoulli(0.999), [-1e9]),
        (Poisson(1e-9), [-1e6]),
        (Exponential(1e9), [-3e9]),
        (Categorical([1e-12, 1 - 1e-12]), [1e6]),
        (VonMises(0.0, 1.0), [0.0, -5.0]),  # through the uniform distribution, to the other side
        (Gaussian([0.0, 0.0], [[1.0, 0.999], [0.999, 1.0]]), [1e9, 0.0, -1e9, 1e9, 3e8]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_steps_that_cross_the_boundary_come_back(p, velocity):
    end = retraction(p, velocity)  # not traced: the constructor checks it
    assert np.all(np.isfinite(end.natural))


def test_a_covariance_that_grows_in_one_direction_keeps_the_others():
    p = MEMBERS[0]
    row, column = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
    least = np.linalg.eigvalsh(p.covariance)[0]
    for direction in directions(3):
        for scale in (1e6, 1e12, -1e12):
            flat = np.concatenate([np.zeros(3), scale * np.outer(direction, direction)[row, column]])
            assert np.linalg.eigvalsh(move(p, flat).covariance)[0] > 0.49 * least


def test_squares_do_not_overflow():
    p = Categorical(np.array([0.2, 0.3, 0.5], np.float32))
    end = retraction(p, np.array([1e25, -2e25], np.float32))
    np.testing.assert_allclose(
        end.probabilities, [1 / 0.2, 4 / 0.3, 1 / 0.5] / np.sum([1 / 0.2, 4 / 0.3, 1 / 0.5]), 1e-5
    )


def test_through_the_uniform_distribution_a_von_mises_turns_around():
    end = retraction(VonMises(1.0, 2.0), [0.0, -5.0])
    assert float(end.mean) == pytest.approx(1 + np.pi, rel=1e-12)
    assert float(end.concentration) == pytest.approx(3)


def test_what_the_docstring_says():
    p = Gaussian([0.0, 1.0], [[2.0, 0.6], [0.6, 1.0]])
    v = np.array([[-3.0, 0.4], [0.4, 5.0]])
    end = retraction(p, [1.0, 2.0, -3.0, 5.0, 0.4])
    np.testing.assert_allclose(end.mean, [1.0, 3.0])
    plain = p.covariance + v + 0.5 * v @ np.linalg.solve(p.covariance, v)
    np.testing.assert_allclose(end.covariance, plain, rtol=1e-5)  # the velocity is scaled, at third order
    assert np.linalg.eigvalsh(np.asarray(end.covariance) - 0.5 * p.covariance)[0] > 0
    np.testing.assert_allclose(retraction(Dirichlet([1.0, 2.0]), [-4.0, 1.0]).concentration, [5.0, 3.25])
    end = retraction(Categorical([0.5, 0.5]), [1.0]).probabilities  # 0.5·(1 + 2 + 2), 0.5·(1 − 2 + 2)
    np.testing.assert_allclose(end, [5 / 6, 1 / 6])


@every_member
def test_batches_are_members_side_by_side(p):
    velocity = directions(p.size)[:3]
    batch = jax.tree.map(lambda a: jnp.stack([jnp.asarray(a)] * 3), p)
    single = [move(p, v).source for v in velocity]
    for several in (move(batch, velocity), move(p, velocity)):
        np.testing.assert_allclose(several.source, single, rtol=1e-12, atol=1e-14)


@every_member
def test_float32_stays_float32(p):
    short = jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), p)
    velocity = directions(p.size)[0]
    end = move(short, jnp.asarray(velocity, jnp.float32)).source
    assert end.dtype == jnp.float32
    # a covariance's velocity is scaled by what the precision allows
    rtol = 2e-2 if isinstance(p, (Gaussian, Product)) else 1e-5
    np.testing.assert_allclose(end, move(p, velocity).source, rtol=rtol, atol=1e-5)


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"velocity has shape \(2,\): p has 1 coordinate"):
        retraction(Poisson(1.0), [1.0, 2.0])
