"""Variational autoencoders: missing entries against other imputers, the posterior by Fisher scoring, and speed.

Imputation: a fifth of the entries of four tables is missing, five masks each, the same for all. The error of a column
is the root mean square error of its means in units of its standard deviation, that of a table the mean over columns.
"""

import gzip
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 (it makes the next import work)
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from benchmarks._timing import Figure, Row
from kullback import GaussianMixture, Mixture, VariationalAutoencoder

#: The share of entries that are missing, and how many masks there are.
SHARE, MASKS = 0.2, 5
#: Where Debian's package dataset-fashion-mnist has its images.
IMAGES = Path("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")


def election() -> tuple[np.ndarray, list[str]]:
    """Return answers of American voters in 1996: numbers, a count, an age, yes and no, and the families of columns."""
    from statsmodels.datasets import anes96

    frame = anes96.load_pandas().data
    numbers = ["logpopul", "selfLR", "ClinLR", "DoleLR", "PID", "educ", "income"]
    table = frame[[*numbers, "TVnews", "age", "vote"]].to_numpy(float)
    return table, [*["gaussian"] * len(numbers), "poisson", "gamma", "bernoulli"]


TABLES: dict[str, Callable[[], tuple[np.ndarray, Any]]] = {
    "wine": lambda: (load_wine().data, "diagonal_gaussian"),
    "breast cancer": lambda: (load_breast_cancer().data, "diagonal_gaussian"),
    "diabetes": lambda: (load_diabetes().data, "diagonal_gaussian"),
    "election (mixed)": election,
}


def standardized(imputer: Any) -> Callable[[np.ndarray, Any], np.ndarray]:
    """Return what fills in a table by columns of variance 1."""

    def fill(X: np.ndarray, family: Any) -> np.ndarray:
        center, scale = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
        return imputer().fit_transform((X - center) / scale) * scale + center

    return fill


def gaussians(components: int) -> Callable[[np.ndarray, Any], np.ndarray]:
    """Return what fills in a table by a mixture of Gaussians, or of columns of their families."""

    def fill(X: np.ndarray, family: Any) -> np.ndarray:
        center, scale = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
        if isinstance(family, list):
            numbers = np.array([name == "gaussian" for name in family])
            center, scale = np.where(numbers, center, 0), np.where(numbers, scale, 1)
            made = Mixture(components + 2, family=family, reg_covar=1e-2, random_state=0)
        else:
            made = GaussianMixture(components, reg_covar=1e-2, random_state=0)
        S = (X - center) / scale
        return made.fit(S).impute(S, method="mean") * scale + center

    return fill


def autoencoder(X: np.ndarray, family: Any) -> np.ndarray:
    """Fill in a table by an autoencoder as it comes."""
    return VariationalAutoencoder(family=family, random_state=0).fit(X).impute(X, method="mean")


METHODS: dict[str, Callable[[np.ndarray, Any], np.ndarray]] = {
    "column means": lambda X, family: SimpleImputer().fit_transform(X),
    "KNNImputer": standardized(KNNImputer),
    "IterativeImputer": standardized(lambda: IterativeImputer(max_iter=30, random_state=0)),
    "mixture, 1": gaussians(1),
    "mixture, 3": gaussians(3),
    "VariationalAutoencoder": autoencoder,
}


def errors(name: str) -> dict[str, np.ndarray]:
    """Return the error of each mask, for each method."""
    X, family = TABLES[name]()
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    for seed in range(MASKS):
        missing = np.random.default_rng(seed).random(X.shape) < SHARE
        for method, fill in METHODS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                filled = fill(np.where(missing, np.nan, X), family)
            away = [np.sqrt(np.mean((filled - X)[missing[:, j], j] ** 2)) / X[:, j].std() for j in range(X.shape[1])]
            found[method].append(float(np.mean(away)))
    return {method: np.array(each) for method, each in found.items()}


def imputation() -> Iterator[Figure]:
    """Compare errors; that of the paired difference to the best method is beside each."""
    for name in TABLES:
        found = errors(name)
        best = min(found.values(), key=np.mean)
        for method, each in found.items():
            gap = each - best
            what = f"{name}, {method}: error {each.mean():.3f}, above the best ± {gap.std(ddof=1) / MASKS**0.5:.3f}"
            ours = method == "VariationalAutoencoder"
            part = float(each.mean() / found["column means"].mean())
            yield Figure(what, "of column means", part, 1.0 if ours else 9.9)


def images(rows: int) -> np.ndarray:
    """Return Fashion-MNIST, black and white."""
    with gzip.open(IMAGES) as file:
        pixels = np.frombuffer(file.read(16 + 784 * rows), np.uint8, offset=16)
    return (pixels.reshape(-1, 784) > 127).astype(np.float32)


def trained(X: np.ndarray, epochs: int, **options: Any) -> VariationalAutoencoder:
    """Return an autoencoder 784-400-20 after so many epochs."""
    made = VariationalAutoencoder(
        20, family="bernoulli", hidden=(400,), activation="relu", batch_size=128, learning_rate=1e-3,
        max_iter=epochs, validation_fraction=0.0, random_state=0, **options,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made.fit(X)


def posterior(epochs: int = 5, rows: int = 100, draws: int = 1000) -> Iterator[Figure]:
    """Compare the effective share of draws of the encoder's guess with that of Fisher scoring."""
    from kullback.core import Batch
    from kullback.learning import adaptive_jit

    X = images(20_000 + rows)
    model = trained(X[:-rows], epochs).to_model()
    batch = Batch(X[-rows:])
    shares, means = [], []
    for ask in (_recognized, _scored):
        log_weight = np.asarray(adaptive_jit(ask)(model, batch, draws))
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        shares.append(float(np.median(weight.sum(1) ** 2 / (weight**2).sum(1) / draws)))
        means.append(float(np.mean(log_weight.max(axis=1) + np.log(weight.mean(axis=1)))))
    yield Figure(f"images, log p by {draws} draws of the encoder: {means[0]:.2f}", "share effective", shares[0], 0.01)
    yield Figure(f"images, by as many of Fisher scoring: {means[1]:.2f}", "share effective", shares[1], 0.05, True)


def _recognized(model: Any, batch: Any, draws: int) -> Any:
    return model.recognize(0, batch, draws).log_weight


def _scored(model: Any, batch: Any, draws: int) -> Any:
    return model.draw_posterior(0, batch, draws).log_weight


TORCH = """
import os, sys, time, numpy as np, torch
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
torch.set_num_threads(1)
torch.manual_seed(0)
X = torch.tensor(np.load(sys.argv[1]))
layers = [torch.nn.Linear(*s) for s in ((784, 400), (400, 40), (20, 400), (400, 784))]
optimizer = torch.optim.Adam([p for layer in layers for p in layer.parameters()], 1e-3)
times = []
for _ in range(int(sys.argv[2])):
    start = time.process_time()
    for rows in torch.randperm(len(X)).split(128):
        v = X[rows]
        mean, log_scale = layers[1](torch.relu(layers[0](v))).chunk(2, 1)
        z = mean + torch.exp(log_scale) * torch.randn_like(mean)
        out = layers[3](torch.relu(layers[2](z)))
        fit = torch.nn.functional.binary_cross_entropy_with_logits(out, v, reduction="sum")
        loss = (fit + (0.5 * (mean**2 + torch.exp(2 * log_scale) - 1) - log_scale).sum()) / len(v)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    times.append(time.process_time() - start)
print(min(times))
"""

OURS = """
import os, sys, time, numpy as np
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from benchmarks.autoencoder import trained
X = np.load(sys.argv[1])
model = trained(X, 1).set_params(warm_start=True, max_iter=4)
times = []
for _ in range(int(sys.argv[2])):
    start = time.process_time()
    model.fit(X)
    times.append((time.process_time() - start) / 4)
print(min(times))
"""


def speed(rows: int = 16_384, rounds: int = 4) -> Iterator[Row | Figure]:
    """Compare CPU seconds of an epoch with a plain loop of PyTorch, both on one thread; $TORCH_PYTHON has it."""
    import tempfile

    python = os.environ.get("TORCH_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
        yield Figure("PyTorch is not installed: set TORCH_PYTHON to an interpreter that has it", "", 0.0, 1.0)
        return
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/images.npy", images(rows))
        taken = []
        for interpreter, script in ((python, TORCH), (sys.executable, OURS)):
            done = subprocess.run(
                [interpreter, "-c", script, f"{folder}/images.npy", str(rounds)],
                check=True, capture_output=True, text=True, env={**os.environ, "NPROC": "1", "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
            taken.append(float(done.stdout))
    yield Row(f"CPU of an epoch, 784-400-20, batches of 128, {rows:,} rows", "PyTorch", *taken, 1.5)


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare imputation, then, where the images are there, the posterior and the speed."""
    yield from imputation()
    if not IMAGES.exists():
        yield Figure("Fashion-MNIST is not there: install dataset-fashion-mnist", "", 0.0, 1.0)
        return
    yield from posterior()
    yield from speed()


if __name__ == "__main__":
    started = time.time()
    for row in {"imputation": imputation, "posterior": posterior, "speed": speed}[sys.argv[1]]():
        print(row, f"{time.time() - started:.0f} s", flush=True)
