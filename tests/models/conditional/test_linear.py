"""Generalized linear models of every family: coefficients, scores and information."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import (
    Batch,
    Bernoulli,
    Beta,
    Categorical,
    DiagonalGaussian,
    Gamma,
    Gaussian,
    Independent,
    Poisson,
    Product,
    VonMises,
)
from kullback.models import LinearConditional, Mixture, Ridge
from kullback.runtime import in_float64
from tiers import slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 2))
LIKE = {
    "Poisson": Poisson(2.0),
    "Gamma": Gamma(2.0, 1.0),
    "Categorical": Categorical([0.2, 0.3, 0.5]),
    "DiagonalGaussian": DiagonalGaussian([0.0, 1.0], [1.0, 2.0]),
    "Gaussian": Gaussian([0.0, 1.0], [[1.0, 0.3], [0.3, 2.0]]),
    "VonMises": VonMises(0.5, 2.0),
    "Beta": Beta(2.0, 3.0),
    "Product": Product([Poisson(2.0), DiagonalGaussian([0.0], [1.0]), Bernoulli(0.3)]),
    "Independent": Independent(Gamma([2.0, 3.0], [1.0, 2.0])),
}
NAMES = ["DiagonalGaussian", *map(slow, sorted(set(LIKE) - {"DiagonalGaussian"}))]


def linear(name, varies=None):
    kind = LIKE[name].kind
    rng = np.random.default_rng(kind.size)
    table = np.concatenate([np.asarray(LIKE[name].free)[:, None], 0.2 * rng.normal(size=(kind.size, 2))], axis=1)
    return LinearConditional(table, kind, varies)


@pytest.mark.parametrize("name", NAMES)
def test_score_and_information_are_those_of_autodiff_in_the_parameters(name):
    size = LIKE[name].kind.size
    model = linear(name, [True] + [place % 2 == 0 for place in range(1, size)])
    weight = np.array([1.0, 2.0, 0.0, 0.5, 1.0, 1.0, 3.0, 1.0, 1.0])
    v = model.sample(1, inputs=X)

    def log_likelihood(parameters):
        return jnp.sum(weight * model.at(parameters).log_likelihood(Batch(v, inputs=X)))

    @jax.jit
    def asked(parameters):
        slope = jax.jacfwd(lambda moved: model.at(moved).free(X))(parameters)
        # the average of −Hess of log p: the metric of each row at its free coordinates, carried to the parameters
        metric = model.at(parameters).given(X).fisher("free")
        information = jnp.einsum("r,rdp,rde,req->pq", weight, slope, metric, slope)
        return model.scores(Batch(v, weight, inputs=X)), *jax.value_and_grad(log_likelihood)(parameters), information

    with jax.enable_x64(True):
        found, value, score, information = asked(jnp.asarray(model.parameters))
    np.testing.assert_allclose(found.score, score, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.information, information, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.log_likelihood, value, rtol=1e-9)
    assert found.mass == weight.sum()


@jax.jit
def scores_of(model, batch):
    return model.scores(batch)


@pytest.mark.slow
def test_long_batches_go_in_blocks_and_say_the_same():
    rng = np.random.default_rng(3)
    x, model = rng.normal(size=(5000, 2)), linear("Poisson")
    y = rng.poisson(2.0, 5000)
    whole = in_float64(scores_of)(model, Batch(y, inputs=x))
    parts = [
        in_float64(scores_of)(model, Batch(y[at : at + 1000], inputs=x[at : at + 1000])) for at in range(0, 5000, 1000)
    ]
    merged = functools.reduce(in_float64(lambda one, other: one.merge(other)), parts)
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(merged), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)
    np.testing.assert_array_equal(whole.low, x.min(0))
    np.testing.assert_allclose(whole.radius, np.sqrt(1 + np.square(x).sum(1).max()))


def test_no_row_is_moved_farther_than_the_bound_of_the_ball_or_the_box():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 3)) * [1.0, 100.0, 0.01] + [0.0, 1000.0, 0.0]
    model = LinearConditional.start(Gamma(1.0, 1.0), 3)
    scores = in_float64(scores_of)(model, Batch(rng.gamma(2.0, size=200), inputs=x))
    for _ in range(20):
        step = rng.normal(size=(2, 4)) / [1.0, 1.0, 100.0, 0.01]
        moved = np.abs(step @ np.concatenate([np.ones((200, 1)), x], axis=1).T).max(axis=1)
        assert np.all(moved <= scores.farthest(jnp.asarray(step)) * (1 + 1e-6))
    # a shift of an input that the intercept undoes moves little, and the box knows it
    step = np.array([[-1000.0, 0.0, 1.0, 0.0], [0.0] * 4]) / 300
    assert float(scores.farthest(jnp.asarray(step))[0]) < 2


def test_rows_of_which_nothing_is_observed_say_nothing():
    model, y = linear("Poisson"), np.arange(9)
    there = np.arange(9) % 3 > 0
    found = in_float64(scores_of)(model, Batch(y, observed=there, inputs=X))
    expected = in_float64(scores_of)(model, Batch(y[there], inputs=X[there]))
    for name in ("mass", "score", "information", "log_likelihood"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)


@pytest.mark.slow
def test_coordinates_that_do_not_vary_have_no_other_coefficients():
    model = LinearConditional([[0.0, 1.0, 2.0], [0.5, 9.0, 9.0]], DiagonalGaussian([0.0], [1.0]), (True, False))
    np.testing.assert_allclose(model.given(X).variance, np.full((9, 1), np.e))
    assert model.parameters.tolist() == [0.0, 1.0, 2.0, 0.5]
    assert model.trainable().coefficients is True
    assert model.trainable().information is False
    gradient = eqx.filter_grad(lambda m: jnp.sum(m.log_likelihood(Batch(X[:, 0], inputs=X))))(
        jax.tree.map(jnp.asarray, model)
    )
    assert gradient.coefficients[1, 1:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LinearConditional([[0.0, 1.0]], Gamma(1.0, 1.0)), "must have 2 rows"),
        (lambda: LinearConditional([[0.0, 1.0]], Poisson(1.0), (True, False)), "varies has 2 entries"),
        (lambda: LinearConditional.start(Mixture([0.5, 0.5], Poisson([1.0, 2.0])), 3), "Conditional with a network"),
        (lambda: linear("Poisson").free(np.ones((3, 5))), "5 columns: the model was made for 2"),
        (lambda: linear("Poisson").scores(Batch([1, 2])), "inputs are missing"),
        (lambda: LinearConditional([[0.0, 1.0]], Poisson(1.0), information=np.eye(3)), "there are 2 parameters"),
        (lambda: Ridge(-1.0), "precision is -1: it must be 0 or more"),
        (lambda: Ridge(np.ones((2, 2))).precision_of(linear("Poisson")), r"precision has shape \(2, 2\)"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make()
