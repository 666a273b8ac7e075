"""kullback decode."""

from typing import Any

from kullback.cli._arguments import Data, Format, Header, Json, Model, Output


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

    from kullback.cli._held import Held
    from kullback.cli._table import Table

    table = Table(output, as_json)
    held = Held.load(model)
    smooths = hasattr(held.estimator, "smooth")
    if not smooths:
        held.need("decode", "decode", "models of series, hidden Markov models and linear dynamical systems")
    piece = held.all_rows(data, header=header, format=format)
    if smooths:
        mean, covariance = held.estimator.smooth(piece.X, **piece.known)
        spread = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        columns: dict[str, Any] = {f"state_{h}": mean[:, h] for h in range(mean.shape[1])}
        columns |= {f"state_{h}_sd": spread[:, h] for h in range(mean.shape[1])}
    else:
        columns = {"state": held.estimator.decode(piece.X, **piece.known)[1]}
    with table:
        table.write(columns)
