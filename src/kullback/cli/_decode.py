"""kullback decode."""

from typing import Any

from kullback.cli._arguments import SERIES, Data, Format, Header, Json, Model, Output


def decode(
    model: Model,
    data: Data,
    output: Output = None,
    format: Format = None,
    header: Header = True,
    as_json: Json = False,
) -> None:
    """Say which hidden states a series went through.

    Hidden Markov models give the path of states; linear systems the mean of each hidden state and its standard
    deviation, given the whole series.
    """
    import numpy as np

    from kullback.cli._saved_model import SavedModel
    from kullback.cli._table import Table

    table = Table(output, as_json)
    saved = SavedModel.load(model)
    able = saved.capabilities
    saved.require(able.decodes or able.smooths, "decode", SERIES)
    chunk = saved.read(data, header=header, format=format)
    if able.smooths:
        mean, covariance = saved.estimator.smooth(chunk.X, **chunk.extras)
        spread = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        columns: dict[str, Any] = {f"state_{h}": mean[:, h] for h in range(mean.shape[1])}
        columns |= {f"state_{h}_sd": spread[:, h] for h in range(mean.shape[1])}
    else:
        columns = {"state": saved.estimator.decode(chunk.X, **chunk.extras)[1]}
    with table:
        table.write(columns)
