import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.families import Beta, Categorical, Dirichlet, Gamma, Gaussian, Ising, Poisson, Product, VonMises
from kullback.geometry import centroid, relative_entropy
from tiers import slow

SETS = [
    [Gaussian([0.0, 1.0], [[1.0, 0.2], [0.2, 0.5]]), Gaussian([2.0, -1.0], [[0.3, 0.0], [0.0, 2.0]])],
    [Gamma(2.0, 3.0), Gamma(0.5, 1.0), Gamma(4.0, 0.2)],
    slow([Dirichlet([1.0, 2.0, 0.5]), Dirichlet([4.0, 0.3, 2.0])]),
    slow([VonMises(0.3, 2.0), VonMises(1.5, 0.5)]),
    slow([Ising([0.3, -0.2], [0.5]), Ising([-0.5, 0.1], [-0.3])]),
    [Categorical([0.2, 0.5, 0.3]), Categorical([0.6, 0.1, 0.3])],
    slow([Product([Poisson(2.0), Beta(1.0, 2.0)]), Product([Poisson(5.0), Beta(3.0, 2.0)])]),
]


@pytest.mark.parametrize("members", SETS, ids=lambda m: type(m[0]).__name__)
def test_the_centroid_has_the_least_weighted_relative_entropy(members):
    weights = np.arange(1.0, len(members) + 1)
    weights /= weights.sum()
    kind = members[0].kind
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *members)

    @quick
    def answers(stacked):
        """The sums and their slopes, at the centroid and at the members, for both kinds."""

        def total(theta, which):
            c = kind.at("natural", theta)
            apart = relative_entropy if which == "m" else lambda p, c: relative_entropy(c, p)
            return jnp.sum(weights * jax.vmap(apart, (0, None))(stacked, c))

        def at(which):
            middle = centroid(stacked, weights, which).natural
            places = jnp.concatenate([middle[None], stacked.natural])
            return jax.vmap(jax.value_and_grad(lambda theta: total(theta, which)))(places)

        return {which: at(which) for which in ("m", "e")}

    for values, slopes in answers(stacked).values():
        np.testing.assert_allclose(slopes[0], 0, atol=1e-9)
        # both sums are convex in some coordinates, so the only point without a slope is the least, not the greatest
        assert np.all(values[1:] > values[0])


def test_the_m_centroid_keeps_its_digits_far_from_the_origin():
    far = 1e8
    pair = [Gaussian([far - 1], [[1.0]]), Gaussian([far + 1], [[3.0]])]
    middle = centroid(pair, [1, 3])
    # exact: mean at +½, covariance ¼·1 + ¾·3 + ¼·¾·2²
    assert float(middle.mean[0] - far) == 0.5
    assert float(middle.covariance[0, 0]) == pytest.approx(0.25 + 2.25 + 0.75, rel=1e-12)


def test_a_batched_member_is_a_sequence_of_members():
    stacked = Poisson([1.0, 2.0, 6.0])
    alone = centroid([Poisson(1.0), Poisson(2.0), Poisson(6.0)], [1, 1, 2])
    assert float(centroid(stacked, [1, 1, 2]).rate) == pytest.approx(float(alone.rate), rel=1e-15)
    table = centroid(Poisson([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_allclose(table.rate, [2.0, 3.0], rtol=1e-15)


def test_the_centroid_works_on_the_boundary_in_the_m_sense_only():
    pair = [Categorical([1.0, 0.0]), Categorical([0.5, 0.5])]
    np.testing.assert_allclose(centroid(pair).probabilities, [0.75, 0.25])
    with pytest.raises(ValueError, match="natural coordinates do not exist"):
        centroid(pair, kind="e")


def test_centroid_says_what_is_wrong():
    pair = [Poisson(1.0), Poisson(2.0)]
    with pytest.raises(ValueError, match="members is empty"):
        centroid([])
    with pytest.raises(ValueError, match="single member"):
        centroid(Poisson(1.0))
    with pytest.raises(ValueError, match=r"weights has shape \(3,\): there are 2 members"):
        centroid(pair, [1, 2, 3])
    with pytest.raises(ValueError, match="not all zero"):
        centroid(pair, [0, 0])
    with pytest.raises(ValueError, match="not negative"):
        centroid(pair, [2, -1])
    with pytest.raises(ValueError, match="kind is 'x'"):
        centroid(pair, kind="x")
    with pytest.raises(ValueError, match="must be of one family"):
        centroid([Poisson(1.0), Gamma(1.0, 1.0)])
    assert jnp.isfinite(centroid(pair, [0, 1]).rate)
