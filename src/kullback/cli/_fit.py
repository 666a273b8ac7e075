"""Fitting an estimator from the command line: one pass or more of online EM, or batch EM on everything."""

import enum
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from kullback.cli._arguments import BatchRows, Columns, Data, Format, Header, Json, MaxBad, Quiet, Save, SkipBad
from kullback.cli._checkpoint import Checkpoint, Place
from kullback.cli._input import Input
from kullback.cli._learn import Outcome, fit_at_once, fit_online, is_of_sequences, started
from kullback.cli._progress import Progress, write_json
from kullback.cli._say import said_warnings, say


class Method(enum.StrEnum):
    """How to learn."""

    online = "online"
    em = "em"


def fit(
    estimator: Any,
    data: Data,
    *,
    save: Save,
    method: Annotated[
        Method,
        typer.Option(help="online: a step towards each batch, with memory for one. em: batch EM on all rows at once."),
    ] = Method.online,
    passes: Annotated[int, typer.Option(help="How often to go through the data (online).", min=1)] = 1,
    batch_rows: BatchRows = 4096,
    shuffle: Annotated[
        int, typer.Option(help="Draw rows at random from a buffer of so many (online, and not for series).", min=0)
    ] = 0,
    format: Format = None,
    columns: Columns = None,
    header: Header = True,
    skip_bad: SkipBad = False,
    max_bad: MaxBad = 1000,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Keep the model and the place in the data here: nothing is lost (online).", metavar="FILE"),
    ] = None,
    checkpoint_every: Annotated[
        float, typer.Option(help="Seconds from one to the next; 0 is after each batch, as always from a pipe.", min=0)
    ] = 10.0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint, if there is one.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Check what was asked for, then fit and save."""
    read = {"format": format, "columns": _columns(columns, header), "batch_rows": batch_rows, "header": header}
    read |= {"skip_bad": skip_bad, "max_bad": max_bad, "shuffle": shuffle}
    rows = Input(data, estimator.random_state or 0, **read)
    _check(type(estimator), method, passes, shuffle, checkpoint, resume, rows.piped)
    if not save.parent.is_dir():
        raise ValueError(f"{save.parent} is not a directory: there is no place for {save.name}.")
    estimator._validate_params()
    began = time.monotonic()
    with said_warnings(quiet):
        if method is Method.em:
            outcome = fit_at_once(estimator, rows.opened(0, None), quiet or as_json)
        else:
            kept, place = None, Place()
            if checkpoint is not None:
                command = {"kind": type(estimator).__name__, **rows.told, "passes": passes}
                command |= {name: _plain(value) for name, value in estimator.get_params().items()}
                kept = Checkpoint(checkpoint, command, 0 if rows.piped else checkpoint_every)
                found, place = kept.begin(resume)
                estimator = estimator if found is None else found
                if found is not None and rows.piped:
                    say("standard input cannot be gone back to: at most one batch is seen again, if it is sent again.")
            outcome = fit_online(estimator, rows, passes, place, kept, Progress(quiet, as_json))
    if not started(estimator):
        say("stopped before there were enough rows to start from: there is nothing to save.")
        raise typer.Exit(130)
    estimator.save(save)
    if not quiet:
        _tell(estimator, outcome, save, time.monotonic() - began, as_json)
    if not outcome.place.done:
        go_on = f"; the same command with --resume goes on from {checkpoint}" if checkpoint else ""
        say(f"stopped after {outcome.place.rows:,} rows: the model so far is in {save}{go_on}.")
        raise typer.Exit(130)


def _check(kind: Any, method: Method, passes: int, shuffle: int, checkpoint: Any, resume: bool, piped: bool) -> None:
    """Raise if what was asked for does not go together."""
    if method is Method.em and (passes > 1 or shuffle or checkpoint):
        given = "passes" if passes > 1 else "shuffle" if shuffle else "checkpoint"
        raise ValueError(f"--{given} is for --method online: batch EM reads everything first, and ends by itself.")
    if shuffle and is_of_sequences(kind):
        raise ValueError(f"--shuffle is not for {kind.__name__}: the rows of a series follow each other.")
    if resume and checkpoint is None:
        raise ValueError("--resume needs --checkpoint FILE: the file to go on from.")
    if piped and passes > 1:
        raise ValueError(f"--passes is {passes}: standard input can be gone through once.")


def _columns(text: str | None, header: bool) -> list[str] | list[int] | None:
    """Return names of columns; places, from 0, where there are no names."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if header:
        return parts
    if not all(part.isdigit() for part in parts):
        raise ValueError(f"--columns is {text!r}: without a header it must be places, counted from 0.")
    return [int(part) for part in parts]


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def _tell(estimator: Any, outcome: Outcome, save: Path, seconds: float, as_json: bool) -> None:
    rows, bound = outcome.place.rows, float(getattr(estimator, "lower_bound_", np.nan))
    kind = type(estimator).__name__
    if as_json:
        told = {
            "kind": kind,
            "saved": str(save),
            "done": outcome.place.done,
            "rows": rows,
            "bad_rows": outcome.bad_rows,
        }
        write_json({**told, "log_likelihood": bound if np.isfinite(bound) else None, "seconds": round(seconds, 3)})
        return
    left_out = f", {outcome.bad_rows:,} bad rows left out" if outcome.bad_rows else ""
    print(f"{kind} of {rows:,} rows{left_out}, {seconds:.1f} s: {save}")
