"""The laws that every family obeys, checked against what cannot share a mistake with the closed forms.

Functions are compiled one by one at the top and shared by the laws: members, moderate and extreme, have the same
kind and shape, so each compiles once for each family.
"""

import copy
import functools
import pickle

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from contracts.families import BATCH, CASES, each_family, single
from contracts.quick import quick
from kullback.families import REGISTRY, Batch, Extent

COORDINATES = ("source", "natural", "expectation")
SIZES = ("moderate", "extreme")
ROWS = 40


@pytest.fixture(params=each_family(), scope="module")
def family(request):
    """A family, or the name of another case of one."""
    return request.param


@functools.cache
def members(family, size="moderate", seed=0):
    case = CASES[family]
    return case.moderate(np.random.default_rng(seed), BATCH) if size == "moderate" else case.extreme()


def test_every_registered_family_has_a_case():
    assert {case.family for case in CASES.values()} == set(REGISTRY)
    assert len(set(REGISTRY)) == len(REGISTRY)


def test_extreme_members_are_of_the_same_kind(family):
    assert members(family).kind == members(family, "extreme").kind
    assert members(family).batch_shape == members(family, "extreme").batch_shape == BATCH


# --- what is asked of a family, compiled ----------------------------------------------------------------------


@functools.partial(quick, static_argnums=(0, 1))
def at(kind, name, vector):
    return kind.at(name, vector)


@quick
def read(member):
    """Everything that a member says of itself."""
    return {
        **{name: member.coordinates(name) for name in COORDINATES},
        **{f"fisher {name}": member.fisher(name) for name in COORDINATES},
        "interior": member.interior,
        "log_partition": member.log_partition,
        "dual_potential": member.dual_potential,
        "entropy": member.entropy,
    }


@quick
def of_points(member, x):
    return {"log_prob": member.log_prob(x), "statistics": member.statistics(x)}


@quick
def divergence(member, other):
    return member.relative_entropy(other)


@quick
def draw(member, key):
    return member.sample(key, (4000,))


@quick
def gather(member, x, weight):
    return member.expected_statistics(Batch(x, weight))[0]


@quick
def own(member, mass):
    return member.own_statistics(Extent(mass))


@quick
def nearest_with(member, statistics, prior):
    return member.maximize(statistics, prior)


def nearest(member, statistics):
    """Data without mass is no prior."""
    return nearest_with(member, statistics, own(member, np.zeros(member.batch_shape)))


@quick
def merge(first, second):
    return first.merge(second)


@quick
def scale(statistics, weight):
    return statistics.scale(weight)


@quick
def cross_entropy(member, statistics):
    return member.cross_entropy(statistics)


@functools.partial(quick, static_argnums=(0,))
def by_source(kind, source):
    """Derivatives of natural and expectation coordinates by the source."""

    def of(vector):
        member = kind.at("source", vector)
        return {"source": member.source, "natural": member.natural, "expectation": member.expectation}

    return each(jax.jacfwd(of))(source)


@functools.partial(quick, static_argnums=(0,))
def by_expectation(kind, eta):
    """The member, and the derivatives by its expectation of source, natural coordinates and φ."""

    def of(vector):
        member = kind.at("expectation", vector)
        return {"source": member.source, "natural": member.natural, "phi": member.dual_potential}, member

    slopes, member = each(jax.jacfwd(of, has_aux=True))(eta)
    return slopes | {"member": member}


@functools.partial(quick, static_argnums=(0,))
def by_natural(kind, theta):
    """Gradient and Hessian of ψ."""
    psi = lambda v: kind.at("natural", v).log_partition  # noqa: E731
    return each(jax.grad(psi))(theta), each(jax.hessian(psi))(theta)


def each(of):
    """Map over both batch axes."""
    return jax.vmap(jax.vmap(of))


def same(first, second, relative=1e-10, absolute=1e-10, name=""):
    assert jax.tree.structure(first) == jax.tree.structure(second)
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_allclose(a, b, rtol=relative, atol=absolute, err_msg=name)


def dot(first, second):
    return np.sum(np.asarray(first) * np.asarray(second), axis=-1)


# --- coordinates ----------------------------------------------------------------------------------------------


def condition(member, of, through):
    """How much a relative error in the coordinates `through` grows in those `of`, entry by entry.

    Entry i is Σ_j |∂aᵢ/∂bⱼ|·|bⱼ|/|aᵢ|. It is componentwise since the coordinates of one member differ by up to
    24 orders of magnitude: in a norm only the largest would be looked at.
    """
    here, slopes = read(member), by_source(member.kind, read(member)["source"])

    def relative(name):
        return np.asarray(slopes[name] * here["source"][..., None, :] / here[name][..., :, None])

    return np.sum(np.abs(relative(of) @ np.linalg.inv(relative(through))), axis=-1)


@pytest.mark.parametrize("size", SIZES)
def test_coordinates_survive_the_way_through_any_others(family, size):
    member, kind = members(family, size), members(family, size).kind
    here = read(member)
    growth = {(of, through): condition(member, of, through) for of in COORDINATES for through in COORDINATES}

    def check(name, reached, excuse):
        off = np.asarray(reached - here[name])
        off = CASES[family].period(off) if name == "source" else off
        worst = np.max(np.abs(off / here[name]) / excuse)
        assert worst <= 1e-10, (name, worst)

    for through in COORDINATES:
        there = read(at(kind, through, here[through]))
        for name in COORDINATES:
            check(name, there[name], 1 + growth[name, through])
    for first, second in (("natural", "expectation"), ("expectation", "natural")):
        between = read(at(kind, first, here[first]))
        around = read(at(kind, second, between[second]))
        check("source", around["source"], 1 + growth["source", first] + growth["source", second])


@pytest.mark.parametrize("size", SIZES)
def test_expectation_to_family_to_expectation(family, size):
    member = members(family, size)
    eta = read(member)["expectation"]
    np.testing.assert_allclose(read(at(member.kind, "expectation", eta))["expectation"], eta, rtol=1e-10)


@pytest.mark.parametrize("size", SIZES)
def test_from_expectation_is_differentiable(family, size):
    """It is finite, and the inverse of the derivative the other way."""
    member = members(family, size)
    here = read(member)
    slopes = by_expectation(member.kind, here["expectation"])
    source, eta = np.asarray(here["source"]), np.asarray(here["expectation"])
    unit = lambda j: np.asarray(j) * eta[..., None, :] / source[..., :, None]  # noqa: E731
    there = unit(slopes["source"])
    back = np.asarray(by_source(member.kind, here["source"])["expectation"])
    back = back * source[..., None, :] / eta[..., :, None]
    assert np.all(np.isfinite(there))
    assert np.all(np.isfinite(slopes["phi"]))
    norm = lambda j: np.linalg.norm(j, axis=(-2, -1))  # noqa: E731
    assert np.all(norm(there @ back - np.eye(member.size)) <= 1e-10 * norm(there) * norm(back))


def test_batched_under_jit_as_under_vmap(family):
    member = members(family)
    here, x = read(member), drawn(family)

    @quick
    @each
    def alone(member, x):
        return {
            "entropy": member.entropy,
            "expectation": member.expectation,
            "fisher": member.fisher("natural"),
            "log_prob": member.log_prob(x),
            "statistics": member.statistics(x),
        }

    batched = {
        "entropy": here["entropy"],
        "expectation": here["expectation"],
        "fisher": here["fisher natural"],
        **jax.tree.map(lambda a: a[0], of_points(member, x)),
    }
    same(alone(member, x[0]), batched, 1e-11, 1e-12)
    mapped = by_expectation(member.kind, here["expectation"])["member"]
    same(mapped, at(member.kind, "expectation", here["expectation"]), 1e-11, 1e-12)


def test_eager_as_compiled(family):
    """Outside of jit the parameters are checked as well; the numbers are the same, one member or many."""
    member = members(family)
    eta = read(member)["expectation"]
    eager = type(member).from_expectation(np.asarray(eta)[1, 2], **dict(member.kind.structure))
    assert eager.batch_shape == ()
    assert eager.kind == member.kind
    same(eager, single(at(member.kind, "expectation", eta), (1, 2)), 1e-11, 1e-13)


def test_shapes(family):
    member = members(family)
    d = member.size
    shapes = jax.eval_shape(read.__wrapped__, member)
    for name, value in shapes.items():
        ending = (d, d) if name.startswith("fisher") else (d,) if name in COORDINATES else ()
        assert value.shape == BATCH + ending, name
    drawn = jax.eval_shape(lambda m: m.sample(jax.random.key(0), (5, 7)), member)
    assert drawn.shape == (5, 7) + BATCH + member.event_shape
    points = jax.eval_shape(of_points.__wrapped__, member, drawn)
    assert points["log_prob"].shape == (5, 7) + BATCH
    assert points["statistics"].shape == (5, 7) + BATCH + (d,)
    rows = jax.eval_shape(lambda m, x: m.log_likelihood(Batch(x)), member, np.zeros((4, *member.event_shape)))
    assert rows.shape == (4, *BATCH)


# --- potentials and metric ------------------------------------------------------------------------------------


def test_legendre(family):
    member = members(family)
    here = read(member)
    theta, eta = here["natural"], here["expectation"]
    np.testing.assert_allclose(here["log_partition"] + here["dual_potential"], dot(theta, eta), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_natural(member.kind, theta)[0], eta, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(by_expectation(member.kind, eta)["phi"], theta, rtol=1e-9, atol=1e-10)


def test_fisher_is_the_hessian(family):
    """Hess ψ; Hess φ, the derivative of ∇φ = θ; each the inverse of the other; and JᵀIJ in source coordinates."""
    member = members(family)
    here = read(member)
    _, hessian = by_natural(member.kind, here["natural"])
    dual = by_expectation(member.kind, here["expectation"])["natural"]
    jacobian = np.asarray(by_source(member.kind, here["source"])["natural"])
    natural, expectation = np.asarray(here["fisher natural"]), np.asarray(here["fisher expectation"])
    size = np.linalg.cond(natural)[..., None, None]
    within(natural, hessian, 1e-10)
    within(expectation, dual, 1e-12 * size)
    within(natural @ expectation, np.broadcast_to(np.eye(member.size), natural.shape), 1e-12 * size)
    within(here["fisher source"], np.swapaxes(jacobian, -1, -2) @ natural @ jacobian, 1e-10)


@quick
def _fisher_free(member):
    return member.fisher("free")


def test_free_groups_are_all_that_the_fisher_matrix_couples(family):
    member = members(family)
    groups = member.kind.free_groups
    assert sorted(place for group in groups for place in group.coordinates) == list(range(member.size))
    apart = np.ones((member.size, member.size), bool)
    for group in groups:
        apart[np.ix_(group.coordinates, group.coordinates)] = False
    fisher = np.asarray(_fisher_free(member))
    size = np.sqrt(np.diagonal(fisher, axis1=-2, axis2=-1))
    assert np.all(np.abs(fisher) <= np.where(apart, 1e-10, np.inf) * size[..., :, None] * size[..., None, :])


def within(matrix, expected, relative):
    """Compare matrices by their largest entry."""
    largest = np.abs(np.asarray(expected)).max(axis=(-2, -1), keepdims=True)
    assert np.all(np.abs(np.asarray(matrix) - np.asarray(expected)) <= relative * largest)


@pytest.mark.parametrize("size", SIZES)
def test_fisher_is_symmetric_positive_definite(family, size):
    """In units of their diagonals, so that extreme members count alike; the dual one is the inverse."""
    here = read(members(family, size))
    scaled = {}
    for name in COORDINATES:
        fisher = np.asarray(here[f"fisher {name}"])
        diagonal = np.diagonal(fisher, axis1=-2, axis2=-1)
        assert np.all(diagonal > 0), name
        unit = np.sqrt(diagonal)
        scaled[name] = fisher / unit[..., :, None] / unit[..., None, :]
        np.testing.assert_allclose(scaled[name], np.swapaxes(scaled[name], -1, -2), atol=1e-13, err_msg=name)
        floor = -1e-14 if size == "extreme" else 0  # a nearly singular matrix may round to the other side
        assert np.all(np.linalg.eigvalsh(scaled[name]) > floor), name
    unit = np.sqrt(np.diagonal(np.asarray(here["fisher natural"]), axis1=-2, axis2=-1))
    inverse = np.asarray(here["fisher expectation"]) * unit[..., :, None] * unit[..., None, :]
    growth = np.linalg.norm(scaled["natural"], axis=(-2, -1)) * np.linalg.norm(inverse, axis=(-2, -1))
    off = np.abs(scaled["natural"] @ inverse - np.eye(unit.shape[-1])).max(axis=(-2, -1))
    assert np.max(off / growth) <= 1e-10


# --- the distribution -----------------------------------------------------------------------------------------


def test_sums_over_all_points(family):
    """Mass, mean and covariance of the statistics, entropy and relative entropy, each by quadrature."""
    member, other = members(family), members(family, seed=1)
    x, weight = CASES[family].rule(member)
    here, points = read(member), of_points(member, x)
    log_p, log_q = np.asarray(points["log_prob"]), np.asarray(of_points(other, x)["log_prob"])
    mass = weight * np.exp(log_p)
    away = np.broadcast_to(points["statistics"] - here["expectation"], (*mass.shape, member.size))
    away = np.where(mass[..., None] > 0, away, 0)
    close = functools.partial(np.testing.assert_allclose, rtol=1e-8, atol=1e-8)
    close(mass.sum(axis=0), np.ones(BATCH), err_msg="mass")
    close(np.sum(mass[..., None] * away, axis=0), np.zeros((*BATCH, member.size)), err_msg="mean")
    second = np.moveaxis(mass[..., None] * away, 0, -1) @ np.moveaxis(away, 0, -2)
    close(second, here["fisher natural"], err_msg="covariance")
    seen = np.where(mass > 0, mass, 0)
    close(np.sum(np.where(seen > 0, -seen * log_p, 0), axis=0), here["entropy"], err_msg="entropy")
    ratio = np.sum(np.where(seen > 0, seen * (log_p - log_q), 0), axis=0)
    close(ratio, divergence(member, other), err_msg="relative entropy")


@functools.cache
def drawn(family, size="moderate"):
    """A sample of each member."""
    return np.asarray(draw(members(family, size), jax.random.key(3)))


def test_log_prob_is_that_of_an_exponential_family(family):
    """What is left of log p − ⟨θ, T⟩ + ψ is the base measure, the same for all members."""
    x = drawn(family)
    left = []
    for member in (members(family), members(family, seed=1), members(family, seed=2)):
        here, points = read(member), of_points(member, x)
        left.append(points["log_prob"] - dot(here["natural"], points["statistics"]) + here["log_partition"])
    np.testing.assert_allclose(left[1], left[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(left[2], left[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", SIZES)
def test_log_prob_as_in_scipy(family, size):
    case = CASES[family]
    if case.reference is None or (size == "extreme" and not case.reference_for_extreme):
        return
    member = members(family, size)
    here, x = read(member), drawn(family, size)
    log_prob = np.asarray(of_points(member, x)["log_prob"])[:6]
    terms = 1 + np.abs(here["log_partition"])  # digits are lost where −ψ and ⟨θ, T⟩ are large and nearly cancel
    for index in np.ndindex(*BATCH):
        reference = case.reference(single(member, index))
        points = x[(slice(6), *index)]
        of = reference.logpdf if hasattr(reference, "logpdf") else reference.logpmf
        expected = of(points.T if case.family.__name__ == "Dirichlet" else points)
        np.testing.assert_allclose(
            log_prob[(slice(None), *index)], expected, rtol=1e-9, atol=1e-12 * terms[index], err_msg=str(index)
        )
        if size == "moderate":
            np.testing.assert_allclose(here["entropy"][index], reference.entropy(), rtol=1e-8, atol=1e-8)


def test_samples_have_the_expected_statistics(family):
    """Averages over a sample lie within five standard errors of the expectation, and of the entropy."""
    member, x = members(family), drawn(family)
    here, points = read(member), of_points(member, x)
    assert np.all(np.isfinite(points["log_prob"]))
    error = np.sqrt(np.diagonal(np.asarray(here["fisher natural"]), axis1=-2, axis2=-1) / len(x))
    assert np.max(np.abs(np.mean(points["statistics"], axis=0) - here["expectation"]) / error) < 5
    error = np.std(points["log_prob"], axis=0) / np.sqrt(len(x))
    assert np.max(np.abs(np.mean(-points["log_prob"], axis=0) - here["entropy"]) / (error + 1e-12)) < 5


# --- extreme members in many digits ---------------------------------------------------------------------------


def slopes_in_many_digits(of, point):
    """The gradient of a function of mpmath numbers by differences."""
    slopes = []
    for i, value in enumerate(point):
        step = mp.mpf(10) ** -20 * (abs(value) if value else 1)
        up, down = list(point), list(point)
        up[i], down[i] = value + step, value - step
        slopes.append((of(up) - of(down)) / (2 * step))
    return slopes


@functools.cache
def exact(family):
    """From the natural coordinates of extreme members: ψ, η, the entropy, and the divergence to the next one.

    With each the size of the terms that it is a sum of: that is how far rounding reaches.
    """
    case, kind = CASES[family], members(family, "extreme").kind
    natural = np.asarray(read(members(family, "extreme"))["natural"]).reshape(-1, kind.size)
    found = {name: [] for name in ("psi", "eta", "entropy", "divergence", "terms", "apart")}
    with mp.workdps(80):
        theta = [[mp.mpf(float(t)) for t in row] for row in natural]
        psi = [case.log_partition(kind, row) for row in theta]
        eta = [slopes_in_many_digits(lambda t: case.log_partition(kind, t), row) for row in theta]
        for i in range(len(theta)):
            j = (i + 1) % len(theta)
            products = [a * b for a, b in zip(theta[i], eta[i], strict=True)]
            base = mp.mpf(0) if case.log_base is None else case.log_base(kind, eta[i])
            step = [(b - a) * e for a, b, e in zip(theta[i], theta[j], eta[i], strict=True)]
            found["psi"].append(psi[i])
            found["eta"].append(eta[i])
            found["entropy"].append(psi[i] - sum(products) - base)
            found["terms"].append(1 + abs(psi[i]) + sum(map(abs, products)) + abs(base))
            found["divergence"].append(psi[j] - psi[i] - sum(step))
            found["apart"].append(abs(psi[i]) + abs(psi[j]) + sum(map(abs, step)))
        found = {name: np.array(values, dtype=float) for name, values in found.items()}
    return natural, found


def test_extreme_members_in_many_digits(family):
    natural, many = exact(family)
    kind = members(family, "extreme").kind
    member = at(kind, "natural", natural.reshape(*BATCH, -1))
    here = {name: np.asarray(value).reshape(natural.shape[0], *value.shape[2:]) for name, value in read(member).items()}
    growth = 1 + condition(member, "expectation", "natural").reshape(natural.shape)
    assert np.max(np.abs(here["expectation"] / many["eta"] - 1) / growth) <= 1e-10
    assert np.max(np.abs(here["log_partition"] - many["psi"]) / many["terms"]) <= 1e-11
    if CASES[family].log_base is not None:
        assert np.max(np.abs(here["entropy"] - many["entropy"]) / many["terms"]) <= 1e-11


def test_relative_entropy_of_far_members_in_many_digits(family):
    """As good as the difference of potentials in full precision, up to 1e-13 of its largest term."""
    natural, many = exact(family)
    kind = members(family, "extreme").kind
    member = at(kind, "natural", natural.reshape(*BATCH, -1))
    other = at(kind, "natural", np.roll(natural, -1, axis=0).reshape(*BATCH, -1))
    found = np.asarray(divergence(member, other)).reshape(-1)
    slack = 1e-10 * many["divergence"] + 1e-13 * many["apart"]
    assert np.all(np.abs(found - many["divergence"]) <= slack), (found, many["divergence"])


# --- relative entropy -----------------------------------------------------------------------------------------


def test_relative_entropy_is_the_bregman_divergence(family):
    member, other = members(family), members(family, seed=1)
    here, there = read(member), read(other)
    step = np.asarray(there["natural"] - here["natural"])
    bregman = there["log_partition"] - here["log_partition"] - dot(step, here["expectation"])
    found = np.asarray(divergence(member, other))
    assert np.all(found > 0)
    np.testing.assert_allclose(found, bregman, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_relative_entropy_of_equal_members_is_zero(family, size):
    assert np.all(divergence(members(family, size), members(family, size)) == 0)


@pytest.mark.parametrize("size", SIZES)
def test_relative_entropy_of_close_members(family, size):
    """D(p, p+δ) / (½·δᵀIδ) tends to 1: nothing is lost when members are close."""
    member = members(family, size)
    here = read(member)
    rng = np.random.default_rng(5)
    direction = rng.uniform(0.3, 1, here["natural"].shape) * rng.choice([-1, 1], here["natural"].shape)
    error = 1 / np.sqrt(np.diagonal(np.asarray(here["fisher natural"]), axis1=-2, axis2=-1))
    unit = np.minimum(error, np.abs(here["natural"]))
    # members hold source parameters: there the step is known to the last digit. Extreme members are compared in
    # natural coordinates, in which the last of several probabilities does not drown, and the step is rounded
    name, steps, slack = {
        "moderate": ("source", (1e-3, 1e-5, 1e-7), lambda step: 100 * step),
        "extreme": ("natural", (1e-4, 1e-6), lambda step: 1e-2),
    }[size]
    for step in steps:
        near = at(member.kind, "natural", here["natural"] + step * direction * unit)
        delta = np.asarray(read(near)[name] - here[name])
        quadratic = np.einsum("...i,...ij,...j->...", delta, here[f"fisher {name}"], delta) / 2
        np.testing.assert_allclose(divergence(member, near), quadratic, rtol=slack(step), err_msg=str(step))


# --- a model with nothing hidden ------------------------------------------------------------------------------


@functools.cache
def data(family):
    """Points from all members together, and weights for each point and member."""
    x = drawn(family)[: ROWS // 10].reshape(ROWS, *members(family).event_shape)
    return x.astype(float), np.random.default_rng(8).uniform(0.1, 1.0, (ROWS, *BATCH))


@quick
def mean_log_prob(member, x, weight):
    log_p = member.log_prob(x.reshape(ROWS, 1, 1, *member.event_shape))
    return jnp.sum(weight * log_p, axis=0) / jnp.sum(weight, axis=0)


def test_maximize_is_maximum_likelihood(family):
    """There the gradient of the weighted log-likelihood in natural coordinates vanishes."""
    member, (x, weight) = members(family), data(family)
    best = nearest(member, gather(member, x, weight))
    kind = member.kind

    @quick
    @jax.grad
    def slope(theta):
        return jnp.sum(mean_log_prob.__wrapped__(kind.at("natural", theta), x, weight))

    np.testing.assert_allclose(slope(read(best)["natural"]), 0, atol=1e-9)
    assert np.all(mean_log_prob(best, x, weight) > mean_log_prob(member, x, weight))


def test_merge_and_scale(family):
    member, (x, weight) = members(family), data(family)
    whole = gather(member, x, weight)
    rows = np.arange(ROWS).reshape(-1, 1, 1)
    a, b, c = (gather(member, x, weight * ((rows >= i) & (rows < j))) for i, j in ((0, 7), (7, 30), (30, ROWS)))
    nothing = gather(member, x, 0 * weight)
    part = weight[0]
    same(merge(merge(a, b), c), whole, name="from the left")
    same(merge(a, merge(b, c)), whole, name="from the right")
    same(merge(merge(c, a), b), whole, name="in another order")
    same(merge(nothing, whole), whole, name="nothing before")
    same(merge(whole, nothing), whole, name="nothing after")
    same(merge(nothing, nothing), nothing, name="nothing twice")
    same(merge(whole, whole), scale(whole, np.full(BATCH, 2.0)), name="twice")
    same(merge(scale(whole, part), scale(whole, 1 - part)), whole, name="parts of the mass")
    same(gather(member, x, 3 * weight), scale(whole, np.full(BATCH, 3.0)), name="weights")


def test_zero_mass_is_the_unit_whatever_its_averages(family):
    """Statistics without mass leave the others as they are, to the last digit."""
    member = members(family, "extreme")
    mine = own(member, np.full(BATCH, 2.0))
    empty = own(jax.tree.map(lambda leaf: leaf[::-1, ::-1].copy(), member), np.zeros(BATCH))
    same(merge(mine, empty), mine, 1e-15, 0)
    same(merge(empty, mine), mine, 1e-15, 0)


def test_own_statistics_and_cross_entropy(family):
    p, q, (x, weight) = members(family), members(family, seed=1), data(family)
    mass = np.full(BATCH, 2.5)
    mine, theirs = own(p, mass), gather(p, x, weight)
    close = functools.partial(np.testing.assert_allclose, rtol=1e-10, atol=1e-10)
    close(mine.mass, mass)
    same(nearest(p, mine), p, name="the member itself")
    same(nearest(q, mine), p, name="from another member")
    close(cross_entropy(q, mine) - cross_entropy(p, mine), 2.5 * divergence(p, q))
    total = weight.sum(axis=0)
    likelihood = [total * mean_log_prob(m, x, weight) for m in (p, q)]
    close(cross_entropy(q, theirs) - cross_entropy(p, theirs), likelihood[0] - likelihood[1])
    close(theirs.log_likelihood, likelihood[0])
    close(theirs.mass, total)
    same(nearest_with(p, theirs, mine), nearest(p, merge(theirs, mine)), name="prior")


def test_padding_and_empty_members(family):
    """Rows of weight 0 are never looked at, and a member without mass stays as it is."""
    member, (x, weight) = members(family), data(family)
    absurd = np.array([np.nan, np.inf, -1e300, 0.5]).reshape(4, *(1,) * (x.ndim - 1))
    padded = np.concatenate([x[:-4], np.broadcast_to(absurd, (4, *x.shape[1:]))])
    weight = weight * (np.arange(ROWS) < ROWS - 4).reshape(-1, 1, 1)
    plain = gather(member, x, weight)
    same(gather(member, padded, weight), plain, 0, 0)
    same(gather(member, padded, weight[:, 0, 0]), gather(member, x, np.tile(weight[:, :1, :1], (1, *BATCH))), 1e-13)

    weight[:, 0, 1] = 0
    kept = nearest(member, gather(member, padded, weight))
    full = nearest(member, plain)
    for new, old, whole in zip(*map(jax.tree.leaves, (kept, member, full)), strict=True):
        np.testing.assert_array_equal(new[0, 1], old[0, 1])
        np.testing.assert_allclose(new[1], whole[1], rtol=1e-13)


def test_padding_does_not_reach_gradients(family):
    """The log-likelihood of padded data can be differentiated."""
    member, (x, weight) = members(family), data(family)
    last = np.arange(ROWS) >= ROWS - 3
    x = np.where(last.reshape(-1, *(1,) * (x.ndim - 1)), np.nan, x)
    weight = np.where(last.reshape(-1, 1, 1), 0, weight)
    slope = quick(jax.grad(lambda m: jnp.sum(gather.__wrapped__(m, x, weight).log_likelihood)))(member)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(slope))


def test_nothing_is_hidden(family):
    member, (x, _) = members(family), data(family)
    assert member.posterior(Batch(x)) is None
    assert member.aligned_to(members(family, seed=1)) is member


# --- precision and borders ------------------------------------------------------------------------------------


def wrong_types(found):
    return {
        name: sorted({str(leaf.dtype) for leaf in jax.tree.leaves(value)} - {"float32", "bool"})
        for name, value in found.items()
        if any(leaf.dtype not in (jnp.float32, bool) for leaf in jax.tree.leaves(value))
    }


def test_float32_stays_float32(family):
    member = jax.tree.map(lambda leaf: np.asarray(leaf, np.float32), members(family))

    def work(member):
        x = member.sample(jax.random.key(0))
        floats = jnp.issubdtype(x.dtype, jnp.floating)
        return {
            **read.__wrapped__(member),
            **of_points.__wrapped__(member, x.astype(jnp.float32) if floats else x),
            "sample": x if floats else jnp.float32(0),
            "relative_entropy": member.relative_entropy(member),
            **{f"from {name}": member.kind.at(name, member.coordinates(name)) for name in COORDINATES},
        }

    assert wrong_types(jax.eval_shape(work, member)) == {}


def test_float32_statistics_stay_float32(family):
    member = jax.tree.map(lambda leaf: np.asarray(leaf, np.float32), members(family))
    x, weight = (a.astype(np.float32) for a in data(family))

    def work(member, x, weight):
        theirs = gather.__wrapped__(member, x, weight)
        mine = member.own_statistics(Extent(np.float32(2)))
        return {
            "data": theirs,
            "own": mine,
            "nearest": member.maximize(theirs),
            "merged": theirs.merge(mine).scale(0.5),
            "cross-entropy": member.cross_entropy(theirs),
        }

    assert wrong_types(jax.eval_shape(work, member, x, weight)) == {}


def test_numpy_leaves_keep_their_digits_outside_of_64_bit_mode(family):
    with jax.enable_x64(False):
        member = CASES[family].moderate(np.random.default_rng(0), BATCH)
        copies = [member, copy.deepcopy(member), pickle.loads(pickle.dumps(member))]
    for other in copies:
        assert other.kind == member.kind
        for leaf, kept in zip(jax.tree.leaves(other), jax.tree.leaves(members(family)), strict=True):
            assert isinstance(leaf, np.ndarray)
            assert leaf.dtype == np.float64
            np.testing.assert_array_equal(leaf, kept)


def test_statistics_pickle_and_copy(family):
    found = jax.tree.map(np.asarray, gather(members(family), *data(family)))
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        same(other, found, 0, 0)


# --- the boundary ---------------------------------------------------------------------------------------------


def test_boundary(family):
    """Members without natural coordinates say so, and answer everything else."""
    case = CASES[family]
    if case.boundary is None:
        return
    member = case.boundary()
    for ask in (lambda: member.natural, lambda: member.fisher("natural"), lambda: member.dual_potential):
        with pytest.raises(ValueError, match="natural coordinates do not exist"):
            ask()

    inside = jax.tree.map(lambda leaf: np.full_like(leaf, 1 / max(np.shape(leaf)[-1], 2)), member)
    x, weight = case.rule(member)

    @quick
    def work(member, inside):
        p = {"log_prob": member.log_prob(x), "statistics": member.statistics(x)}
        for name in ("source", "expectation"):
            p |= {name: member.coordinates(name), f"from {name}": member.kind.at(name, member.coordinates(name)).source}
        p |= {"entropy": member.entropy, "interior": member.interior, "log_q": inside.log_prob(x)}
        p |= {"own": member.maximize(member.own_statistics(Extent(1.0))).source}
        pairs = ((member, inside), (inside, member), (member, member))
        return p | {"divergence": jnp.stack([a.relative_entropy(b) for a, b in pairs])}

    found = jax.tree.map(np.asarray, work(member, inside))
    mass = weight * np.exp(found["log_prob"])
    log_p, log_q = (np.where(mass > 0, found[name], 0) for name in ("log_prob", "log_q"))
    close = functools.partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-12)
    close(mass.sum(axis=0), 1)
    close(np.sum(mass[..., None] * found["statistics"], axis=0), found["expectation"])
    close(-np.sum(mass * log_p, axis=0), found["entropy"])
    there, back, itself = found["divergence"]
    close(np.sum(mass * (log_p - log_q), axis=0), there)
    assert np.all(back == np.inf)
    assert np.all(itself == 0)
    assert not np.any(found["interior"])
    for name in ("from source", "from expectation", "own"):
        close(found[name], found["source"])
