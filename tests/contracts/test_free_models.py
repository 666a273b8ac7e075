"""The laws of free coordinates of whole models: any vector is a model and comes back, volumes are those of automatic
differentiation, and log-likelihoods have finite gradients where EM has ended.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.core import Batch, TimeIndex
from kullback.families import Bernoulli, DiagonalGaussian, Gaussian, Independent, Poisson, Product, SphericalGaussian
from kullback.models import (
    CompoundDirichlet,
    Counts,
    FactorAnalysis,
    HiddenMarkovModel,
    LinearDynamicalSystem,
    Mixture,
    ProbabilisticPCA,
    free_coordinates,
)
from tiers import slow


def covariances(rng, *shape):
    half = rng.normal(size=(*shape, shape[-1])) / 2
    return half @ np.swapaxes(half, -1, -2) + 0.3 * np.eye(shape[-1])


def gaussians(rng, k=2, n=2):
    return Gaussian(rng.normal(size=(k, n)), covariances(rng, k, n))


def tied(rng, k, n):
    return Gaussian(rng.normal(size=(k, n)), np.tile(covariances(rng, 1, n), (k, 1, 1)))


def chain(rng, k=2, **options):
    rows = rng.dirichlet(np.ones(k), k)
    return HiddenMarkovModel(rng.dirichlet(np.ones(k)), rows, gaussians(rng, k), **options)


def left_to_right(rng):
    rows = np.array([[0.6, 0.4, 0.0], [0.0, 0.7, 0.3], [0.0, 0.0, 1.0]])
    return HiddenMarkovModel(np.array([1.0, 0.0, 0.0]), rows, Poisson(rng.gamma(3.0, size=3)))


def ending(rng):
    rows = rng.dirichlet(np.ones(3), 2)
    return HiddenMarkovModel(rng.dirichlet(np.ones(2)), rows[:, :2], gaussians(rng), ending=rows[:, 2])


def system(rng, **options):
    parts = (0.5 * rng.normal(size=(2, 2)), rng.normal(size=(3, 2)), covariances(rng, 2), covariances(rng, 3))
    return LinearDynamicalSystem(*parts, rng.normal(size=2), covariances(rng, 2), **options)


#: A model, and the number of its parameters as it is counted by hand.
CASES = {
    "family": (lambda rng: Gaussian(rng.normal(size=3), covariances(rng, 3)), 9),
    "mixture": (lambda rng: Mixture([0.3, 0.7], gaussians(rng)), 1 + 2 * 5),
    "tied": (lambda rng: Mixture([0.2, 0.3, 0.5], tied(rng, 3, 2), tied=("covariance",)), 2 + 6 + 3),
    "k-means": (
        lambda rng: Mixture(
            [0.5, 0.5], SphericalGaussian(rng.normal(size=(2, 3)), np.ones(2)), tied=("variance",), fixed_weights=True
        ),
        6 + 1,
    ),
    "diagonal": (
        lambda rng: Mixture([0.5, 0.5], DiagonalGaussian(rng.normal(size=(2, 3)), rng.gamma(2.0, size=(2, 3)))),
        1 + 12,
    ),
    "latent classes": (lambda rng: Mixture([0.4, 0.6], Independent(Bernoulli(rng.uniform(0.1, 0.9, (2, 3))))), 1 + 6),
    "mixed columns": (
        lambda rng: Mixture([0.4, 0.6], Product([gaussians(rng), Poisson(rng.gamma(2.0, size=2))])),
        1 + 2 * (5 + 1),
    ),
    "factor analysis": (
        lambda rng: FactorAnalysis(rng.normal(size=3), rng.normal(size=(3, 1)), rng.gamma(2, size=3)),
        9,
    ),
    "principal components": (lambda rng: ProbabilisticPCA(rng.normal(size=3), rng.normal(size=(3, 2)), 0.7), 3 + 6 + 1),
    "factor analyzers": (
        lambda rng: Mixture(
            [0.3, 0.7], FactorAnalysis(rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 1)), rng.gamma(2, size=(2, 3)))
        ),
        1 + 2 * 9,
    ),
    "compound": (lambda rng: CompoundDirichlet(rng.gamma(2.0, size=4)), 4),
    "compounds": (lambda rng: Mixture([0.3, 0.7], CompoundDirichlet(rng.gamma(2.0, size=(2, 3)))), 1 + 6),
    "hidden Markov": (chain, 1 + 2 + 10),
    "left to right": (left_to_right, 2 + 3),
    "with an end": (ending, 1 + 4 + 10),
    "counts": (
        lambda rng: HiddenMarkovModel(
            rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), 2), Counts(rng.dirichlet(np.ones(3), 2), [9.0, 9.0])
        ),
        1 + 2 + 2 * 2,
    ),
    "fixed start": (lambda rng: chain(rng, fixed=("initial",)), 2 + 10),
    "linear system": (system, 4 + 6 + 3 + 6 + 2 + 3),
    "fixed dynamics": (
        lambda rng: system(rng, offset=rng.normal(size=3), fixed=("transition", "transition_noise")),
        6 + 6 + 2 + 3 + 3,
    ),
}
#: `make test` asks these; each takes seconds to compile.
QUICK = ("tied", "factor analysis", "left to right")


@pytest.fixture(params=[name if name in QUICK else slow(name) for name in CASES], scope="module")
def case(request):
    make, size = CASES[request.param]
    model = make(np.random.default_rng(0))
    return model, free_coordinates(model), size


@functools.partial(quick, static_argnums=0)
def laws(parameters, chart, vector):
    return {
        "back": chart.vector(chart.at(vector)),
        "source": chart.source(vector),
        "volume": chart.log_volume(vector),
        "slope": jax.jacfwd(chart.source)(vector),
    }


def test_any_vector_is_a_model_and_comes_back_with_the_volume_of_the_map(case):
    model, chart, size = case
    assert chart.size == size
    here = np.asarray(chart.vector(model))
    back = jax.tree.leaves(chart.at(here))
    for found, known in zip(back, jax.tree.leaves(model), strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-10, atol=1e-10)
    for vector in (here, here + np.random.default_rng(1).normal(size=size)):
        found = laws(chart.parameters, chart, vector)
        np.testing.assert_allclose(found["back"], vector, rtol=1e-10, atol=1e-10)
        sign, volume = np.linalg.slogdet(found["slope"])
        assert sign != 0
        np.testing.assert_allclose(found["volume"], volume, rtol=1e-9, atol=1e-9)


#: With the other emitters of the tests' quick compiling XLA makes NaN of the gradient of a chain that has zeros.
EMITTERS = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": True}


@functools.partial(jax.jit, static_argnums=0, compiler_options=EMITTERS)
def likelihood_slope(parameters, chart, vector, batch):
    return jax.grad(lambda v: jnp.sum(chart.at(v).log_likelihood(batch)))(vector)


@pytest.mark.slow
def test_the_gradient_is_finite_where_em_ends_and_small(case):
    model, _, _ = case
    rng = np.random.default_rng(2)
    if isinstance(model, HiddenMarkovModel | LinearDynamicalSystem):
        time = TimeIndex.of_lengths([20] * 4)
        event = model.event_shape if isinstance(model, LinearDynamicalSystem) else model.emissions.event_shape
        real = event and not isinstance(getattr(model, "emissions", None), Counts)
        values = rng.normal(size=(80, *event)) if real else rng.poisson(3.0, size=(80, *event))
        batch = Batch(values, time=time)
    else:
        batch = Batch(np.asarray(model.sample(3, (80,))))

    @quick
    def step(model, batch):
        return model.maximize(model.expected_statistics(batch)[0])

    chart = free_coordinates(model)
    before = np.asarray(likelihood_slope(chart.parameters, chart, chart.vector(model), batch))
    for _ in range(30):
        model = step(model, batch)
    at_fit = free_coordinates(model)
    after = np.asarray(likelihood_slope(at_fit.parameters, at_fit, at_fit.vector(model), batch))
    assert np.all(np.isfinite(before))
    assert np.all(np.isfinite(after))
    assert np.abs(after).max() < 0.5 * np.abs(before).max()  # EM has moved toward where it vanishes


def test_what_has_no_free_coordinates_says_so():
    with pytest.raises(TypeError, match="a float has no free coordinates: families, mixtures"):
        free_coordinates(1.0)
    edge = Mixture([0.5, 0.5], Bernoulli([0.0, 0.5]))
    with pytest.raises(ValueError, match=r"probability\[0\] is 0: natural coordinates do not exist on the boundary"):
        free_coordinates(edge).vector(edge)
    with pytest.raises(ValueError, match=r"^probabilities\[0, 1\] is 0: free coordinates do not exist on the boundary"):
        free_coordinates(Counts([[1.0, 0.0], [0.5, 0.5]]))
    everything = HiddenMarkovModel([1.0], [[1.0]], Poisson([1.0]), fixed=("initial", "transitions", "emissions"))
    with pytest.raises(ValueError, match="all parameters of the model are fixed"):
        free_coordinates(everything)
    chart = free_coordinates(Poisson(2.0))
    with pytest.raises(ValueError, match=r"vector has shape \(2,\): the model has 1 free coordinate"):
        chart.at(np.zeros(2))
