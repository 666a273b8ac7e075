"""Pictures of factor models: loadings, and how much factors explain."""

import numpy as np
from matplotlib.figure import Figure

from kullback.plots import colors_of, panels, plot_matrix
from kullback.report._context import ReportContext
from kullback.report._parts import Picture, Table, picture, table
from kullback.report._text import number, percent, short

#: Columns and factors of the picture of loadings.
_COLUMNS, _FACTORS = 40, 12


def loadings(context: ReportContext) -> list[Picture]:
    """Return the loadings as colors, and the variance of each column that factors explain."""
    matrix = np.asarray(context.model.loadings)[:_COLUMNS, :_FACTORS]
    names = [short(name) for name in context.names[:_COLUMNS]]

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=1.0 + 0.3 * len(names))
        plot_matrix(matrix, names, [str(place) for place in range(matrix.shape[1])], axes)
        axes.set_xlabel("factor")
        return figure

    columns, factors = np.shape(context.model.loadings)
    caption = "How each column responds to each factor: blue is positive, orange negative."
    if (columns, factors) != matrix.shape:
        caption += f" The first {len(matrix)} of {columns:,} columns and {matrix.shape[1]} of {factors:,} factors."
    return [picture("loadings", "Loadings", caption, draw), _explained_variance(context)]


def _explained_variance(context: ReportContext) -> Picture:
    parts = _shares(context)

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.2)
        axes.bar(range(len(parts)), 100 * parts, color=colors_of(1)[0], alpha=0.7, linewidth=0, width=0.7)
        axes.plot(range(len(parts)), 100 * np.cumsum(parts), "o-", color="black", markersize=4, linewidth=1.2)
        axes.set(ylim=(0, 105), xlabel="factor", ylabel="% of the variance")
        if len(parts) <= 15:
            axes.set_xticks(range(len(parts)))
        return figure

    caption = f"Bars: each factor. Line: the running total, {percent(parts.sum())} in all. The rest is noise."
    return picture("explained", "Explained variance", caption, draw)


def _shares(context: ReportContext) -> np.ndarray:
    """Return the part of the total variance of all columns that each factor explains."""
    variance = np.square(np.asarray(context.model.loadings)).sum(axis=0)
    noise = np.broadcast_to(np.asarray(context.model.noise), len(context.names)).sum()
    return variance / (variance.sum() + noise)


def factor_table(context: ReportContext) -> Table:
    """Return mean, loadings and noise of each column."""
    matrix = np.asarray(context.model.loadings)
    noise = np.broadcast_to(np.asarray(context.model.noise), len(context.names))
    headers = ["column", "mean", "noise (std. dev.)", *(f"factor {place}" for place in range(matrix.shape[1]))]
    rows = [
        [name, number(context.model.mean[place]), number(np.sqrt(noise[place])), *(number(w) for w in matrix[place])]
        for place, name in enumerate(context.names)
    ]
    return table("factors-table", "Means, noise and loadings", headers, rows)
