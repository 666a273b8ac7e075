"""Learn the energy of 25 Gaussians together with a sampler of it, and polish what the sampler draws.

A sampler that draws anywhere in the square has all 25 modes and half of its points near one, so modes and quality are
printed together, with the entropy of the histogram of modes.
"""

import sys
from pathlib import Path

import numpy as np

from kullback import EnergySampler
from kullback.plots import COLORS, panels, save

CENTERS = np.stack(np.meshgrid(range(-2, 3), range(-2, 3)), axis=-1).reshape(-1, 2)
DEVIATION = 0.1


def quality(points):
    """Return the modes with a tenth of their share, the share within 4 standard deviations, and the entropy."""
    apart = np.linalg.norm(points[:, None] - CENTERS[None], axis=-1)
    good = apart.min(axis=1) < 4 * DEVIATION
    counts = np.bincount(apart.argmin(axis=1)[good], minlength=25)
    shares = counts[counts > 0] / counts.sum()
    return np.sum(counts >= 0.1 * counts.sum() / 25), good.mean(), -np.sum(shares * np.log(shares)) / np.log(25)


def draw():
    """Fit, and draw data with the energy, draws of the sampler, and the same after Langevin dynamics."""
    rng = np.random.default_rng(0)
    X = CENTERS[rng.integers(25, size=10_000)] + DEVIATION * rng.normal(size=(10_000, 2))
    sampler = EnergySampler(random_state=0).fit(X)
    drawn = sampler.sample(2000)
    sets = {"Data, and the learned energy": X[:2000], "The sampler": drawn, "Polished": sampler.polish(drawn)}
    figure, axes = panels(1, 3)
    line = np.linspace(-2.6, 2.6, 120)
    cells = np.stack(np.meshgrid(line, line), axis=-1)
    energies = sampler.energies(cells.reshape(-1, 2)).reshape(120, 120)
    axes[0].contourf(line, line, energies, levels=12, cmap="Blues_r")
    for place, (name, points) in enumerate(sets.items()):
        modes, share, entropy = quality(points)
        print(f"{name}: {modes} modes, {share:.2f} within 4 standard deviations, entropy {entropy:.2f} of the highest")
        color = COLORS["vermilion"] if place == 0 else COLORS["blue"]
        axes[place].scatter(*points[: 400 if place == 0 else 2000].T, s=2, color=color, linewidths=0)
        axes[place].set(xlim=(-2.6, 2.6), ylim=(-2.6, 2.6), aspect="equal")
        axes[place].set_title(
            name if place == 0 else f"{name}: {modes} modes, {share:.2f} good", fontsize=11, loc="left"
        )
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "mode_coverage")
    print(f"The picture is in {png} and {svg}")
