"""Independent parts: what they are together is what they are alone."""

import numpy as np
import pytest

from contracts.quick import quick
from kullback.families import Batch, Bernoulli, DiagonalGaussian, Extent, Gaussian, Poisson, Product


def parts(seed=0, batch=(3,)):
    rng = np.random.default_rng(seed)
    return [
        Gaussian(rng.normal(size=(*batch, 2)), np.broadcast_to(np.eye(2) * (1 + seed), (*batch, 2, 2)).copy()),
        Poisson(rng.uniform(1, 3, batch)),
        DiagonalGaussian(rng.normal(size=(*batch, 3)), rng.uniform(1, 3, (*batch, 3))),
    ]


def test_all_is_sum_or_concatenation():
    p, q = Product(parts(0)), Product(parts(1))
    assert p.event_shape == (6,)
    assert p.size == 5 + 1 + 6
    x = np.random.default_rng(2).integers(0, 4, (4, 3, 6)).astype(float)

    @quick
    def together(p, q):
        return p.log_prob(x), p.entropy, p.relative_entropy(q), p.log_partition, p.natural, p.statistics(x)

    @quick
    def apart(p, q):
        pieces = (x[..., :2], x[..., 2], x[..., 3:])
        return [
            (a.log_prob(v), a.entropy, a.relative_entropy(b), a.log_partition, a.natural, a.statistics(v))
            for a, b, v in zip(p.parts, q.parts, pieces, strict=True)
        ]

    found, alone = together(p, q), apart(p, q)
    for place in range(4):
        np.testing.assert_allclose(found[place], sum(a[place] for a in alone), rtol=1e-12)
    for place in (4, 5):
        np.testing.assert_allclose(found[place], np.concatenate([a[place] for a in alone], axis=-1), rtol=1e-12)


def test_split_gives_back_the_points_of_the_parts():
    x = np.arange(12.0).reshape(2, 6)
    pieces = Product(parts(batch=())).split(x)
    assert [p.shape for p in pieces] == [(2, 2), (2,), (2, 3)]
    np.testing.assert_array_equal(pieces[1], [2, 8])


def test_products_of_products():
    inner = Product([Poisson(2.0), Bernoulli(0.3)])
    outer = Product([inner, Poisson(1.0)])
    assert outer.event_shape == (3,)
    back = Product.from_natural(outer.natural, kinds=outer.kinds)
    assert back.kind == outer.kind
    np.testing.assert_allclose(back.source, outer.source, rtol=1e-14)
    plain = Product([Poisson(2.0), Bernoulli(0.3), Poisson(1.0)])
    x = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    log_prob = quick(lambda p: p.log_prob(x))
    np.testing.assert_allclose(log_prob(outer), log_prob(plain), rtol=1e-14)


def test_kinds_of_different_structure_differ():
    one, two = Product([Poisson(2.0), Bernoulli(0.3)]), Product([Bernoulli(0.3), Poisson(2.0)])
    assert one.kind != two.kind
    assert one.kind == Product([Poisson(7.0), Bernoulli(0.1)]).kind
    assert hash(one.kind) == hash(Product([Poisson(7.0), Bernoulli(0.1)]).kind)


def test_fit_is_that_of_the_parts():
    p = Product([Poisson(np.array([2.0, 1.0])), Bernoulli(np.array([0.3, 0.6]))])
    x = np.array([[3.0, 1.0], [0.0, 0.0], [4.0, 1.0]])
    weight = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    fitted = quick(lambda p: p.maximize(p.expected_statistics(Batch(x, weight))[0]))(p)
    np.testing.assert_allclose(fitted.parts[0].rate, [7 / 4, 1.0])
    np.testing.assert_allclose(fitted.parts[1].probability, [2 / 4, 0.6])


def test_statistics_have_the_mass_of_their_parts():
    p = Product([Poisson(2.0), Bernoulli(0.3)])
    own = p.own_statistics(Extent(3.0))
    assert own.mass == 3
    assert own.scale(0.5).mass == 1.5
    assert own.merge(own).mass == 6


def test_columns_that_do_not_fit():
    with pytest.raises(ValueError, match=r"x has shape \(4,\): the parts take 2 columns"):
        Product([Poisson(2.0), Bernoulli(0.3)]).log_prob(np.zeros(4))
