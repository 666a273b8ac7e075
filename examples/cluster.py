"""Handwritten digits on two workers of one core each: three ways to one mixture, and what each sends.

The digits of scikit-learn, as ten principal components, lie on the workers as a Dask array. Exact EM sums the
statistics of all blocks in each iteration: it is the fit of one machine. `fit_and_combine` lets each worker learn from
its own blocks by online EM, and combines their models at each synchronization. Averaging parameters fits each half
apart and takes the mean, component by component: labels have no names, so it mixes digits that have nothing to do with
each other. The likelihood is that of digits which none of them has seen.

All start from clusters: exact EM from those of all digits, `fit_and_combine` from those of one block, the halves each
from their own. So the curves differ by their starts too, and small distances between the upper two say little.
"""

import pickle
import sys
import warnings
from pathlib import Path

import dask.array as da
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from kullback import GaussianMixture
from kullback.distributed import connect, fit_and_combine
from kullback.plots import COLORS, panels, save

COMPONENTS, COLUMNS, BLOCK, PASSES = 10, 10, 125, 12


def digits():
    """Return the components of 1,500 digits to learn from and of 297 others, in an order drawn at random."""
    X = np.random.default_rng(0).permutation(load_digits().data)
    axes = PCA(COLUMNS, random_state=0).fit(X[:1500])
    X = axes.transform(X)
    X /= X[:1500].std()
    return X[:1500], X[1500:]


def mixture(**parameters):
    """Return what all three fit."""
    return GaussianMixture(COMPONENTS, covariance_type="diag", random_state=0, tol=0, **parameters)


def averaged(fitted):
    """Return the mixture with the mean of each parameter, whatever the labels."""
    mean = mixture()
    for name in ("weights_", "means_", "covariances_"):
        setattr(mean, name, np.mean([getattr(one, name) for one in fitted], axis=0))
    return mean


def learn(client):
    """Return for each way the likelihood of new digits after each pass over the data."""
    old, new = digits()
    blocks = da.from_array(old, chunks=(BLOCK, COLUMNS)).persist()
    start = mixture().partial_fit(old[:BLOCK])
    exact, online = mixture(max_iter=1, warm_start=True), start
    halves = [mixture(max_iter=1, warm_start=True) for _ in range(2)]
    for seed, half in enumerate(halves):
        half.random_state = seed
    found = {"exact EM": [], "fit_and_combine": [], "averaged parameters": []}
    for _ in range(PASSES):
        exact.fit(blocks)
        online = fit_and_combine(online, blocks, client, synchronize_every=2)
        for half, rows in zip(halves, np.array_split(old, 2), strict=True):
            half.fit(rows)
        for name, one in zip(found, (exact, online, averaged(halves)), strict=True):
            found[name].append(one.score(new))
    return found, len(pickle.dumps(exact.to_model()))


def draw(found, size):
    """Draw the likelihood on the way."""
    figure, axes = panels(1, 1, width=6.4, height=4.2)
    axes = np.ravel(axes)[0]
    for (name, scores), color in zip(found.items(), ("blue", "vermilion", "purple"), strict=True):
        axes.plot(np.arange(1, PASSES + 1), scores, "o-", color=COLORS[color], markersize=4, label=name)
    axes.set(xlabel="passes over the data", ylabel="nats per digit that was not learned from")
    axes.legend(frameon=False, loc="center right")
    axes.set_title(f"Digits on two workers: a model that travels has {size / 1e3:.1f} kB", fontsize=12, loc="left")
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    with warnings.catch_warnings(), connect("local:2") as workers:
        warnings.simplefilter("ignore", ConvergenceWarning)  # each call is one iteration
        results = learn(workers)
    png, svg = save(draw(*results), folder / "cluster")
    print(f"The picture is in {png} and {svg}")
