"""kullback score."""

from typing import Annotated

import typer

from kullback.cli._arguments import BatchRows, Data, Format, Header, Json, MaxBad, Model, Output, Quiet, SkipBad


def score(
    model: Model,
    data: Data,
    output: Output = None,
    anomaly: Annotated[
        float, typer.Option(help="A row is flagged if fewer than this share of the model's own rows are as unlikely.")
    ] = 0.01,
    batch_rows: BatchRows = 4096,
    format: Format = None,
    header: Header = True,
    skip_bad: SkipBad = False,
    max_bad: MaxBad = 1000,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say how likely rows are, their components, and the anomalies.

    Rows of a series are scored given the rows before them, and their component is the most probable state so far. The
    limit of anomalies is found from 10,000 rows that are drawn from the model itself: it needs no data.
    """
    from kullback.cli._messages import print_message, print_warnings
    from kullback.cli._row_scores import Floor, row_scorer
    from kullback.cli._saved_model import SavedModel
    from kullback.cli._table import Table
    from kullback.sources import is_stream

    if not 0 <= anomaly < 1:
        raise ValueError(f"--anomaly is {anomaly}: it must be 0 or more, and less than 1.")
    saved = SavedModel.load(model)
    ahead = {"ahead": 0} if is_stream(data) else {}
    source = saved.open(data, header, format=format, batch_rows=batch_rows, skip_bad=skip_bad, max_bad=max_bad, **ahead)
    rows = flagged = 0
    with print_warnings(quiet), Table(output, as_json) as table:
        scorer, floor = row_scorer(saved), Floor(saved, anomaly)
        for chunk in saved.chunks(source):
            X, found = chunk.X, scorer(chunk)
            unlikely = found.log_likelihood < floor.of(X)
            component = {} if found.component is None else {"component": found.component}
            table.write({"log_likelihood": found.log_likelihood, **component, "anomaly": unlikely})
            rows, flagged = rows + len(X), flagged + int(unlikely.sum())
    if not quiet:
        left_out = f", {source.bad_rows:,} bad rows left out" if source.bad_rows else ""
        print_message(f"{rows:,} rows, {flagged:,} anomalies{left_out}.")
