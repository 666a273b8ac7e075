"""Fitting an estimator from the command line: one pass or more of online EM, or batch EM on everything."""

import contextlib
import enum
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from kullback.cli._arguments import BatchRows, Columns, Data, Format, Header, Json, MaxBad, Quiet, Save, SkipBad
from kullback.cli._batch_fit import fit_batch
from kullback.cli._checkpoint import Checkpoint
from kullback.cli._column_roles import Roles
from kullback.cli._input import Input
from kullback.cli._labels import parse_labels
from kullback.cli._messages import as_json_value, print_answer, print_message, print_warnings, write_json
from kullback.cli._model_file import write_model
from kullback.cli._online_fit import Outcome, fit_online
from kullback.cli._progress import Progress
from kullback.cli._progress_line import ProgressLine
from kullback.estimators import REGISTRY, check_parameters
from kullback.storage import check_writable


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
    sequence_column: Annotated[
        str | None,
        typer.Option(
            help="A column that says which sequence a row belongs to, where there are several; the rows of one stand "
            "together (models with time)."
        ),
    ] = None,
    input_columns: Annotated[
        str | None, typer.Option(help="Columns that are known from outside, with commas (linear systems).")
    ] = None,
    header: Header = True,
    skip_bad: SkipBad = False,
    max_bad: MaxBad = 1000,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Keep the model and the place in the data here: nothing is lost.", metavar="FILE"),
    ] = None,
    checkpoint_every: Annotated[
        float, typer.Option(help="Seconds from one to the next; 0 is after each batch, as always from a pipe.", min=0)
    ] = 10.0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint, if there is one.")] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="A Dask cluster to fit on: the address of its scheduler, or local:N for N workers on this machine. "
            "They read the data by themselves, under the same path.",
            metavar="ADDRESS|local:N",
        ),
    ] = None,
    synchronize_every: Annotated[
        int,
        typer.Option(help="Batches of each worker between two combinations (online, with --scheduler).", min=1),
    ] = 10,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Check what was asked for, then fit and save."""
    read = {"format": format, "batch_rows": batch_rows, "header": header}
    read |= {"skip_bad": skip_bad, "max_bad": max_bad, "shuffle": shuffle}
    sequence = parse_labels(sequence_column, "sequence-column", header) or [None]
    roles = Roles(sequence[0], tuple(parse_labels(input_columns, "input-columns", header) or ()))
    rows = Input(data, estimator.random_state or 0, roles, parse_labels(columns, "columns", header), **read)
    _check(estimator, rows, method, passes, shuffle, checkpoint, resume, scheduler is not None)
    for goal in (save, *([] if checkpoint is None else [checkpoint])):
        check_writable(goal)
    check_parameters(estimator)
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        stack.enter_context(print_warnings(quiet))
        kept, before = None, Progress()
        if checkpoint is not None:
            command = {"kind": type(estimator).__name__, **rows.settings, "passes": passes, "method": str(method)}
            command |= {name: as_json_value(value) for name, value in estimator.get_params().items()}
            kept = stack.enter_context(Checkpoint(checkpoint, command, 0 if rows.piped else checkpoint_every))
            found, rows.columns, before = kept.begin(resume)
            estimator = estimator if found is None else found
            if found is not None and rows.piped and method is Method.online:
                print_message(f"{rows} cannot be gone back to: at most one batch is seen again, if it is sent again.")
        if scheduler is not None:
            from kullback.cli._cluster import fit_on_cluster

            how = None if method is Method.em else (passes, synchronize_every)
            estimator, outcome = fit_on_cluster(estimator, rows, scheduler, how, before, kept, quiet or as_json)
        elif method is Method.em:
            outcome = fit_batch(estimator, rows, before, kept, quiet or as_json)
        else:
            outcome = fit_online(estimator, rows, passes, before, kept, ProgressLine(quiet, as_json))
    if not estimator.has_started:
        print_message("stopped before there were enough rows to start from: there is nothing to save.")
        raise typer.Exit(outcome.code)
    write_model(estimator, save, rows.columns)
    if not quiet:
        _print_result(estimator, outcome, save, time.monotonic() - began, as_json)
    if not outcome.progress.done:
        go_on = f"; the same command with --resume goes on from {checkpoint}" if checkpoint else ""
        print_message(f"stopped after {outcome.progress.rows:,} rows: the model so far is in {save}{go_on}.")
        raise typer.Exit(outcome.code)


def _check(
    estimator: Any, rows: Input, method: Method, passes: int, shuffle: int, kept: Any, resume: bool, cluster: bool
) -> None:
    """Raise if what was asked for does not go together, or the estimator has no use for it."""
    kind, roles, piped = type(estimator).__name__, rows.roles, rows.piped
    capabilities = REGISTRY[kind].capabilities
    if method is Method.em and (passes > 1 or shuffle):
        given = "passes" if passes > 1 else "shuffle"
        raise ValueError(f"--{given} is for --method online: batch EM reads everything first, and ends by itself.")
    if method is Method.em and kept and estimator.get_params().get("n_init", 1) > 1:
        raise ValueError(f"--n-init is {estimator.n_init}: a checkpoint of --method em is of one start.")
    if shuffle and capabilities.data == "sequences":
        raise ValueError(f"--shuffle is not for {kind}: the rows of a series follow each other.")
    if resume and kept is None:
        raise ValueError("--resume needs --checkpoint FILE: the file to go on from.")
    if piped and passes > 1:
        raise ValueError(f"--passes is {passes}: a stream can be gone through once.")
    if cluster and (piped or shuffle):
        given = "a stream" if piped else "--shuffle"
        raise ValueError(f"--scheduler does not go with {given}: workers read files, each its own batches, in order.")
    if cluster and kept and method is Method.online:
        raise ValueError("--checkpoint with --scheduler is for --method em: online each worker is at another place.")
    if roles.sequence is not None and capabilities.data != "sequences":
        raise ValueError(f"--sequence-column is not for {kind}: its rows do not follow each other.")
    if roles.inputs and not capabilities.takes_inputs:
        raise ValueError(f"--input-columns is not for {kind}: it has no inputs.")
    if cluster and (roles.inputs or (roles and method is Method.online)):
        given = "--input-columns" if roles.inputs else "--sequence-column and --method online"
        raise ValueError(f"--scheduler does not go with {given}: fit here, or from Python with kullback.distributed.")


def _print_result(estimator: Any, outcome: Outcome, save: Path, seconds: float, as_json: bool) -> None:
    rows, kind = outcome.progress.rows, type(estimator).__name__
    if as_json:
        facts = {"kind": kind, "saved": str(save), "done": outcome.progress.done, "rows": rows}
        facts |= {"bad_rows": outcome.bad_rows, "log_likelihood": float(estimator.lower_bound_)}
        write_json({**facts, "seconds": round(seconds, 3)})
        return
    left_out = f", {outcome.bad_rows:,} bad rows left out" if outcome.bad_rows else ""
    print_answer(f"{kind} of {rows:,} rows{left_out}, {seconds:.1f} s: {save}")
