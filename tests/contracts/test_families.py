"""The laws that every family obeys, checked against what cannot share a mistake with the closed forms."""

import copy
import functools
import pickle

import equinox as eqx
import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from contracts.families import CASES, flat, single

from kullback.families import REGISTRY, Batch, Extent

BATCH = (2, 3)
COORDINATES = ("source", "natural", "expectation")


@pytest.fixture(params=REGISTRY, ids=lambda family: family.__name__)
def family(request):
    return request.param


def test_every_registered_family_has_a_case():
    assert set(CASES) == set(REGISTRY)
    assert len(set(REGISTRY)) == len(REGISTRY)


# --- members, and what is worked out once for several laws ----------------------------------------------------


@functools.cache
def moderate(family, seed=0):
    return CASES[family].moderate(np.random.default_rng(seed), BATCH)


@functools.cache
def extreme(family):
    return CASES[family].extreme()


def both(family):
    return {"moderate": flat(moderate(family)), "extreme": extreme(family)}


def jacobian(kind, of, at, vectors):
    """The derivatives of one coordinate system in another, for each row of a matrix of coordinates."""
    return jax.vmap(jax.jacfwd(lambda v: kind.at(at, v).coordinates(of)))(vectors)


@functools.cache
def trips(family, size):
    """Coordinates, all ways from one system through another and back, and the derivatives by the source."""
    member = both(family)[size]
    kind = member.kind

    @jax.jit
    def work(member):
        here = {name: member.coordinates(name) for name in COORDINATES}
        there = {}
        for through in COORDINATES:
            reached = kind.at(through, here[through])
            there |= {(name, through): reached.coordinates(name) for name in COORDINATES}
        for first, second in (("natural", "expectation"), ("expectation", "natural")):
            reached = kind.at(second, kind.at(first, here[first]).coordinates(second))
            there["round", first, second] = reached.source
        slopes = {name: jacobian(kind, name, "source", here["source"]) for name in COORDINATES}
        return here, there, slopes

    return jax.tree.map(np.asarray, work(member))


def condition(here, slopes, of, through):
    """How much a relative error in the coordinates `through` grows in those `of`, entry by entry.

    Entry i is Σ_j |∂aᵢ/∂bⱼ|·|bⱼ|/|aᵢ|. It is componentwise since the coordinates of one member differ by up to
    24 orders of magnitude: in a norm only the largest would be looked at.
    """

    def relative(name):
        return slopes[name] * here["source"][..., None, :] / here[name][..., :, None]

    both_ways = relative(of) @ np.linalg.inv(relative(through))
    return np.sum(np.abs(both_ways), axis=-1)


@functools.cache
def calculus(family):
    """Potentials, metrics and their derivatives by autodiff, for the moderate members."""
    member = flat(moderate(family))
    kind = member.kind

    @jax.jit
    def work(member):
        theta, eta = member.natural, member.expectation
        psi = lambda t: kind.at("natural", t).log_partition  # noqa: E731
        phi = lambda e: kind.at("expectation", e).dual_potential  # noqa: E731
        return {
            "theta": theta,
            "eta": eta,
            "psi": member.log_partition,
            "phi": member.dual_potential,
            "grad psi": jax.vmap(jax.grad(psi))(theta),
            "grad phi": jax.vmap(jax.grad(phi))(eta),
            "hess psi": jax.vmap(jax.hessian(psi))(theta),
            "hess phi": jax.vmap(jax.hessian(phi))(eta),
            "jacobian": jacobian(kind, "natural", "source", member.source),
            **{name: member.fisher(name) for name in COORDINATES},
        }

    return jax.tree.map(np.asarray, work(member))


def assert_near(actual, expected, relative, name=""):
    """Compare arrays entry by entry, against the largest entry of each trailing block when that is larger."""
    np.testing.assert_allclose(actual, expected, rtol=relative, atol=relative, err_msg=name)


# --- coordinates ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["moderate", "extreme"])
def test_coordinates_survive_the_way_through_any_others(family, size):
    here, there, slopes = trips(family, size)
    period = CASES[family].period
    for (*way, last), reached in there.items():
        if way[0] == "round":
            name, passed = "source", (way[1], last)
        else:
            name, passed = way[0], (last,)
        growth = 1 + sum(condition(here, slopes, name, through) for through in passed)
        off = reached - here[name]
        off = period(off) if name == "source" else off
        assert np.all(np.abs(off) <= 1e-10 * growth * np.abs(here[name])), (name, passed)


@pytest.mark.parametrize("size", ["moderate", "extreme"])
def test_expectation_to_family_to_expectation(family, size):
    here, there, _ = trips(family, size)
    np.testing.assert_allclose(there["expectation", "expectation"], here["expectation"], rtol=1e-10)


@pytest.mark.parametrize("size", ["moderate", "extreme"])
def test_from_expectation_is_differentiable(family, size):
    member = both(family)[size]
    kind = member.kind

    @jax.jit
    def work(eta):
        source = lambda e: kind.at("expectation", e).source  # noqa: E731
        back = jax.vmap(jax.jacrev(source))(eta)
        return jax.vmap(jax.jacfwd(source))(eta), back, jax.vmap(source)(eta)

    here, _, slopes = trips(family, size)
    forward, reverse, _ = (np.asarray(a) for a in work(here["expectation"]))
    assert np.all(np.isfinite(forward))
    # in units of the coordinates themselves, it is the inverse of the derivative of expectation by source
    unit = lambda j: j * here["expectation"][:, None, :] / here["source"][:, :, None]  # noqa: E731
    other = slopes["expectation"] * here["source"][:, None, :] / here["expectation"][:, :, None]
    size = np.linalg.norm(unit(forward), axis=(-2, -1)) * np.linalg.norm(other, axis=(-2, -1))
    off = np.abs(unit(forward) @ other - np.eye(other.shape[-1])).max(axis=(-2, -1))
    assert np.all(off <= 1e-10 * size), (off, size)
    apart = np.linalg.norm(unit(forward - reverse), axis=(-2, -1)) / np.linalg.norm(unit(forward), axis=(-2, -1))
    assert np.all(apart <= 1e-10 * size)


def answers(member, other, x):
    """Everything that a family says of a member."""
    kind = member.kind
    eta = member.expectation
    return {
        "source": member.source,
        "natural": member.natural,
        "expectation": eta,
        "interior": member.interior,
        "log_partition": member.log_partition,
        "dual_potential": member.dual_potential,
        "entropy": member.entropy,
        "relative_entropy": member.relative_entropy(other),
        "log_prob": member.log_prob(x),
        "energy": member.energy(x),
        "statistics": member.statistics(x),
        "from_source": kind.at("source", member.source).source,
        "from_natural": kind.at("natural", member.natural).source,
        "from_expectation": kind.at("expectation", eta).source,
        **{f"fisher {name}": member.fisher(name) for name in COORDINATES},
    }


def test_batched_under_jit_and_vmap_alike(family):
    member, other = moderate(family), moderate(family, 1)
    x = np.asarray(jax.jit(lambda m: m.sample(jax.random.key(0)))(member))
    assert x.shape == BATCH + member.event_shape
    batched = eqx.filter_jit(answers)(member, other, x)
    mapped = eqx.filter_jit(jax.vmap(jax.vmap(answers)))(member, other, x)
    loop = jax.jit(answers)
    for name, value in batched.items():
        assert value.shape[:2] == BATCH
        np.testing.assert_allclose(mapped[name], value, rtol=1e-11, atol=1e-13, err_msg=name)
    for index in np.ndindex(*BATCH):
        alone = loop(single(member, index), single(other, index), x[index])
        for name, value in batched.items():
            np.testing.assert_allclose(alone[name], value[index], rtol=1e-11, atol=1e-13, err_msg=name)


def test_shapes(family):
    member = moderate(family)
    d = member.size
    shape = jax.eval_shape(lambda m: answers(m, m, m.sample(jax.random.key(0))), member)
    for name, value in shape.items():
        ending = {"fisher": (d, d), "from": (d,), "statistics": (d,)}.get(name.replace("_", " ").split()[0], ())
        ending = (d,) if name in COORDINATES else ending
        assert value.shape == BATCH + ending, name
    drawn = jax.eval_shape(lambda m: m.sample(jax.random.key(0), (5, 7)), member)
    assert drawn.shape == (5, 7) + BATCH + member.event_shape
    rows = jax.eval_shape(lambda m, x: m.log_likelihood(Batch(x)), member, np.zeros((4, *member.event_shape)))
    assert rows.shape == (4, *BATCH)


def test_eager_and_compiled_alike(family):
    """Outside of jit the parameters are checked as well; the numbers are the same."""
    member = moderate(family)
    eager = type(member).from_expectation(member.expectation, **dict(member.kind.structure))
    compiled = jax.jit(lambda m: m.kind.at("expectation", m.expectation))(member)
    for a, b in zip(jax.tree.leaves(eager), jax.tree.leaves(compiled), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)
    assert eager.kind == member.kind
    assert np.all(eager.interior)


# --- potentials and metric ------------------------------------------------------------------------------------


def test_legendre(family):
    c = calculus(family)
    product = np.sum(c["theta"] * c["eta"], axis=-1)
    np.testing.assert_allclose(c["psi"] + c["phi"], product, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(c["grad psi"], c["eta"], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(c["grad phi"], c["theta"], rtol=1e-9, atol=1e-10)


def test_fisher_is_the_hessian(family):
    c = calculus(family)
    identity = np.eye(c["theta"].shape[-1])
    np.testing.assert_allclose(c["natural"], c["hess psi"], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(c["expectation"], c["hess phi"], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(
        c["natural"] @ c["expectation"], np.broadcast_to(identity, c["natural"].shape), atol=1e-9
    )
    pulled = np.swapaxes(c["jacobian"], -1, -2) @ c["natural"] @ c["jacobian"]
    np.testing.assert_allclose(c["source"], pulled, rtol=1e-9, atol=1e-10)


def test_fisher_is_symmetric_positive_definite(family):
    c = calculus(family)
    for name in COORDINATES:
        np.testing.assert_allclose(c[name], np.swapaxes(c[name], -1, -2), rtol=1e-13, atol=1e-15, err_msg=name)
        assert np.all(np.linalg.eigvalsh(c[name]) > 0), name


def test_fisher_of_extreme_members(family):
    """In units of their diagonals both matrices are inverses, up to their condition number."""
    member = extreme(family)
    natural, expectation = jax.jit(lambda m: (m.fisher("natural"), m.fisher("expectation")))(member)
    unit = np.sqrt(np.diagonal(natural, axis1=-2, axis2=-1))
    natural = natural / unit[:, :, None] / unit[:, None, :]
    expectation = expectation * unit[:, :, None] * unit[:, None, :]
    assert np.all(np.diagonal(expectation, axis1=-2, axis2=-1) > 0)
    size = np.linalg.norm(natural, axis=(-2, -1)) * np.linalg.norm(expectation, axis=(-2, -1))
    off = np.abs(natural @ expectation - np.eye(member.size)).max(axis=(-2, -1))
    assert np.all(off <= 1e-10 * size), (off, size)


# --- the distribution -----------------------------------------------------------------------------------------


def test_sums_over_all_points(family):
    """Mass, mean and covariance of the statistics, entropy and relative entropy, each by quadrature."""
    member, other = moderate(family), moderate(family, 1)
    x, weight = CASES[family].rule(member)

    @jax.jit
    def work(member, other, x, weight):
        log_p, log_q = member.log_prob(x), other.log_prob(x)
        mass = weight * jnp.exp(log_p)
        away = member.statistics(x) - member.expectation
        second = jnp.einsum("p...,p...i,p...j->...ij", mass, away + 0 * mass[..., None], away + 0 * mass[..., None])
        log_ratio = jnp.where(mass > 0, log_p - log_q, 0)
        return (
            (jnp.sum(mass, axis=0), jnp.ones(BATCH)),
            (jnp.sum(mass[..., None] * away, axis=0), jnp.zeros(BATCH + (member.size,))),
            (second, member.fisher("natural")),
            (-jnp.sum(jnp.where(mass > 0, mass * log_p, 0), axis=0), member.entropy),
            (jnp.sum(mass * log_ratio, axis=0), member.relative_entropy(other)),
        )

    names = ("mass", "mean", "covariance", "entropy", "relative entropy")
    for name, (summed, closed) in zip(names, work(member, other, x, weight), strict=True):
        np.testing.assert_allclose(summed, closed, rtol=1e-8, atol=1e-8, err_msg=name)


def test_log_prob_is_that_of_an_exponential_family(family):
    """What is left of log p − ⟨θ, T⟩ + ψ is the base measure, the same for all members."""
    member, other = moderate(family), moderate(family, 1)

    @jax.jit
    def work(member, other):
        x = member.sample(jax.random.key(1), (20,)).reshape(-1, 1, 1, *member.event_shape)
        left = []
        for m in (member, other):
            left.append(m.log_prob(x) - jnp.sum(m.natural * m.statistics(x), axis=-1) + m.log_partition)
        return jnp.stack(left)

    left = np.moveaxis(work(member, other), 1, 0)  # points first
    np.testing.assert_allclose(left, np.broadcast_to(left[:, :1, :1, :1], left.shape), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", ["moderate", "extreme"])
def test_log_prob_and_entropy_as_in_scipy(family, size):
    case = CASES[family]
    if case.reference is None:
        return
    member = both(family)[size]
    x, log_prob, entropy, psi = jax.jit(
        lambda m: (x := m.sample(jax.random.key(2), (8,)), m.log_prob(x), m.entropy, m.log_partition)
    )(member)
    for index in range(member.batch_shape[0]):
        reference = case.reference(single(member, index))
        of = reference.logpmf if hasattr(reference, "logpmf") and not hasattr(reference, "logpdf") else None
        of = of or getattr(reference, "logpdf", None) or reference.logpmf
        points = np.asarray(x)[:, index]
        expected = of(points.T) if family.__name__ == "Dirichlet" else of(points)
        # digits are lost where −ψ and ⟨θ, T⟩ are large and nearly cancel
        terms = 1 + np.abs(psi[index])
        np.testing.assert_allclose(log_prob[:, index], expected, rtol=1e-9, atol=1e-13 * terms, err_msg=str(index))
        np.testing.assert_allclose(entropy[index], reference.entropy(), rtol=1e-8, atol=1e-8, err_msg=str(index))


def test_samples_have_the_expected_statistics(family):
    """Averages over a sample lie within five standard errors of the expectation, and of the entropy."""
    member = moderate(family)
    n = 4000

    @jax.jit
    def work(member):
        x = member.sample(jax.random.key(3), (n,))
        log_p, t = member.log_prob(x), member.statistics(x)
        error = jnp.sqrt(jnp.diagonal(member.fisher("natural"), axis1=-2, axis2=-1) / n)
        z = (jnp.mean(t, axis=0) - member.expectation) / error
        surprise = (jnp.mean(-log_p, axis=0) - member.entropy) / (jnp.std(log_p, axis=0) / np.sqrt(n) + 1e-12)
        return z, surprise, jnp.all(jnp.isfinite(log_p))

    z, surprise, finite = work(member)
    assert finite
    assert np.max(np.abs(z)) < 5
    assert np.max(np.abs(surprise)) < 5


# --- extreme members in many digits ---------------------------------------------------------------------------


def gradient(of, at):
    """The gradient of a function of mpmath numbers by differences."""
    slopes = []
    for i, value in enumerate(at):
        step = mp.mpf(10) ** -20 * (abs(value) if value else 1)
        up, down = list(at), list(at)
        up[i], down[i] = value + step, value - step
        slopes.append((of(up) - of(down)) / (2 * step))
    return slopes


@functools.cache
def in_many_digits(family):
    """Potential, expectation, entropy and divergence to the next member, from the natural coordinates."""
    case, member = CASES[family], extreme(family)
    kind = member.kind
    natural = np.asarray(jax.jit(lambda m: m.natural)(member))
    found = []
    with mp.workdps(80):
        theta = [[mp.mpf(float(t)) for t in row] for row in natural]
        psi = [case.log_partition(kind, row) for row in theta]
        eta = [gradient(lambda t: case.log_partition(kind, t), row) for row in theta]
        dot = lambda a, b: sum(x * y for x, y in zip(a, b, strict=True))  # noqa: E731
        for i in range(len(theta)):
            j = (i + 1) % len(theta)
            step = [b - a for a, b in zip(theta[i], theta[j], strict=True)]
            base = None if case.log_base is None else case.log_base(kind, eta[i])
            found.append(
                {
                    "psi": psi[i],
                    "eta": eta[i],
                    "entropy": None if base is None else psi[i] - dot(theta[i], eta[i]) - base,
                    "divergence": psi[j] - psi[i] - dot(step, eta[i]),
                    # the size of the terms above, which sets how far rounding can reach
                    "terms": abs(psi[i]) + abs(psi[j]) + sum(abs(a * b) for a, b in zip(step, eta[i], strict=True)),
                    "reach": abs(psi[i]) + sum(abs(a * b) for a, b in zip(theta[i], eta[i], strict=True)),
                }
            )
    return natural, found


@functools.cache
def of_extremes(family):
    natural, _ = in_many_digits(family)
    kind = extreme(family).kind

    @jax.jit
    def work(theta):
        member, other = kind.at("natural", theta), kind.at("natural", jnp.roll(theta, -1, axis=0))
        here = {"psi": member.log_partition, "eta": member.expectation, "entropy": member.entropy}
        return here | {"divergence": member.relative_entropy(other)}

    return jax.tree.map(np.asarray, work(natural))


def test_extreme_expectation_and_log_partition(family):
    _, exact = in_many_digits(family)
    computed = of_extremes(family)
    _, _, slopes = trips(family, "extreme")
    here, _, _ = trips(family, "extreme")
    growth = 1 + condition(here, slopes, "expectation", "natural")
    for i, e in enumerate(exact):
        eta = np.array([float(v) for v in e["eta"]])
        assert np.all(np.abs(computed["eta"][i] - eta) <= 1e-12 * growth[i] * np.abs(eta)), i
        assert abs(computed["psi"][i] - float(e["psi"])) <= 1e-13 * float(1 + e["reach"]), i


def test_extreme_entropy(family):
    if CASES[family].log_base is None:
        return
    _, exact = in_many_digits(family)
    computed = of_extremes(family)
    for i, e in enumerate(exact):
        assert abs(computed["entropy"][i] - float(e["entropy"])) <= 1e-13 * float(1 + e["reach"]), i


def test_extreme_relative_entropy(family):
    """Members that are far apart: all digits but for the rounding of the largest term."""
    _, exact = in_many_digits(family)
    computed = of_extremes(family)["divergence"]
    for i, e in enumerate(exact):
        assert abs(computed[i] - float(e["divergence"])) <= 1e-13 * float(1 + e["terms"]), (i, computed[i], e)


# --- relative entropy -----------------------------------------------------------------------------------------


def test_relative_entropy_is_the_bregman_divergence(family):
    member, other = moderate(family), moderate(family, 1)

    @jax.jit
    def work(member, other):
        step = other.natural - member.natural
        bregman = other.log_partition - member.log_partition - jnp.sum(step * member.expectation, axis=-1)
        return member.relative_entropy(other), bregman, member.relative_entropy(member)

    divergence, bregman, same = work(member, other)
    assert np.all(divergence > 0)
    np.testing.assert_allclose(divergence, bregman, rtol=1e-10, atol=1e-12)
    assert np.all(same == 0)
    assert np.all(jax.jit(lambda m: m.relative_entropy(m))(extreme(family)) == 0)


@pytest.mark.parametrize("size", ["moderate", "extreme"])
def test_relative_entropy_of_close_members(family, size):
    """D(p, p+δ) / (½·δᵀIδ) tends to 1: nothing is lost when members are close."""
    member = both(family)[size]
    kind = member.kind
    rng = np.random.default_rng(5)
    direction = rng.uniform(0.3, 1, (member.batch_shape[0], member.size))
    direction *= rng.choice([-1, 1], direction.shape)
    # extreme members are moved in natural coordinates and hold source parameters: that rounds the step itself
    name, steps, slack = {
        "moderate": ("source", (1e-3, 1e-5, 1e-7), lambda step: 100 * step),
        "extreme": ("natural", (1e-4, 1e-6), lambda step: 1e-2),
    }[size]

    @jax.jit
    def work(member, step):
        theta = member.natural
        error = 1 / jnp.sqrt(jnp.diagonal(member.fisher("natural"), axis1=-2, axis2=-1))
        size = jnp.minimum(error, jnp.maximum(jnp.abs(theta), 1))
        near = kind.at("natural", theta + step * direction * size)
        delta = near.coordinates(name) - member.coordinates(name)
        quadratic = jnp.einsum("...i,...ij,...j->...", delta, member.fisher(name), delta) / 2
        return member.relative_entropy(near), quadratic

    for step in steps:
        divergence, quadratic = work(member, step)
        np.testing.assert_allclose(divergence, quadratic, rtol=slack(step), err_msg=str(step))


# --- a model with nothing hidden ------------------------------------------------------------------------------

ROWS = 48


@functools.cache
def data(family):
    """Points from all members together, and weights for each point and member."""
    member = moderate(family)
    x = jax.jit(lambda m: m.sample(jax.random.key(7), (ROWS // 6,)))(member)
    x = np.asarray(x).reshape(ROWS, *member.event_shape)
    return x, np.random.default_rng(8).uniform(0.1, 1.0, (ROWS, *BATCH))


def statistics_of(member, x, weight):
    return member.expected_statistics(Batch(x, weight))[0]


def assert_same(first, second, relative=1e-10):
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_allclose(a, b, rtol=relative, atol=relative)


def test_maximize_is_maximum_likelihood(family):
    """There the gradient of the weighted log-likelihood vanishes; and the cross-entropy is least."""
    member = moderate(family)
    kind = member.kind

    @jax.jit
    def work(member, x, weight):
        nearest = member.maximize(statistics_of(member, x, weight))
        rows = x.reshape(ROWS, 1, 1, *member.event_shape)

        def mean_log_prob(theta):
            log_p = kind.at("natural", theta).log_prob(rows)
            return jnp.sum(weight * log_p, axis=0) / jnp.sum(weight, axis=0)

        slope = jax.grad(lambda theta: jnp.sum(mean_log_prob(theta)))(nearest.natural)
        return slope, mean_log_prob(nearest.natural) - mean_log_prob(member.natural)

    slope, gain = work(member, *data(family))
    np.testing.assert_allclose(slope, 0, atol=1e-9)
    assert np.all(gain > 0)


def test_merge_scale_and_unit(family):
    member = moderate(family)

    @jax.jit
    def work(member, x, weight):
        whole = statistics_of(member, x, weight)
        parts = [statistics_of(member, x[i:j], weight[i:j]) for i, j in ((0, 7), (7, 30), (30, ROWS))]
        a, b, c = parts
        far = member.own_statistics(Extent(0.0))
        return {
            "left": (a.merge(b).merge(c), whole),
            "right": (a.merge(b.merge(c)), whole),
            "other order": (c.merge(a).merge(b), whole),
            "unit of data": (whole.merge(statistics_of(member, x, 0 * weight)), whole),
            "unit before": (statistics_of(member, x, 0 * weight).merge(whole), whole),
            "own unit": (far.merge(whole), whole),
            "own unit after": (whole.merge(far), whole),
            "nothing": (far.merge(far), far),
            "twice": (whole.merge(whole), whole.scale(2.0)),
            "per member": (whole.scale(weight[0]).merge(whole.scale(1 - weight[0])), whole),
            "weights": (statistics_of(member, x, 3 * weight), whole.scale(3.0)),
        }

    for name, (first, second) in work(member, *data(family)).items():
        for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10, err_msg=name)


def test_zero_mass_is_the_unit_whatever_its_averages(family):
    """Statistics without mass leave the others as they are, to the last digit."""
    member, extremes = moderate(family), extreme(family)
    if extremes.kind != member.kind:
        member = jax.tree.map(lambda leaf: leaf[::-1], extremes)

    @jax.jit
    def work(a, b):
        mine, empty = a.own_statistics(Extent(2.0)), b.own_statistics(Extent(0.0))
        return mine, empty.merge(mine), mine.merge(empty)

    mine, before, after = work(extremes, jax.tree.map(lambda leaf: np.roll(leaf, 1, axis=0), extremes))
    assert_same(after, mine, 1e-15)
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(mine), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_own_statistics_and_cross_entropy(family):
    member, other = moderate(family), moderate(family, 1)

    @jax.jit
    def work(p, q, x, weight):
        own = p.own_statistics(Extent(2.5))
        from_data = statistics_of(p, x, weight)
        rows = x.reshape(ROWS, 1, 1, *p.event_shape)
        likelihood = [jnp.sum(weight * m.log_prob(rows), axis=0) for m in (p, q)]
        divergence = p.relative_entropy(q)
        return {
            "the member itself": (p.maximize(own).source, p.source),
            "mass": (own.mass, jnp.full(BATCH, 2.5)),
            "relative entropy": (q.cross_entropy(own) - p.cross_entropy(own), 2.5 * divergence),
            "data": (q.cross_entropy(from_data) - p.cross_entropy(from_data), likelihood[0] - likelihood[1]),
            "log-likelihood": (from_data.log_likelihood, likelihood[0]),
            "rows": (jnp.sum(weight * p.log_likelihood(Batch(x)), axis=0), likelihood[0]),
            "prior": (p.maximize(from_data, own).source, p.maximize(from_data.merge(own)).source),
        }

    for name, (actual, expected) in work(member, other, *data(family)).items():
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-10, err_msg=name)


def test_padding_and_empty_members(family):
    """Rows of weight 0 are never looked at, and a member without mass stays as it is."""
    member = moderate(family)
    x, weight = data(family)
    absurd = np.array([np.nan, np.inf, -1e300, 0.5]).reshape(4, *(1,) * (x.ndim - 1))
    padded = np.concatenate([x.astype(float), np.broadcast_to(absurd, (4, *x.shape[1:]))])
    padding = np.concatenate([weight, np.zeros((4, *BATCH))])

    @jax.jit
    def work(member, x, weight):
        found = statistics_of(member, x, weight)
        one = statistics_of(member, x, weight[:, 0, 0])
        return found, member.maximize(found), one

    assert_same(work(member, padded, padding), work(member, x.astype(float), weight), 1e-13)

    hole = weight.copy()
    hole[:, 0, 1] = 0
    _, nearest, _ = work(member, padded, np.concatenate([hole, np.zeros((4, *BATCH))]))
    _, full, _ = work(member, x.astype(float), weight)
    for new, old, whole in zip(*map(jax.tree.leaves, (nearest, member, full)), strict=True):
        np.testing.assert_array_equal(new[0, 1], old[0, 1])
        np.testing.assert_allclose(new[1], whole[1], rtol=1e-13)


def test_padding_does_not_reach_gradients(family):
    """The log-likelihood that the statistics carry can be differentiated when rows are padded with NaN."""
    member = moderate(family)
    x, weight = data(family)
    x = np.where(np.arange(ROWS).reshape(-1, *(1,) * (x.ndim - 1)) < ROWS - 3, x, np.nan)
    weight = np.where(np.arange(ROWS).reshape(-1, 1, 1) < ROWS - 3, weight, 0)
    slope = jax.jit(jax.grad(lambda m: jnp.sum(statistics_of(m, x, weight).log_likelihood)))(member)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(slope))


def test_nothing_is_hidden(family):
    member = moderate(family)
    x, _ = data(family)
    assert member.posterior(Batch(x)) is None
    assert member.aligned_to(moderate(family, 1)) is member


# --- precision and borders ------------------------------------------------------------------------------------


def test_float32_stays_float32(family):
    member = jax.tree.map(lambda leaf: np.asarray(leaf, np.float32), moderate(family))
    x = np.asarray(data(family)[0])
    x = x.astype(np.float32) if np.issubdtype(x.dtype, np.floating) else x

    def work(member, x):
        point = x[0]
        drawn = member.sample(jax.random.key(0))
        return answers(member, member, point) | {
            "sample": drawn if jnp.issubdtype(drawn.dtype, jnp.floating) else jnp.float32(0),
            **{f"member from {name}": member.kind.at(name, member.coordinates(name)) for name in COORDINATES},
        }

    found = jax.eval_shape(work, member, x)
    wrong = {
        name: [str(leaf.dtype) for leaf in jax.tree.leaves(value)]
        for name, value in found.items()
        if any(leaf.dtype not in (jnp.float32, bool) for leaf in jax.tree.leaves(value))
    }
    assert wrong == {}


def test_float32_statistics_stay_float32(family):
    member = jax.tree.map(lambda leaf: np.asarray(leaf, np.float32), moderate(family))
    x, weight = data(family)
    x = x.astype(np.float32) if np.issubdtype(x.dtype, np.floating) else x

    def work(member, x, weight):
        found = statistics_of(member, x, weight)
        own = member.own_statistics(Extent(np.float32(2)))
        nearest = member.maximize(found, own)
        return {"data": found, "own": own, "nearest": nearest, "cross-entropy": member.cross_entropy(found)}

    found = jax.eval_shape(work, member, x, weight.astype(np.float32))
    wrong = {
        name: [str(leaf.dtype) for leaf in jax.tree.leaves(value)]
        for name, value in found.items()
        if any(leaf.dtype != jnp.float32 for leaf in jax.tree.leaves(value))
    }
    assert wrong == {}


def test_numpy_leaves_keep_their_digits_outside_of_64_bit_mode(family):
    with jax.enable_x64(False):
        member = CASES[family].moderate(np.random.default_rng(0), BATCH)
        copies = [copy.deepcopy(member), pickle.loads(pickle.dumps(member)), member]
    for other in copies:
        assert other.kind == member.kind
        for leaf, kept in zip(jax.tree.leaves(other), jax.tree.leaves(moderate(family)), strict=True):
            assert isinstance(leaf, np.ndarray)
            assert leaf.dtype == np.float64
            np.testing.assert_array_equal(leaf, kept)


def test_statistics_pickle_and_copy(family):
    member = moderate(family)
    found = jax.tree.map(np.asarray, jax.jit(statistics_of)(member, *data(family)))
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert jax.tree.structure(other) == jax.tree.structure(found)
        assert_same(other, found, 0)


# --- the boundary ---------------------------------------------------------------------------------------------


def test_boundary(family):
    """Members without natural coordinates say so, and answer everything else."""
    make = CASES[family].boundary
    if make is None:
        return
    member = make()
    for ask in (
        lambda: member.natural,
        lambda: member.fisher("natural"),
        lambda: member.dual_potential,
    ):
        with pytest.raises(ValueError, match="natural coordinates do not exist"):
            ask()

    inside = jax.tree.map(lambda leaf: np.full_like(leaf, 1 / np.shape(leaf)[-1]), member)
    x, weight = jax.tree.map(jnp.asarray, CASES[family].rule(member))

    @jax.jit
    def work(member, inside):
        log_p = member.log_prob(x)
        mass = weight * jnp.exp(log_p)
        surprise = jnp.sum(jnp.where(mass > 0, -mass * log_p, 0), axis=0)
        apart = jnp.sum(jnp.where(mass > 0, mass * (log_p - inside.log_prob(x)), 0), axis=0)
        return {
            "mass": (jnp.sum(mass, axis=0), jnp.ones(member.batch_shape)),
            "mean": (jnp.sum(mass[..., None] * member.statistics(x), axis=0), member.expectation),
            "entropy": (surprise, member.entropy),
            "divergence": (apart, member.relative_entropy(inside)),
            "itself": (jnp.zeros(member.batch_shape), member.relative_entropy(member)),
            "outside": (member.interior, jnp.zeros(member.batch_shape, bool)),
            "source": (member.kind.at("source", member.source).source, member.source),
            "expectation": (member.kind.at("expectation", member.expectation).source, member.source),
            "own": (member.maximize(member.own_statistics(Extent(1.0))).source, member.source),
        }

    for name, (expected, actual) in work(member, inside).items():
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12, err_msg=name)
    assert np.all(inside.relative_entropy(member) == np.inf)
