"""One pass of online EM against ten iterations of batch EM, from 20 starts each, on three models.

The models are a hidden Markov chain that ends by itself (three states and a silent absorbing one, Gaussian emissions in
four dimensions; 2,000 sequences), a Kalman filter (5 hidden states, 10 outputs; 2,000 steps in sequences of 10) and a
compound Dirichlet (2,000 rows of counts). Data is drawn from a model of the same kind. Online EM sees each sample once,
in batches of 10 sequences, steps or rows, with the step η = η₀/t^0.9, which is the rate γ = η/(1 + η). Lines are
medians over the starts, bands hold the middle half of them.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from kullback.families import Batch, Gaussian, TimeIndex
from kullback.learning import em_step, online_em_step
from kullback.models import CompoundDirichlet, HiddenMarkovModel, LinearDynamicalSystem
from kullback.plots import COLORS, panels, save

SAMPLES, SIZE, STARTS, ITERATIONS, CHECKS = 2_000, 10, 20, 10, 10


class Experiment(NamedTuple):
    """Models to start from, batches of the same shape, and η₀."""

    name: str
    starts: list
    batches: list
    first_step: float


def stacked(trees):
    """Put trees of arrays on top of each other."""
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *trees)


def whole(batches):
    """Return one batch of all batches, from stacked ones."""
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]) if leaf.ndim > 1 else leaf[0], batches)


@jax.jit
def curves(starts, batches, first_step):
    """Return the log-likelihoods of batch EM after each iteration, and of online EM along its pass."""
    everything = whole(batches)
    count = batches.weight.shape[0]

    def score(model):
        counted = everything.weight > 0
        return jnp.sum(jnp.where(counted, model.log_likelihood(everything), 0)) / jnp.sum(counted)

    def by_batch(model):
        def one(model, _):
            model = em_step(model, everything)[0]
            return model, score(model)

        return jnp.concatenate([score(model)[None], jax.lax.scan(one, model, None, length=ITERATIONS)[1]])

    def online(model):
        def one(state, batch):
            model, t = state
            step = first_step / t**0.9
            return (online_em_step(model, batch, step / (1 + step))[0], t + 1), None

        def some(state, part):
            state, _ = jax.lax.scan(one, state, part)
            return state, score(state[0])

        parts = jax.tree.map(lambda leaf: leaf.reshape(CHECKS, count // CHECKS, *leaf.shape[1:]), batches)
        return jnp.concatenate([score(model)[None], jax.lax.scan(some, (model, 1.0), parts)[1]])

    return jax.lax.map(by_batch, starts), jax.lax.map(online, starts)


def absorbing_chain(rng):
    """Return the experiment of a chain that ends by itself."""
    means = 2.0 * rng.normal(size=(3, 4))
    onward = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.15, 0.15, 0.6, 0.1]])
    sequences = []
    for _ in range(SAMPLES):
        states = [rng.choice(3, p=[0.6, 0.3, 0.1])]
        while (state := rng.choice(4, p=onward[states[-1]])) < 3:
            states.append(state)
        sequences.append(means[states] + rng.normal(size=(len(states), 4)))
    rows = max(sum(len(one) for one in sequences[i : i + SIZE]) for i in range(0, SAMPLES, SIZE))
    batches = [_padded(sequences[i : i + SIZE], rows) for i in range(0, SAMPLES, SIZE)]
    points = np.concatenate(sequences)
    starts = []
    for _ in range(STARTS):
        emissions = Gaussian(points[rng.choice(len(points), 3)], np.tile(np.cov(points.T), (3, 1, 1)))
        moves = rng.dirichlet(np.full(4, 5.0), size=3)
        starts.append(HiddenMarkovModel(np.full(3, 1 / 3), moves[:, :3], emissions, ending=moves[:, 3]))
    return Experiment("absorbing hidden Markov chain", starts, batches, 1.0)


def _padded(sequences, rows):
    """Return a batch of sequences with so many rows; those of the padding have no weight."""
    values = np.concatenate(sequences)
    more = rows - len(values)
    first = np.concatenate([TimeIndex.of_lengths([len(one) for one in sequences]).starts, np.ones(more, bool)])
    weight = np.concatenate([np.ones(len(values)), np.zeros(more)])
    return Batch(np.concatenate([values, np.zeros((more, 4))]), weight, time=TimeIndex(first))


def kalman_filter(rng, length=10):
    """Return the experiment of a linear dynamical system."""
    turn, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    truth = LinearDynamicalSystem(
        0.95 * turn, rng.normal(size=(10, 5)), 0.3 * np.eye(5), np.eye(10), np.zeros(5), np.eye(5)
    )
    keys = jax.random.split(jax.random.key(0), SAMPLES // length)
    values = np.asarray(jax.jit(jax.vmap(lambda key: truth.sample_sequence(key, length)[1]))(keys))
    steps = TimeIndex.of_lengths([length])
    batches = [Batch(one, time=steps) for one in values]
    starts = []
    for _ in range(STARTS):
        turn, _ = np.linalg.qr(rng.normal(size=(5, 5)))
        loadings = rng.normal(size=(10, 5))
        starts.append(LinearDynamicalSystem(0.5 * turn, loadings, np.eye(5), np.eye(10), np.zeros(5), np.eye(5)))
    return Experiment("Kalman filter", starts, batches, 2.0)


def compound_dirichlet(rng):
    """Return the experiment of counts whose probabilities vary from row to row."""
    truth = rng.uniform(0.2, 4.0, 10)
    values = np.stack([rng.multinomial(50, rng.dirichlet(truth)) for _ in range(SAMPLES)]).astype(float)
    batches = [Batch(values[i : i + SIZE]) for i in range(0, SAMPLES, SIZE)]
    starts = [CompoundDirichlet(rng.uniform(0.1, 20.0, 10), trials=50) for _ in range(STARTS)]
    return Experiment("compound Dirichlet", starts, batches, 1.0)


def run(experiment):
    """Return both curves of an experiment, each of shape (starts, points)."""
    found = curves(stacked(experiment.starts), stacked(experiment.batches), experiment.first_step)
    return tuple(np.asarray(one) for one in found)


def progress(by_batch, online):
    """Return how far one online pass has come from 1 (0) to 10 (1) batch iterations, in the median over starts."""
    return float(np.median((online[:, -1] - by_batch[:, 1]) / (by_batch[:, -1] - by_batch[:, 1])))


def draw():
    """Draw the curves of all three models."""
    rng = np.random.default_rng(0)
    figure, axes = panels(1, 3, width=4.0, height=3.4)
    for each, make in zip(axes, (absorbing_chain, kalman_filter, compound_dirichlet), strict=True):
        experiment = make(rng)
        by_batch, online = run(experiment)
        for passes, found, name, color in (
            (np.arange(ITERATIONS + 1), by_batch, "batch EM", COLORS["blue"]),
            (np.linspace(0, 1, CHECKS + 1), online, "online EM, one pass", COLORS["vermilion"]),
        ):
            low, middle, high = np.quantile(found, [0.25, 0.5, 0.75], axis=0)
            each.fill_between(passes, low, high, color=color, alpha=0.2, linewidth=0)
            each.plot(passes, middle, color=color, linewidth=1.8, label=name)
        end = np.median(online[:, -1])
        each.axhline(end, color=COLORS["vermilion"], linewidth=0.8, linestyle=":")
        bottom, top = np.median(by_batch[:, 1]), max(by_batch.max(), online.max())
        each.set(xlabel="passes over the data", xlim=(0, ITERATIONS), ylim=(bottom - 0.6 * (top - bottom), None))
        each.set_title(f"{experiment.name}: {progress(by_batch, online):.2f}", fontsize=11, loc="left")
    axes[0].set_ylabel("log-likelihood, nats per step or row")
    axes[0].legend(loc="lower right", frameon=False, fontsize=9)
    figure.suptitle("One online pass on the way from 1 batch iteration (0) to 10 (1)", fontsize=12)
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    with jax.enable_x64(True):
        png, svg = save(draw(), folder / "online_em")
    print(f"The picture is in {png} and {svg}")
