"""Columns of one family: the same as a product of its parts, boundary members and missing entries included."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.families import (
    Batch,
    Bernoulli,
    Beta,
    Categorical,
    Exponential,
    Extent,
    Gamma,
    Gaussian,
    Independent,
    Multinomial,
    Poisson,
    Product,
    ProductStatistics,
    VonMises,
)
from kullback.learning import em
from kullback.models import Mixture
from tiers import slow

N, BATCH = 2, (2,)


def columns(name, seed=0):
    rng = np.random.default_rng(seed)
    shape = (*BATCH, N)
    a, b = rng.uniform(0.5, 4, shape), rng.uniform(0.5, 4, shape)
    return {
        "Bernoulli": lambda: Bernoulli(a / 5),
        "Categorical": lambda: Categorical(rng.dirichlet(np.ones(4), shape)),
        "Poisson": lambda: Poisson(a),
        "Exponential": lambda: Exponential(a),
        "Gamma": lambda: Gamma(a, b),
        "Beta": lambda: Beta(a, b),
        "VonMises": lambda: VonMises(a - 2, b),
    }[name]()


def parts(member):
    """The columns one by one."""
    return [jax.tree.map(lambda leaf, i=i: leaf[:, i], member) for i in range(N)]


def rows(member, count=12):
    x = np.asarray(member.sample(jax.random.key(1), (count,)))[:, 0].astype(float)
    rng = np.random.default_rng(3)
    observed = rng.random(x.shape) < 0.7
    observed[0], observed[1] = True, False
    return x, rng.uniform(0, 2, (count, *BATCH)), observed


def seen(p, batch):
    """Log-likelihood and statistics of a batch, column by column where there are parts."""
    if isinstance(p, Independent):
        return p.log_likelihood(batch), p.expected_statistics(batch)[0]
    observed = [None] * N if batch.observed is None else batch.observed.T
    pieces = [batch.columns(x, o) for x, o in zip(batch.values.T, observed, strict=True)]
    rows = sum(part.log_likelihood(piece) for part, piece in zip(p.parts, pieces, strict=True))
    found = [part.expected_statistics(piece)[0] for part, piece in zip(p.parts, pieces, strict=True)]
    return rows, ProductStatistics(found[0].mass, sum(s.log_likelihood for s in found), tuple(found))


def same(ask, name):
    """Ask the columns, and the product of them."""
    together = quick(ask)(Independent(columns(name)), Independent(columns(name, 1)))
    apart = quick(ask)(Product(parts(columns(name))), Product(parts(columns(name, 1))))
    for key in apart:
        np.testing.assert_allclose(together[key], apart[key], rtol=1e-11, atol=1e-13, err_msg=key)


@pytest.mark.parametrize("name", ["Bernoulli", "Categorical", slow("Poisson"), slow("Gamma")])
def test_a_member_is_the_product_of_its_columns(name):
    x, _, _ = rows(columns(name))

    def ask(p, q):
        found = {c: p.coordinates(c) for c in ("source", "natural", "expectation")}
        found |= {f"fisher {c}": p.fisher(c) for c in ("source", "natural", "expectation")}
        found |= {"log_partition": p.log_partition, "entropy": p.entropy, "interior": p.interior}
        points = {"log_prob": p.log_prob(x[:, None]), "statistics": p.statistics(x)}
        return found | points | {"divergence": p.relative_entropy(q)}

    same(ask, name)


@pytest.mark.parametrize(
    "name", ["Bernoulli", "Categorical", "Exponential", *map(slow, ("Poisson", "Gamma", "Beta", "VonMises"))]
)
def test_learning_is_that_of_the_columns(name):
    """Of weighted rows with missing entries, merged with what the member expects itself."""
    x, weight, observed = rows(columns(name))

    def ask(p, q):
        whole, _ = seen(p, Batch(x, weight))
        holes, data = seen(p, Batch(x, weight, observed=observed))
        both = data.merge(p.own_statistics(Extent(2.0))).scale(0.5)
        found = {"whole": whole, "holes": holes, "total": data.log_likelihood, "mass": both.mass}
        return found | {"cross-entropy": q.cross_entropy(both), "nearest": p.maximize(both).source}

    same(ask, name)


@pytest.mark.parametrize("name", ["Bernoulli", "Categorical"])
def test_nothing_missing_is_all_observed(name):
    x, weight, _ = rows(columns(name))

    @quick
    def ask(p):
        plain, full = Batch(x, weight), Batch(x, weight, observed=np.ones(x.shape, bool))
        return p.expected_statistics(plain)[0], p.expected_statistics(full)[0]

    for a, b in zip(*map(jax.tree.leaves, ask(Independent(columns(name)))), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_missing_entries_are_drawn_and_the_others_kept():
    member = Independent(Bernoulli(np.array([[0.0, 1.0, 0.5]])))
    x = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    drawn = member.impute(Batch(x, observed=[[False, False, True], [True, False, True]]), jax.random.key(0))
    np.testing.assert_array_equal(drawn, [[[0.0, 1.0, 1.0]], [[1.0, 1.0, 0.0]]])
    np.testing.assert_array_equal(member.impute(Batch(x), jax.random.key(0)), x[:, None])


BOUNDARY = {
    "Bernoulli": (Bernoulli(np.array([[0.0, 1.0, 0.5], [1.0, 0.2, 0.0]])), [[0, 1, 0], [1, 1, 1], [0.5, 1, 0]]),
    "Categorical": (
        Categorical(np.array([[[0, 1, 0], [0.5, 0.5, 0]], [[0.3, 0, 0.7], [1, 0, 0]]])),
        [[1, 0], [0, 0], [3, 0], [1.5, 1], [2, 0]],
    ),
    "Poisson": (Poisson(np.array([[0.0, 3.0], [2.0, 0.0]])), [[0, 4], [1e6, 0], [-1, 0], [1, 1], [0.5, 0]]),
}


@pytest.mark.parametrize("name", BOUNDARY)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_boundary_is_minus_infinity_and_never_nan(name, dtype):
    """The matrix product says what the sum of the columns says, and its derivative is finite."""
    of, x = BOUNDARY[name]
    member = Independent(jax.tree.map(lambda leaf: leaf.astype(dtype), of))
    x = np.array(x, dtype)

    @quick
    def ask(member):
        return member.log_likelihood(Batch(x)), member.log_prob(x[:, None])

    found, expected = ask(member)
    assert np.isneginf(expected).any()
    assert np.isfinite(expected).any()
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == np.float32 else 1e-13)

    @quick
    @jax.grad
    def slope(member):
        rows = member.log_likelihood(Batch(x))
        return jnp.sum(jnp.where(jnp.isfinite(rows), rows, 0))

    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(slope(member)))


def test_slopes_of_the_matrix_product_are_those_of_the_sum():
    x = np.array([[0, 1], [1, 0], [1, 1]])

    @quick
    @jax.grad
    def slope(member):
        return jnp.sum(member.log_likelihood(Batch(x)))

    p = columns("Bernoulli").probability
    expected = np.sum(x[:, None] / p - (1 - x[:, None]) / (1 - p), axis=0)
    np.testing.assert_allclose(slope(Independent(columns("Bernoulli"))).columns.probability, expected, rtol=1e-12)


def test_a_column_of_ones_stays_a_probability():
    """Rounding of weighted averages does not carry it past 1, where nothing has a logarithm."""
    weight = np.random.default_rng(0).uniform(0, 1, (101, 7))
    member = Independent(Bernoulli(np.full((7, 2), 0.5)))
    x = np.stack([np.ones(101), np.zeros(101)], axis=-1)

    @quick
    def ask(member):
        data, _ = member.expected_statistics(Batch(x, weight))
        best = member.maximize(data)
        return best, best.log_likelihood(Batch(x)), best.cross_entropy(data)

    best, rows, loss = ask(member)
    assert np.all(best.columns.probability <= 1)
    np.testing.assert_allclose(rows, 0, atol=1e-12)
    np.testing.assert_allclose(loss, 0, atol=1e-10)


def test_a_mixture_finds_the_patterns_of_a_wide_table():
    rng = np.random.default_rng(5)
    truth = np.where(rng.random((2, 40)) < 0.5, 0.9, 0.1)
    labels = rng.integers(0, 2, 500)
    x = rng.random((500, 40)) < truth[labels]
    start = Mixture([0.5, 0.5], Independent(Bernoulli(np.clip(truth, 0.4, 0.6))))
    batch = Batch(x.astype(float), observed=rng.random(x.shape) < 0.8)
    model, history = em(start, batch, steps=30, tolerance=1e-8)
    assert np.all(np.diff(history) > -1e-10)
    assert np.mean(np.argmax(model.posterior(batch), axis=-1) == labels) > 0.99
    np.testing.assert_allclose(model.components.columns.probability, truth, atol=0.12)


def test_kinds():
    one, two = Independent(Poisson([1.0, 2.0])), Independent(Poisson([3.0, 4.0]))
    assert one.kind == two.kind
    assert hash(one.kind) == hash(two.kind)
    assert one.kind != Independent(Poisson([1.0, 2.0, 3.0])).kind
    assert one.kind != Independent(Exponential([1.0, 2.0])).kind
    assert Independent.from_natural(one.natural, column=one.column).kind == one.kind


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match=r"columns is a Gaussian with points of shape \(1,\)"):
        Independent(Gaussian([[0.0]], [[[1.0]]]))
    with pytest.raises(ValueError, match=r"columns is a Multinomial with points of shape \(2,\)"):
        Independent(Multinomial(3, [[0.5, 0.5]]))
    with pytest.raises(ValueError, match="columns is a list: it must be a family of single numbers"):
        Independent([Bernoulli(0.5)])
    with pytest.raises(ValueError, match=r"columns has batch shape \(\): its last axis counts the columns"):
        Independent(Bernoulli(0.5))
    with pytest.raises(ValueError, match=r"x has shape \(4,\): it needs 2 columns"):
        Independent(Bernoulli([0.5, 0.5])).log_prob(np.zeros(4))
    with pytest.raises(ValueError, match="5 coordinates do not fit: each column has 2"):
        Independent.from_source(np.ones(5), column=Gamma(1.0, 1.0).kind)
