"""Networks as they begin. Oracles: the member they begin at, the same data in other units, limits of the floor."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.core import Fixed
from kullback.families import Batch, Categorical, DiagonalGaussian, Gamma, Gaussian, Poisson, Product, Role
from kullback.models import Conditional, FreeOutput, Mixture, Network

RNG = np.random.default_rng(0)
X = RNG.normal(3.0, 2.0, size=(50, 2))
MEMBERS = {
    "Categorical": Categorical([0.5, 0.3, 0.2]),
    "Gaussian": Gaussian([1.0, 1e6], [[2.0, 500.0], [500.0, 1e6]]),
    "Gamma": Gamma(3.0, 0.1),
    "Mixture": Mixture([0.4, 0.6], DiagonalGaussian([[-1.0], [2.0]], [[0.5], [1.0]])),
}


def started(member, dtype=np.float64, **options):
    options = {"center": X.mean(axis=0), "scale": X.std(axis=0), "dtype": dtype} | options
    return Conditional(Network.start(member, 2, (8,), **options), member.kind)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEMBERS)
def test_it_begins_near_the_member_for_every_row(name):
    member = MEMBERS[name]
    free, expected = np.asarray(started(member, width=1e-9).free(X)), np.asarray(member.coordinates("free"))
    unit = 1 / np.sqrt(np.diagonal(np.asarray(member.kind.fisher_at("free", expected))))
    away = np.abs(free - expected) / np.array(
        [u if role is Role.LINEAR else 1 for u, role in zip(unit, member.kind.roles, strict=True)]
    )
    assert 0 < away.max() < 0.2
    assert np.all(np.ptp(free, axis=0) > 0)


@pytest.mark.slow
def test_targets_in_other_units_lead_to_the_same_network():
    y = RNG.normal(2.0, 3.0, size=(50, 1))
    factor = 2.0**20
    one, other = (started(DiagonalGaussian.fit(part)) for part in (y, factor * y))

    @quick
    def loss_and_slope(model, y):
        parameters, rest = split(model)
        return jax.value_and_grad(lambda p: -jnp.mean(join(p, rest).log_likelihood(Batch(y, inputs=X))))(parameters)

    (value, slope), (other_value, other_slope) = loss_and_slope(one, y), loss_and_slope(other, factor * y)
    assert float(other_value) == pytest.approx(float(value) + np.log(factor), rel=1e-12)
    for a, b in zip(jax.tree.leaves(slope), jax.tree.leaves(other_slope), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)


def split(model):
    import equinox as eqx

    return eqx.partition(model, model.trainable())


def join(parameters, rest):
    import equinox as eqx

    return eqx.combine(parameters, rest)


def test_center_scale_and_start_are_no_parameters():
    model = started(MEMBERS["Mixture"])
    parameters, rest = split(model)
    assert sum(np.size(leaf) for leaf in jax.tree.leaves(parameters)) == 8 * 2 + 8 + 5 * 8 + 5
    assert len(jax.tree.leaves(rest)) == 5
    assert jax.tree.leaves(Fixed((1.0, 2.0))) == [1.0, 2.0]


def deviation(kind, free):
    """Return how wide a member is: the standard deviation, of a Gamma relative to its mean."""
    member = kind.at("free", free)
    if isinstance(member, Gamma):
        return 1 / np.sqrt(member.shape)
    return np.sqrt(member.variance if isinstance(member, DiagonalGaussian) else np.diagonal(member.covariance))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("member", [DiagonalGaussian([1.0], [4.0]), Gamma(4.0, 1.0), Gaussian([1.0], [[9.0]])], ids=str)
def test_variances_are_kept_from_zero_wherever_the_layers_lead(member, dtype):
    kind = member.kind
    output = FreeOutput.around(np.asarray(member.free), kind, 1e-2, dtype)
    first = np.asarray(deviation(kind, np.asarray(member.free)))
    narrow = np.array([0.0, 1e4 if isinstance(member, Gamma) else -1e4], dtype)
    run, slopes = quick(lambda answer: output(answer)), quick(lambda answer: jax.jacfwd(output)(answer))
    free = np.asarray(run(narrow))
    np.testing.assert_allclose(deviation(kind, free.astype(float)), 1e-2 * first, rtol=1e-5)
    for answer in (narrow, -narrow, 0 * narrow):
        slope = slopes(answer)
        assert slope.dtype == dtype
        assert np.all(np.isfinite(slope))
        assert np.all(np.isfinite(run(answer)))
    # what is wide is left as it is: variances add
    wide = np.asarray(run(0 * narrow), float)
    np.testing.assert_allclose(deviation(kind, wide), first * np.sqrt(1 + 1e-4), rtol=1e-5)


def test_counts_and_categories_have_no_width():
    kind = Product([Poisson(3.0), Categorical([0.2, 0.8])]).kind
    output = FreeOutput.around(np.zeros(2), kind, 1e-2, np.float64)
    np.testing.assert_array_equal(output(jnp.array([-40.0, 40.0])), [-40.0, 40.0])


def test_inputs_are_standardized_and_a_constant_one_is_left_out():
    one = started(MEMBERS["Gamma"], seed=3)
    moved = started(MEMBERS["Gamma"], seed=3, center=5 + 2 * X.mean(axis=0), scale=2 * X.std(axis=0))
    np.testing.assert_allclose(moved.free(5 + 2 * X), one.free(X), rtol=1e-12)
    constant = started(MEMBERS["Gamma"], center=X.mean(axis=0) * [1, 0] + [0, 7.0], scale=X.std(axis=0) * [1, 0])
    assert np.all(np.isfinite(constant.free(np.where([True, False], X, 7.0))))


def test_seeds_make_networks_and_nothing_else_does():
    one, same, other = (started(MEMBERS["Gamma"], seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.free(X), same.free(X))
    assert np.any(one.free(X) != other.free(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).free(X), one.free(X))
    assert all(leaf.dtype == np.float32 for leaf in jax.tree.leaves(started(MEMBERS["Gamma"], np.float32)))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"activation": "step"}, "activation is 'step': it must be one of 'relu'"),
        ({"width": 0.0}, "width is 0.0: a data point has a width above 0"),
    ],
)
def test_bad_options_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        started(MEMBERS["Gamma"], **options)


def test_a_member_at_the_boundary_is_refused():
    with pytest.raises(ValueError, match="boundary of"):
        started(Categorical([1.0, 0.0]))


def test_inputs_far_out_count_by_their_logarithm():
    network = Network.start(Poisson(3.0), 1, (), center=[2.0], scale=[0.5], dtype=np.float64)
    start, slope = network.output.numbers.value[0], np.asarray(network.layers[0].weight)[0, 0]
    inputs = 2.0 + 0.5 * np.array([[1.0], [-3.0], [13.0], [-103.0]])
    found = np.asarray(Conditional(network, Poisson(3.0)).free(inputs))[:, 0] - start[0]
    np.testing.assert_allclose(found, slope * np.array([1.0, -3.0, 3 + np.log(11), -3 - np.log(101)]), rtol=1e-12)
