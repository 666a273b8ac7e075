"""Three sites learn online from their share of handwritten digits, and only their models travel.

Each digit is 64 gray values, of which the three leading principal axes are kept. All sites begin with a model that the
first has made of some of its digits. Each goes through its own third in batches of 100, three times over, and learns a
Gaussian mixture of eight components. Their models are combined. Batch EM on everything is what could have been learned
if the digits had been pooled. The page shows the combination beside the models it came from.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

import kullback
from kullback.report import write_report

SITES, COMPONENTS, AXES, BATCH, PASSES, FIRST = 3, 8, 3, 100, 3, 300


def digits():
    """Return the digits on their leading axes, in random order."""
    X = PCA(AXES, random_state=0).fit_transform(load_digits().data)
    return np.random.default_rng(0).permutation(X)


def learn(X, steps):
    """Return what batch EM learns from everything it is given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return kullback.GaussianMixture(COMPONENTS, random_state=0, max_iter=steps).fit(X)


def learn_online(first, X):
    """Return what one site learns from its share, a batch at a time."""
    mixture = kullback.GaussianMixture.from_model(first)
    for _ in range(PASSES):
        for batch in np.array_split(X, round(len(X) / BATCH)):
            mixture.partial_fit(batch)
    return mixture


def main(folder):
    """Learn, combine, compare, print the likelihoods, and write the page."""
    start = time.perf_counter()
    X = digits()
    parts = np.array_split(X, SITES)
    first = learn(parts[0][:FIRST], steps=20).to_model()
    sites = [learn_online(first, part) for part in parts]
    together = kullback.combine(sites)
    pooled = learn(X, steps=100)
    print(f"{len(X):,} digits on {AXES} axes, {COMPONENTS} components: nats per digit, over all digits")
    for name, mixture in (
        *((f"site {place + 1}, online, from {len(X) // SITES} digits", one) for place, one in enumerate(sites)),
        ("the three combined: only models traveled", together),
        ("batch EM on everything", pooled),
    ):
        print(f"  {name:<44}{mixture.score(X):>10.3f}")
    folder.mkdir(parents=True, exist_ok=True)
    named = {f"site {number}": site for number, site in enumerate(sites, 1)}
    page = write_report(together, folder / "three_sites.html", data=X, title="Three sites, one model", before=named)
    print(f"The page is in {page} ({time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output")
