"""Oracles: the Fisher matrix of all parameters written out, from scores of enumerated points and from a dense solve."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree

from contracts.quick import quick
from kullback.families import Categorical, DiagonalGaussian, Gamma, Poisson, Product
from kullback.geometry import network_fisher_product, scale_by_network_fisher
from kullback.models import CompoundDirichlet, Mixture
from tiers import slow, slow_among

RNG = np.random.default_rng(0)
ROWS, INPUTS, HIDDEN = 7, 3, 2
X = RNG.normal(size=(ROWS, INPUTS))
WEIGHT = RNG.integers(0, 4, ROWS) + np.eye(ROWS)[0]
KINDS = {
    "Categorical": Categorical(np.full(3, 1 / 3)).kind,
    "DiagonalGaussian": DiagonalGaussian(np.zeros(2), np.ones(2)).kind,
    "Product": Product([Gamma(1.0, 1.0), Poisson(1.0)]).kind,
    "Mixture": Mixture(np.full(3, 1 / 3), DiagonalGaussian(np.zeros((3, 1)), np.ones((3, 1)))).kind,
    "CompoundDirichlet": CompoundDirichlet(np.ones(3), 5).kind,
}


def network(kind, turn=None):
    """Return parameters, and outputs; with a matrix, the first layer is held in coordinates turned by it."""
    params = {
        "first": 0.5 * RNG.normal(size=(INPUTS, HIDDEN)),
        "second": 0.7 * RNG.normal(size=(HIDDEN, kind.size)),
        "bias": 0.3 * RNG.normal(size=kind.size),
    }

    def outputs(params):
        first = params["first"] if turn is None else (turn @ params["first"].ravel()).reshape(INPUTS, HIDDEN)
        return jnp.tanh(X @ first) @ params["second"] + params["bias"]

    return params, outputs


def dense(kind, outputs, params):
    """Return JᵀIJ in the mean over rows, of matrices that are written out."""
    flat, shape = ravel_pytree(params)
    jacobian = jax.jacrev(lambda vector: outputs(shape(vector)))(flat)
    inner = jnp.stack([kind.fisher_at("free", row) for row in outputs(params)])
    return jnp.einsum("r,ria,rij,rjb->ab", WEIGHT / WEIGHT.sum(), jacobian, inner, jacobian)


@pytest.mark.parametrize("name", slow_among(KINDS, "CompoundDirichlet", "Product"))
def test_the_step_is_the_dense_solution(name):
    kind, damping = KINDS[name], 1e-2
    params, outputs = network(kind)
    gradient = jax.tree.map(lambda leaf: RNG.normal(size=leaf.shape), params)

    @quick
    def both(params, gradient):
        fisher = dense(kind, outputs, params)
        slope, shape = ravel_pytree(gradient)
        transform = scale_by_network_fisher(kind, damping, radius=1e9, products=200)
        found, _ = transform.update(gradient, transform.init(params), params, outputs=outputs, weight=WEIGHT)
        times = network_fisher_product(kind, outputs, params, WEIGHT)
        solved = jnp.linalg.solve(fisher + damping * jnp.eye(len(slope)), slope)
        return ravel_pytree(found)[0], solved, ravel_pytree(times(shape(slope)))[0], fisher @ slope

    found, expected, product, expected_product = both(params, gradient)
    np.testing.assert_allclose(product, expected_product, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["Categorical", "Mixture"])
def test_it_is_the_mean_square_of_scores(name):
    kind = KINDS[name]
    params, outputs = network(kind)
    u = jax.tree.map(lambda leaf: RNG.normal(size=leaf.shape), params)
    density, spacing = points_of(name, kind)

    @quick
    def both(params, u):
        times = network_fisher_product(kind, outputs, params)
        # the derivative of log p(y) along u, squared, in the mean over points
        value, slope = jax.jvp(lambda p: density(outputs(p)), (params,), (u,))
        expected = jnp.mean(jnp.sum(spacing * jnp.exp(value) * slope**2, axis=tuple(range(1, value.ndim))))
        return ravel_pytree(times(u))[0] @ ravel_pytree(u)[0], expected

    found, expected = both(params, u)
    assert float(found) == pytest.approx(float(expected), rel=1e-6)


def points_of(name, kind):
    """Return log densities of labels and points of each row, (rows, points …), and how far points lie apart."""
    if name == "Categorical":
        return lambda free: kind.log_prob_at("free", free[:, None], np.arange(3)), 1.0
    y = np.linspace(-60, 60, 24_001)

    def joint(free):  # of label and point: (rows, labels, points)
        labels, components = kind.split(free)
        shares = jax.nn.log_softmax(jnp.concatenate([labels, jnp.zeros((len(free), 1))], axis=-1))
        mean, log_scale = components[..., :1], components[..., 1:]
        return shares[..., None] - 0.5 * ((y - mean) / jnp.exp(log_scale)) ** 2 - log_scale - 0.5 * jnp.log(2 * jnp.pi)

    return joint, y[1] - y[0]


@pytest.mark.slow
def test_the_complete_fisher_matrix_of_a_mixture_bounds_that_of_its_points():
    kind = KINDS["Mixture"]
    free = RNG.normal(size=(4, kind.size))
    y = np.linspace(-60, 60, 24_001)

    @quick
    def both(free):
        def of_row(row):
            value, slope = jax.vmap(jax.value_and_grad(lambda f, p: kind.log_prob_at("free", f, p)), (None, 0))(
                row, y[:, None]
            )
            return jnp.einsum("p,pi,pj->ij", jnp.exp(value) * (y[1] - y[0]), slope, slope)

        return kind.fisher_at("free", free), jax.lax.map(of_row, free)

    complete, observed = both(free)
    lost = np.linalg.eigvalsh(complete - observed)
    assert np.all(lost > -1e-9)
    assert np.all(lost.max(axis=-1) > 1e-3)  # what points leave unknown of labels


@pytest.mark.slow
@pytest.mark.parametrize("name", ["DiagonalGaussian", slow("Mixture")])
def test_the_step_does_not_depend_on_how_a_layer_is_parametrized(name):
    kind = KINDS[name]
    params, outputs = network(kind)
    one, other = (np.linalg.qr(RNG.normal(size=(INPUTS * HIDDEN,) * 2))[0] for _ in range(2))
    turn = one * np.geomspace(0.3, 3.0, INPUTS * HIDDEN) @ other
    turned = {**params, "first": np.linalg.solve(turn, params["first"].ravel())}
    _, turned_outputs = network(kind, turn)
    y = kind.at("free", np.zeros(kind.size)).sample(0, ROWS)

    def change(params, outputs):
        def loss(params):
            return -jnp.mean(kind.log_prob_at("free", outputs(params), y))

        transform = scale_by_network_fisher(kind, damping=1e-12, radius=0.05, products=400)
        gradient = jax.grad(loss)(params)
        step, _ = transform.update(gradient, transform.init(params), params, outputs=outputs)
        return jax.jvp(outputs, (params,), (step,))[1], jax.jvp(outputs, (params,), (gradient,))[1]

    run = quick(lambda params, turned: (change(params, outputs), change(turned, turned_outputs)))
    (one, plain), (other, other_plain) = run(params, turned)
    np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5 * np.abs(one).max())
    assert np.abs(other_plain - plain).max() > 0.1 * np.abs(plain).max()  # the gradient itself does depend on it


def test_a_long_step_has_the_radius_and_a_short_one_is_left_as_it_is():
    kind = KINDS["Categorical"]
    params, outputs = network(kind)
    gradient = jax.tree.map(lambda leaf: RNG.normal(size=leaf.shape), params)

    @quick
    def nats(gradient, radius):
        transform = scale_by_network_fisher(kind, 0.01, radius)
        step, _ = transform.update(gradient, transform.init(params), params, outputs=outputs, weight=WEIGHT)
        times = network_fisher_product(kind, outputs, params, WEIGHT)
        return 0.5 * ravel_pytree(times(step))[0] @ ravel_pytree(step)[0]

    free = float(nats(gradient, 1e9))
    assert float(nats(gradient, 1e-3)) == pytest.approx(1e-3, rel=1e-9)
    assert free > 1e-3
    assert float(nats(jax.tree.map(lambda leaf: 2.0**-10 * leaf, gradient), 1e-3)) == 2.0**-20 * free


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_keeps_types_and_nothing_comes_of_no_gradient(dtype):
    kind = KINDS["DiagonalGaussian"]
    params, _ = network(kind)
    params = jax.tree.map(lambda leaf: leaf.astype(dtype), params)

    def outputs(params):
        return jnp.tanh(X.astype(dtype) @ params["first"]) @ params["second"] + params["bias"]

    @quick
    def update(gradient, weight):
        transform = optax.chain(scale_by_network_fisher(kind), optax.scale(-1.0))
        return transform.update(gradient, transform.init(params), params, outputs=outputs, weight=weight)[0]

    for gradient, weight in ((0.0, WEIGHT), (0.0, 0 * WEIGHT), (1.0, WEIGHT)):
        found = update(jax.tree.map(lambda leaf, g=gradient: np.full_like(leaf, g), params), weight)
        for leaf, like in zip(jax.tree.leaves(found), jax.tree.leaves(params), strict=True):
            assert leaf.dtype == like.dtype
            assert np.all(np.isfinite(leaf))
            assert np.any(leaf != 0) == bool(gradient)


def test_it_asks_for_parameters_and_outputs():
    transform = scale_by_network_fisher(KINDS["Categorical"])
    with pytest.raises(ValueError, match="params or outputs is None"):
        transform.update({}, transform.init({}), {})
