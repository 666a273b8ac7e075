"""Pictures of autoencoders: where rows lie, what comes back of them, and whether imputed entries are calibrated."""

from typing import Any, NamedTuple

import jax
import numpy as np
from matplotlib.figure import Figure

from kullback.core import Batch
from kullback.plots import panels, plot_coverage, plot_effective_size, plot_latents
from kullback.report._context import ReportContext
from kullback.report._images import choose_rows, rows_picture, sample_pictures
from kullback.report._parts import Picture, Section
from kullback.report._parts import picture as make_picture
from kullback.report._samples import sample_note, samples
from kullback.report._text import number, percent
from kullback.runtime import computing, jit

#: Draws of what is hidden for each row, and rows that are looked at.
_DRAWS, _ROWS = 100, 500
#: Rows whose entries are hidden to be imputed, the share of these entries, and draws of each.
_HELD, _SHARE, _IMPUTED = 200, 0.2, 49
#: Images that are shown of what comes back, and in a line of the picture.
_IMAGES, _LINE = 20, 8


class Hidden(NamedTuple):
    """What rows say of z: its mode for each, and how many of the draws around it count."""

    latents: np.ndarray
    sizes: np.ndarray


def autoencoder_sections(context: ReportContext) -> list[Section]:
    """Return samples beside data, hidden numbers, and how imputed entries are spread."""
    found = _ask(context)
    note = (
        "Log-likelihoods are estimated by draws around the most probable hidden numbers of a row, weighted by how well "
        "they explain it. Such an estimate is, on average, at most the true one; the more draws count, the nearer it "
        "is."
    )
    if context.image_shape is None:
        shown = Section("samples", "Samples", sample_note(context), [], samples(context))
    else:
        shown = Section("samples-section", "Samples", "", [], [*sample_pictures(context), *_returned(context)])
    hidden = [_latents(context, found), _effective_size(context, found)]
    return [
        shown,
        Section("hidden", "Hidden numbers", note, [], hidden),
        Section("imputation", "Imputed entries", "", [], _calibration(context)),
    ]


def _ask(context: ReportContext) -> Hidden:
    rows = context.draws[:_ROWS] if context.X is None else context.X[choose_rows(context, _ROWS)]
    observed = ~np.isnan(rows)
    dtype = context.estimator.dtype
    with computing(64 if dtype == "float64" else 32):
        batch = Batch(np.where(observed, rows, 0).astype(dtype), observed=observed)
        found = _answer(context.model, batch)
    return Hidden(*(np.asarray(each, dtype=float) for each in found))


@jit
def _answer(model: Any, batch: Batch) -> tuple[Any, Any]:
    drawn = model.draw_posterior(jax.random.key(0), batch, _DRAWS)
    return model.posterior(batch).mean, drawn.effective_size()


def _rows_of(context: ReportContext) -> str:
    return "rows that the model draws" if context.X is None else "rows of the data"


def _latents(context: ReportContext, found: Hidden) -> Picture:
    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=4.0)
        plot_latents(found.latents, axes)
        return figure

    used = np.flatnonzero(found.latents.var(axis=0) > 0.05)
    caption = (
        f"The most probable hidden numbers of {len(found.latents):,} {_rows_of(context)}"
        + (", of those two that vary most" if found.latents.shape[1] > 2 else "")
        + f". {len(used)} of {found.latents.shape[1]} vary from row to row; dashed: the prior, N(0, I)."
    )
    return make_picture("latents", "Where rows lie", caption, draw)


def _effective_size(context: ReportContext, found: Hidden) -> Picture:
    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.2)
        plot_effective_size(found.sizes, _DRAWS, axes)
        return figure

    caption = (
        f"How many of {_DRAWS} draws of hidden numbers count, for {len(found.sizes):,} {_rows_of(context)}: "
        f"{number(np.median(found.sizes), 3)} in the median, fewer than 2 for "
        f"{percent(np.mean(found.sizes < 2))} of them."
    )
    return make_picture("effective-size", "Effective sample size", caption, draw)


def _returned(context: ReportContext) -> list[Picture]:
    """Return rows as they come back from their hidden numbers."""
    if context.X is None or len(context.X) < _LINE:
        return []
    rows = context.X[choose_rows(context, _IMAGES)]
    back = np.asarray(context.estimator.inverse_transform(context.estimator.transform(rows)))
    shown = np.concatenate([half for pair in zip(_lines(rows), _lines(back), strict=True) for half in pair])
    told = "Lines of rows of the data, each above what is expected of them given their hidden numbers."
    return [rows_picture(context, "reconstructions", "What comes back", told, shown)]


def _lines(rows: np.ndarray) -> list[np.ndarray]:
    """Return rows in groups that fill a line of a picture with many images."""
    return [rows[first : first + _LINE] for first in range(0, len(rows) - len(rows) % _LINE, _LINE)]


def _calibration(context: ReportContext) -> list[Picture]:
    """Return how many entries that were hidden lie in intervals of their imputations."""
    levels = imputed_levels(context)
    if levels is None:
        return []

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.4)
        plot_coverage(levels, axes)
        return figure

    caption = (
        f"{len(levels):,} entries of the data were hidden and drawn {_IMPUTED} times given the rest of their rows: how "
        "many of them lie in the central interval of their draws, for each level. Categories are left out."
    )
    return [make_picture("imputed-coverage", "Coverage of imputed entries", caption, draw)]


def imputed_levels(context: ReportContext) -> np.ndarray | None:
    """Return the place of hidden entries among their draws, in [0, 1]: uniform where imputations are right."""
    if context.X is None:
        return None
    rng = np.random.default_rng(0)
    rows = context.X[choose_rows(context, _HELD)]
    numbers = np.asarray(getattr(context.estimator, "n_categories_", np.zeros(rows.shape[1]))) == 0
    hidden = (rng.random(rows.shape) < _SHARE) & ~np.isnan(rows) & numbers
    if not hidden.any() or rows.shape[1] < 2:
        return None
    drawn = np.asarray(
        context.estimator.impute(np.where(hidden, np.nan, rows), n=_IMPUTED, random_state=0), dtype=float
    )[:, hidden]
    truth = rows[hidden]
    below, same = (drawn < truth).sum(axis=0), (drawn == truth).sum(axis=0)
    return (below + rng.random(len(truth)) * (same + 1)) / (_IMPUTED + 1)
