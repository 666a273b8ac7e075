"""Pictures of Helmholtz machines: what hidden units draw, how often they are on, and how well they are guessed."""

import functools
import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from kullback.core import Batch
from kullback.plots import panels, plot_effective_size, plot_usage
from kullback.report._context import ReportContext
from kullback.report._images import choose_rows, draw_images, rows_as_seen, sample_pictures
from kullback.report._parts import Picture, Section, Table, picture, table
from kullback.report._text import number, percent
from kullback.runtime import computing, jit

#: Draws of what is hidden for each row, and rows that are looked at.
_DRAWS, _ROWS = 100, 500
#: Filters that are shown.
_FILTERS = 48
#: A unit that is on in fewer rows is never on, and one that is off in fewer is always on.
_RARE = 0.01
#: Rows that are worked on at once.
_AT_ONCE = 8


class Recognized(NamedTuple):
    """What rows say of the hidden units: how often each is on, layer by layer, and what the draws are worth."""

    rows: np.ndarray
    dreams: np.ndarray
    sizes: np.ndarray


def helmholtz_sections(context: ReportContext) -> list[Section]:
    """Return samples beside data, and what is hidden."""
    found = _recognize(context)
    note = (
        "Log-likelihoods are estimated by draws of what is hidden, weighted by how well they explain the row. Such an "
        "estimate is, on average, at most the true one; the more of the draws count, the nearer it is."
    )
    pictures = [_filters(context, found), _usage(context, found), _effective_size(context, found)]
    return [
        Section("samples-section", "Samples", "", [], sample_pictures(context)),
        Section("hidden", "Hidden units", note, [_layer_table(context, found)], pictures),
    ]


def _recognize(context: ReportContext) -> Recognized:
    """Ask the machine for what is hidden: of rows of the data, or of rows that it draws where there are none."""
    model: Any = context.model
    rows = context.draws[:_ROWS] if context.X is None else rows_as_seen(context, choose_rows(context, _ROWS))
    observed = ~np.isnan(rows)
    with computing(64 if model.top.dtype == np.float64 else 32):
        values = np.where(observed, rows, 0).astype(model.top.dtype)
        hidden, sizes = _draw_hidden(model, Batch(values, observed=observed))
        dreams = np.concatenate([np.asarray(layer).mean(axis=0) for layer in model.dream(0, (4 * _ROWS,))[1:]])
    return Recognized(np.asarray(hidden).mean(axis=0), dreams, np.asarray(sizes))


@jit
def _draw_hidden(model: Any, batch: Batch) -> tuple[Any, Any]:
    """Return the mean of hidden units and the effective number of draws, of each row."""

    def one(row: tuple[Any, Any, Any]) -> tuple[Any, Any]:
        v, observed, place = row
        alone = Batch(v[None], observed=observed[None])
        found = model.posterior(alone, jax.random.fold_in(jax.random.key(0), place), _DRAWS)
        return jnp.einsum("k,kj->j", found.weights[0], found.hidden[0]), found.effective_size()[0]

    rows = batch.values, batch.observed, jnp.arange(len(batch.values))
    return jax.lax.map(one, rows, batch_size=_AT_ONCE)


def _filters(context: ReportContext, found: Recognized) -> Picture:
    """Return the weights of units of the lowest hidden layer, those that move the data most first."""
    weights = np.asarray(context.model.generation[0], dtype=float)[:-1]
    share = found.rows[: len(weights)]
    moves = share * (1 - share) * np.square(weights).sum(axis=1)
    order = np.argsort(-moves, kind="stable")[:_FILTERS]

    which = f"{len(order)} of {len(weights):,} units" if len(order) < len(weights) else f"all {len(weights)} units"
    caption = (
        f"What {which} of the lowest hidden layer add to the log odds of each column when they are on: blue is more, "
        "orange less. Those that make the largest difference come first."
    )
    shown = weights[order]
    return picture("filters", "Filters", caption, lambda width: draw_images(shown, context.image_shape, width, True))


def _usage(context: ReportContext, found: Recognized) -> Picture:
    split = functools.partial(np.split, indices_or_sections=np.cumsum(context.model.sizes[1:-1]))
    names = [f"hidden layer {place + 1}" for place in range(len(context.model.sizes) - 1)]

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.2)
        plot_usage(split(found.rows), names, axes, None if context.X is None else split(found.dreams))
        axes.legend(frameon=False, fontsize=9, loc="upper left")
        return figure

    caption = "How often each unit is on, given rows of the data; dashed: in rows that the model draws."
    return picture(
        "usage",
        "Usage of hidden units",
        caption if context.X is not None else "How often each unit is on in rows that the model draws.",
        draw,
    )


def _effective_size(context: ReportContext, found: Recognized) -> Picture:
    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.2)
        plot_effective_size(found.sizes, _DRAWS, axes)
        return figure

    rows = "rows that the model draws" if context.X is None else "rows of the data"
    caption = (
        f"How many of {_DRAWS} draws of what is hidden count, for {len(found.sizes):,} {rows}: "
        f"{number(np.median(found.sizes), 3)} in the median, fewer than 2 for "
        f"{percent(np.mean(found.sizes < 2))} of them."
    )
    return picture("effective-size", "Effective sample size", caption, draw)


def _layer_table(context: ReportContext, found: Recognized) -> Table:
    ends = np.cumsum([0, *context.model.sizes[1:]])
    rows = []
    for place, (first, last) in enumerate(itertools.pairwise(ends)):
        used, dreamt = found.rows[first:last], found.dreams[first:last]
        counts = [int(np.sum(used < _RARE)), int(np.sum(used > 1 - _RARE))]
        rows.append([str(place + 1), f"{last - first:,}", percent(used.mean()), percent(dreamt.mean()), *counts])
    given = "rows of the data" if context.X is not None else "rows of the model, recognized"
    headers = ["hidden layer", "units", f"on, given {given}", "on, in dreams", "never on", "always on"]
    note = f"The lowest comes first. Never on: in fewer than {percent(_RARE)} of the rows; always on: in all but those."
    return table("layers", "Layers", headers, rows, note)
