"""kullback report."""

from pathlib import Path
from typing import Annotated

import typer

from kullback.cli._arguments import Format, Header, Model


def report(
    model: Model,
    data: Annotated[str | None, typer.Option(help="Rows to show the model with.", metavar="FILE")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the page goes.", metavar="FILE")] = Path(
        "report.html"
    ),
    before: Annotated[
        list[Path],
        typer.Option(help="A model that this one combines, to be shown beside it.", metavar="MODEL"),
    ] = [],  # noqa: B006, typer copies it
    title: Annotated[str | None, typer.Option(help="The heading; the kind of the model otherwise.")] = None,
    format: Format = None,
    header: Header = True,
) -> None:
    """Write one page that tells what a model has learned."""
    import numpy as np

    from kullback.cli._messages import print_answer, print_warnings
    from kullback.cli._saved_model import SavedModel
    from kullback.report import write_report
    from kullback.storage import check_writable

    if output.exists():  # a folder that is not there is made
        check_writable(output)
    saved = SavedModel.load(model)
    chunk = None if data is None else saved.read(data, header=header, format=format)
    if saved.names is not None:
        saved.estimator.feature_names_in_ = np.array(saved.names, dtype=object)
    with print_warnings(quiet=True):  # the table has the names of the model, and an array cannot say so
        shown = {} if chunk is None else {"data": chunk.X, **chunk.extras}
        others = [SavedModel.load(path).estimator for path in before]
        page = write_report(saved.estimator, output, **shown, words=saved.codes, title=title, before=others or None)
    print_answer(str(page))
