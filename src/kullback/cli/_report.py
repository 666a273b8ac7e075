"""kullback report."""

import importlib
from pathlib import Path
from typing import Annotated

import typer

from kullback.cli._arguments import Format, Header, Model


def report(
    model: Model,
    data: Annotated[str | None, typer.Option(help="Rows to hold the model against.", metavar="FILE")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the page goes.", metavar="FILE")] = Path(
        "report.html"
    ),
    format: Format = None,
    header: Header = True,
) -> None:
    """Put what a model says, and how well it fits data, on one page."""
    from kullback.cli._held import Held

    held = Held.load(model)
    try:
        room = importlib.import_module("kullback.report")
    except ModuleNotFoundError:
        raise ValueError("report is not part of this version of kullback.") from None
    X = None if data is None else held.all_rows(data, header=header, format=format)
    room.write_report(held.estimator, X, output)
    print(output)
