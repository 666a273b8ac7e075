"""Arguments that several commands have, and examples under their help."""

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[Path, typer.Argument(help="A model file, as `kullback fit` writes it.", metavar="MODEL")]
Data = Annotated[
    str, typer.Argument(help="A file, a folder, a pattern in quotes, or - for standard input.", metavar="DATA")
]
Save = Annotated[Path, typer.Option(help="The file to write the model to (safetensors).", metavar="FILE")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="The file to write rows to: .csv, .jsonl or .parquet. Default and -: standard output.",
        metavar="FILE",
    ),
]
Keep = Annotated[
    str,
    typer.Option(
        help="The columns of the data to copy to the output: all, none, or names with commas.",
        metavar="all|none|NAME,…",
    ),
]
RowNumbers = Annotated[
    bool,
    typer.Option(
        "--row-numbers/--no-row-numbers", help="Begin with a column `row`: the number of the row in its file, from 1."
    ),
]
Responsibilities = Annotated[
    bool, typer.Option("--responsibilities", help="Add the probability of each component or state as a column.")
]
Format = Annotated[
    str | None,
    typer.Option(
        help="csv, tsv, jsonl, parquet, arrow, npy or npz. Default: by the name of the file.", metavar="FORMAT"
    ),
]
Columns = Annotated[str | None, typer.Option(help="The columns to use, with commas. Default: all.", metavar="NAME,…")]
Header = Annotated[bool, typer.Option(help="Whether the first line of CSV and TSV has the names of the columns.")]
BatchRows = Annotated[int, typer.Option(help="The number of rows of a batch.", min=1, metavar="INTEGER")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave bad rows out and report them, instead of stopping.")]
MaxBad = Annotated[int, typer.Option(help="The largest number of bad rows to leave out.", min=0, metavar="INTEGER")]
RandomState = Annotated[
    int | None, typer.Option(help="The seed of what is drawn. Default: that of the model.", metavar="INTEGER")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.")]

#: The models that some commands are for.
SERIES = "models of series, hidden Markov models and linear dynamical systems"
CLUSTERS = "mixtures and hidden Markov models"
TARGETS = "regressors and classifiers"


def example(*lines: str) -> str:
    r"""Return an epilog that shows commands as they are typed; \b keeps the lines apart."""
    return "\b\nExample:\n" + "\n".join(f"  $ {line}" for line in lines)
