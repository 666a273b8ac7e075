"""Handwritten digits learned by a Helmholtz machine, in three ways.

The machine has two layers of hidden units and draws black-and-white images of 8 × 8 pixels from the top down; a second
network guesses what is hidden of an image. Wake-sleep lets each network teach the other. Reweighted wake-sleep weighs
ten guesses for each image by how well they explain it. The natural gradient follows the same gradients by the Fisher
metric of the layers, and is a few nats ahead in the first epochs; on images as small as these the others come near in
the long run.

Log-likelihoods of digits that were held out are estimated by draws of what is hidden, and are lower bounds on average;
bands are two standard errors over digits, which all methods share. At the end the lower half of new digits is left out,
and completed by its mean given the upper half.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import kullback
from kullback.plots import panels, plot_images, plot_learning, save

METHODS = ("natural", "reweighted", "wake-sleep")
HIDDEN, EPOCHS, TRAINING = (40, 20), 30, 1_397
SHAPE = (8, 8)


def fit(X, method):
    """Fit a machine, with a fifth of the rows held out."""
    machine = kullback.HelmholtzMachine(
        HIDDEN,
        method=method,
        max_iter=EPOCHS,
        n_iter_no_change=EPOCHS,
        validation_fraction=0.2,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # all learn equally long
        return machine.fit(X)


def draw():
    """Fit three machines, and draw what they have learned."""
    X = (load_digits().data > 7.5).astype(float)
    X, new = X[:TRAINING], X[TRAINING:]
    machines = {method: fit(X, method) for method in METHODS}
    figure, axes = panels(2, 2, width=4.4, height=3.4)
    for method, machine in machines.items():
        plot_learning(machine.validation_scores_, axes[0, 0], label=method, errors=machine.validation_errors_)
        print(f"{method:11} {machine.n_steps_:,} steps, new digits: {machine.score(new):.2f} nats")
    axes[0, 0].set(xlabel="epoch", ylabel="log-likelihood of digits held out (nats)")
    axes[0, 0].legend(frameon=False, fontsize=9, loc="lower right")
    axes[0, 0].set_title("three ways to learn", fontsize=11, loc="left")

    machine = machines["natural"]
    plot_images(X[:30], SHAPE, axes[0, 1], across=5, label="digits")
    plot_images(machine.sample(30), SHAPE, axes[0, 1], across=5, left=49, label="drawn by the machine")
    _draw_filters(axes[1, 0], machine, X)
    _draw_halves(axes[1, 1], machine, new[:8])
    return figure


def _draw_filters(axes, machine, X):
    """Draw what hidden units add to the log odds of pixels, those that differ most between digits first."""
    spread = machine.transform(X, layer=0).std(axis=0)
    weights = machine.generation_[0][:-1]
    order = np.argsort(-spread * np.linalg.norm(weights, axis=1))[:32]
    plot_images(weights[order], SHAPE, axes, across=8, signed=True)
    axes.set_title("filters of 32 hidden units", fontsize=11, loc="left")


def _draw_halves(axes, machine, digits):
    """Draw digits without their lower half, what the machine puts there, and what they were."""
    upper = digits.copy()
    upper[:, 32:] = np.nan
    drawn = machine.impute(upper, random_state=0)
    rows = np.concatenate([upper, machine.impute(upper, method="mean"), drawn, digits])
    plot_images(rows, SHAPE, axes, across=8)
    axes.set_yticks(4 + 9 * np.arange(4), ["seen", "mean", "a draw", "what it was"])
    axes.tick_params(length=0)
    axes.set_title("the lower half completed", fontsize=11, loc="left")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "digits_machine")
    print(f"The picture is in {png} and {svg}")
