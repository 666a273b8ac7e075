"""Pictures of clothes learned by a Helmholtz machine, in three ways: held-out nats by step and by second.

The data are the images of Fashion-MNIST, black where a pixel is above 127, and the machine has three layers of 200, 100
and 50 hidden units, as in Várady, Volpi, Malagò and Ay, "Natural Wake-Sleep Algorithm" (2022). All three methods take
steps of 32 images. The natural gradient needs a fraction of the steps, and its steps cost little more than Adam's, for
the metric of a layer is one matrix for all of its units: after 256 of them images have −137 nats, and −131 after 512,
where reweighted wake-sleep has −136 after 1,024. Adam catches up slowly in the long run.

Numbers are the mean log-likelihood of images of the test set, estimated by 50 draws of what is hidden: a lower bound on
average, with a band of two standard errors over images, which are the same for all. Compiling and scoring are not on
the clock; the inverses that the natural gradient begins with are. They are of small matrices, for which the threads of
OpenBLAS mostly wait for each other, so that it has one here. Below are images of the data, and the probabilities of
pixels given what each machine has drawn for its hidden units.
"""

import gzip
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import kullback
from kullback.estimators import FitCallback
from kullback.plots import COLORS, panels, plot_images, save

FOLDER = Path("/usr/share/datasets/fashion-mnist")
HIDDEN, BATCH, SHAPE = (200, 100, 50), 32, (28, 28)
#: About after how many steps machines are compared, images of the test set, and draws of what is hidden for each.
STEPS, IMAGES, DRAWS = (64, 128, 256, 512, 1_024), 300, 50
METHODS = {"natural": "blue", "reweighted": "vermilion", "wake-sleep": "green"}


class Watch(FitCallback):
    """Scores test images after some steps and ends the fit after the last of them, without counting the time."""

    def __init__(self, test, steps, verbose=True):
        self.test, self.due, self.rows, self.verbose = test, list(steps), [], verbose
        self.seconds, self.since = 0.0, time.process_time()

    def step(self, snapshot, history):
        """Look at the machine if it is time, and say whether it was the last time."""
        self.seconds += time.process_time() - self.since
        machine = snapshot()
        if machine.n_steps_ >= self.due[0]:
            self.due = [steps for steps in self.due if steps > machine.n_steps_]
            scores = machine.score_samples(self.test, draws=DRAWS)
            error = scores.std() / np.sqrt(len(scores))
            self.rows.append((machine.n_steps_, self.seconds, scores.mean(), error))
            if self.verbose:
                print(
                    f"{machine.method:11} {machine.n_steps_:6,} steps {self.seconds:7.1f} s {scores.mean():8.1f} nats"
                )
        self.stopped = not self.due
        self.since = time.process_time()
        return self.stopped


def read(name):
    """Return images as rows of 0 and 1."""
    with gzip.open(FOLDER / f"{name}-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    return (pixels > 127).astype(float)


def learn(method, X, test):
    """Return a machine, and how it did: a row of steps, seconds, nats and their error for each look at it."""
    settings = {"method": method, "batch_size": BATCH, "validation_fraction": 0, "random_state": 0}
    kullback.HelmholtzMachine(HIDDEN, **settings).set_callback(Watch(test[:1], STEPS[:1], False)).fit(X)  # compiles
    watch = Watch(test, STEPS)
    machine = kullback.HelmholtzMachine(HIDDEN, **settings).set_callback(watch).fit(X)
    return machine, np.array(watch.rows)


def draw():
    """Let three machines learn, and draw how well they do and what they draw."""
    X, test = read("train"), read("t10k")[:IMAGES]
    figure, axes = panels(2, 2, width=5.0, height=3.6)
    pictures = {"data": test[:64]}
    for method, color in METHODS.items():
        machine, found = learn(method, X, test)
        network = machine.to_model()
        pictures[method] = network.downward_means(network.dream(0, 64)[1], layer=1)
        steps, seconds, nats, error = found.T
        for panel, x in ((axes[0, 0], steps), (axes[0, 1], seconds)):
            panel.plot(x, nats, "o-", color=COLORS[color], markersize=3.5, label=method)
            panel.fill_between(x, nats - 2 * error, nats + 2 * error, color=COLORS[color], alpha=0.2, linewidth=0)
    for panel, name in ((axes[0, 0], "steps of 32 images"), (axes[0, 1], "seconds of CPU")):
        panel.set(xlabel=name, ylabel="log-likelihood of an image (nats)")
        panel.legend(frameon=False, fontsize=9, loc="lower right")
    for panel, names in zip(axes[1], (("data", "natural"), ("reweighted", "wake-sleep")), strict=True):
        for place, name in enumerate(names):
            plot_images(pictures[name], SHAPE, panel, across=8, left=270 * place, label=name)
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    if not FOLDER.is_dir():
        print(f"There is no {FOLDER}: on Debian and Ubuntu, install it with apt-get install dataset-fashion-mnist.")
        sys.exit(0)
    with threadpool_limits(1):
        png, svg = save(draw(), folder / "fashion")
    print(f"The picture is in {png} and {svg}")
