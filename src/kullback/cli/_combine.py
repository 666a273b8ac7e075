"""kullback combine."""

from pathlib import Path
from typing import Annotated

import typer

from kullback.cli._arguments import Quiet, Save


def combine(
    models: Annotated[list[Path], typer.Argument(help="Two models or more, of one kind.", metavar="MODEL…")],
    save: Save,
    weights: Annotated[
        str | None,
        typer.Option(help="One number for each model; otherwise the points each has seen.", metavar="NUMBER,…"),
    ] = None,
    n_components: Annotated[int | None, typer.Option(help="How many components the result has (mixtures).")] = None,
    random_state: Annotated[int, typer.Option(help="Decides what is drawn.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Make one model of several fitted apart, without their data."""
    from kullback import estimators
    from kullback.cli._held import Held
    from kullback.cli._say import answer, said_warnings
    from kullback.storage import check_writable

    check_writable(save)
    held = [Held.load(path) for path in models]
    for path, other in zip(models, held, strict=True):
        for what, mine, theirs in (("columns", held[0].names, other.names), ("words", held[0].codes, other.codes)):
            if mine != theirs:
                raise ValueError(f"{path} and {models[0]} have other {what}: {theirs} and {mine}.")
    try:
        shares = None if weights is None else [float(weight) for weight in weights.split(",")]
    except ValueError:
        raise ValueError(f"--weights is {weights!r}: it must be numbers with commas between them.") from None
    with said_warnings(quiet):
        together = estimators.combine(
            [one.estimator for one in held], shares, n_components=n_components, random_state=random_state
        )
    together.source_ = {"names": held[0].names, "codes": held[0].codes}
    together.save(save)
    if not quiet:
        answer(f"{held[0].kind} of {len(held)} models, {together.n_points_seen_:,.0f} points: {save}")
