"""Write the page."""

import datetime
import importlib.resources
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from kullback.estimators import Assessment
from kullback.report._combination import check_before
from kullback.report._context import ReportContext
from kullback.report._facts import facts
from kullback.report._facts import origin as list_origin
from kullback.report._sections import sections
from kullback.report._text import clean
from kullback.storage import atomic_write


def write_report(
    estimator: Any,
    path: str | os.PathLike[str],
    data: Any = None,
    y: Any = None,
    *,
    lengths: Any = None,
    inputs: Any = None,
    future_inputs: Any = None,
    words: Mapping[str, Sequence[str]] | None = None,
    target_names: Sequence[str] | None = None,
    image_shape: tuple[int, int] | None = None,
    title: str | None = None,
    origin: Mapping[str, Any] | None = None,
    date: datetime.datetime | None = None,
    before: Mapping[str, Any] | Sequence[Any] | None = None,
    assessment: Assessment | None = None,
) -> Path:
    """Write one page about what a fitted estimator has learned, and return its path.

    The page is HTML that needs nothing else: no network, no script. Pictures are SVG in the colors of the reader's
    screen, light or dark.

    Parameters
    ----------
    estimator : estimator
        Any fitted estimator of `kullback`.
    path : str or path
        Where the page is written; a folder in it is made when it is missing.
    data : table or None
        Rows to show the model with: points on the ellipses, histograms, states in time, a forecast, the least likely
        rows. An array or a frame with the columns of the fit.
    y : array-like or None
        For models of targets given inputs, those of each row of the data: with them the page shows calibration,
        residuals and the rows that were expected least. NaN are missing.
    lengths : array-like of int or None
        For models with time, the number of rows of each sequence of the data; None is one sequence.
    inputs : array-like of shape (n_rows, n_inputs) or None
        For systems with inputs, those of each row of the data.
    future_inputs : array-like of shape (n_steps, n_inputs) or None
        The inputs after the last row. A system with inputs has a forecast with them only, as far as they reach.
    words : dict of lists of str, by column, or None
        What the categories 0, 1, … of columns stand for; None takes them from the estimator (`categories_`).
    target_names : list of str or None
        What the targets of a regressor or classifier are called; None takes the names of `y`.
    image_shape : tuple of two ints or None
        For networks, the height and width of the images that rows are; None draws rows as square images where the
        number of columns is a square, from 16 on.
    title : str or None
        The heading of the page; None is the kind of the model.
    origin : dict of str or None
        Where the model and the data come from, such as ``{"Data": "readings.csv"}``: shown below the heading.
    date : datetime or None
        When the page is written, which stands below the heading too; None is now.
    before : dict or list of estimators, or None
        The fitted estimators that `estimator` combines, by their names or in order. They are shown beside it.
    assessment : Assessment or None
        What `kullback.estimators.assess_estimator` has found: it is shown in a section "How sure".

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from kullback import GaussianMixture
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(GaussianMixture(2, random_state=0).fit(X), f"{folder}/report.html", X)
    ...     page.read_text(encoding="utf-8").count("<svg")
    5

    """
    context = ReportContext(estimator, data, lengths, inputs, words, y, target_names, image_shape)
    future = context.check_inputs("future_inputs", future_inputs)
    named = before if isinstance(before, Mapping) else {f"model {k}": one for k, one in enumerate(before or ())}
    others = {
        clean(name): ReportContext(one, data, lengths, inputs, words, y, target_names, image_shape)
        for name, one in named.items()
    }
    check_before(context, others)
    heading = clean(title) if title is not None else context.kind
    page = _template().render(
        title=heading,
        origin=list_origin(origin or {}, date),
        facts=facts(context, heading),
        sections=sections(context, others, future, assessment),
        style=Markup(_resource("page.css")),
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, page.encode())
    return path


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_resource("page.html"))


def _resource(name: str) -> str:
    return importlib.resources.files("kullback.report").joinpath(name).read_text(encoding="utf-8")
