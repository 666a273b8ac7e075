"""Mixtures and compounds by their free coordinates: what a network may answer with."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from contracts.quick import quick
from kullback.families import DiagonalGaussian, Gaussian, Poisson, Product
from kullback.models import CompoundDirichlet, Counts, FactorAnalysis, Mixture
from tiers import slow

MIXTURES = {
    "of numbers": Mixture([0.2, 0.5, 0.3], Poisson([1.0, 4.0, 20.0])),
    "of vectors": Mixture(
        [0.4, 0.6], DiagonalGaussian([[0.0, 1.0], [3.0, -1.0]], [[1.0, 0.5], [2.0, 1.0]]), tied=("variance",)
    ),
    "of mixed columns": Mixture(
        [0.4, 0.6], Product([Poisson([2.0, 5.0]), Gaussian([[0.0], [1.0]], [[[1.0]], [[2.0]]])])
    ),
    "of one component": Mixture([1.0], Poisson([3.0])),
    "of compounds": Mixture([0.4, 0.6], CompoundDirichlet([[1.0, 2.0], [3.0, 0.5]], trials=4)),
}


@functools.partial(quick, static_argnums=0)
def densities(kind, vectors, x):
    """Return densities and their gradients, of one vector for each point."""
    one = jax.vmap(jax.value_and_grad(lambda vector, point: kind.log_prob_at("free", vector, point)))
    return (*one(vectors, x), kind.log_prob_at("free", vectors, x))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*list(MIXTURES)[:2], *map(slow, list(MIXTURES)[2:])])
def test_a_mixture_comes_back_from_its_free_coordinates(name):
    model = MIXTURES[name]
    kind, free = model.kind, quick(lambda m: m.coordinates("free"))(model)
    assert free.shape == (kind.size,)
    assert hash(kind) == hash(model.kind)
    back = quick(lambda v: kind.at("free", v))(free)
    for leaf, known in zip(jax.tree.leaves(back), jax.tree.leaves(model), strict=True):
        np.testing.assert_allclose(leaf, known, rtol=1e-12)
    assert back.kind == kind  # with temperature, tied parameters and all
    x = np.asarray(quick(lambda m: m.sample(jax.random.key(0), (5,)))(model))
    assert kind.columns == max(1, *x.shape[1:], 0)
    one, _, batched = densities(kind, np.tile(free, (5, 1)), x)
    np.testing.assert_allclose(one, -np.asarray(quick(lambda m: m.energy(x))(model)), rtol=1e-12)
    np.testing.assert_allclose(batched, one, rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(("precision", "logits"), [(np.float32, (110, 200)), (np.float64, (200, 1000))])
def test_labels_of_any_logit_have_finite_gradients(precision, logits):
    kind, rates = MIXTURES["of numbers"].kind, np.log([1.0, 4.0, 20.0])
    rows = np.array([[a, b] for far in logits for a in (-far, far) for b in (-far, 0, far)])
    vectors = np.concatenate([rows, np.tile(rates, (len(rows), 1))], axis=-1).astype(precision)
    for count in (0, 60):
        value, slope, _ = densities(kind, vectors, np.full(len(rows), count))
        assert np.all(np.isfinite(value))
        assert np.all(np.isfinite(slope))
        # by log-sum-exp in 64 bits over the three components
        labels = np.concatenate([rows, np.zeros((len(rows), 1))], axis=-1)
        each = count * rates - np.exp(rates) - sum(np.log(np.arange(1, count + 1)))
        known = logsumexp(labels - logsumexp(labels, axis=-1, keepdims=True) + each, axis=-1)
        np.testing.assert_allclose(value, known, rtol=1e-5 if precision == np.float32 else 1e-12)


@pytest.mark.parametrize(("precision", "far"), [(np.float32, 40), (np.float64, 300)])
def test_compounds_far_out_have_finite_gradients(precision, far):
    kind = CompoundDirichlet([1.0, 2.0, 3.0]).kind
    rng = np.random.default_rng(0)
    for reach in (far, 1e6):
        vectors = (reach * rng.choice([-1, 0, 1, 0.5], (12, 3))).astype(precision)
        value, slope, _ = densities(kind, vectors, np.tile([2, 0, 5], (12, 1)))
        assert np.all(np.isfinite(value))
        assert np.all(np.isfinite(slope))


def test_what_is_missing_adds_nothing():
    kind = MIXTURES["of vectors"].kind
    vector = np.linspace(-1, 1, kind.size)
    x, observed = np.array([[np.nan, np.nan], [0.5, np.nan], [0.5, 2.0]]), np.array([[0, 0], [1, 0], [1, 1]], bool)

    @quick
    def work(vector):
        return jax.vmap(jax.value_and_grad(lambda v, p, o: kind.log_prob_at("free", v, p, o)), (None, 0, 0))(
            vector, x, observed
        )

    value, slope = work(jnp.asarray(vector))
    assert value[0] == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose(slope[0], np.zeros(kind.size), atol=1e-15)
    np.testing.assert_array_equal(np.asarray(slope).reshape(3, -1)[1, 1:].reshape(2, 2, 2)[..., 1], np.zeros((2, 2)))
    assert np.all(np.isfinite(slope))


@pytest.mark.parametrize(
    "components",
    [FactorAnalysis(np.zeros((2, 3)), np.ones((2, 3, 1)), np.ones((2, 3))), Counts([[0.5, 0.5], [0.1, 0.9]])],
    ids=["factor analysis", "counts"],
)
def test_mixtures_without_flat_coordinates_say_so(components):
    mixture = Mixture([0.5, 0.5], components)
    for ask in (lambda: mixture.kind, lambda: mixture.coordinates("free"), lambda: mixture.at("free", np.zeros(3))):
        with pytest.raises(TypeError, match=rf"components are a {type(components).__name__}, which has no flat"):
            ask()


def test_vectors_of_the_wrong_size_are_refused():
    with pytest.raises(
        ValueError, match=r"vector has shape \(4,\): it needs 5 on the last axis, 2 of the labels and 1 of"
    ):
        MIXTURES["of numbers"].kind.log_prob_at("free", np.zeros(4), 3)
    with pytest.raises(ValueError, match="log_prob_at takes 'natural' or 'free'"):
        MIXTURES["of numbers"].kind.log_prob_at("source", np.zeros(5), 3)
    compound = CompoundDirichlet([1.0, 2.0]).kind
    with pytest.raises(ValueError, match=r"vector has shape \(3,\): it needs 2"):
        compound.log_prob_at("free", np.zeros(3), [1, 2])
    with pytest.raises(ValueError, match="log_prob_at takes 'natural' or 'free'"):
        compound.log_prob_at("source", np.zeros(2), [1, 2])


@pytest.mark.parametrize("name", [*map(slow, list(MIXTURES)[:2]), list(MIXTURES)[2], slow(list(MIXTURES)[4])])
def test_the_fisher_product_is_that_of_the_matrix(name):
    kind = MIXTURES[name].kind
    columns = np.random.default_rng(0).normal(size=(kind.size, 2))

    @quick
    def both(free):
        return kind.fisher_product_at(free, columns), kind.fisher_at("free", free) @ columns

    with jax.enable_x64(True):
        np.testing.assert_allclose(*both(jnp.asarray(MIXTURES[name].coordinates("free"))), rtol=1e-10, atol=1e-12)
