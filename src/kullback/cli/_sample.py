"""kullback sample."""

from typing import Annotated

import typer

from kullback.cli._arguments import Json, Model, Output, RandomState


def sample(
    model: Model,
    n: Annotated[int, typer.Option("--number", "-n", help="The number of rows.", min=1)] = 1,
    output: Output = None,
    random_state: RandomState = None,
    as_json: Json = False,
) -> None:
    """Draw rows from a model; from models of series, one series."""
    import numpy as np
    from sklearn.utils import check_random_state

    from kullback.cli._saved_model import SavedModel
    from kullback.cli._table import Table

    saved = SavedModel.load(model)
    estimator = saved.estimator
    estimator.random_state = check_random_state(estimator.random_state if random_state is None else random_state)
    with Table(output, as_json) as table:
        drawn = estimator.sample(n)
        X = np.asarray(drawn[0] if isinstance(drawn, tuple) else drawn)
        if not saved.has_time:  # mixtures draw one component after the other
            X = estimator.random_state.permutation(X)
        table.write(saved.columns(X))
