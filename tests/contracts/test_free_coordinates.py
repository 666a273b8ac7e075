"""The laws of free coordinates: any vector of R^d is a member, whose density has finite gradients, and a step toward a
data point is the natural gradient.

Gradients are by automatic differentiation of `log_prob_at`, Fisher matrices the natural ones pulled back along
∂θ/∂free, densities those of `log_prob`, and marginals scipy's.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from contracts.families import CASES, name_of, single
from contracts.quick import quick
from kullback.families import (
    Batch,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Independent,
    Poisson,
    Product,
)
from tiers import each_member, slow_among

#: Members, half of them moderate, half extreme, with a point each.
PAIRS = 40
#: How far free coordinates go in either precision, and how far logarithms of scales do; then far beyond.
FAR = {np.float32: (40, 200, 1e6), np.float64: (300, 1000, 1e6)}


#: `make test` asks one family all laws, the others a few: what is compiled for each takes seconds.
MEMBERS = {name_of(key): key for key in CASES}
LONGER = ("Beta", "Dirichlet", "Independent Gamma", "Product", "VonMises")


@pytest.fixture(
    params=each_member("families", MEMBERS, {name: "Gamma" for name in MEMBERS if name != "Gamma"}, slow=LONGER),
    scope="module",
)
def family(request):
    """A family, or the name of another case of one."""
    return request.param


@functools.cache
def pairs(family):
    """Return members, each twice, and points: of the moderate ones drawn, of the extreme ones near and far."""
    case = CASES[family]
    both = case.moderate(np.random.default_rng(0), (2, 5)), case.extreme()

    def flat(*leaves):
        return np.concatenate([np.repeat(leaf.reshape(-1, *leaf.shape[2:]), 2, axis=0) for leaf in leaves])

    members = jax.tree.map(flat, *both)
    x = np.asarray(quick(lambda p: p.sample(jax.random.key(1)))(members))
    # of an extreme member a point may be rounded to the edge of the support: another's stands for it
    inside = np.isfinite(quick(lambda p: p.kind.log_prob_at("free", p.free, x))(members))
    assert np.all(inside[: PAIRS // 2])
    return members, np.where(inside.reshape(-1, *(1,) * (x.ndim - 1)), x, np.roll(x, PAIRS // 2, axis=0))


@functools.partial(quick, static_argnums=0)
def density(kind, vectors, x):
    return jax.vmap(jax.value_and_grad(lambda vector, point: kind.log_prob_at("free", vector, point)))(vectors, x)


@functools.partial(quick, static_argnums=0)
def read(kind, p, x):
    return {
        "free": p.free,
        "back": kind.at("free", p.free).source,
        "source": p.source,
        "interior": kind.at("free", p.free).interior,
        "log_prob": p.log_prob(x),
        "natural": kind.log_prob_at("natural", p.natural, x),
        "free density": kind.log_prob_at("free", p.free, x),
        "toward": p.toward(x),
        "one by one": jax.vmap(lambda member, point: member.toward(point))(p, x),
        "fisher": p.fisher("free"),
        "fisher natural": p.fisher("natural"),
        "slope": jax.vmap(jax.jacfwd(lambda vector: kind.at("free", vector).natural))(p.free),
    }


@functools.cache
def found(family):
    members, x = pairs(family)
    return jax.tree.map(np.asarray, read(members.kind, members, x))


def test_any_vector_is_a_member_and_comes_back(family):
    here, kind = found(family), pairs(family)[0].kind
    scale = np.abs(here["source"]) + 1e-3 * np.abs(here["source"]).max(axis=-1, keepdims=True)
    off = CASES[family].period(here["back"] - here["source"]) / scale
    np.testing.assert_allclose(off, np.zeros_like(off), atol=1e-9)
    vectors = np.random.default_rng(2).normal(0, 2, (PAIRS, kind.size))
    member, back = quick(lambda v: (kind.at("free", v).interior, kind.at("free", v).free))(vectors)
    assert np.all(member)
    np.testing.assert_allclose(back, vectors, rtol=1e-7, atol=1e-7)


def test_the_density_is_that_of_the_member(family):
    here = found(family)
    assert np.all(np.isfinite(here["log_prob"]))
    for name in ("natural", "free density"):
        # what the rounding of a coordinate excuses: one part in 1e16 of it, times the sensitivity of the density
        size = np.sum(np.abs(here["free"]) + 1, axis=-1) * np.sqrt(np.max(np.abs(here["fisher"]), axis=(-2, -1)))
        off, bound = np.abs(here[name] - here["log_prob"]), 1e-13 * (1 + np.abs(here["log_prob"]) + size)
        assert np.all(off <= bound + 1e-9), (name, (off / bound).max())


@pytest.mark.parametrize("precision", FAR)
def test_densities_far_out_are_finite_with_finite_gradients(family, precision):
    members, x = pairs(family)
    x = x[np.random.default_rng(1).permutation(PAIRS // 2)].repeat(2, axis=0)  # points of moderate members
    rng = np.random.default_rng(3)
    for far in FAR[precision]:
        vectors = (far * rng.choice([-1, 0, 1, -0.5, 1e-3], (PAIRS, members.size))).astype(precision)
        points = x if x.dtype.kind in "iu" else np.asarray(x, precision)
        if isinstance(members, Dirichlet):  # rounding leaves some on the edge
            points = np.tile(np.array([0.25, 0.25, 0.5], precision), (PAIRS, 1))
        value, slope = density(members.kind, vectors, points)
        assert value.dtype == slope.dtype == precision
        assert np.all(np.isfinite(value)), vectors[~np.isfinite(value)]
        assert np.all(np.isfinite(slope)), vectors[~np.isfinite(slope).all(axis=-1)]


def test_the_step_toward_a_point_is_the_natural_gradient(family):
    members, x = pairs(family)
    here = found(family)
    slope, fisher = here["slope"], here["fisher"]
    pulled = np.swapaxes(slope, -1, -2) @ here["fisher natural"] @ slope
    unit = np.sqrt(np.diagonal(fisher, axis1=-2, axis2=-1))
    units = unit[..., :, None] * unit[..., None, :]
    half = PAIRS // 2  # the moderate ones; entries of the others may cancel in θ
    np.testing.assert_allclose((pulled / units)[:half], (fisher / units)[:half], atol=1e-10)
    gradient = np.asarray(density(members.kind, here["free"], x)[1])
    np.testing.assert_allclose(
        here["one by one"], here["toward"], rtol=1e-12, atol=1e-12 * np.abs(here["toward"]).max()
    )
    solved = np.linalg.solve(pulled[:half], gradient[:half, :, None])[..., 0]
    np.testing.assert_allclose(here["toward"][:half], solved, rtol=1e-9, atol=1e-9)
    # of extreme members, in units of their standard errors: F·u is the gradient, to the digits that u leaves
    step = here["toward"] * unit
    left = np.einsum("pij,pj->pi", fisher / units, step) - gradient / unit
    assert np.all(np.abs(left) <= 1e-9 * (1 + np.abs(step).max(axis=-1, keepdims=True)))


@quick
def likelihood_slopes(p, batch):
    return jax.vmap(
        jax.grad(lambda p, row, seen: p.log_likelihood(Batch(row[None], observed=seen[None]))[0]), (None, 0, 0)
    )(p, batch.values, batch.observed)


@functools.partial(quick, static_argnums=0)
def masked(kind, vectors, x, observed):
    def one(vector, point, seen):
        return kind.log_prob_at("free", vector, point, seen)

    return jax.vmap(jax.value_and_grad(one))(vectors, x, observed)


def test_what_is_missing_has_no_gradient(family):
    members, x = pairs(family)
    member, rows = single(members, 0), np.array(x[:4], dtype=float)
    observed = np.ones(rows.shape, dtype=bool)
    observed[:2] = False
    if observed.ndim > 1:
        observed[2, 0] = False
    rows = np.where(
        observed, rows, [[np.nan], [-1e300], [np.nan], [0]] if observed.ndim > 1 else [np.nan, -1e300, 0, 0]
    )
    slopes = jax.tree.leaves(likelihood_slopes(member, Batch(rows, observed=observed)))
    vectors = np.tile(np.asarray(member.free), (4, 1))
    value, slope = map(np.asarray, masked(member.kind, vectors, rows, observed))
    for each in (*map(np.asarray, slopes), slope):
        np.testing.assert_array_equal(each[:2], np.zeros_like(each[:2]))
        assert np.all(np.isfinite(each))
    np.testing.assert_array_equal(value[:2], [0, 0])
    batch = Batch(rows, observed=observed)
    np.testing.assert_allclose(value, quick(lambda p: p.log_likelihood(batch))(member), rtol=1e-9, atol=1e-12)
    if isinstance(member, Product | Independent):  # the coordinates of the first column
        first = member.kinds[0].size if isinstance(member, Product) else member.size // len(rows[0])
        if not isinstance(member, Product) or not member.parts[0].event_shape:
            np.testing.assert_array_equal(slope[2, :first], np.zeros(first))
        assert np.any(slope[2, first:] != 0)


def test_gradients_at_whole_numbers(family):
    members, x = pairs(family)
    if not np.issubdtype(x.dtype, np.integer):
        x = np.ones(x.shape, int) if isinstance(members, Gamma | Exponential) else x
    half = PAIRS // 2
    members, x = jax.tree.map(lambda leaf: leaf[:half], members), x[:half]

    @quick
    def slopes(p, x):
        return jax.vmap(jax.grad(lambda p, x: p.log_prob(x)))(p, x)

    for whole, real in zip(*(jax.tree.leaves(slopes(members, at)) for at in (x, x.astype(float))), strict=True):
        assert np.all(np.isfinite(whole))
        np.testing.assert_array_equal(whole, real)


# --- of single families ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", slow_among(("free", "natural"), "natural"))
def test_a_gaussian_with_missing_entries_has_its_marginal_density(name):
    rng = np.random.default_rng(0)
    mean, half = rng.normal(size=(6, 3)), rng.normal(size=(6, 3, 3))
    member = Gaussian(mean, half @ np.swapaxes(half, -1, -2) + 0.1 * np.eye(3))
    x = rng.normal(size=(6, 3))
    observed = np.array([[1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    known = [
        stats.multivariate_normal(mean[i][o], member.covariance[i][np.ix_(o, o)]).logpdf(x[i][o]) if o.any() else 0.0
        for i, o in enumerate(observed)
    ]
    vector, seen = quick(lambda p: p.coordinates(name))(member), np.where(observed, x, np.nan)
    value = quick(lambda v: member.kind.log_prob_at(name, v, seen, observed))(vector)
    np.testing.assert_allclose(value, known, rtol=1e-10)


@pytest.mark.parametrize("precision", slow_among(FAR, np.float64))
def test_marginals_of_gaussians_of_all_scales_have_finite_gradients(precision):
    kind = Gaussian(np.zeros(3), np.eye(3)).kind
    far = FAR[precision][0] / 4
    rng = np.random.default_rng(0)
    vectors = np.concatenate(
        [rng.normal(size=(PAIRS, 3)), far * rng.choice([-1, 0, 1], (PAIRS, 3)), rng.normal(size=(PAIRS, 3))], axis=-1
    )
    observed = rng.uniform(size=(PAIRS, 3)) < 0.6
    value, slope = masked(kind, vectors.astype(precision), rng.normal(size=(PAIRS, 3)).astype(precision), observed)
    assert np.all(np.isfinite(value))
    assert np.all(np.isfinite(slope))


def test_beyond_the_bounds_of_log_scales_the_gradient_leads_back():
    """A predicted scale of e^±1e6 is clipped, and the slope says in which direction to go."""
    for family, points in ((Gamma, [1.0]), (Exponential, [1.0]), (Poisson, [3])):
        kind = family.standard(()).kind
        for far in (-1e6, 1e6):
            _, slope = density(kind, np.full((1, kind.size), far), np.array(points))
            assert np.sign(slope[0, 0]) == -np.sign(far)
    kind = Gaussian(np.zeros(1), np.eye(1)).kind
    _, slope = density(kind, np.array([[0.0, -1e6], [0.0, 1e6]], np.float32), np.ones((2, 1), np.float32))
    assert slope[0, 1] > 0 > slope[1, 1]


def test_a_poor_predictor_of_a_sharp_gamma_keeps_its_digits():
    """At shape e^30 the terms of the usual formula are 1e14: what is left of their difference is the answer."""
    kind, x = Gamma(1.0, 1.0).kind, 2.0
    for log_shape in (10.0, 20.0, 30.0):
        at = np.array([[np.log(x), log_shape]])
        value, _ = density(kind, at, np.array([x]))
        np.testing.assert_allclose(value[0], 0.5 * (log_shape - np.log(2 * np.pi)) - np.log(x), atol=1e-5)


def test_vectors_and_points_of_the_wrong_size_are_refused():
    kind = Poisson(1.0).kind
    with pytest.raises(ValueError, match=r"vector has shape \(3,\): a Poisson with 1 coordinate needs 1 on its last"):
        kind.log_prob_at("free", np.zeros(3), 2)
    with pytest.raises(ValueError, match=r"x has shape \(\): points of a Gaussian .* have 2 columns on the last axis"):
        Gaussian(np.zeros(2), np.eye(2)).kind.log_prob_at("free", np.zeros(5), 1.0)
    with pytest.raises(ValueError, match="log_prob_at takes 'natural' or 'free'"):
        kind.log_prob_at("source", np.ones(1), 2)
    with pytest.raises(ValueError, match="'source', 'natural', 'expectation' or 'free'"):
        kind.at("polar", np.ones(1))


def test_numbers_of_64_bits_are_computed_with_in_64_bits():
    with jax.enable_x64(False):
        member = Exponential(0.5)
        assert member.kind.log_prob_at("free", [0.1], 0.25).dtype == np.float64
        assert member.toward(0.25).dtype == member.free.dtype == np.float64
        assert member.kind.log_prob_at("free", jnp.array([0.1]), 0.25).dtype == np.float32


@functools.cache
def fisher_products(family):
    """Return I·S by `fisher_product`, and E[g·gᵀ]·S by quadrature of the gradients of `log_prob_at`, by masks."""
    case = CASES[family]
    member = single(case.moderate(np.random.default_rng(0), (2, 5)), (0, 0))
    points, weight = case.rule(member)
    kind, rng = member.kind, np.random.default_rng(1)
    with jax.enable_x64(True):
        free = jnp.asarray(member.free)
        columns = rng.normal(size=(kind.size, 2))
        masks = [np.ones(member.event_shape, bool), rng.random(member.event_shape) < 0.5]
        slopes = quick(jax.vmap(jax.grad(lambda f, x, o: kind.log_prob_at("free", f, x, o)), (None, 0, None)))
        products = quick(lambda o: kind.fisher_product_at(free, columns, o))
        mass = np.asarray(weight * np.exp(quick(lambda x: member.log_prob(x))(points)))
        found = []
        for observed in masks:
            g = np.asarray(slopes(free, jnp.asarray(points, float), observed))
            found.append((np.asarray(products(observed)), g.T @ (mass[:, None] * g) @ columns))
        whole = np.asarray(quick(lambda: kind.fisher_product_at(free, columns))())
    return found, (whole, np.asarray(member.fisher("free")) @ columns)


def test_the_fisher_product_of_what_is_observed_is_the_second_moment_of_the_score(family):
    found, whole = fisher_products(family)
    for product, expected in found:
        np.testing.assert_allclose(product, expected, rtol=1e-6, atol=1e-7 * (1 + np.abs(whole[1]).max()))
    np.testing.assert_allclose(*whole, rtol=1e-9, atol=1e-9 * np.abs(whole[1]).max())


def test_volumes_are_those_of_automatic_differentiation(family):
    members, _ = pairs(family)
    some, kind = jax.tree.map(lambda leaf: leaf[:4], members), members.kind

    @quick
    def read(p):
        def slopes(name):
            return jax.vmap(jax.jacfwd(lambda vector: kind.at("free", vector).coordinates(name)))(p.free)

        return {name: (p.log_volume(name), slopes(name)) for name in ("source", "natural", "expectation")}

    for volume, slope in read(some).values():
        np.testing.assert_allclose(volume, np.linalg.slogdet(slope)[1], rtol=1e-8, atol=1e-8)
