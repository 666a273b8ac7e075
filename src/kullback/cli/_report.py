"""kullback report."""

import contextlib
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kullback.cli._arguments import Format, Header, Model


def report(
    model: Model,
    data: Annotated[str | None, typer.Option(help="Data to show with the model.", metavar="FILE")] = None,
    held_out: Annotated[
        str | None,
        typer.Option(
            help="Data that the model has not seen: with --data, what it was fitted to, the page says how sure the "
            "model is, as `kullback assess` does.",
            metavar="FILE",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The file to write the page to; - is standard output.", metavar="FILE"),
    ] = Path("report.html"),
    before: Annotated[
        list[Path],
        typer.Option(help="A model that this one was combined from; may be given several times.", metavar="MODEL"),
    ] = [],  # noqa: B006, typer copies it
    title: Annotated[str | None, typer.Option(help="The heading. Default: the name of the model file.")] = None,
    image_shape: Annotated[
        str | None,
        typer.Option(
            help="The height and width of the images that rows are, such as 28x28 (networks). Default: a square, "
            "if the number of columns is one.",
            metavar="HEIGHTxWIDTH",
        ),
    ] = None,
    format: Format = None,
    header: Header = True,
) -> None:
    """Write an HTML page with pictures of a model."""
    import numpy as np

    from kullback.cli._activity import clear_activity
    from kullback.cli._assess import DRAWS, REFITS, assess_chunks
    from kullback.cli._messages import print_answer, print_warnings
    from kullback.cli._predictions import targets_of
    from kullback.cli._saved_model import SavedModel
    from kullback.report import write_report
    from kullback.storage import check_writable

    shape = None if image_shape is None else _image_shape(image_shape)
    to_output = str(output) == "-"
    if output.exists() and not to_output:  # a folder that is not there is made
        check_writable(output)
    saved = SavedModel.load(model)
    if held_out is not None and data is None:
        raise ValueError("--held-out needs --data: the rows that the model was fitted to.")
    chunk = None if data is None else saved.read(data, header=header, format=format)
    apart = None if held_out is None else saved.read(held_out, header=header, format=format)
    assessment = None if apart is None else assess_chunks(saved, chunk, apart, draws=DRAWS, refits=REFITS)
    if saved.names is not None:
        saved.estimator.feature_names_in_ = np.array(saved.names, dtype=object)
    origin = {"Model file": model.name}
    if saved.arguments:
        origin["Made by"] = shlex.join(saved.arguments)
    if data is not None:
        origin["Data"] = "standard input" if data == "-" else Path(data).name
    with print_warnings(quiet=True):  # the table has the names of the model, and an array cannot say so
        shown = {} if chunk is None else {"data": chunk.X, **chunk.extras, **targets_of(saved, chunk)}
        others = {name: SavedModel.load(path).estimator for name, path in _names(before).items()}
        with tempfile.TemporaryDirectory() if to_output else contextlib.nullcontext() as folder:
            page = write_report(
                saved.estimator,
                output if folder is None else Path(folder) / "report.html",
                **shown,
                words=saved.codes,
                image_shape=shape,
                title=model.stem if title is None else title,
                origin=origin,
                before=others or None,
                assessment=assessment,
            )
            content = page.read_text(encoding="utf-8") if to_output else ""
    if to_output:
        clear_activity()
        sys.stdout.write(content)
    else:
        print_answer(str(page))


def _image_shape(text: str) -> tuple[int, int]:
    """Return the height and width that are written with an x or a comma between them.

    >>> _image_shape("28x30"), _image_shape("28,30")
    ((28, 30), (28, 30))
    """
    height, _, width = text.lower().replace(",", "x").partition("x")
    if not (height.strip().isdecimal() and width.strip().isdecimal()):
        raise typer.BadParameter(f"{text!r} must be a height and a width, such as 28x28.", param_hint="--image-shape")
    return int(height), int(width)


def _names(paths: Sequence[Path]) -> dict[str, Path]:
    """Return files by names that tell them apart: as much of the end of each path as it takes.

    >>> list(_names([Path("a/model.safetensors"), Path("b/model.safetensors"), Path("c/night.safetensors")]))
    ['a/model', 'b/model', 'night']
    >>> list(_names([Path("model.safetensors"), Path("model.safetensors")]))
    ['model', 'model (2)']
    """
    whole = [path.with_suffix("").parts for path in paths]
    found: dict[str, Path] = {}
    for path, parts in zip(paths, whole, strict=True):
        ends = (parts[-length:] for length in range(1, len(parts) + 1))
        own = (end for end in ends if sum(other[-len(end) :] == end for other in whole) == 1)
        name = free = "/".join(next(own, parts))
        copy = 1
        while free in found:
            copy += 1
            free = f"{name} ({copy})"
        found[free] = path
    return found
