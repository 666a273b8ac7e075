"""Arguments that several commands have, and examples under their help."""

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[Path, typer.Argument(help="A file that `kullback fit` or `save` has written.", metavar="MODEL")]
Data = Annotated[str, typer.Argument(help="A file of rows, or - for standard input.", metavar="DATA")]
Save = Annotated[Path, typer.Option(help="Where the model goes: a safetensors file.", metavar="FILE")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Where rows go: .csv, .parquet or .jsonl. Otherwise to standard output.", metavar="FILE"
    ),
]
Format = Annotated[str | None, typer.Option(help="csv, jsonl, parquet, …; the suffix of the file tells otherwise.")]
Columns = Annotated[str | None, typer.Option(help="The columns to use, with commas between them; all otherwise.")]
Header = Annotated[bool, typer.Option(help="Whether the first line of a CSV file has the names of the columns.")]
BatchRows = Annotated[int, typer.Option(help="How many rows are taken at once.", min=1)]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave bad rows out, and say how many there were.")]
MaxBad = Annotated[int, typer.Option(help="How many bad rows may be left out.", min=0)]
RandomState = Annotated[int | None, typer.Option(help="Decides what is drawn; the model's own random_state otherwise.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, one object on a line.")]

#: The models of which some commands ask.
SERIES = "models of series, hidden Markov models and linear dynamical systems"


def example(*lines: str) -> str:
    r"""Return an epilog that shows commands as they are typed; \b keeps the lines apart."""
    return "\b\nExample:\n" + "\n".join(f"  $ {line}" for line in lines)
