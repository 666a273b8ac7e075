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

    from kullback.cli._held import Held
    from kullback.cli._say import answer, said_warnings
    from kullback.report import write_report
    from kullback.storage import check_writable

    if output.exists():  # a folder that is not there is made
        check_writable(output)
    held = Held.load(model)
    piece = None if data is None else held.all_rows(data, header=header, format=format)
    if held.names is not None:
        held.estimator.feature_names_in_ = np.array(held.names, dtype=object)
    with said_warnings(quiet=True):  # the table has the names of the model, and an array cannot say so
        shown = {} if piece is None else {"data": piece.X, **piece.known}
        others = [Held.load(path).estimator for path in before]
        page = write_report(held.estimator, output, **shown, title=title, before=others or None)
    answer(str(page))
