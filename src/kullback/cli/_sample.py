"""kullback sample."""

from typing import Annotated

import typer

from kullback.cli._arguments import Json, Model, Output, RandomState


def sample(
    model: Model,
    n: Annotated[
        int, typer.Option("--number", "-n", help="The number of rows; with --inputs, of draws for each row.", min=1)
    ] = 1,
    inputs: Annotated[
        str | None,
        typer.Option(
            help="The rows to draw targets for (regressors and classifiers): a file, or - for standard input.",
            metavar="DATA",
        ),
    ] = None,
    output: Output = None,
    random_state: RandomState = None,
    as_json: Json = False,
) -> None:
    """Draw rows from a model; from models of series, one series; from regressors and classifiers, targets of rows."""
    import numpy as np
    from sklearn.utils import check_random_state

    from kullback.cli._saved_model import SavedModel
    from kullback.cli._table import Table

    saved = SavedModel.load(model)
    if saved.has_targets != (inputs is not None):
        raise ValueError(
            f"a {saved.kind} draws targets for rows of inputs: add --inputs DATA."
            if saved.has_targets
            else f"--inputs is for regressors and classifiers: this model is a {saved.kind}, which draws whole rows."
        )
    estimator = saved.estimator
    estimator.random_state = check_random_state(estimator.random_state if random_state is None else random_state)
    with Table(output, as_json) as table:
        if inputs is not None:
            from kullback.cli._predictions import draw_targets

            for columns in draw_targets(saved, inputs, n):
                table.write(columns)
            return
        drawn = estimator.sample(n)
        X = np.asarray(drawn[0] if isinstance(drawn, tuple) else drawn)
        if not saved.has_time:  # mixtures draw one component after the other
            X = estimator.random_state.permutation(X)
        table.write(saved.columns(X))
