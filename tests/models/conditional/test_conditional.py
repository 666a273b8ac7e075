"""p(v | inputs) of any function of the inputs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import Batch, Categorical, DiagonalGaussian, Poisson
from kullback.models import CompoundDirichlet, Conditional, Mixture
from tiers import slow

X = np.random.default_rng(0).normal(size=(7, 3))


class Affine(eqx.Module):
    matrix: np.ndarray
    offset: np.ndarray

    def __call__(self, x):
        return self.matrix @ x + self.offset


def affine(kind):
    rng = np.random.default_rng(kind.size)
    return Affine(0.3 * rng.normal(size=(kind.size, 3)), 0.3 * rng.normal(size=kind.size))


LIKE = {
    "Poisson": Poisson(2.0),
    "Categorical": Categorical([0.2, 0.3, 0.5]),
    "DiagonalGaussian": DiagonalGaussian([0.0, 1.0], [1.0, 2.0]),
    "Mixture": Mixture([0.4, 0.6], Poisson([1.0, 3.0])),
    "CompoundDirichlet": CompoundDirichlet([1.0, 2.0, 3.0], trials=5),
}


@pytest.mark.parametrize("name", ["DiagonalGaussian", *(slow(name) for name in LIKE if name != "DiagonalGaussian")])
def test_each_row_has_the_density_of_its_own_member(name):
    kind = LIKE[name].kind
    model = Conditional(affine(kind), LIKE[name])
    v = model.sample(3, inputs=X)
    members = [kind.at("free", model.network(x)) for x in X]
    expected = [float(member.log_likelihood(Batch(point[None]))[0]) for member, point in zip(members, v, strict=True)]
    np.testing.assert_allclose(model.log_likelihood(Batch(v, inputs=X)), expected, rtol=1e-9)
    np.testing.assert_allclose(model.energy(v, inputs=X), np.negative(expected), rtol=1e-9)
    assert model.estimate_log_likelihood(Batch(v, inputs=X)).standard_error.tolist() == [0] * 7


@pytest.mark.slow
def test_draws_have_the_mean_of_their_row():
    model = Conditional(affine(LIKE["Poisson"].kind), LIKE["Poisson"])
    drawn, mean = model.sample(0, 20_000, inputs=X), model.given(X).mean
    assert drawn.shape == (20_000, 7)
    assert np.all(abs(drawn.mean(0) - mean) < 4 * np.sqrt(mean / 20_000))


def test_a_column_of_numbers_is_the_numbers():
    model = Conditional(affine(LIKE["Poisson"].kind), LIKE["Poisson"])
    y = np.arange(7)
    np.testing.assert_array_equal(
        model.log_likelihood(Batch(y, inputs=X)), model.log_likelihood(Batch(y[:, None], inputs=X))
    )


@pytest.mark.slow
def test_missing_entries_add_nothing_and_are_drawn_given_the_inputs():
    model = Conditional(affine(LIKE["DiagonalGaussian"].kind), LIKE["DiagonalGaussian"])
    v = np.asarray(model.sample(1, inputs=X))
    observed = np.ones((7, 2), bool)
    observed[:, 1] = False
    batch = Batch(v, observed=observed, inputs=X)
    member = model.given(X)
    alone = DiagonalGaussian(member.mean[:, :1], member.variance[:, :1]).log_prob(v[:, :1])
    np.testing.assert_allclose(model.log_likelihood(batch), alone, rtol=1e-12)
    many = Batch(np.tile(v, (400, 1)), observed=np.tile(observed, (400, 1)), inputs=np.tile(X, (400, 1)))
    drawn = np.reshape(model.impute(many, jax.random.key(0)), (400, 7, 2))
    np.testing.assert_array_equal(drawn[:, :, 0], np.broadcast_to(v[:, 0], (400, 7)))
    assert np.all(abs(drawn[:, :, 1].mean(0) - member.mean[:, 1]) < 4 * np.sqrt(member.variance[:, 1] / 400))


@pytest.mark.slow
def test_gradients_go_through_the_network():
    model = Conditional(affine(LIKE["Poisson"].kind), LIKE["Poisson"])
    batch = Batch(np.arange(7.0), inputs=X)
    gradient = eqx.filter_grad(lambda m: jnp.sum(m.log_likelihood(batch)))(jax.tree.map(jnp.asarray, model))
    rate = np.exp(X @ model.network.matrix[0] + model.network.offset)
    np.testing.assert_allclose(gradient.network.matrix[0], (np.arange(7) - rate) @ X, rtol=1e-4)


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (Batch(np.arange(7)), "inputs are missing"),
        (Batch(np.zeros((7, 2)), inputs=X), r"values have shape \(7, 2\): they must be \(7,\)"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(batch, words):
    model = Conditional(affine(LIKE["Poisson"].kind), LIKE["Poisson"])
    with pytest.raises(ValueError, match=words):
        model.log_likelihood(batch)


def test_a_network_of_another_size_is_refused():
    model = Conditional(affine(LIKE["Poisson"].kind), LIKE["DiagonalGaussian"])
    with pytest.raises(ValueError, match=r"network answers with shape \(1,\): it must be \(4,\)"):
        model.free(X)
