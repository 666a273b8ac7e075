"""Keys and shapes of draws: numbers are as good as keys and tuples, and what is neither is refused."""

import jax
import numpy as np
import pytest

from contracts.models import CASES
from kullback.families import Poisson
from tiers import slow_among


@pytest.mark.parametrize("key", [jax.random.key(3), 3, np.int64(3)])
@pytest.mark.parametrize("shape", [4, (4,), [4], np.int64(4)])
def test_a_number_is_a_key_and_a_shape(key, shape):
    np.testing.assert_array_equal(Poisson(50.0).sample(key, shape), Poisson(50.0).sample(jax.random.key(3), (4,)))


def test_a_key_of_the_old_kind():
    old = jax.random.PRNGKey(3)
    np.testing.assert_array_equal(Poisson(50.0).sample(old, 4), Poisson(50.0).sample(np.asarray(old), 4))


def test_inside_of_jit():
    drawn = jax.jit(lambda key: Poisson(50.0).sample(key, 4))(jax.random.key(3))
    np.testing.assert_array_equal(drawn, Poisson(50.0).sample(3, 4))


@pytest.mark.parametrize("key", [0.5, "a", None, True, np.zeros(2)])
def test_what_is_no_key(key):
    with pytest.raises(ValueError, match=r"key is .*: it must be a whole number such as 0, or a key such as"):
        Poisson(50.0).sample(key, 4)


@pytest.mark.parametrize("shape", [-1, (2, -3), 2.5, (2.5,), "a", None])
def test_what_is_no_shape(shape):
    with pytest.raises(ValueError, match=r"shape is .*: it must be a whole number, or a tuple of them, none negative"):
        Poisson(50.0).sample(0, shape)


@pytest.mark.parametrize("name", slow_among(CASES, *(name for name in CASES if name != "Mixture of Gaussian")))
def test_models_take_numbers_too(name):
    model = CASES[name].make(np.random.default_rng(0))
    drawn = model.sample(7, 3)
    assert drawn.shape[0] == 3
    np.testing.assert_array_equal(drawn, model.sample(jax.random.key(7), (3,)))
