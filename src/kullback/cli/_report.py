"""kullback report."""

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from kullback.cli._arguments import Format, Header, Model


def report(
    model: Model,
    data: Annotated[str | None, typer.Option(help="Data to show with the model.", metavar="FILE")] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The file to write the page to; - is standard output.", metavar="FILE"),
    ] = Path("report.html"),
    before: Annotated[
        list[Path],
        typer.Option(help="A model that this one was combined from; may be given several times.", metavar="MODEL"),
    ] = [],  # noqa: B006, typer copies it
    title: Annotated[str | None, typer.Option(help="The heading. Default: the kind of the model.")] = None,
    format: Format = None,
    header: Header = True,
) -> None:
    """Write an HTML page with pictures of a model."""
    import numpy as np

    from kullback.cli._activity import clear_activity
    from kullback.cli._messages import print_answer, print_warnings
    from kullback.cli._saved_model import SavedModel
    from kullback.report import write_report
    from kullback.storage import check_writable

    to_output = str(output) == "-"
    if output.exists() and not to_output:  # a folder that is not there is made
        check_writable(output)
    saved = SavedModel.load(model)
    chunk = None if data is None else saved.read(data, header=header, format=format)
    if saved.names is not None:
        saved.estimator.feature_names_in_ = np.array(saved.names, dtype=object)
    with print_warnings(quiet=True):  # the table has the names of the model, and an array cannot say so
        shown = {} if chunk is None else {"data": chunk.X, **chunk.extras}
        others = [SavedModel.load(path).estimator for path in before]
        with tempfile.TemporaryDirectory() if to_output else contextlib.nullcontext() as folder:
            goal = output if folder is None else Path(folder) / "report.html"
            page = write_report(saved.estimator, goal, **shown, words=saved.codes, title=title, before=others or None)
            content = page.read_text(encoding="utf-8") if to_output else ""
    if to_output:
        clear_activity()
        sys.stdout.write(content)
    else:
        print_answer(str(page))
