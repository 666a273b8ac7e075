"""Follow gradients on y = abx, a model whose best parameters are a cross, and learn how well it generalizes.

In truth y is noise, so K(a, b) = a²b²/2 vanishes where a or b is 0, and its neighborhoods are widest at the crossing.
Full gradients of the training error end where they first meet the cross. Stochastic approximation, which draws a new
row for every step, goes on: a² − b² becomes (a² − b²)(1 − η²g²) with the gradient g of the product, so it goes to the
crossing. The expected generalization error of Bayes is λ/n with λ = 1/2 of multiplicity 2: it comes to that slowly,
from below, while that of maximum likelihood is 1/(2n) at once.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.special import logsumexp
from scipy.stats import chi2

from kullback.assess import learning_coefficient, volume
from kullback.plots import COLORS, panels, save

#: The rate η of all gradients, rows of the training error, the half side of a neighborhood, and how low K is in it.
RATE, ROWS, RADIUS, LEVEL = 0.05, 1_000, 0.25, 1e-3


def relative_entropy(w):
    """Return K(a, b) for each row of w."""
    return 0.5 * np.prod(w, axis=1) ** 2


# --- two ways down


def follow_training_error(w, steps, random):
    """Return all places of gradient descent on K_n, from each row of w."""
    x, y = random.standard_normal((2, ROWS))
    places = [w]
    for _ in range(steps):
        g = np.mean(x * y) - np.prod(w, axis=1) * np.mean(x * x)
        w = w + RATE * g[:, None] * w[:, ::-1]
        places.append(w)
    return np.array(places)


def follow_fresh_rows(w, steps, random):
    """Return all places of stochastic approximation, from each row of w: each step has one row of its own."""
    places = [w]
    for _ in range(steps):
        x, y = random.standard_normal((2, len(w)))
        g = x * (y - np.prod(w, axis=1) * x)
        w = w + RATE * g[:, None] * w[:, ::-1]
        places.append(w)
    return np.array(places)


# --- what Bayes and maximum likelihood are worth, a and b uniform on [−1, 1]

#: c = ab = ±e^−s has the density s·e^−s/2 in s, for each sign: Gauss–Legendre nodes of it.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(120)
PRODUCTS = np.concatenate([np.exp(-20 * (_NODES + 1)), -np.exp(-20 * (_NODES + 1))])
LOG_WEIGHTS = np.log(np.tile(20 * _WEIGHTS * 10 * (_NODES + 1) * np.exp(-20 * (_NODES + 1)), 2))


def log_evidence(xx, xy):
    """Return log Z⁰ of data with the sums of x² and of xy."""
    xx, xy = np.asarray(xx)[..., None], np.asarray(xy)[..., None]
    return logsumexp(LOG_WEIGHTS + PRODUCTS * xy - PRODUCTS**2 * xx / 2, axis=-1)


def expected_log_evidence(n):
    """Return E log Z⁰_n: the sum of x² is chi-squared, and that of xy normal with this variance."""
    xx = chi2.ppf((np.arange(200) + 0.5) / 200, n)
    z, weights = np.polynomial.hermite_e.hermegauss(40)
    return float(np.mean(log_evidence(xx[:, None], z * np.sqrt(xx)[:, None]) @ (weights / weights.sum())))


def simulate_errors(n, sets, random):
    """Return R_g = K(ŵ) and B_g of data sets with n rows, and the same of the standard form, ¼ max{0, ±ξ}²/n."""
    xx, xy = chi2.rvs(n, size=sets, random_state=random), random.standard_normal(sets)
    xy = xy * np.sqrt(xx)
    plug_in, standard = 0.5 * (xy / xx) ** 2, np.maximum(0, np.maximum(xy, -xy)) ** 2 / (2 * n**2)
    node, weight = np.polynomial.hermite_e.hermegauss(12)
    x, y = np.meshgrid(node, node)
    both = np.outer(weight, weight) / weight.sum() ** 2
    after = [np.sum(both * log_evidence(a + x**2, b + x * y)) for a, b in zip(xx, xy, strict=True)]
    return plug_in, log_evidence(xx, xy) - np.array(after), standard


# --- the picture


def draw_paths(axes, random):
    """Draw both ways down from the same starts, over levels of K."""
    side = np.linspace(-1.6, 1.6, 200)
    K = 0.5 * np.outer(side, side) ** 2
    axes.contourf(side, side, np.log10(K + 1e-9), levels=[-9, -3, -2, -1, 1], colors=["0.72", "0.82", "0.91", "1.0"])
    starts = np.array([[1.4, 0.9], [-1.3, 0.6], [-0.8, -1.4], [1.0, -1.2]])
    for follow, color, zorder in [(follow_fresh_rows, "vermilion", 2), (follow_training_error, "blue", 3)]:
        places = follow(starts, 2_000, random)
        axes.plot(*np.moveaxis(places, 2, 0), color=COLORS[color], linewidth=0.7 if zorder == 2 else 1.8, zorder=zorder)
        axes.plot(*places[-1].T, "o", color=COLORS[color], markersize=6, zorder=4, markeredgecolor="white")
    axes.plot(*starts.T, "o", color="white", markeredgecolor="0.3", zorder=5)
    axes.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), xlabel="a", ylabel="b", aspect="equal")
    axes.set_title("Both go down; fresh rows go on to the crossing", fontsize=11, loc="left")


def draw_neighborhoods(axes, random):
    """Draw how wide the neighborhood of K < ε is along the cross, and how far out both ways end."""
    starts = random.uniform(-1.6, 1.6, (400, 2))
    edges = np.linspace(0, 1.6, 25)
    for follow, color, name in [
        (follow_training_error, "blue", "training error"),
        (follow_fresh_rows, "vermilion", "fresh rows"),
    ]:
        out = np.max(np.abs(follow(starts, 2_000, random)[-1]), axis=1)
        axes.hist(out, edges, color=COLORS[color], alpha=0.65, weights=np.full(400, 1 / 400), label=f"ends, {name}")
    places = np.linspace(0, 1.6, 17)
    shares = []
    for place in places:
        box = [(place - RADIUS, place + RADIUS), (-RADIUS, RADIUS)]
        shares.append(volume(relative_entropy, LEVEL, box, draws=400).value)
    axes.plot(places, shares, color="black", label=f"share of the square around with K < {LEVEL:g}")
    axes.set(xlabel="distance from the crossing, max(|a|, |b|)", ylabel="share", xlim=(0, 1.6))
    axes.legend(fontsize=8, frameon=False)
    axes.set_title("Neighborhoods are widest where fresh rows end", fontsize=11, loc="left")


def draw_errors(axes, random):
    """Draw n times the expected generalization errors beside λ; return what was simulated."""
    found = learning_coefficient([(1, 1)])
    sizes = np.unique(np.geomspace(10, 100_000, 25).astype(int))
    exact = [n * (expected_log_evidence(n) - expected_log_evidence(n + 1)) for n in sizes]
    axes.plot(sizes, sizes / (sizes - 2) / 2, color=COLORS["blue"], label=r"$n\,E[R_g]$, maximum likelihood")
    axes.plot(sizes, exact, color=COLORS["vermilion"], label=r"$n\,E[B_g] = n\,(E\log Z_n - E\log Z_{n+1})$")
    table = []
    for n in (30, 300, 3_000):
        for errors, color in zip(simulate_errors(n, 1_500, random), ("blue", "vermilion"), strict=False):
            mean, error = n * errors.mean(), n * errors.std() / np.sqrt(len(errors))
            table.append((n, mean, error))
            axes.errorbar(n, mean, 2 * error, fmt="o", color=COLORS[color], markersize=4)
    axes.axhline(float(found.value), color="0.4", linestyle=":", label=f"λ = {found.value}, m = {found.multiplicity}")
    steady = float(found.value) - (found.multiplicity - 1) / np.log(sizes)
    axes.plot(sizes, steady, color="0.4", linewidth=0.8, label=r"$\lambda - (m-1)/\log n$")
    axes.set(xscale="log", xlabel="rows n", ylabel="nats × n", ylim=(0, 0.75))
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    axes.set_title("Bayes generalizes better, and nears λ slowly", fontsize=11, loc="left")
    return table


def draw():
    """Draw all of it; return the figure and the simulated errors."""
    random = np.random.default_rng(3)
    figure, axes = panels(1, 3, width=4.6, height=4.4)
    draw_paths(axes[0], random)
    draw_neighborhoods(axes[1], random)
    return figure, draw_errors(axes[2], random)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    figure, table = draw()
    print("Simulated, with 1,500 data sets each, beside λ = 1/2:")
    for plug_in, bayes in zip(table[::2], table[1::2], strict=True):
        print(
            "n = {:5,d}: n·E[R_g] = {:.3f} ± {:.3f},".format(*plug_in), "n·E[B_g] = {:.3f} ± {:.3f}".format(*bayes[1:])
        )
    png, svg = save(figure, folder / "large_neighborhoods")
    print(f"The picture is in {png} and {svg}")
