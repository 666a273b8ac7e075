"""Places: against counting, value by value."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.search.methods._ranking import places


def counted(values):
    """Compare each value with each other: how many are less, or equal and before it."""
    keys = np.where(np.isnan(values), np.inf, values)
    less = keys[None, :] < keys[:, None]
    tied = (keys[None, :] == keys[:, None]) & np.tril(np.ones((len(keys), len(keys)), dtype=bool), -1)
    return np.sum(less | tied, axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_places_are_counted_ones_with_ties_zeros_of_both_signs_infinities_and_nan(dtype):
    rng = np.random.default_rng(0)
    special = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, -np.nan])
    with jax.enable_x64(True):
        for _ in range(40):
            drawn = np.where(rng.random(31) < 0.5, rng.choice(special, 31), rng.integers(-3, 4, 31)).astype(dtype)
            np.testing.assert_array_equal(places(jnp.asarray(drawn)), counted(drawn))


def test_places_take_memory_in_proportion_to_the_population():
    few, many = (
        jax.jit(places).lower(jnp.zeros(m)).compile().memory_analysis().temp_size_in_bytes for m in (1_000, 100_000)
    )
    assert many < 200 * max(few, 1_000)
