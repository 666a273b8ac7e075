"""Gaps between a convex function and its tangent, from tiny to huge, against mpmath."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.families import Gaussian, Kind, Poisson, VonMises
from kullback.families._potential_excess import potential_excess
from kullback.numerics import determinant_excess, entropy_excess, exponential_excess, ratio_excess

TINY = np.geomspace(1e-15, 0.9, 60)


def test_ratio_excess():
    t = np.concatenate([TINY, -TINY, [0.0, 0.00999999, 0.0100001, -0.00999999, 3.0, 1e6, -1 + 1e-12]])
    b = np.geomspace(1e-6, 1e6, len(t))
    a = b * (1 + t)
    with mp.workdps(60):
        ratios = [x / y for x, y in zip(map(mp.mpf, a.tolist()), map(mp.mpf, b.tolist()), strict=True)]
        exact = np.array([r - 1 - mp.log(r) for r in ratios], dtype=float)
    np.testing.assert_allclose(quick(ratio_excess)(a, b), exact, rtol=1e-12)


def test_exponential_excess():
    u = np.concatenate([TINY, -TINY, [0.0, 0.04999, 0.05001, -0.04999, -0.05001, 3.0, 80.0, -80.0]])
    with mp.workdps(60):
        exact = np.array([mp.exp(x) - 1 - x for x in map(mp.mpf, u.tolist())], dtype=float)
        slope = np.array([mp.expm1(x) for x in map(mp.mpf, u.tolist())], dtype=float)
    found = quick(lambda u: (exponential_excess(u), jax.vmap(jax.grad(exponential_excess))(u)))(u)
    np.testing.assert_allclose(found[0], exact, rtol=1e-13)
    np.testing.assert_allclose(found[1], slope, rtol=1e-12)


def masses():
    p = np.geomspace(1e-6, 1e6, 13)
    close = p[:, None] * (1 + np.array([1e-12, -1e-8, 1e-4, -1e-2, 0.3]))
    far = np.broadcast_to(10.0 ** np.array([-20, -12, -3, 0, 3, 12]), (13, 6))
    q = np.concatenate([close, far], axis=1)
    return np.broadcast_to(p[:, None], q.shape), q


def test_entropy_excess():
    """Close masses and masses 26 orders of magnitude apart."""
    p, q = masses()
    with mp.workdps(60):
        exact = [a * mp.log(a / b) - a + b for a, b in zip(map(mp.mpf, p.flat), map(mp.mpf, q.flat), strict=True)]
    found = np.asarray(quick(entropy_excess)(p, q))
    np.testing.assert_allclose(found, np.array(exact, dtype=float).reshape(p.shape), rtol=1e-12)


def test_entropy_excess_at_zero():
    assert entropy_excess(0.0, 0.0) == 0
    assert entropy_excess(0.0, 2.0) == 2
    assert entropy_excess(2.0, 0.0) == np.inf
    assert entropy_excess(2.0, 2.0) == 0


def test_determinant_excess():
    rng = np.random.default_rng(0)
    for n in (1, 3, 8):
        # just above where the series gives way the trace and the logarithm cancel: 1e-10 is left
        basis = np.linalg.qr(rng.standard_normal((40, n, n)))[0]
        scale = np.geomspace(1e-12, 0.9, 40)[:, None]
        eigen = scale * rng.uniform(-1, 1, (40, n))
        m = basis * eigen[:, None, :] @ np.swapaxes(basis, -1, -2)
        m = (m + np.swapaxes(m, -1, -2)) / 2
        with mp.workdps(60):
            exact = []
            for one in m:
                matrix = mp.matrix(one.tolist())
                trace = sum(matrix[i, i] for i in range(n))
                exact.append(float(trace - mp.log(mp.det(mp.eye(n) + matrix))))
        ratio = np.eye(n) + m
        found = quick(determinant_excess)(ratio, m, np.linalg.slogdet(ratio)[1])
        np.testing.assert_allclose(found, exact, rtol=1e-10)


def test_potential_excess_of_a_known_potential():
    """For the Poisson the potential is exp θ, and the gap e^b − e^a − (b−a)·e^a."""
    kind = Kind(Poisson, 1, ())
    start = np.repeat(np.log([0.01, 1.0, 1e4]), 8)
    step = np.tile([1e-9, -1e-7, 1e-5, -1e-3, 0.05, -0.2, 0.5, 2.0], 3)
    found = quick(lambda a, b: potential_excess(kind, a, b))((start + step)[:, None], start[:, None])
    with mp.workdps(50):
        pairs = zip(map(mp.mpf, start), map(mp.mpf, start + step), strict=True)
        exact = np.array([mp.exp(b) - mp.exp(a) - (b - a) * mp.exp(a) for a, b in pairs], dtype=float)
    np.testing.assert_allclose(found, exact, rtol=1e-12)


@pytest.mark.slow
def test_gradients_are_finite_at_equal_arguments():
    same = jnp.asarray([0.3, 2.0])
    slope = quick(jax.grad(lambda q: jnp.sum(entropy_excess(same, q))))(same)
    np.testing.assert_allclose(slope, 0, atol=1e-15)
    g = Gaussian([0.0, 1.0], [[2.0, 0.3], [0.3, 1.0]])
    v = VonMises(1.0, 2.0)
    for member in (g, v):
        slope = quick(jax.grad(lambda other, member=member: member.relative_entropy(other)))(
            jax.tree.map(jnp.asarray, member)
        )
        for leaf in jax.tree.leaves(slope):
            np.testing.assert_allclose(leaf, 0, atol=1e-14)
