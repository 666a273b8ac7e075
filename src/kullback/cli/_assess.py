"""kullback assess."""

from typing import Annotated, Any

import typer

from kullback.cli import _arguments as given

#: Draws of each chain, and refits, where no number is given.
DRAWS, REFITS = 3000, 50


def assess(
    subject: Annotated[
        str, typer.Argument(help="A model file, as `kullback fit` writes it; with --choose, the data.", metavar="MODEL")
    ],
    data: Annotated[
        str | None, typer.Argument(help="The data that the model was fitted to: a file or a folder.", metavar="DATA")
    ] = None,
    held_out: Annotated[
        str | None, typer.Option(help="Data that the model has not seen, with the same columns.", metavar="FILE")
    ] = None,
    choose: Annotated[
        str | None,
        typer.Option(help="Compare numbers of components of this kind, as gaussian-mixture.", metavar="KIND"),
    ] = None,
    n_components: Annotated[
        str | None,
        typer.Option(
            help="The numbers to compare (--choose), such as 1:8 or 1,2,4. Default: 1:8.", metavar="FROM:TO|NUMBER,…"
        ),
    ] = None,
    draws: Annotated[
        int,
        typer.Option(
            help="Draws from the posterior, of each of four chains; 0 leaves out what needs them.",
            min=0,
            metavar="INTEGER",
        ),
    ] = DRAWS,
    refits: Annotated[
        int | None,
        typer.Option(
            help="Fits to resampled rows, for the loss out of bag and the stability of components; 0 leaves both out. "
            f"Default: {REFITS}.",
            min=0,
            metavar="INTEGER",
        ),
    ] = None,
    random_state: Annotated[
        int, typer.Option(help="The seed of chains, resamples and folds.", min=0, metavar="INTEGER")
    ] = 0,
    format: given.Format = None,
    columns: given.Columns = None,
    header: given.Header = True,
    as_json: given.Json = False,
) -> None:
    """Say how far a model may be from the truth, and how sure that is.

    The loss is −log-likelihood, in nats per row (per sequence, where there are several): on the data, held out, and out
    of bag, on rows that refits have not seen, with intervals of about 95 %. Then the number of parameters beside twice
    the learning coefficient, criteria (BIC, WBIC, WAIC, LOO), and in how many refits each component is seen.

    With --choose there is no model: `kullback assess DATA --choose gaussian-mixture --n-components 1:8` compares
    numbers of components by all criteria, and takes the least within one standard error of the best.
    """
    from kullback.cli._activity import show_activity
    from kullback.cli._assess_text import assessment_lines, choice_lines
    from kullback.cli._messages import print_answer, write_json

    if choose is None:
        _check_model_form(data, n_components, columns)
        refits = REFITS if refits is None else refits
        show_activity(f"reading {data} and compiling", as_json)
        facts = assess_file(subject, str(data), held_out, format, header, draws=draws, refits=refits, seed=random_state)
        lines = assessment_lines(facts)
    else:
        from kullback.cli._choose import choose_components

        if data is not None or held_out is not None:
            raise ValueError("--choose takes the data alone, no model and no --held-out: it holds rows out by itself.")
        if refits is not None:
            raise ValueError("--refits is for a model: --choose fits to folds.")
        show_activity(f"reading {subject} and compiling", as_json)
        facts = choose_components(
            choose, subject, n_components or "1:8", draws, random_state, columns, format=format, header=header
        )
        lines = choice_lines(facts)
    if as_json:
        write_json(facts)
        return
    for line in lines:
        print_answer(line)


def _check_model_form(data: str | None, n_components: str | None, columns: str | None) -> None:
    if data is None:
        raise ValueError("kullback assess needs MODEL and DATA, or DATA with --choose KIND.")
    for option, value in (("--n-components", n_components), ("--columns", columns)):
        if value is not None:
            raise ValueError(f"{option} is for --choose: a model knows its own.")


def assess_file(
    model: Any, data: str, held_out: str | None, format: str | None, header: bool, **options: Any
) -> dict[str, Any]:
    """Return the facts about a model file and the data it was fitted to."""
    from pathlib import Path

    from kullback.cli._saved_model import SavedModel

    saved = SavedModel.load(Path(model))
    chunk = saved.read(data, header=header, format=format)
    apart = None if held_out is None else saved.read(held_out, header=header, format=format)
    return assess_chunks(saved, chunk, apart, **options).facts


def assess_chunks(saved: Any, chunk: Any, held_out: Any, **options: Any) -> Any:
    """Return the assessment of a saved model by rows that were read."""
    import numpy as np

    from kullback.cli._messages import print_warnings
    from kullback.cli._predictions import targets_of
    from kullback.estimators import assess_estimator

    def call(part: Any) -> dict[str, Any]:
        targets = targets_of(saved, part)
        if "y" not in targets:
            return {"X": part.X, **part.extras}
        there = ~np.isnan(part.targets).all(axis=1)  # rows without a target have no loss
        return {"X": part.X[there], "y": np.array(targets["y"][there].tolist())}

    with print_warnings(quiet=True):
        apart = None if held_out is None else call(held_out)
        return assess_estimator(saved.estimator, **call(chunk), held_out=apart, **options)
