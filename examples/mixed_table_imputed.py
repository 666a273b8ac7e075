"""A table of mixed columns with missing entries, completed by a mixture.

The data are answers of 944 voters about the election of 1996 in the United States: numbers (age, income), categories as
text (the party, how they see themselves and the candidates) and true or false (the vote). A sixth
of the entries is left out at random, and a mixture of all columns together is learned from what is left; no column is
treated apart, and nothing is filled in first. Then each missing entry is drawn 100 times given the rest of its row.

What the rest of a row says helps where there is something to say: of the votes 87 % are completed right, where the most
common one would be right of 56 %, and their probabilities hold what they promise. The party is right of 41 % and not of
18 %, and where it is not, it is mostly on the same side. Age is hardly known from the rest, and the model says so: its
intervals are as wide as the column.
"""

import sys
from pathlib import Path

import numpy as np
from statsmodels.datasets import anes96

import kullback
from kullback.plots import COLORS, panels, plot_reliability, save

PARTY = ["strong Democrat", "Democrat", "leans Democrat", "independent", "leans Republican", "Republican"]
VIEWS = ["far left", "left", "leans left", "center", "leans right", "right", "far right"]
COMPONENTS, DRAWS, SHARE = 3, 100, 1 / 6


def read():
    """Return the table, with names for its categories."""
    data = anes96.load_pandas().data
    table = data[["age", "income"]].copy()
    table["party"] = [[*PARTY, "strong Republican"][int(code)] for code in data["PID"]]
    for name, column in (("self", "selfLR"), ("Clinton", "ClinLR"), ("Dole", "DoleLR")):
        table[f"sees {name}"] = [VIEWS[int(code) - 1] for code in data[column]]
    table["votes for Dole"] = data["vote"] == 1
    return table


def draw():
    """Leave out entries, learn, complete, and draw the completed entries beside what they were."""
    whole = read()
    hidden = np.random.default_rng(0).random(whole.shape) < SHARE
    table = whole.astype({"votes for Dole": object}).mask(hidden).astype({"votes for Dole": "boolean"})
    model = kullback.Mixture(COMPONENTS, family="auto", random_state=0, n_init=3, max_iter=500, tol=1e-4).fit(table)
    mean, mode = (model.impute(table, method=method) for method in ("mean", "mode"))
    draws = np.stack([model.to_array(drawn) for drawn in model.impute(table, n=DRAWS)])
    print(f"{'column':16} {'missing':>7}  {'completed':>9}  {'without the rest of the row':>9}")
    for place, name in enumerate(whole.columns):
        rows = np.flatnonzero(hidden[:, place])
        truth, seen = whole[name].iloc[rows], table[name].dropna()
        if truth.dtype.kind == "f":
            scores = [f"± {np.sqrt(np.mean((truth - each) ** 2)):.2f}" for each in (mean[name].iloc[rows], seen.mean())]
        else:
            scores = [f"{100 * np.mean(truth == each):.0f} %" for each in (mode[name].iloc[rows], seen.mode()[0])]
        print(f"{name:16} {len(rows):7}  {scores[0]:>9}  {scores[1]:>9}")

    figure, axes = panels(columns=3, width=3.9, height=3.6)
    _draw_numbers(axes[0], whole, hidden, draws, "age")
    place = whole.columns.get_loc("votes for Dole")
    rows = hidden[:, place]
    plot_reliability(draws[:, rows, place].mean(axis=0), whole["votes for Dole"][rows], axes[1])
    axes[1].set(xlabel="probability of a vote for Dole, completed (%)", ylabel="who voted for Dole (%)")
    axes[1].set_title("missing votes", fontsize=11, loc="left")
    _draw_categories(axes[2], whole, hidden, draws, model.categories_["party"])
    return figure


def _draw_numbers(axes, whole, hidden, draws, name):
    """Draw intervals of missing numbers beside what they were."""
    place = whole.columns.get_loc(name)
    rows = np.flatnonzero(hidden[:, place])
    low, middle, high = np.quantile(draws[:, rows, place], (0.05, 0.5, 0.95), axis=0)
    truth = whole[name].to_numpy()[rows]
    order = np.argsort(truth)
    x = np.arange(len(rows))
    held = np.mean((truth >= low) & (truth <= high))
    axes.vlines(x, low[order], high[order], color=COLORS["blue"], alpha=0.3, linewidth=1.5)
    axes.plot(x, middle[order], "o", color=COLORS["blue"], markersize=2.2, label="completed, with 90 % intervals")
    axes.plot(x, truth[order], "o", color="black", markersize=2.2, label="what it was")
    axes.set(xlabel="rows that lack it, by what it was", ylabel=f"{name} (years)", ylim=(None, 125))
    axes.set_title(f"missing {name}: {100 * held:.0f} % are inside", fontsize=11, loc="left")
    axes.legend(frameon=False, fontsize=9, loc="upper left")


def _draw_categories(axes, whole, hidden, draws, words):
    """Draw the mean probabilities of each missing party, by the party that it was."""
    place, names = whole.columns.get_loc("party"), [*PARTY, "strong Republican"]
    rows = np.flatnonzero(hidden[:, place])
    truth = whole["party"].to_numpy()[rows]
    codes = [words.index(name) for name in names]
    table = np.array([[np.mean(draws[:, rows[truth == name], place] == code) for code in codes] for name in names])
    axes.imshow(table, cmap="Blues", vmin=0, vmax=0.7)
    for (row, column), share in np.ndenumerate(table):
        color = "white" if share > 0.4 else "black"
        axes.text(column, row, f"{100 * share:.0f}", ha="center", va="center", fontsize=8, color=color)
    axes.set_xticks([])
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_xlabel("completed, in the same order: probability (%)")
    axes.set_title("missing party, by what it was", fontsize=11, loc="left")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "mixed_table_imputed")
    print(f"The picture is in {png} and {svg}")
