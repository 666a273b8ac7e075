"""kullback impute."""

from kullback.cli._arguments import (
    BatchRows,
    Data,
    Format,
    Header,
    Json,
    MaxBad,
    Model,
    Output,
    Quiet,
    RandomState,
    SkipBad,
)


def impute(
    model: Model,
    data: Data,
    output: Output = None,
    random_state: RandomState = None,
    batch_rows: BatchRows = 4096,
    format: Format = None,
    header: Header = True,
    skip_bad: SkipBad = False,
    max_bad: MaxBad = 1000,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fill the holes of a table with draws from the model.

    Rows that know nothing of each other are filled batch by batch; a series is read as a whole first.
    """
    import numpy as np
    from sklearn.utils import check_random_state

    from kullback.cli._held import Held
    from kullback.cli._learn import is_of_sequences
    from kullback.cli._roles import concatenated
    from kullback.cli._say import said_warnings, say
    from kullback.cli._table import Table

    held = Held.load(model)
    held.need("impute", "impute", "models that draw what is missing")
    estimator = held.estimator
    random = check_random_state(estimator.random_state if random_state is None else random_state)
    source = held.opened(data, header, format=format, batch_rows=batch_rows, skip_bad=skip_bad, max_bad=max_bad)
    filled = 0
    with said_warnings(quiet), Table(output, as_json) as table:
        pieces = held.pieces(source)
        if is_of_sequences(type(estimator)):
            together = list(pieces)
            pieces = iter([concatenated(together)] if together else [])
        for piece in pieces:
            table.write(held.columns(estimator.impute(piece.X, random_state=random, **piece.known)))
            filled += int(np.isnan(piece.X).sum())
    if not quiet:
        left_out = f", {source.bad_rows:,} bad rows left out" if source.bad_rows else ""
        say(f"{filled:,} entries filled{left_out}.")
