"""The laws that hold for every model, with every algorithm.

Compiling is what takes the time: all draws of a case come from one compiled function, what the laws ask for is
compiled as a whole and not operation by operation, and they share shapes.
"""

import dataclasses
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kullback
from contracts.models import BY_GRADIENTS, CASES, draw_all, each_model, energy_of, energy_of_all, log_posterior, renamed
from contracts.quick import quick
from kullback.families import Batch, Extent
from kullback.geometry import relative_entropy
from kullback.learning import combine, e_step, em, em_step, m_step, merge, online_em_step
from kullback.models import BY_GRADIENTS as REGISTRY_BY_GRADIENTS
from kullback.models import REGISTRY

DRAWS, ROWS, FEW = 20_000, 400, 2_000


def test_every_model_has_a_case():
    assert {case.model for case in CASES.values()} == set(REGISTRY)
    assert {case.model for case in BY_GRADIENTS.values()} == set(REGISTRY_BY_GRADIENTS)


@dataclasses.dataclass
class Case:
    """Two random models of one kind, and what was drawn from the first."""

    truth: object
    other: object
    h: np.ndarray
    v: np.ndarray

    @property
    def batch(self):
        return Batch(self.v[:ROWS])


@pytest.fixture(params=each_model(), scope="module")
def case(request):
    make = CASES[request.param].make
    rng = np.random.default_rng(7)
    truth, other = make(rng), make(rng)
    h, v = quick(lambda m, key: m.sample_joint(key, (DRAWS,)))(truth, jax.random.key(0))
    return Case(truth, other, np.asarray(h), np.asarray(v))


def leaves(model):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(model)]


def assert_same(a, b, rtol=1e-9, atol=1e-12):
    for x, y in zip(leaves(a), leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


# --- what is asked of a model, compiled ---------------------------------------------------------------------

apart = quick(relative_entropy)


@quick
def own(model, mass):
    return model.own_statistics(Extent(mass))


@quick
def nearest_with(model, statistics, prior):
    return model.maximize(statistics, prior)


# --- learning -----------------------------------------------------------------------------------------------


def test_em_never_lowers_the_likelihood(case):
    _, history = em(case.other, case.batch, steps=25, tolerance=-np.inf)
    assert len(history) == 25
    assert np.all(np.diff(history) > -1e-10)
    assert history[-1] > history[0]


def test_online_em_with_rate_one_is_batch_em(case):
    assert_same(online_em_step(case.other, case.batch, jnp.asarray(1.0))[0], em_step(case.other, case.batch)[0])


def test_online_em_with_rate_zero_stays(case):
    assert_same(online_em_step(case.other, case.batch, jnp.asarray(0.0))[0], case.other)


def test_a_step_of_online_em_is_the_nearest_to_the_data_and_to_the_model(case):
    start, batch, rate = case.other, case.batch, 0.3
    found, _, _ = online_em_step(start, batch, jnp.asarray(rate))
    data, inertia = e_step(start, batch), own(start, np.float64(ROWS))
    strays = case.v[ROWS : ROWS + 250].reshape(5, 50, *case.v.shape[1:])

    @quick
    def losses(found, strays, data, inertia):
        def loss(model):
            return rate * model.cross_entropy(data) + (1 - rate) * model.cross_entropy(inertia)

        def nearby(points):
            # move a little towards what a few random points say
            stray, _ = found.expected_statistics(Batch(points))
            mine = found.own_statistics(Extent(stray.mass))
            return loss(found.maximize(mine.scale(0.99).merge(stray.scale(0.01))))

        return loss(found), jax.lax.map(nearby, strays)

    least, nearby = losses(found, strays, data, inertia)
    assert np.all(np.asarray(nearby) > float(least))  # any other model is farther


def test_statistics_of_a_partition_merge_to_those_of_the_whole(case):
    """Parts of 1, 199 and 200 rows."""
    whole = e_step(case.other, case.batch)
    first, half = np.arange(200) == 0, slice(0, 200)
    cuts = [(half, first), (half, ~first), (slice(200, 400), np.ones(200))]
    gather = quick(lambda model, rows, weight: model.expected_statistics(Batch(rows, weight))[0])
    a, b, c = (gather(case.other, case.v[rows], np.asarray(weight, float)) for rows, weight in cuts)
    assert_same(merge(merge(a, b), c), whole, rtol=1e-10)
    assert_same(merge(a, merge(b, c)), whole, rtol=1e-10)
    assert_same(merge(whole, quick(lambda s: s.scale(0.0))(a)), whole, rtol=1e-12)


def test_a_model_has_its_own_statistics(case):
    assert_same(m_step(case.truth, own(case.truth, np.float64(5.0))), case.truth, rtol=1e-8)


def test_own_statistics_are_what_the_model_expects_of_its_own_data(case):
    data = e_step(case.truth, Batch(case.v))
    assert float(data.mass) == DRAWS
    distance = apart(case.truth, m_step(case.truth, data))
    # 2n·D is at most a χ² with as many degrees as there are parameters, up to 29: 60 is four standard deviations away
    assert 2 * DRAWS * float(distance) < 60


def test_combining_copies_of_a_model_returns_it(case):
    assert_same(combine([case.truth, case.truth], weights=[1, 5]), case.truth, rtol=1e-8)


def test_names_of_the_hidden_make_no_difference_to_combination(case):
    model = case.truth
    turned = renamed(model, np.random.default_rng(1))
    likelihood = quick(lambda m, batch: m.log_likelihood(batch))
    np.testing.assert_allclose(likelihood(turned, case.batch), likelihood(model, case.batch), rtol=1e-10)
    if turned is model:
        return  # what is hidden has only one name
    assert_same(turned.aligned_to(model), model, rtol=1e-10)
    assert_same(combine([model, turned]), model, rtol=1e-8)
    assert float(apart(model, combine([model, turned], align=False))) > 1e-2


def test_combination_has_the_least_weighted_relative_entropy(case):
    a, b = case.truth, case.other

    def total(model):
        return 0.3 * float(apart(a, model)) + 0.7 * float(apart(b, model))

    least = total(combine([a, b], [0.3, 0.7], align=False))
    for other in (a, b, combine([a, b], [0.31, 0.69], align=False), combine([a, b], [0.29, 0.71], align=False)):
        assert total(other) > least


def test_relative_entropy_of_the_joints_and_of_what_is_hidden_is_that_of_samples(case):
    @quick
    def asked(a, b, key):
        h, v = draw_all(a, key, (DRAWS,))
        gain, visible = energy_of_all(b, v, h) - energy_of_all(a, v, h), Batch(v[:FEW])
        apart = a.log_likelihood(visible) - b.log_likelihood(visible)
        return gain, gain[:FEW] - apart, *kullback.relative_entropy(a, b, of="conditional", n=FEW)

    gain, hidden, conditional, error = map(np.asarray, asked(case.truth, case.other, jax.random.key(4)))
    z = (np.mean(gain) - float(apart(case.truth, case.other))) / (np.std(gain) / np.sqrt(len(gain)))
    assert abs(z) < 4.5
    assert float(apart(case.truth, case.truth)) == 0
    # the chain rule: of hidden given visible it is the joint's less the marginal's
    assert error > 0
    assert abs(np.mean(hidden) - conditional) < 4.5 * np.hypot(error, np.std(hidden) / np.sqrt(len(hidden)))


def test_padding_is_not_looked_at(case):
    values = np.concatenate([case.v[:ROWS], np.full_like(case.v[:3], 99)])
    weight = np.concatenate([np.ones(ROWS), np.zeros(3)])
    padded, report = em_step(case.other, Batch(values, weight))
    plain, expected_report = em_step(case.other, case.batch)
    assert_same(padded, plain)
    assert float(report.value) == pytest.approx(float(expected_report.value), rel=1e-12)


def test_the_posterior_is_bayes_rule(case):
    h, v = case.h[:50], case.v[:50]

    @quick
    def both(model, h, v):
        return log_posterior(model, Batch(v), h) + model.log_likelihood(Batch(v)), -energy_of(model, v, h)

    np.testing.assert_allclose(*both(case.truth, h, v), rtol=1e-9, atol=1e-12)


def test_a_prior_is_data_that_was_never_seen(case):
    truth, start = case.truth, case.other
    data, prior, strong = e_step(start, case.batch), own(truth, np.float64(50.0)), own(truth, np.float64(5e7))
    assert_same(nearest_with(start, data, prior), m_step(start, merge(data, prior)))
    assert float(apart(truth, nearest_with(start, data, strong))) < float(apart(truth, m_step(start, data)))


# --- what is missing ----------------------------------------------------------------------------------------

GAPS, IMPUTATIONS = 6, 2000


@quick
def answers_of_gaps(model, batch, key):
    """Return what is expected of missing entries, the average over draws of them with its error, and more."""
    keys = jax.random.split(key, IMPUTATIONS)
    columns = jnp.arange(batch.values.shape[-1])

    def drawn(one):
        return model.conditional_embedding(Batch(model.impute(batch, one)))

    def without(column):
        return model.log_likelihood(Batch(batch.values, observed=batch.observed & (columns != column)))

    found = jax.vmap(drawn)(keys)
    return {
        "expected": model.conditional_embedding(batch),
        "average": jax.tree.map(lambda leaf: leaf.mean(axis=0), found),
        "error": jax.tree.map(lambda leaf: leaf.std(axis=0) / np.sqrt(IMPUTATIONS), found),
        "mean": model.conditional_mean(batch),
        "mode": model.conditional_mode(batch),
        "decoded": model.from_embedding(model.conditional_embedding(batch)),
        "left": model.leave_one_out(batch),
        "without": jax.lax.map(without, columns).T,
    }


def test_what_is_missing_is_expected_as_it_is_drawn(case):
    # rows that lack something or all, and one that lacks nothing
    rows = np.asarray(case.v[:GAPS], dtype=float)
    observed = np.random.default_rng(3).random(rows.shape) < 0.5
    observed[0], observed[1] = True, False
    found = jax.tree.map(np.asarray, answers_of_gaps(case.truth, Batch(rows, observed=observed), jax.random.key(1)))
    for expected, average, error in zip(
        *(jax.tree.leaves(found[name]) for name in ("expected", "average", "error")), strict=True
    ):
        assert np.all(np.abs(expected - average) <= 4.5 * error + 1e-9)
    # counts of one total have no parts: their mode is found as a whole
    whole = "CompoundDirichlet" in (type(case.truth).__name__, type(getattr(case.truth, "components", None)).__name__)
    for method, kept in (("mean", observed), ("mode", np.all(observed, axis=1) if whole else observed)):
        np.testing.assert_array_equal(found[method][kept], rows[kept])
        assert np.isfinite(found[method]).all()
    np.testing.assert_array_equal(found["mean"][~observed], found["decoded"][~observed])
    np.testing.assert_allclose(found["left"], found["without"], rtol=1e-9, atol=1e-9)


# --- borders ------------------------------------------------------------------------------------------------


def test_models_travel_with_numpy_leaves(case):
    travelled = pickle.loads(pickle.dumps(jax.tree.map(np.asarray, case.truth)))
    assert all(isinstance(leaf, np.ndarray) and leaf.dtype == np.float64 for leaf in jax.tree.leaves(travelled))
    assert_same(travelled, case.truth, rtol=0, atol=0)


def test_a_model_made_outside_of_64_bits_loses_nothing(case):
    arrays = jax.tree.map(np.asarray, case.truth)
    with jax.enable_x64(False):
        again = type(arrays)(**{field.name: getattr(arrays, field.name) for field in dataclasses.fields(arrays)})
        assert jnp.ones(1).dtype == jnp.float32
    assert_same(again, case.truth, rtol=0, atol=0)
