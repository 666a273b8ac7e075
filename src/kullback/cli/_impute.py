"""kullback impute."""

from kullback.cli import _arguments as given


def impute(
    model: given.Model,
    data: given.Data,
    output: given.Output = None,
    random_state: given.RandomState = None,
    batch_rows: given.BatchRows = 4096,
    format: given.Format = None,
    header: given.Header = True,
    skip_bad: given.SkipBad = False,
    max_bad: given.MaxBad = 1000,
    quiet: given.Quiet = False,
    as_json: given.Json = False,
) -> None:
    """Fill the holes of a table with draws from the model.

    Rows that know nothing of each other are filled batch by batch; a series is read as a whole first.
    """
    import numpy as np
    from sklearn.utils import check_random_state

    from kullback.cli._column_roles import concatenate
    from kullback.cli._messages import print_message, print_warnings
    from kullback.cli._saved_model import SavedModel
    from kullback.cli._table import Table

    saved = SavedModel.load(model)
    saved.require(saved.capabilities.imputes, "impute", "models that draw what is missing")
    estimator = saved.estimator
    random = check_random_state(estimator.random_state if random_state is None else random_state)
    source = saved.open(data, header, format=format, batch_rows=batch_rows, skip_bad=skip_bad, max_bad=max_bad)
    filled = 0
    with print_warnings(quiet), Table(output, as_json) as table:
        chunks = saved.chunks(source)
        if saved.has_time:
            together = list(chunks)
            chunks = iter([concatenate(together)] if together else [])
        for chunk in chunks:
            table.write(saved.columns(estimator.impute(chunk.X, random_state=random, **chunk.extras)))
            filled += int(np.isnan(chunk.X).sum())
    if not quiet:
        left_out = f", {source.bad_rows:,} bad rows left out" if source.bad_rows else ""
        print_message(f"{filled:,} entries filled{left_out}.")
