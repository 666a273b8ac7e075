"""Most laws at a glance, of every family: what `make test` asks also those that are like others.

All that is asked of a family is compiled as one function. What it is compared with shares no formula with it:
quadrature, automatic differentiation, ψ by mpmath, and draws with their standard error.
"""

import functools

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from contracts.families import CASES, name_of, single
from contracts.quick import quick
from kullback.families import Batch, Categorical, Extent, Independent, Product, VonMises
from tiers import each_member

COORDINATES = ("source", "natural", "expectation")
MEMBERS, DRAWS, ROWS, MASS = (2,), 1000, 20, 2.5

close = functools.partial(np.testing.assert_allclose, rtol=1e-8, atol=1e-8)


@quick
def answers(p, q, x, key, weight):
    """All that the laws compare."""

    def by_source(vector):
        member = p.kind.at("source", vector)
        return {"natural": member.natural, "expectation": member.expectation}

    drawn = p.sample(key, (DRAWS,))
    rows = drawn[:ROWS].reshape(-1, *p.event_shape).astype(float)
    nothing = Batch(rows[:1], observed=jnp.zeros(rows[:1].shape, bool))
    theirs, own = p.expected_statistics(Batch(rows, weight))[0], p.own_statistics(Extent(jnp.full(MEMBERS, MASS)))
    return {
        **{name: p.coordinates(name) for name in COORDINATES},
        **{f"from {name}": p.kind.at(name, p.coordinates(name)).source for name in COORDINATES},
        **{f"fisher {name}": p.fisher(name) for name in COORDINATES},
        "slopes": jax.vmap(jax.jacfwd(by_source))(p.source),
        "mean": p.conditional_mean(nothing)[0],
        "mode": jnp.broadcast_to(p.mode, p.conditional_mode(nothing)[0].shape),
        "missing": p.conditional_mode(nothing)[0],
        "at the mode": p.log_prob(p.mode),
        "log_prob": p.log_prob(x),
        "log_q": q.log_prob(x),
        "statistics": p.statistics(x),
        "log_partition": p.log_partition,
        "dual_potential": p.dual_potential,
        "entropy": p.entropy,
        "divergence": p.relative_entropy(q),
        "drawn": p.statistics(drawn),
        "rows": p.statistics(rows[:, None]),
        "maximum": p.maximize(theirs).expectation,
        "nearest": p.maximize(own).source,
        "cross_entropy": q.cross_entropy(own) - p.cross_entropy(own),
    }


def _mean(member, points, mass):
    """Return the mean of points by quadrature: of categories the likeliest, of angles the direction."""
    match member:
        case Categorical():
            return np.argmax([mass[points == code].sum() for code in range(member.codes)])
        case VonMises():
            return np.angle(np.sum(mass * np.exp(1j * points)))
        case Product():
            ends = np.cumsum([max(1, *part.event_shape, 0) for part in member.parts])
            pieces = np.split(points, ends[:-1], axis=-1)
            parts = zip(member.parts, pieces, strict=True)
            return np.concatenate([np.atleast_1d(_mean(p, x if p.event_shape else x[:, 0], mass)) for p, x in parts])
        case Independent():
            columns = [jax.tree.map(lambda leaf, i=i: leaf[i], member.columns) for i in range(points.shape[1])]
            return np.array([_mean(column, points[:, i], mass) for i, column in enumerate(columns)])
    return np.tensordot(mass, points, axes=(0, 0))


@pytest.mark.parametrize("family", each_member("families", {name_of(key): key for key in CASES}, like={}))
def test_most_laws_at_a_glance(family):
    case = CASES[family]
    p, q = (case.moderate(np.random.default_rng(seed), MEMBERS) for seed in (0, 1))
    x, quadrature = case.rule(p)
    weight = np.random.default_rng(2).uniform(0.1, 1.0, (ROWS * MEMBERS[0], *MEMBERS))
    here = jax.tree.map(np.asarray, answers(p, q, x, jax.random.key(3), weight))

    # mass, mean and covariance of the statistics, entropy and relative entropy, each by quadrature
    mass = quadrature * np.exp(here["log_prob"])
    seen = mass > 0
    log_p, log_q = (np.where(seen, here[name], 0) for name in ("log_prob", "log_q"))
    away = np.where(seen[..., None], here["statistics"] - here["expectation"], 0)
    close(mass.sum(axis=0), 1, err_msg="mass")
    close(np.sum(mass[..., None] * away, axis=0), np.zeros(here["expectation"].shape), err_msg="expectation")
    close(np.einsum("x...,x...i,x...j->...ij", mass, away, away), here["fisher natural"], err_msg="fisher natural")
    close(-np.sum(mass * log_p, axis=0), here["entropy"], err_msg="entropy")
    close(np.sum(mass * (log_p - log_q), axis=0), here["divergence"], err_msg="relative entropy")

    # the best guesses of a missing point: no point of the quadrature is more probable than the mode
    for place in range(MEMBERS[0]):
        points = (
            x[:, place] if x.ndim > 1 + len(p.event_shape) and x.shape[1] > 1 else x.reshape(len(x), *p.event_shape)
        )
        guess = _mean(single(p, place), points, mass[:, place])
        close(here["mean"][place], guess, err_msg="conditional mean")
    assert np.all(here["at the mode"] >= here["log_prob"].max(axis=0) - 1e-9), "mode"
    np.testing.assert_array_equal(here["missing"], here["mode"], err_msg="conditional mode")

    # coordinates and metric: round trips, the Legendre identity, autodiff
    for name in COORDINATES:
        close(here[f"from {name}"], here["source"], err_msg=f"from {name}")
    psi = [float(case.log_partition(p.kind, [mp.mpf(float(t)) for t in theta])) for theta in here["natural"]]
    close(here["log_partition"], psi, err_msg="log_partition")
    product = np.sum(here["natural"] * here["expectation"], axis=-1)
    close(here["log_partition"] + here["dual_potential"], product, err_msg="dual_potential")
    slopes, natural = here["slopes"], here["fisher natural"]
    close(natural @ slopes["natural"], slopes["expectation"], err_msg="slopes of the coordinates")
    close(
        np.swapaxes(slopes["natural"], -1, -2) @ slopes["expectation"], here["fisher source"], err_msg="fisher source"
    )
    close(
        natural @ here["fisher expectation"],
        np.broadcast_to(np.eye(p.size), natural.shape),
        err_msg="fisher expectation",
    )

    # draws, and learning from them: at the maximum of the likelihood the expectation is the mean
    error = np.sqrt(np.diagonal(natural, axis1=-2, axis2=-1) / DRAWS)
    assert np.all(np.abs(here["drawn"].mean(axis=0) - here["expectation"]) < 4.5 * error), "sample"
    mean = np.sum(weight[..., None] * here["rows"], axis=0) / np.sum(weight, axis=0)[..., None]
    close(here["maximum"], mean, err_msg="maximize")
    close(here["nearest"], here["source"], err_msg="own statistics")
    close(here["cross_entropy"], MASS * here["divergence"], err_msg="cross_entropy")
