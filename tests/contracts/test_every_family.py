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

from contracts.families import CASES, name_of
from contracts.quick import quick
from kullback.families import Batch, Extent
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
    theirs, own = p.expected_statistics(Batch(rows, weight))[0], p.own_statistics(Extent(jnp.full(MEMBERS, MASS)))
    return {
        **{name: p.coordinates(name) for name in COORDINATES},
        **{f"from {name}": p.kind.at(name, p.coordinates(name)).source for name in COORDINATES},
        **{f"fisher {name}": p.fisher(name) for name in COORDINATES},
        "slopes": jax.vmap(jax.jacfwd(by_source))(p.source),
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
