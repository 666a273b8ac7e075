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
    from kullback.cli._held import Held
    from kullback.cli._learn import is_of_sequences
    from kullback.cli._row_scores import Floor, OfSeries, OfTable
    from kullback.cli._say import said_warnings, say
    from kullback.cli._table import Table
    from kullback.sources import is_stream

    if not 0 <= anomaly < 1:
        raise ValueError(f"--anomaly is {anomaly}: it must be 0 or more, and less than 1.")
    held = Held.load(model)
    kind = OfSeries if is_of_sequences(type(held.estimator)) else OfTable
    ahead = {"ahead": 0} if is_stream(data) else {}
    source = held.opened(
        data, header, format=format, batch_rows=batch_rows, skip_bad=skip_bad, max_bad=max_bad, **ahead
    )
    rows = flagged = 0
    with said_warnings(quiet), Table(output, as_json) as table:
        scores, floor = kind(held.estimator), Floor(held.estimator, kind, anomaly)
        for piece in held.pieces(source):
            X, found = piece.X, scores(piece)
            unlikely = found.log_likelihood < floor.of(X)
            component = {} if found.component is None else {"component": found.component}
            table.write({"log_likelihood": found.log_likelihood, **component, "anomaly": unlikely})
            rows, flagged = rows + len(X), flagged + int(unlikely.sum())
    if not quiet:
        left_out = f", {source.bad_rows:,} bad rows left out" if source.bad_rows else ""
        say(f"{rows:,} rows, {flagged:,} anomalies{left_out}.")
