"""kullback decode."""

from typing import Any

from kullback.cli import _arguments as given


def decode(
    model: given.Model,
    data: given.Data,
    output: given.Output = None,
    keep: given.Keep = "all",
    row_numbers: given.RowNumbers = True,
    responsibilities: given.Responsibilities = False,
    format: given.Format = None,
    header: given.Header = True,
    as_json: given.Json = False,
) -> None:
    """Find the hidden states that a series went through.

    Hidden Markov models give the most probable path of states; linear systems the mean of each hidden state and its
    standard deviation. Both are given the whole series.
    """
    import numpy as np

    from kullback.cli._kept_columns import KeptColumns, read_all
    from kullback.cli._row_scores import name_responsibilities
    from kullback.cli._saved_model import SavedModel
    from kullback.cli._table import Table

    table = Table(output, as_json)
    saved = SavedModel.load(model)
    able = saved.capabilities
    saved.require(able.decodes or able.smooths, "decode", given.SERIES)
    if responsibilities:
        saved.require(able.decodes, "--responsibilities", given.CLUSTERS)
    keeper = KeptColumns(saved, data, keep, header, row_numbers)
    source = saved.open(data, header, format=format, keep=keeper.keep)
    chunk, kept = read_all(saved, source, data)
    with keeper.naming(source, kept, chunk):
        if able.smooths:
            mean, covariance = saved.estimator.smooth(chunk.X, **chunk.extras)
            spread = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
            columns: dict[str, Any] = {f"state_{h}": mean[:, h] for h in range(mean.shape[1])}
            columns |= {f"state_{h}_sd": spread[:, h] for h in range(mean.shape[1])}
        else:
            columns = {"state": saved.estimator.decode(chunk.X, **chunk.extras)[1]}
        if responsibilities:
            columns |= name_responsibilities(saved.estimator.predict_proba(chunk.X, **chunk.extras))
    with table:
        table.write(keeper.arrange(kept, source, chunk, columns))
