"""Visits to a doctor, as an insurer sees them: counts given what is known of a person.

The data are those of the RAND health insurance experiment: 20,190 years of persons, the visits in each, the share that
they paid themselves, their health. Three quarters are learned from, in blocks, for the years of a person stand
together. Scores are those of the rest.

A Poisson distribution whose log rate is linear is better than one that is the same for everybody, and boosted trees are
a little better than that. But all of them are too narrow: the years in which nobody went to the doctor, and those with
twenty visits, are far more than a Poisson distribution has room for, whatever its rate. So their histograms of
probabilities are not flat. A mixture of three Poisson distributions, whose rates and weights are the answers of a
network, is nearly right, and gains 1.0 nats for each year where the linear one gains 0.14. Its means are no better:
what was missing is not who goes often, but how uncertain that is.
"""

import sys
from pathlib import Path

import numpy as np
from statsmodels.datasets import randhie

import kullback
from kullback.plots import COLORS, panels, plot_pit, save

BLOCK = 200
MOST = 15


def read():
    """Return inputs and visits, and which rows are held out: one block in four."""
    table = randhie.load_pandas().data
    visits = table.pop("mdvis").to_numpy()
    return table, visits, np.arange(len(visits)) // BLOCK % 4 == 3


def fits(X, y):
    """Return the four, fitted."""
    nothing = X.iloc[:, :1] * 0  # an input that says nothing
    return {
        "the same for everybody": (kullback.Regressor("poisson").fit(nothing, y), True),
        "linear": (kullback.Regressor("poisson").fit(X, y), False),
        "trees": (kullback.Regressor("poisson", method="trees", random_state=0).fit(X, y), False),
        "mixture of 3, network": (
            kullback.Regressor("poisson", method="network", n_components=3, random_state=0).fit(X, y),
            False,
        ),
    }


def randomized(predicted, y):
    """Return a random number between P(Y < y) and P(Y ≤ y) of each row: uniform if predictions are right."""
    below, upto = predicted.cdf(y - 1), predicted.cdf(y)
    return below + np.random.default_rng(0).random(len(y)) * (upto - below)


def draw():
    """Fit, score, and draw what is predicted of all held-out rows together beside what came."""
    table, visits, test = read()
    X, y = table[test], visits[test]
    figure, axes = panels(rows=2, columns=4, width=3.1, height=2.7)
    counts = np.arange(MOST + 1)
    came = np.array([np.mean(y == count) for count in counts])
    colors = [COLORS[name] for name in ("sky", "green", "orange", "blue")]
    found = fits(table[~test], visits[~test])
    for place, ((name, (regressor, blind)), color) in enumerate(zip(found.items(), colors, strict=True)):
        predicted = regressor.predict_distribution(X.iloc[:, :1] * 0 if blind else X)
        score, error = predicted.log_prob(y).mean(), np.abs(predicted.mean - y).mean()
        print(f"{name:24} {score:7.3f} nats per row, mean absolute error {error:.2f}")
        shares = [np.exp(predicted.log_prob(np.full(len(y), count))).mean() for count in counts]
        upper, lower = axes[0, place], axes[1, place]
        upper.bar(counts, 100 * np.array(shares), color=color, alpha=0.7, linewidth=0, label="predicted")
        upper.plot(counts, 100 * came, "o", color="black", markersize=3.5, label="came")
        upper.set(ylim=(0, 37), xlabel="visits in a year")
        upper.set_title(f"{name}\n{score:.3f} nats per row".replace("-", "−"), fontsize=10, loc="left")
        plot_pit(randomized(predicted, y), lower)
        lower.set(ylabel="", xlabel="probability of fewer")
    highest = max(lower.get_ylim()[1] for lower in axes[1])
    for lower in axes[1]:
        lower.set_ylim(0, highest)
    axes[0, 0].set_ylabel("% of years")
    axes[1, 0].set_ylabel("rows, relative to uniform")
    axes[0, 0].legend(frameon=False, fontsize=9)
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "insurance_counts")
    print(f"The picture is in {png} and {svg}")
