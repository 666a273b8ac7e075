"""The laws of `complete` for every model: its energy is that of what is reported, and nothing random lies below it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contracts.models import CASES, ENERGIES, each_model
from contracts.quick import quick
from kullback.core import Batch, TimeIndex
from kullback.models import CompoundDirichlet, HiddenMarkovModel, LinearDynamicalSystem, complete

LENGTHS, DRAWS = [2, 1], 1000
WANTS = (("h",), ("v",), ("h", "v"))


@pytest.fixture(params=each_model(ENERGIES, quick=("FactorAnalysis",)), scope="module")
def model(request):
    return ENERGIES[request.param].make(np.random.default_rng(7))


def has_time(model):
    return isinstance(model, HiddenMarkovModel | LinearDynamicalSystem)


def rows_with_gaps(model):
    """Return rows that lack something, one that lacks all and one that lacks nothing."""
    if has_time(model):
        values = np.concatenate([model.sample_sequence(seed, steps)[1] for seed, steps in enumerate(LENGTHS)])
    else:
        values = np.asarray(model.sample(0, sum(LENGTHS)), float)
    observed = np.random.default_rng(3).random(values.shape) < 0.5
    observed[0], observed[1] = True, False
    return Batch(values, observed=observed, time=TimeIndex.of_lengths(LENGTHS) if has_time(model) else None)


def energies_of(model, v, h):
    """Return the energy of each row, or, for models with time, for each row that of its sequence."""
    if not has_time(model):
        return model.energy(v, h)
    axis, found = v.ndim - 2, []
    for length, end in zip(LENGTHS, np.cumsum(LENGTHS), strict=True):
        part = (None if x is None else jax.lax.slice_in_dim(x, end - length, end, axis=axis) for x in (v, h))
        found.append(jnp.repeat(model.energy(*part)[..., None], length, axis=-1))
    return jnp.concatenate(found, axis=-1)


@quick
def answers(model, batch, key):
    """Return what has the lowest energies with these energies, and the energies of random completions."""
    lowest = [complete(model, batch, want=want)[:3] for want in WANTS]
    drawn = complete(model, batch, temperature=1.0, key=key, n=DRAWS)
    energies = [energies_of(model, v, h) for v, h, _ in lowest[1:]]
    return lowest, energies, drawn[:3], [energies_of(model, drawn.v, h) for h in (None, drawn.h)]


def test_no_random_completion_has_less_energy_and_energies_are_those_of_the_model(model):
    batch = rows_with_gaps(model)
    observed = np.asarray(batch.observed)
    if isinstance(model, CompoundDirichlet) or isinstance(getattr(model, "components", None), CompoundDirichlet):
        observed = np.broadcast_to(observed.all(axis=1, keepdims=True), observed.shape)  # rows without parts
    lowest, energies, drawn, random = jax.tree.map(np.asarray, answers(model, batch, jax.random.key(1)))
    for want, least in zip(WANTS, lowest, strict=True):
        assert [part is None for part in least[:2]] == ["v" not in want, "h" not in want]
    for (v, _, least), energy, others in zip(lowest[1:], energies, random, strict=True):
        np.testing.assert_allclose(least, energy, rtol=1e-8, atol=1e-8)
        assert np.all(least <= others.min(axis=0) + 1e-9)
        np.testing.assert_array_equal(v[observed], np.asarray(batch.values)[observed])
    np.testing.assert_allclose(drawn[2], random[1], rtol=1e-8, atol=1e-8)
    assert np.all(drawn[0][:, observed] == np.asarray(batch.values)[observed])
    # of a row that lacks nothing, h has the energy of both
    whole = observed[:, 0] & observed.all(axis=1) & (not has_time(model))
    np.testing.assert_allclose(lowest[0][2][whole], lowest[2][2][whole], rtol=1e-12)


def test_a_label_may_be_unlikely_where_the_joint_energy_is_lowest():
    """What is wanted makes a difference: the label of the lowest joint energy has a posterior of less than a third."""
    mixture = CASES["Mixture of Gaussian"].make(np.random.default_rng(7))
    narrow = np.array(mixture.components.covariance)
    narrow[2] *= 1e-4
    components = type(mixture.components)(mixture.components.mean, narrow)
    mixture = type(mixture)([0.5, 0.3, 0.2], components)
    nothing = Batch(np.zeros((1, 2)), observed=np.zeros((1, 2), bool))
    both, label = quick(lambda m: (complete(m, nothing), complete(m, nothing, want="h")))(mixture)
    assert (both.h[0], label.h[0]) == (2, 0)
    np.testing.assert_allclose(label.energy, -np.log(0.5))
    np.testing.assert_allclose(both.v[0], components.mean[2])
