"""kullback predict."""

from typing import Annotated, Any

import typer

from kullback.cli import _arguments as given


def predict(
    model: given.Model,
    data: given.Data,
    output: given.Output = None,
    keep: given.Keep = "all",
    row_numbers: given.RowNumbers = True,
    level: Annotated[
        float | None,
        typer.Option(help="The probability that an interval holds (regressors). Default: 0.9.", metavar="NUMBER"),
    ] = None,
    quantiles: Annotated[
        str | None,
        typer.Option(help="Add these quantiles, with commas, such as 0.1,0.5,0.9 (regressors).", metavar="NUMBER,…"),
    ] = None,
    batch_rows: given.BatchRows = 4096,
    format: given.Format = None,
    header: given.Header = True,
    skip_bad: given.SkipBad = False,
    max_bad: given.MaxBad = 1000,
    quiet: given.Quiet = False,
    as_json: given.Json = False,
) -> None:
    """Predict the target of each row, given the other columns.

    Regressors give the mean and the ends of an interval, `mean`, `lower` and `upper`, of each target; a target of
    categories has its `mode` alone. Classifiers give the most probable `class`, and the probability of each. The target
    itself need not be in the data.
    """
    from kullback.cli._kept_columns import KeptColumns
    from kullback.cli._messages import count, print_message, print_warnings
    from kullback.cli._predictions import predictor
    from kullback.cli._saved_model import SavedModel
    from kullback.cli._table import Table
    from kullback.sources import is_stream

    saved = SavedModel.load(model)
    saved.require(saved.has_targets, "predict", given.TARGETS)
    answer = predictor(saved, level, quantiles)
    ahead = {"ahead": 0} if is_stream(data) else {}
    options: dict[str, Any] = {"format": format, "batch_rows": batch_rows, "skip_bad": skip_bad, "max_bad": max_bad}
    rows = 0
    keeper = KeptColumns(saved, data, keep, header, row_numbers)
    source = saved.of_inputs.open(data, header, keep=keeper.keep, **options, **ahead)
    asked = saved.for_source(source)
    keeper = KeptColumns(asked, data, keep, header, row_numbers)
    with print_warnings(quiet), Table(output, as_json) as table:
        for chunk in asked.chunks(source):
            with keeper.naming(source, source.kept, chunk):
                answers = answer(chunk.X)
            table.write(keeper.beside(source, chunk, answers))
            rows += len(chunk.X)
    if not quiet:
        left_out = f", {count(source.bad_rows, 'bad row')} left out" if source.bad_rows else ""
        print_message(f"{count(rows, 'row')}{left_out}.")
