"""Draw the Gaussians at relative entropy 0.02 around Gaussians of several means and standard deviations.

The wider a Gaussian, the further its parameters can move before it is told apart: the balls grow with σ, and
do not depend on μ.
"""

import sys
from pathlib import Path

import jax
import numpy as np

from kullback.families import Gaussian
from kullback.plots import panels, plot_balls, save


def draw():
    """Draw the balls around a grid of centers."""
    means, deviations = np.meshgrid([-1.0, 0.0, 1.0], [0.25, 0.5, 1.0, 1.5])
    centers = Gaussian(means[..., None], deviations[..., None, None] ** 2)
    figure, axes = panels(width=5.5, height=3.9)
    plot_balls(centers, radius=0.02, axes=axes)
    axes.set_title("Balls of constant relative entropy, D(p, q) = 0.02", fontsize=11)
    axes.set_aspect("equal")
    axes.set_ylim(bottom=0)
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    with jax.enable_x64(True):
        png, svg = save(draw(), folder / "relative_entropy_balls")
    print(f"The picture is in {png} and {svg}")
