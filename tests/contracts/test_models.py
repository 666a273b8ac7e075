"""The laws that hold for every model, with every algorithm."""

import dataclasses
import itertools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contracts.models import CASES, draw_all, energy_of_all, log_posterior, renamed
from contracts.quick import quick
from kullback.families import Batch, Extent
from kullback.geometry import relative_entropy
from kullback.learning import combine, em, em_step, online_em_step
from kullback.models import REGISTRY


def test_every_model_has_a_case():
    assert {cls for cls, _ in CASES.values()} == set(REGISTRY)


@pytest.fixture(params=CASES, scope="module")
def case(request):
    """Two random models of one kind, and data from the first."""
    _, make = CASES[request.param]
    rng = np.random.default_rng(7)
    truth, other = make(rng), make(rng)
    return truth, other, Batch(truth.sample(jax.random.key(0), (400,)))


def leaves(model):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(model)]


def assert_same(a, b, rtol=1e-9, atol=1e-12):
    for x, y in zip(leaves(a), leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


def test_em_never_lowers_the_likelihood(case):
    _, start, batch = case
    _, history = em(start, batch, steps=25, tolerance=-np.inf)
    assert len(history) == 25
    assert np.all(np.diff(history) > -1e-10)
    assert history[-1] > history[0]


def test_online_em_with_rate_one_is_batch_em(case):
    _, start, batch = case
    assert_same(online_em_step(start, batch, jnp.asarray(1.0))[0], em_step(start, batch)[0])


def test_online_em_with_rate_zero_stays(case):
    _, start, batch = case
    assert_same(online_em_step(start, batch, jnp.asarray(0.0))[0], start)


@quick
def data_statistics(model, batch):
    return model.expected_statistics(batch)[0]


def test_a_step_of_online_em_is_the_nearest_to_the_data_and_to_the_model(case):
    _, start, batch = case
    rate = 0.3
    found, _ = online_em_step(start, batch, jnp.asarray(rate))
    data = data_statistics(start, batch)
    own = start.own_statistics(batch.extent)

    def loss(model):
        return rate * model.cross_entropy(data) + (1 - rate) * model.cross_entropy(own)

    def loss_nearby(key):
        # move a little towards what a few random points say
        stray, _ = found.expected_statistics(Batch(start.sample(key, (50,))))
        mine = found.own_statistics(Extent(stray.mass))
        return loss(found.maximize(mine.scale(0.99).merge(stray.scale(0.01))))

    least, nearby = float(quick(loss)(found)), quick(loss_nearby)
    for key in jax.random.split(jax.random.key(1), 5):
        assert float(nearby(key)) > least  # any other model is farther


def test_statistics_of_a_partition_merge_to_those_of_the_whole(case):
    _, start, batch = case
    whole = data_statistics(start, batch)
    cuts = [0, 1, 57, 400]
    parts = [data_statistics(start, Batch(batch.values[a:b])) for a, b in itertools.pairwise(cuts)]
    assert_same(parts[0].merge(parts[1]).merge(parts[2]), whole, rtol=1e-10)
    assert_same(parts[0].merge(parts[1].merge(parts[2])), whole, rtol=1e-10)
    assert_same(whole.merge(parts[0].scale(0.0)), whole, rtol=1e-12)


def test_a_model_has_its_own_statistics(case):
    model, _, _ = case
    assert_same(model.maximize(model.own_statistics(Extent(5.0))), model, rtol=1e-8)


def test_own_statistics_are_what_the_model_expects_of_its_own_data(case):
    model, _, _ = case
    n = 20_000
    batch = Batch(model.sample(jax.random.key(3), (n,)))

    @quick
    def away(model):
        data, _ = model.expected_statistics(batch)
        return relative_entropy(model, model.maximize(data)), data.mass

    distance, mass = away(model)
    assert float(mass) == n
    # 2n·D is at most a χ² with as many degrees as there are parameters, up to 29: 60 is four standard deviations away
    assert 2 * n * float(distance) < 60


def test_combining_copies_of_a_model_returns_it(case):
    model, _, _ = case
    assert_same(combine([model, model, model], weights=[1, 2, 5]), model, rtol=1e-8)


def test_names_of_the_hidden_make_no_difference_to_combination(case):
    model, _, batch = case
    turned = renamed(model, np.random.default_rng(1))
    likelihood = quick(lambda m: m.log_likelihood(batch))
    np.testing.assert_allclose(likelihood(turned), likelihood(model), rtol=1e-10)
    assert_same(turned.aligned_to(model), model, rtol=1e-10)
    assert_same(combine([model, turned]), model, rtol=1e-8)
    if turned is model:
        return  # what is hidden has only one name
    apart = combine([model, turned], align=False)
    assert float(relative_entropy(model, apart)) > 1e-2


def test_combination_has_the_least_weighted_relative_entropy(case):
    a, b, _ = case
    weights = np.array([0.3, 0.7])
    nearest = combine([a, b], weights, align=False)

    @quick
    def total(model):
        return weights[0] * relative_entropy(a, model) + weights[1] * relative_entropy(b, model)

    least = float(total(nearest))
    for other in (a, b, combine([a, b], [0.31, 0.69], align=False), combine([a, b], [0.29, 0.71], align=False)):
        assert float(total(other)) > least


def test_relative_entropy_of_the_joints_is_that_of_samples(case):
    a, b, _ = case
    h, v = draw_all(a, jax.random.key(4), (20_000,))
    gain = energy_of_all(b, v, h) - energy_of_all(a, v, h)
    z = (float(jnp.mean(gain)) - float(relative_entropy(a, b))) / float(jnp.std(gain) / np.sqrt(len(gain)))
    assert abs(z) < 4.5
    assert float(relative_entropy(a, a)) == 0


def test_padding_is_not_looked_at(case):
    _, start, batch = case
    values = jnp.concatenate([batch.values, jnp.full_like(batch.values[:3], 99)])
    weight = jnp.concatenate([jnp.ones(len(batch.values)), jnp.zeros(3)])
    padded, report = em_step(start, Batch(values, weight))
    plain, expected = em_step(start, batch)
    assert_same(padded, plain)
    assert float(report.log_likelihood) == pytest.approx(float(expected.log_likelihood), rel=1e-12)


def test_the_posterior_is_bayes_rule(case):
    model, _, _ = case
    h, v = model.sample_joint(jax.random.key(5), (50,))
    joint = quick(lambda m: log_posterior(m, Batch(v), h) + m.log_likelihood(Batch(v)))(model)
    np.testing.assert_allclose(joint, -model.energy(v, h), rtol=1e-9, atol=1e-12)


def test_a_prior_is_data_that_was_never_seen(case):
    truth, start, batch = case
    prior = truth.own_statistics(Extent(50.0))
    data = data_statistics(start, batch)
    assert_same(start.maximize(data, prior), start.maximize(data.merge(prior)))
    far, near = (float(relative_entropy(truth, start.maximize(data, p))) for p in (None, prior.scale(1e6)))
    assert near < far


def test_models_travel_with_numpy_leaves(case):
    model, _, _ = case
    travelled = pickle.loads(pickle.dumps(jax.tree.map(np.asarray, model)))
    assert all(isinstance(leaf, np.ndarray) and leaf.dtype == np.float64 for leaf in jax.tree.leaves(travelled))
    assert_same(travelled, model, rtol=0, atol=0)


def test_a_model_made_outside_of_64_bits_loses_nothing(case):
    model, _, _ = case
    arrays = jax.tree.map(np.asarray, model)
    with jax.enable_x64(False):
        again = type(model)(**{field.name: getattr(arrays, field.name) for field in dataclasses.fields(arrays)})
        assert jnp.ones(1).dtype == jnp.float32
    assert_same(again, model, rtol=0, atol=0)
