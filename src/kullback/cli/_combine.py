"""kullback combine."""

from pathlib import Path
from typing import Annotated, Any

import typer

from kullback.cli._arguments import Quiet, Save


def combine(
    context: typer.Context,
    models: Annotated[list[Path], typer.Argument(help="Two models or more of the same kind.", metavar="MODEL…")],
    save: Save,
    weights: Annotated[
        str | None,
        typer.Option(help="The weight of each model. Default: the number of rows it has seen.", metavar="NUMBER,…"),
    ] = None,
    n_components: Annotated[
        int | None, typer.Option(help="The number of components of the result (mixtures). Default: that of the first.")
    ] = None,
    random_state: Annotated[int, typer.Option(help="The seed of random numbers.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Combine models that were fitted to different data into one, without the data."""
    from kullback import estimators
    from kullback.cli._command_line import command_line
    from kullback.cli._messages import print_answer, print_warnings
    from kullback.cli._model_file import write_model
    from kullback.cli._saved_model import SavedModel
    from kullback.storage import check_writable

    check_writable(save)
    saved = [SavedModel.load(path) for path in models]
    first = saved[0]
    for path, other in zip(models, saved, strict=True):
        for what, mine, theirs in (
            ("columns", first.names, other.names),
            ("categories", first.codes, other.codes),
            ("targets", first.roles.targets, other.roles.targets),
        ):
            if mine != theirs:
                raise ValueError(f"{path} and {models[0]} have different {what}: {theirs} and {mine}.")
    try:
        shares = None if weights is None else [float(weight) for weight in weights.split(",")]
    except ValueError:
        raise ValueError(f"--weights is {weights!r}: it must be numbers, with commas.") from None
    with print_warnings(quiet):
        together = estimators.combine(
            [one.estimator for one in saved], shares, n_components=n_components, random_state=random_state
        )
    columns: dict[str, Any] = {"names": first.names, "codes": first.codes}
    columns |= {"targets": list(first.roles.targets)} if first.roles.targets else {}
    write_model(together, save, columns, arguments=command_line(context))
    if not quiet:
        near = ""
        if estimators.REGISTRY[first.kind].capabilities.has_epochs:
            excess, error = together.combination_excess_
            near = f", {excess:.3g} ± {error:.1g} nats per row from the mixture of all"
        print_answer(f"{first.kind} of {len(saved)} models, {together.n_points_seen_:,.0f} points{near}: {save}")
