"""Every learner with a model to learn: the members of one list, of which each law is asked."""

from typing import Any, NamedTuple

import jax
import numpy as np
import optax

from kullback.families import Batch, Categorical, DiagonalGaussian, Gaussian, Poisson, TimeIndex
from kullback.learning import (
    EM,
    Averaged,
    AveragedIterates,
    ContrastiveDivergence,
    EnergyGame,
    EvidenceBound,
    FisherScoring,
    Gradient,
    ImportanceBound,
    NaturalGradient,
    NaturalGradientEM,
    NaturalWakeSleep,
    OnlineEM,
    Optimizer,
    PointRate,
    ProcessGradient,
    ReweightedWakeSleep,
    SampledInertia,
    WakeSleep,
    decaying_adam,
    decaying_rate,
    negative_log_likelihood,
    two_rates,
)
from kullback.models import (
    Conditional,
    EnergySampler,
    LinearConditional,
    Mixture,
    Network,
    RestrictedBoltzmannMachine,
    Ridge,
    SpikingMemory,
    TabularMemory,
    VariationalAutoencoder,
)
from kullback.runtime import as_numpy
from learning import proof_models as proof
from models.helmholtz.small_machine import random_machine
from tiers import slow

STEPS, ROWS = 64, 16
RNG = np.random.default_rng(0)
POINTS = RNG.choice([-1.0, 2.0], (STEPS, ROWS, 1)) + RNG.normal(size=(STEPS, ROWS, 2))
COUNTS = RNG.poisson(RNG.choice([1.0, 12.0], (STEPS, ROWS)))
WEIGHTS = RNG.integers(4, 13, (STEPS, ROWS)) / 8  # their sums are exact in 32 bits
BEGINS = np.arange(ROWS) == ROWS // 2  # the second half of a batch begins a sequence, the first goes on


def mixture() -> Any:
    return Mixture(np.array([0.4, 0.6]), Gaussian(np.array([[-1.0, 0.0], [1.0, 1.0]]), np.stack([np.eye(2)] * 2)))


def shops() -> Any:
    return Mixture(np.array([0.4, 0.6]), Poisson(np.array([2.0, 6.0])))


def gaussian() -> Any:
    return DiagonalGaussian(np.array([1.0, -1.0]), np.array([2.0, 3.0]))


def counts_given() -> Any:
    return LinearConditional.start(Poisson(3.0), 2, member=Poisson(3.0))


def with_inputs() -> list[Batch]:
    rows = zip(COUNTS, WEIGHTS, POINTS, strict=True)
    return [Batch(y, weight, inputs=x) for y, weight, x in rows]


def all_at_once() -> list[Batch]:
    """The same data at each step: others would look like steps that have to be taken back."""
    batch = with_inputs()[0]
    return [Batch(np.array(batch.values), np.array(batch.weight), inputs=np.array(batch.inputs)) for _ in range(STEPS)]


def points(values: np.ndarray = POINTS, dtype: Any = np.float64) -> list[Batch]:
    return [Batch(v.astype(dtype), w) for v, w in zip(values, WEIGHTS, strict=True)]


def given_inputs(dtype: Any = np.float64) -> list[Batch]:
    parts = zip(POINTS.astype(dtype), WEIGHTS, strict=True)
    return [Batch(part[:, :1], weight, inputs=part[:, 1:]) for part, weight in parts]


def network(dtype: Any = np.float64) -> Any:
    start = DiagonalGaussian(np.array([0.5]), np.array([2.0]))
    return Conditional(Network.start(start, 1, (3,), activation="tanh", dtype=dtype), start.kind)


def autoencoder() -> Any:
    rows = Batch(proof.two_clusters(64))
    return VariationalAutoencoder.start(DiagonalGaussian(np.zeros(4), np.full(4, 3.0)), 2, (8,), rows=rows)


def going_on() -> list[Batch]:
    return [
        Batch(part, weight=None, time=TimeIndex(BEGINS))
        for part in proof.hmm_rows(STEPS * ROWS).reshape(STEPS, ROWS, 1)
    ]


def rows_of(function: Any, dtype: Any) -> list[Batch]:
    return points(function(STEPS * ROWS).reshape(STEPS, ROWS, -1), dtype)


def machine(dtype: Any = np.float32) -> Any:
    return jax.tree.map(lambda leaf: leaf.astype(dtype), random_machine())


def patterns(rows: int) -> np.ndarray:
    """Draw entries of 0 and 1 that come in pairs."""
    return np.repeat(np.random.default_rng(0).random((rows, 2)) < [0.3, 0.6], 2, axis=1).astype(float)


def minus_log_likelihood(model, batch, memory, key):
    return proof.Loss(-proof.weighted_mean(model.log_likelihood(batch), batch.weight))


def stepwise_rate(step):
    return 0.5 if step < 10 else 0.1


def other_rate(step):
    return 0.4


def plain_gradient(rate: float) -> Gradient:
    return Gradient(minus_log_likelihood, Optimizer(optax.adam, learning_rate=rate))


def boltzmann(gaussian: bool = False) -> Any:
    rng, units = np.random.default_rng(0), 2 if gaussian else 6
    scale = np.zeros(units) if gaussian else None
    return RestrictedBoltzmannMachine(rng.normal(0, 0.1, (units, 3)), np.zeros(units), np.zeros(3), scale)


def binary_rows() -> list[Batch]:
    return rows_of(proof.rbm_rows, np.float64)


def memory_of_two() -> Any:
    return as_numpy(TabularMemory.random(2, 3, 0))


def spiking() -> Any:
    return as_numpy(SpikingMemory.random(Categorical([0.2, 0.3, 0.5]), 3, 0, dtype=np.float32))


def symbols(dtype: Any = np.float64, time: bool = True) -> list[Batch]:
    parts = zip((COUNTS % 3).astype(dtype), WEIGHTS.astype(dtype), strict=True)
    return [Batch(part, weight, time=TimeIndex(BEGINS) if time else None) for part, weight in parts]


class Case(NamedTuple):
    """A learner, the same one with other numbers, the model, its batches; whether a batch may be divided."""

    learner: Any
    other: Any
    model: Any
    batches: Any
    divides: bool = True


def number(value: float) -> np.ndarray:
    return np.asarray(value)


CASES = {
    "EM": Case(EM(), EM(), shops, lambda: points(COUNTS)),  # Gaussians would fall upon points, of so few
    "OnlineEM": Case(OnlineEM(number(0.2)), OnlineEM(number(0.3)), mixture, points),
    "OnlineEM, decaying": Case(OnlineEM(decaying_rate()), OnlineEM(decaying_rate(0.7, 2.0)), mixture, points),
    "OnlineEM, a function": Case(OnlineEM(stepwise_rate), OnlineEM(other_rate), mixture, points),
    "OnlineEM of an HMM": Case(proof.hmm_learner(), proof.hmm_learner(decaying_rate(0.7)), proof.hmm_start, going_on),
    "NaturalGradientEM": Case(NaturalGradientEM(number(0.1)), NaturalGradientEM(number(0.2)), mixture, points),
    "SampledInertia": Case(SampledInertia(number(0.1), 100), SampledInertia(number(0.2), 100), mixture, points),
    "Averaged": Case(Averaged(OnlineEM(decaying_rate())), Averaged(OnlineEM(decaying_rate(0.7, 2.0))), mixture, points),
    "AveragedIterates": Case(
        AveragedIterates(plain_gradient(0.1)), AveragedIterates(plain_gradient(0.2), 6), gaussian, points
    ),
    "FisherScoring": Case(FisherScoring(Ridge(1.0)), FisherScoring(Ridge(2.0)), counts_given, all_at_once),
    "FisherScoring online": Case(
        FisherScoring(rate=PointRate()), FisherScoring(rate=PointRate(10.0)), counts_given, with_inputs
    ),
    "Gradient": Case(plain_gradient(0.1), plain_gradient(0.2), gaussian, points),
    "Gradient of a network": Case(
        Gradient(negative_log_likelihood, Optimizer(learning_rate=0.1)),
        Gradient(negative_log_likelihood, Optimizer(learning_rate=0.2)),
        network,
        given_inputs,
    ),
    "NaturalGradient": Case(  # the steps of parts average, and are not that of the whole
        NaturalGradient(), NaturalGradient(0.1, 0.1, 0.5), network, given_inputs, divides=False
    ),
    "Gradient with chains": Case(
        proof.rbm_learner(), proof.rbm_learner(0.1), proof.rbm_start, lambda: rows_of(proof.rbm_rows, np.float64)
    ),
    "ContrastiveDivergence": Case(
        ContrastiveDivergence(0.1, chains=8), ContrastiveDivergence(0.2, chains=8), boltzmann, binary_rows
    ),
    "ContrastiveDivergence from data": Case(
        ContrastiveDivergence(0.1, persistent=False, sweeps=2),
        ContrastiveDivergence(0.2, persistent=False, sweeps=2),
        boltzmann,
        binary_rows,
        divides=False,
    ),
    "ContrastiveDivergence, natural": Case(
        ContrastiveDivergence(0.02, chains=8, damping=0.1),
        ContrastiveDivergence(0.02, chains=8, damping=0.2),
        boltzmann,
        binary_rows,
    ),
    "ContrastiveDivergence, Gaussian": Case(
        ContrastiveDivergence(0.01, chains=8), ContrastiveDivergence(0.02, chains=8), lambda: boltzmann(True), points
    ),
    "Gradient of a VAE": Case(
        proof.vae_learner(),
        proof.vae_learner(0.1),
        lambda: proof.VAE(4, 2, jax.random.key(0)),
        lambda: rows_of(proof.two_clusters, np.float32),
        divides=False,
    ),
    "Gradient of EvidenceBound": Case(
        Gradient(EvidenceBound(), Optimizer(learning_rate=0.01)),
        Gradient(EvidenceBound(), Optimizer(learning_rate=0.02)),
        autoencoder,
        lambda: rows_of(proof.two_clusters, np.float32),
        divides=False,
    ),
    "Gradient of ImportanceBound": Case(
        Gradient(ImportanceBound(3), Optimizer(learning_rate=0.01)),
        Gradient(ImportanceBound(3), Optimizer(learning_rate=0.02)),
        autoencoder,
        lambda: rows_of(proof.two_clusters, np.float32),
        divides=False,
    ),
    "Gradient of WakeSleep": Case(  # dreams of parts are others than those of the whole
        Gradient(WakeSleep(), Optimizer(learning_rate=0.01)),
        Gradient(WakeSleep(), Optimizer(learning_rate=0.02)),
        lambda: machine(np.float64),
        lambda: rows_of(patterns, np.float64),
        divides=False,
    ),
    "Gradient of ReweightedWakeSleep": Case(
        Gradient(ReweightedWakeSleep(3), Optimizer(decaying_adam, learning_rate=0.01, delay=10, power=0.5)),
        Gradient(ReweightedWakeSleep(3), Optimizer(decaying_adam, learning_rate=0.02, delay=20, power=0.7)),
        machine,
        lambda: rows_of(patterns, np.float32),
        divides=False,
    ),
    "NaturalWakeSleep": Case(
        NaturalWakeSleep(0.2, 10.0, draws=3, batch=ROWS, refresh=5),
        NaturalWakeSleep(0.1, 20.0, 0.5, 0.2, 0.01, 1.0, draws=3, batch=20, refresh=5, memory=0.5),
        machine,
        lambda: rows_of(patterns, np.float32),
        divides=False,
    ),
    "NaturalWakeSleep, streams": Case(
        NaturalWakeSleep(0.2, draws=3, fisher="model", batch=ROWS, refresh=5, streams=True),
        NaturalWakeSleep(0.1, draws=3, fisher="model", batch=20, refresh=5, streams=True),
        lambda: machine(np.float64),
        lambda: rows_of(patterns, np.float64),
        divides=False,
    ),
    "Gradient of EnergyGame": Case(
        Gradient(EnergyGame("mmd", 16), Optimizer(two_rates, learning_rate=0.01, sampler_rate=0.002)),
        Gradient(EnergyGame("mmd", 16), Optimizer(two_rates, learning_rate=0.02, sampler_rate=0.001)),
        lambda: as_numpy(EnergySampler.start(2, 0, hidden=(4,))),
        lambda: points(dtype=np.float32),
        divides=False,
    ),
    "ProcessGradient": Case(  # halves of a window draw other memories than the whole
        ProcessGradient(Optimizer(learning_rate=0.01), 0.9, 3),
        ProcessGradient(Optimizer(learning_rate=0.02), 0.8, 3),
        memory_of_two,
        symbols,
        divides=False,
    ),
    "ProcessGradient, one chain": Case(
        ProcessGradient(Optimizer(optax.sgd, learning_rate=0.1), 0.9, 1, Optimizer(learning_rate=0.01)),
        ProcessGradient(Optimizer(optax.sgd, learning_rate=0.2), 0.8, 1, Optimizer(learning_rate=0.02)),
        spiking,
        lambda: symbols(np.float32, time=False),
        divides=False,
    ),
    "Only": Case(
        proof.critic_player(),
        proof.critic_player(0.1),
        lambda: proof.GAN(jax.random.key(0)),
        lambda: rows_of(proof.gan_rows, np.float32),
        divides=False,
    ),
    "Alternate": Case(
        proof.gan_learner(),
        proof.gan_learner(0.1),
        lambda: proof.GAN(jax.random.key(0)),
        lambda: rows_of(proof.gan_rows, np.float32),
        divides=False,
    ),
}
#: What compiles soon, and together has every kind of state and memory; the others are trained in `test_one_loop`.
QUICK = {"EM", "OnlineEM", "OnlineEM, a function", "OnlineEM of an HMM", "FisherScoring", "Gradient"}
#: The same learner as another with other options: it is asked every law only where `variants` says so.
VARIANTS = {
    "OnlineEM, decaying",
    "ContrastiveDivergence from data",
    "ContrastiveDivergence, natural",
    "ContrastiveDivergence, Gaussian",
    "Gradient of ImportanceBound",
    "NaturalWakeSleep, streams",
}


def members(*more: str, quick: set[str] = QUICK, divide: bool = False, variants: bool = False) -> list[Any]:
    """Return the names of all cases; those that are neither quick nor named are left to `make test-all`."""
    names = [name for name, case in CASES.items() if case.divides or not divide]
    names = [name for name in names if variants or name not in VARIANTS]
    return [name if name in quick or name in more else slow(name) for name in names]
