"""Samplers trained on an energy: known energies in the plane, and rows whose energy is learned with the sampler.

One setting, that of the defaults, for all tables; it was chosen on other seeds. Run `python -m
benchmarks.energy_sampler` for everything, or with names of parts: known, modes, digits.

- known: a Gaussian with standard deviations (1.5, 1.3), two Gaussians, a banana, a ring of 8. KL is that of 200,000
  draws in 72 × 72 cells to the energy, whose own draws would have about 0.01.
- modes: 25 Gaussians (5 × 5, spacing 1, standard deviation 0.1) and a ring of 8, 10,000 rows, 5 seeds. A mode counts as
  covered with a tenth of its share of the good draws, those within 4 standard deviations of a mode; the entropy of the
  histogram of modes is in units of the highest. Uniform draws in the square have 25 modes and .50, the data .9997.
- digits: 8 × 8 digits with a little noise, in 64 columns: how far draws are from held-out rows by the unbiased squared
  MMD, beside that of a Gaussian fitted to the rows and of other rows. They are farther than the Gaussian: the
  entropy of 64 columns pulls harder than bounded energies hold, and the sampler ends outside of the data.
"""

import sys
import time

import jax.numpy as jnp
import numpy as np

import kullback
from kullback.geometry import squared_mmd

SEEDS = range(5)
COVARIANCE = np.array([[2.25, 1.17], [1.17, 1.69]])
PRECISION = np.linalg.inv(COVARIANCE)
GRID = np.stack(np.meshgrid(range(-2, 3), range(-2, 3)), axis=-1).reshape(-1, 2).astype(float)
ANGLES = np.arange(8) * np.pi / 4
RING = 2 * np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)


def gaussian(x):
    """Return the energy of a Gaussian with standard deviations 1.5 and 1.3 and a correlation of 0.6."""
    return 0.5 * x @ PRECISION @ x


def two_gaussians(x):
    """Return the energy of Gaussians with standard deviation 0.5 at (±1.5, 0)."""
    return -_log_sum(x, np.array([[-1.5, 0.0], [1.5, 0.0]]), 0.5)


def banana(x):
    """Return the energy of a Gaussian whose second coordinate is bent by the square of the first."""
    return x[0] ** 2 / 4.5 + 2 * (x[1] - 0.45 * (x[0] ** 2 - 2.25)) ** 2


def ring(x):
    """Return the energy of 8 Gaussians with standard deviation 0.2 on a circle of radius 2."""
    return -_log_sum(x, RING, 0.2)


def _log_sum(x, centers, deviation):
    exponents = -jnp.sum((x - centers) ** 2, axis=-1) / (2 * deviation**2)
    return jnp.log(jnp.sum(jnp.exp(exponents - jnp.max(exponents)))) + jnp.max(exponents)


def relative_entropy(sampler, draws):
    """Return the relative entropy of draws to an energy, by cells of a grid."""
    edges = np.linspace(-6, 6, 73)
    middle = (edges[1:] + edges[:-1]) / 2
    cells = np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2)
    log_p = -sampler.energies(cells)
    log_p -= np.log(np.sum(np.exp(log_p - log_p.max()))) + log_p.max()
    q = np.histogram2d(*draws.T, bins=[edges, edges])[0].ravel() / len(draws)
    there = q > 0
    return float(np.sum(q[there] * (np.log(q[there]) - log_p[there])))


def known():
    """Print how near samplers come to energies that are given."""
    print(f"{'energy':16}{'entropy':9}{'KL':>7}{'std':>15}{'CPU s':>8}")
    for energy in (gaussian, two_gaussians, banana, ring):
        for entropy in ("kernel", "mmd"):
            began = time.process_time()
            sampler = kullback.EnergySampler(entropy=entropy, hidden=(64, 64), sampler_rate=2e-3, random_state=0)
            sampler.fit_energy(energy, 2)
            draws = sampler.sample(200_000)
            spent, (one, other) = time.process_time() - began, draws.std(axis=0)
            found = relative_entropy(sampler, draws)
            print(f"{energy.__name__:16}{entropy:9}{found:7.3f}{one:8.2f},{other:6.2f}{spent:8.1f}", flush=True)


def quality(draws, centers, deviation):
    """Return the modes that are covered, the share of good draws, and the entropy of the histogram of modes."""
    apart = np.linalg.norm(draws[:, None] - centers[None], axis=-1)
    good = apart.min(axis=1) < 4 * deviation
    counts = np.bincount(apart.argmin(axis=1)[good], minlength=len(centers))
    shares = counts[counts > 0] / counts.sum()
    covered = int(np.sum(counts >= 0.1 * counts.sum() / len(centers)))
    return covered, float(good.mean()), float(-np.sum(shares * np.log(shares)) / np.log(len(centers)))


def modes(seeds=SEEDS):
    """Print modes, quality and entropy of a sampler that has learned with its energy, before and after polishing."""
    print(f"{'rows':16}{'seed':>5}{'sampler: modes, share, entropy':>32}{'polished':>18}{'CPU s':>8}")
    for name, centers, deviation in (("25 Gaussians", GRID, 0.1), ("ring of 8", RING, 0.1)):
        rows = []
        for seed in seeds if name == "25 Gaussians" else list(seeds)[:1]:
            rng = np.random.default_rng(seed)
            X = centers[rng.integers(len(centers), size=10_000)] + deviation * rng.normal(size=(10_000, 2))
            began = time.process_time()
            sampler = kullback.EnergySampler(random_state=seed).fit(X)
            draws = sampler.sample(5000)
            found = quality(draws, centers, deviation), quality(sampler.polish(draws), centers, deviation)
            rows.append([*found[0], *found[1]])
            spent, (before, after) = (
                time.process_time() - began,
                ("{:5d} {:.2f} {:.2f}".format(*each) for each in found),
            )
            print(f"{name:16}{seed:5}{before:>32}{after:>18}{spent:8.1f}", flush=True)
        for label, row in (("median", np.median(rows, axis=0)), ("worst", np.min(rows, axis=0))):
            print(f"{name:16}{label:>6}" + " ".join(f"{each:8.2f}" for each in row), flush=True)


def digits():
    """Print how far draws of a sampler of digits are from held-out rows."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    X = rng.permutation(load_digits().data / 16)
    X = X + 0.05 * rng.normal(size=X.shape)
    train, test, other = X[:1197], X[1197:1497], X[1497:]
    # a quarter of the usual square distance: at all of it a Gaussian cannot be told from digits
    width = float(np.median(np.sum((test[:, None] - other[None]) ** 2, axis=-1))) / 4
    plain = rng.multivariate_normal(train.mean(0), np.cov(train.T), 2000)
    print(f"squared MMD to 300 held-out digits: other digits {float(squared_mmd(test, other, width)):.4f}", end="; ")
    print(f"a Gaussian {float(squared_mmd(test, plain, width)):.4f}", flush=True)
    for energy in ("mlp", "autoencoder"):
        began = time.process_time()
        sampler = kullback.EnergySampler(energy, n_code=16, max_iter=200, decay=500, random_state=0)
        draws = sampler.fit(train).sample(2000)
        found = [float(squared_mmd(test, each, width)) for each in (draws, sampler.polish(draws))]
        spent = time.process_time() - began
        print(f"  {energy:12} sampler {found[0]:.4f}, polished {found[1]:.4f}; CPU {spent:.0f} s", flush=True)


if __name__ == "__main__":
    for part in sys.argv[1:] or ("known", "modes", "digits"):
        {"known": known, "modes": modes, "digits": digits}[part]()
