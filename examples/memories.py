"""What memories cost, what one has learned, and where the rule that has taught it points: all exact.

Left: relative entropy over five rows of two processes, p fixed: what p itself lacks, what it costs not to see the
future, and to keep one bit only. Middle: the even process, whose blocks of ones have even length, as the table of four
memories that was best of eight has it after 300,000 rows online; nothing finite of the past tells where one stands.
Right: the angle between the mean of the online rule and the gradient of the rate, which falls in proportion to 1 − ρ.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from kullback.assess import costs, rate
from kullback.core import Batch
from kullback.learning import Clock, Optimizer, ProcessGradient, decaying_adam, step_once
from kullback.models import FiniteGenerative, TabularMemory, even_process, second_order
from kullback.plots import panels, plot_automaton, plot_costs, plot_mean_field, save
from kullback.runtime import computing

MEMORIES, REPLICAS, ROWS, WINDOW = 4, 8, 300_000, 16
TRUTHS = {"second order": second_order([0.9, 0.15, 0.25, 0.8]), "even": even_process()}


def softmax(logits):
    """Return probabilities over the last axis."""
    return np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)


def learn():
    """Return the best of several tables after the stream, by what they have predicted in its last tenth."""
    learner = ProcessGradient(Optimizer(decaying_adam, learning_rate=0.02, delay=ROWS / 240, power=0.6))
    windows = jnp.asarray(TRUTHS["even"].sample(0, ROWS), float).reshape(-1, WINDOW)

    def follow(key):
        model = TabularMemory.random(MEMORIES, 2, key, scale=3.0)
        first = model, learner.init(model, lambda: None), learner.memory(model, lambda: None, key), 0

        def body(place, rows):
            *place, number = place
            clock = Clock(number, 0.0, jax.random.fold_in(key, number))
            found = step_once(learner, *place, [Batch(rows)], clock)
            return (found.model, found.state, found.memory, number + 1), found.info.value

        (model, *_), values = jax.lax.scan(body, first, windows)
        return model, values[-len(windows) // 10 :].mean()

    models, values = jax.jit(jax.vmap(follow))(jax.random.split(jax.random.key(0), REPLICAS))
    return jax.tree.map(lambda leaf: np.asarray(leaf[int(jnp.argmax(values))]), models)


def edges_of(model, truth):
    """Return the probability to see x in memory z and go to w, and the share of time in each memory.

    What a memory does next depends on the last symbol too, so states are pairs, of which few are ever visited.
    """
    pair = model.pair()
    moves, table = np.asarray(pair.memory), np.asarray(pair.generative.transition).sum(axis=2)
    states = [(z, x) for z in range(MEMORIES) for x in range(2)]
    edges = np.zeros((len(states), 2, len(states)))
    for i, (z, x) in enumerate(states):
        for j, (w, y) in enumerate(states):
            edges[i, y, j] = moves[z, x, w] * table[z, x, y]
    share = np.full(len(states), 1 / len(states))
    for _ in range(2_000):
        share = share @ edges.sum(axis=1)
    return edges, share


def draw():
    """Draw the three pictures beside each other."""
    i = np.arange(8).reshape(2, 2, 2)
    fixed = FiniteGenerative.independent(softmax(np.cos(0.5 * i)), softmax(np.sin(2 * i + 1)))
    figure, axes = panels(columns=3, width=4.4, height=4.2)
    plot_costs({name: costs(truth, fixed, steps=5) for name, truth in TRUTHS.items()}, axes[0])
    axes[0].set_title("What a memory costs", loc="left")
    with computing():
        learned = learn()
    value = rate(TRUTHS["even"], learned).value
    plot_automaton(*edges_of(learned, TRUTHS["even"]), least=0.04, axes=axes[1])
    axes[1].set_title(f"Learned, V = {value:.4f} nats per row", loc="left")
    table = TabularMemory(np.sin(1 + i), np.cos(0.5 * i), np.sin(2 * i + 1))
    for name, truth in TRUTHS.items():
        plot_mean_field(truth, table, axes[2], label=name)
    axes[2].legend(frameon=False, fontsize=9)
    axes[2].set_title("The online rule and the gradient", loc="left")
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "memories")
    print(f"The picture is in {png} and {svg}")
