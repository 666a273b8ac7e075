"""Pictures of factor models: loadings, and how much factors explain."""

import numpy as np
from matplotlib.figure import Figure

from kullback.plots import colors_of, panels, plot_matrix
from kullback.report._parts import Picture, Table, picture, table
from kullback.report._subject import Subject
from kullback.report._text import number, percent, short

#: Columns and factors of the picture of loadings.
_COLUMNS, _FACTORS = 40, 12


def loadings(subject: Subject) -> list[Picture]:
    """Return the loadings as colors, and the variance of each column that factors explain."""
    matrix = np.asarray(subject.model.loadings)[:_COLUMNS, :_FACTORS]
    names = [short(name) for name in subject.names[:_COLUMNS]]

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=1.0 + 0.3 * len(names))
        plot_matrix(matrix, names, [str(place) for place in range(matrix.shape[1])], axes)
        axes.set_xlabel("factor")
        return figure

    shown = "" if matrix.shape == np.shape(subject.model.loadings) else f" The first {len(matrix)} columns are shown."
    caption = f"How much each column moves with each factor; blue is up, orange is down.{shown}"
    return [picture("loadings", "Loadings", caption, draw), _explained(subject)]


def _explained(subject: Subject) -> Picture:
    parts = _shares(subject)

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.2)
        axes.bar(range(len(parts)), 100 * parts, color=colors_of(1)[0], alpha=0.7, linewidth=0, width=0.7)
        axes.plot(range(len(parts)), 100 * np.cumsum(parts), "o-", color="black", markersize=4, linewidth=1.2)
        axes.set(ylim=(0, 105), xlabel="factor", ylabel="% of the variance")
        if len(parts) <= 15:
            axes.set_xticks(range(len(parts)))
        return figure

    told = f"Bars: the part of each factor. Line: all up to it, {percent(parts.sum())} in the end. The rest is noise."
    return picture("explained", "Variance explained", told, draw)


def _shares(subject: Subject) -> np.ndarray:
    """Return the part of the total variance of all columns that each factor explains."""
    variance = np.square(np.asarray(subject.model.loadings)).sum(axis=0)
    noise = np.broadcast_to(np.asarray(subject.model.noise), len(subject.names)).sum()
    return variance / (variance.sum() + noise)


def factor_table(subject: Subject) -> Table:
    """Return mean, loadings and noise of each column."""
    matrix = np.asarray(subject.model.loadings)
    noise = np.broadcast_to(np.asarray(subject.model.noise), len(subject.names))
    headers = ["column", "mean", "noise (deviation)", *(f"factor {place}" for place in range(matrix.shape[1]))]
    rows = [
        [name, number(subject.model.mean[place]), number(np.sqrt(noise[place])), *(number(w) for w in matrix[place])]
        for place, name in enumerate(subject.names)
    ]
    return table("factors-table", "Columns", headers, rows)
