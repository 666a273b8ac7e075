"""What people ask of a member: its numbers in print, draws, mean, variance, mode, distribution function and fit.

Means and variances are compared with quadrature, the mode with the density at many points, the distribution function
with scipy's, and the fit with the likelihood around it.
"""

import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from contracts.families import CASES, each_family, single
from contracts.quick import quick
from kullback import families
from kullback.families import Categorical, Dirichlet, Independent, Product, VonMises

MEMBERS = (2,)


@pytest.fixture(params=each_family(), scope="module")
def family(request):
    """A family, or the name of another case of one."""
    return request.param


def moderate(family, seed=0):
    return CASES[family].moderate(np.random.default_rng(seed), MEMBERS)


def holds_categories(member):
    match member:
        case Categorical():
            return True
        case Product():
            return any(map(holds_categories, member.parts))
        case Independent():
            return holds_categories(member.columns)
    return False


@quick
def ask(member, x, key):
    drawn = member.sample(key, 500)
    found = {"log_prob": member.log_prob(x), "drawn": member.log_prob(drawn), "mode": member.mode}
    found["at mode"] = member.log_prob(found["mode"])
    if not holds_categories(member):
        found |= {"mean": member.mean, "variance": member.variance}
    return found


def test_mean_variance_and_mode(family):
    member = moderate(family)
    x, weight = CASES[family].rule(member)
    found = jax.tree.map(np.asarray, ask(member, x, jax.random.key(1)))
    assert found["mode"].shape == (*MEMBERS, *member.event_shape)
    above = np.maximum(found["drawn"].max(axis=0), found["log_prob"].max(axis=0))
    assert np.all(found["at mode"] >= above - 1e-9)
    if holds_categories(member):
        for name in ("mean", "variance"):
            with pytest.raises(AttributeError, match=f"A Categorical has no {name}, for its numbers are names"):
                getattr(member, name)
        return
    mass = weight * np.exp(found["log_prob"])
    mass = mass.reshape(*mass.shape, *(1,) * len(member.event_shape))
    if isinstance(member, VonMises):  # on the circle
        whole = np.sum(mass * np.exp(1j * x), axis=0)
        mean, variance = np.angle(whole), 1 - np.abs(whole)
    else:
        mean = np.sum(mass * x, axis=0)
        variance = np.sum(mass * np.square(x - mean), axis=0)
    np.testing.assert_allclose(found["mean"], mean, rtol=1e-8, atol=1e-8)
    spread = found["variance"]
    spread = spread if np.shape(spread) == variance.shape else spread[..., None]
    np.testing.assert_allclose(np.broadcast_to(spread, variance.shape), variance, rtol=1e-8, atol=1e-8)


def test_the_text_has_all_numbers(family):
    member = moderate(family)
    text, page = repr(member), member._repr_html_()
    assert text.startswith(f"{type(member).__name__}(")
    assert "..." not in text
    for entry in np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(member)]):
        assert re.search(rf"[\[ =]{re.escape(f'{entry:.6g}')}[\], )]", text)
        assert f"{entry:.6g}" in page


def test_draws_with_numbers_for_key_and_shape(family):
    member = moderate(family)
    drawn = member.sample(7, 3)
    assert drawn.shape == (3, *MEMBERS, *member.event_shape)
    np.testing.assert_array_equal(drawn, member.sample(jax.random.key(7), (3,)))


def test_the_fit_has_the_highest_likelihood(family):
    member = single(moderate(family), 0)
    structure = type(member)._fit_structure(member.kind)
    x = np.asarray(member.sample(2, 200), dtype=float)
    weight = np.random.default_rng(3).uniform(0.5, 1.5, 200)
    nearest = type(member).fit(x, weight, **structure)
    assert nearest.kind == member.kind

    @quick
    def slope(theta):
        return jax.grad(lambda t: weight @ member.kind.at("natural", t).log_prob(x) / weight.sum())(theta)

    # the likelihood is concave in natural coordinates: where it is level it is highest
    level = np.asarray(slope(jnp.asarray(nearest.natural)))
    spread = np.sqrt(np.diagonal(np.asarray(nearest.fisher("natural"))))
    np.testing.assert_allclose(level / spread, np.zeros(member.size), atol=1e-7)


def circular_cdf(member, x):
    """Integrate the density from −π, in pieces around its peak."""
    width = 1 / np.sqrt(1 + member.concentration)
    cuts = np.unique(np.clip(member.mean + width * np.array([-40, -10, -3, 0, 3, 10, 40]), -np.pi, np.pi))
    law = stats.vonmises(member.concentration, loc=member.mean)

    def integral(end):
        inside = np.array([-np.pi, *cuts[(cuts > -np.pi) & (cuts < end)], end])
        return sum(quad(law.pdf, a, b, epsabs=1e-13)[0] for a, b in itertools.pairwise(inside))

    return np.array([integral(end) for end in x])


def test_the_distribution_function(family):
    member = moderate(family)
    reference = CASES[family].reference
    assert member.event_shape or reference, "the case of a family of numbers needs its law in scipy"
    if member.event_shape or isinstance(member, Categorical):
        with pytest.raises(TypeError, match="distribution function"):
            member.cdf(np.asarray(member.sample(0, 1)))
        return
    for size, members in (("moderate", member), ("extreme", CASES[family].extreme())):
        flat = jax.tree.map(lambda leaf: np.ravel(leaf), members)
        laws = [reference(single(flat, i)) for i in range(flat.batch_shape[0])]
        x = np.asarray(members.sample(5, 3)).reshape(3, -1)
        if isinstance(members, VonMises):  # scipy's is that of a normal from κ = 50 on, and right to six digits
            known = np.stack([circular_cdf(single(flat, i), x[:, i]) for i in range(len(laws))], axis=-1)
        else:
            known = np.stack([law.cdf(x[:, i]) for i, law in enumerate(laws)], axis=-1)
        found = np.asarray(flat.cdf(x))
        np.testing.assert_allclose(found, known, atol=1e-8 if size == "extreme" else 1e-12)
    low, high = (-np.pi, np.pi) if isinstance(member, VonMises) else (-np.inf, np.inf)
    np.testing.assert_allclose(member.cdf(np.array([[low], [high]])), [[0, 0], [1, 1]], atol=1e-12)
    assert np.all(np.isnan(member.cdf(np.nan)))


def test_modes_on_the_edge():
    """Where a density has no maximum, the mode is the number of the support next to where it grows."""
    least, most = np.finfo(float).tiny, 1 - np.finfo(float).epsneg
    np.testing.assert_array_equal(families.Gamma([0.5, 1.0, 3.0], 2.0).mode, [least, least, 1])
    np.testing.assert_array_equal(
        families.Beta([0.5, 2.0, 0.5, 1.0, 3.0], [2.0, 0.5, 0.7, 1.0, 2.0]).mode, [least, most, least, 0.5, 2 / 3]
    )
    np.testing.assert_array_equal(
        Dirichlet([[0.5, 2.0, 3.0], [0.1, 0.3, 0.2]]).mode, [[least, 1 / 3, 2 / 3], [least, 1, least]]
    )
    np.testing.assert_array_equal(families.Poisson([0.0, 0.5, 3.0, 3.5]).mode, [0, 0, 2, 3])
    np.testing.assert_array_equal(families.Bernoulli([0.0, 0.5, 0.6]).mode, [0, 0, 1])
