"""kullback forecast."""

from typing import Annotated, Any

import typer

from kullback.cli._arguments import SERIES, Data, Format, Header, Json, Model, Output


def forecast(
    model: Model,
    data: Data,
    steps: Annotated[int, typer.Option(help="The number of rows to forecast.", min=1)] = 1,
    future: Annotated[
        str | None, typer.Option(help="The inputs of the rows to forecast, for systems with inputs.", metavar="FILE")
    ] = None,
    level: Annotated[float, typer.Option(help="The probability that the interval of a linear system holds.")] = 0.95,
    output: Output = None,
    format: Format = None,
    header: Header = True,
    as_json: Json = False,
) -> None:
    """Forecast the next rows of a series; of several series, of the last one.

    Linear systems give the mean of each column with the ends of an interval; hidden Markov models give the mean of each
    column, or the probability of each symbol, and the probability of each state.
    """
    import numpy as np

    from kullback.cli._saved_model import SavedModel
    from kullback.cli._table import Table

    table = Table(output, as_json)
    saved = SavedModel.load(model)
    saved.require(saved.capabilities.forecasts, "forecast", SERIES)
    chunk = saved.read(data, header=header, format=format).last
    X, ahead = chunk.X, None if future is None else saved.read_inputs(future, header, format=format)
    columns: dict[str, Any] = {"step": np.arange(1, steps + 1)}
    if saved.capabilities.takes_inputs:
        found = saved.estimator.forecast(X, steps, inputs=chunk.inputs, future_inputs=ahead, level=level)
        means, lower, upper = (saved.columns(part) for part in (found.mean, found.lower, found.upper))
        for name in means:
            columns |= {name: means[name], f"{name}_lower": lower[name], f"{name}_upper": upper[name]}
    else:
        found = saved.estimator.forecast(X, steps)
        names = saved.names or [f"x{place}" for place in range(X.shape[1])]
        if found.mean.shape[1] != len(names):  # symbols
            words = saved.codes.get(names[0], range(found.mean.shape[1]))
            names = [f"{names[0]}={word}" for word in words]
        columns |= {name: found.mean[:, place] for place, name in enumerate(names)}
        columns |= {f"state_{h}": found.states[:, h] for h in range(found.states.shape[1])}
    with table:
        table.write(columns)
