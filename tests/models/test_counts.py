import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multinomial

from kullback.families import Batch, Extent
from kullback.geometry import relative_entropy
from kullback.learning import combine, em_step
from kullback.models import Counts

P = np.array([[0.5, 0.3, 0.2], [0.1, 0.0, 0.9]])
V = np.array([[3, 1, 0], [0, 0, 5], [2, 2, 2], [0, 0, 0]], dtype=float)


def test_the_likelihood_is_scipys_for_rows_of_any_total():
    found = Counts(P).log_likelihood(Batch(V))
    for row, v in enumerate(V):
        for member, p in enumerate(P):
            assert float(found[row, member]) == pytest.approx(multinomial.logpmf(v, int(v.sum()), p), abs=1e-12)
    np.testing.assert_allclose(Counts(P[0]).energy(V), -found[:, 0], atol=1e-12)


def test_the_nearest_model_makes_the_data_most_likely():
    """Any other probabilities are worse: the gradient along the simplex vanishes."""
    weight = np.array([1.0, 2.0, 0.5, 1.0])
    model, _ = em_step(Counts(P[0]), Batch(V, weight))
    np.testing.assert_allclose(model.probabilities, (weight @ V) / (weight @ V).sum(), atol=1e-15)

    def cost(logits):
        return -jnp.sum(weight * Counts(jax.nn.softmax(logits)).log_likelihood(Batch(V)))

    np.testing.assert_allclose(jax.grad(cost)(jnp.log(model.probabilities)), 0, atol=1e-12)
    assert float(model.total) == pytest.approx(weight @ V.sum(axis=1) / weight.sum())


def test_its_own_statistics_are_those_of_what_it_draws():
    model = Counts(P[0], total=6.0)
    drawn = np.asarray(model.sample(jax.random.key(0), (4_000,)))
    assert (drawn.sum(axis=1) == 6).all()
    own = model.own_statistics(Extent(2.0))
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - own.mean) < 4.5 * error).all()
    assert float(own.mass) == 2


def test_rows_that_are_missing_say_nothing():
    model = Counts(P[0], total=3.0)
    there = np.array([True, False, True, True])
    holes = Batch(np.where(there[:, None], V, np.nan), observed=np.repeat(there[:, None], 3, axis=1))
    np.testing.assert_allclose(model.log_likelihood(holes)[1], 0)
    found, _ = model.expected_statistics(holes)
    np.testing.assert_allclose(found.mean, (V[there].sum(axis=0) + 3.0 * P[0]) / 4, atol=1e-15)
    filled = np.asarray(model.impute(holes, jax.random.key(1)))
    assert (filled[there] == V[there]).all()
    assert filled[1].sum() == 3


def test_relative_entropy_is_that_of_as_many_draws_and_copies_combine_to_themselves():
    a, b = Counts(P[0], total=6.0), Counts(np.array([0.2, 0.2, 0.6]), total=6.0)
    expected = 6 * np.sum(P[0] * np.log(P[0] / np.asarray(b.probabilities)))
    assert float(relative_entropy(a, b)) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(combine([a, a]).probabilities, P[0], atol=1e-15)
