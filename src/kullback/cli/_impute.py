"""kullback impute."""

import enum
from typing import Annotated

import typer

from kullback.cli import _arguments as given


class ImputeMethod(enum.StrEnum):
    """What is filled in."""

    draw = "draw"
    mean = "mean"
    mode = "mode"


def impute(
    model: given.Model,
    data: given.Data,
    output: given.Output = None,
    keep: given.Keep = "all",
    row_numbers: given.RowNumbers = True,
    method: Annotated[
        ImputeMethod,
        typer.Option(help="draw: random, as the data varies. mean: the expected value. mode: the most likely value."),
    ] = ImputeMethod.draw,
    random_state: given.RandomState = None,
    batch_rows: given.BatchRows = 4096,
    format: given.Format = None,
    header: given.Header = True,
    skip_bad: given.SkipBad = False,
    max_bad: given.MaxBad = 1000,
    quiet: given.Quiet = False,
    as_json: given.Json = False,
) -> None:
    """Fill in the missing values of a table, given the rest of it.

    The columns of the model are filled in place; entries that are there stay as they are in the file. Tables are filled
    batch by batch; a series is read as a whole first.
    """
    import numpy as np
    from sklearn.utils import check_random_state

    from kullback.cli._kept_columns import KeptColumns, read_all
    from kullback.cli._messages import count, print_message, print_warnings
    from kullback.cli._saved_model import SavedModel
    from kullback.cli._table import Table

    saved = SavedModel.load(model)
    saved.require(saved.capabilities.imputes, "impute", "models that draw what is missing")
    estimator = saved.estimator
    random = check_random_state(estimator.random_state if random_state is None else random_state)
    keeper = KeptColumns(saved, data, keep, header, row_numbers)
    options = {"format": format, "batch_rows": batch_rows, "skip_bad": skip_bad, "max_bad": max_bad}
    source = saved.open(data, header, keep=keeper.keep_with_values, **options)
    filled = 0
    with print_warnings(quiet), Table(output, as_json) as table:
        batches = (
            iter([read_all(saved, source, data)])
            if saved.has_time
            else ((chunk, source.kept) for chunk in saved.chunks(source))
        )
        for chunk, kept in batches:
            with keeper.naming(source, kept, chunk):
                X = estimator.impute(chunk.X, method=method.value, random_state=random, **chunk.extras)
            table.write(keeper.filled(kept, source, chunk, X, whole=method is not ImputeMethod.mean))
            filled += int(np.isnan(chunk.X).sum())
    if not quiet:
        left_out = f", {count(source.bad_rows, 'bad row')} left out" if source.bad_rows else ""
        print_message(f"{count(filled, 'missing value')} filled{left_out}.")
