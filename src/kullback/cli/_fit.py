"""Fitting an estimator from the command line: batch EM on everything, or one pass or more of online EM."""

import contextlib
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from kullback.cli import _arguments as given
from kullback.cli._activity import show_activity
from kullback.cli._batch_fit import fit_batch
from kullback.cli._checkpoint import Checkpoint
from kullback.cli._column_roles import Roles
from kullback.cli._command_line import command_line
from kullback.cli._fit_check import Wish, check_wish, learns_online
from kullback.cli._fit_method import Method, choose_method, method_of_checkpoint
from kullback.cli._fit_result import print_result
from kullback.cli._from_model import columns_to_go_on, load_to_go_on
from kullback.cli._input import Input
from kullback.cli._labels import parse_labels
from kullback.cli._messages import as_json_value, print_message, print_warnings
from kullback.cli._model_file import write_model
from kullback.cli._online_fit import fit_online
from kullback.cli._options import option_of
from kullback.cli._pairs import has_targets
from kullback.cli._progress import Progress
from kullback.cli._progress_line import ProgressLine
from kullback.estimators import REGISTRY, check_parameters
from kullback.storage import check_writable


def fit(
    estimator: Any,
    context: typer.Context,
    chosen: set[str],
    data: given.Data,
    *,
    save: given.Save,
    from_model: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Go on from this model with new data; its columns and options are used again.",
            metavar="MODEL",
        ),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(
            help="em: batch EM, on all rows at once, until it converges; of models that are no EM's it is batch. "
            "online: one step for each batch, with memory for one batch. auto: all at once for files of at most 16 "
            "batches, online for longer ones, streams and --from.",
            metavar="[auto|online|em|batch]",
        ),
    ] = Method.auto,
    passes: Annotated[
        int, typer.Option(help="How many times to go through the data (online).", min=1, metavar="INTEGER")
    ] = 1,
    batch_rows: given.BatchRows = 4096,
    shuffle: Annotated[
        int,
        typer.Option(
            help="Mix rows in a buffer of this many rows, for sorted files (online; not for series).",
            min=0,
            metavar="INTEGER",
        ),
    ] = 0,
    format: given.Format = None,
    columns: given.Columns = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="The column to predict from the others (regressor, classifier); several of a regressor with commas.",
            metavar="NAME,…",
        ),
    ] = None,
    sequence_column: Annotated[
        str | None,
        typer.Option(
            help="The column that says which sequence a row belongs to, for series. The rows of a sequence must be "
            "next to each other.",
            metavar="NAME",
        ),
    ] = None,
    input_columns: Annotated[
        str | None,
        typer.Option(help="Columns of inputs that are known from outside (linear systems).", metavar="NAME,…"),
    ] = None,
    weight_column: Annotated[
        str | None,
        typer.Option(help="The column that says how often a row counts: a number, 0 or more.", metavar="NAME"),
    ] = None,
    continues: Annotated[
        bool,
        typer.Option(
            "--continues",
            help="The series goes on: with --from it follows the rows of the model, and the model can be continued.",
        ),
    ] = False,
    header: given.Header = True,
    skip_bad: given.SkipBad = False,
    max_bad: given.MaxBad = 1000,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="A file that keeps the model and the position in the data, to resume from.", metavar="FILE"),
    ] = None,
    checkpoint_every: Annotated[
        float,
        typer.Option(
            help="Seconds between checkpoints. 0 is after every batch, as for streams.", min=0, metavar="SECONDS"
        ),
    ] = 10.0,
    resume: Annotated[bool, typer.Option("--resume", help="Resume from the checkpoint, if there is one.")] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Fit on a Dask cluster: the address of its scheduler, or local:N for N workers on this machine. The "
            "workers read the data themselves, under the same path.",
            metavar="ADDRESS|local:N",
        ),
    ] = None,
    synchronize_every: Annotated[
        int,
        typer.Option(
            help="Batches of each worker between two combinations (online, with --scheduler).", min=1, metavar="INTEGER"
        ),
    ] = 10,
    quiet: given.Quiet = False,
    as_json: given.Json = False,
) -> None:
    """Check what was asked for, then fit and save. `chosen` are the parameters that were given on the command line."""
    show_activity(f"reading {data} and compiling", quiet or as_json)
    sequence = parse_labels(sequence_column, "sequence-column", header) or [None]
    weight = parse_labels(weight_column, "weight-column", header) or [None]
    inputs = tuple(parse_labels(input_columns, "input-columns", header) or ())
    roles = Roles(sequence[0], inputs, weight[0], tuple(parse_labels(target, "target", header) or ()))
    labels, before_this = parse_labels(columns, "columns", header), None
    if from_model is not None:
        before_this = load_to_go_on(from_model, estimator, chosen)
        estimator = before_this.estimator
        labels, roles = columns_to_go_on(before_this, from_model, labels, roles, header)
    read = {"format": format, "batch_rows": batch_rows, "header": header}
    read |= {"skip_bad": skip_bad, "max_bad": max_bad, "shuffle": shuffle}
    rows = Input(data, estimator.random_state or 0, roles, labels, **read)
    if before_this is not None:
        rows.know(before_this.column_section)
    wish = Wish(
        method,
        passes,
        shuffle,
        checkpoint is not None,
        resume,
        scheduler is not None,
        bool(from_model),
        continues,
        method,
    )
    check_wish(estimator, rows, wish)
    for goal in (save, *([] if checkpoint is None else [checkpoint])):
        check_writable(goal)
    check_parameters(estimator)
    method = Method.em if method is Method.batch else method
    if method is Method.auto and has_targets(estimator) and not learns_online(estimator):
        method = Method.em
    capabilities = REGISTRY[type(estimator).__name__].capabilities
    series = capabilities.data == "sequences"
    if method is Method.auto and capabilities.streams_only:
        method = Method.online
    if roles.weight is not None and series and method is Method.auto:
        method = Method.em
    if method is Method.auto and checkpoint is not None:
        method = method_of_checkpoint(checkpoint)
    method = choose_method(rows, method, passes > 1 or shuffle > 0 or continues or from_model is not None)
    check_wish(estimator, rows, wish._replace(method=method))
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        stack.enter_context(print_warnings(quiet))
        kept, before = None, Progress()
        if checkpoint is not None:
            command = {"kind": type(estimator).__name__, **rows.settings, "passes": passes, "method": str(method)}
            command |= {} if from_model is None else {"from": str(from_model.resolve())}
            command |= {"continues": True} if continues else {}
            command |= {option_of(name): as_json_value(value) for name, value in estimator.get_params().items()}
            kept = stack.enter_context(Checkpoint(checkpoint, command, 0 if rows.piped else checkpoint_every))
            found, known, before = kept.begin(resume)
            if found is not None:
                estimator, rows.columns = found, known
            if found is not None and rows.piped and method is Method.online:
                print_message(f"{rows} cannot be read again: at most one batch is learned twice, if it is sent again.")
        if scheduler is not None:
            from kullback.cli._cluster import fit_on_cluster

            how = None if method is Method.em else (passes, synchronize_every)
            estimator, outcome = fit_on_cluster(estimator, rows, scheduler, how, before, kept, quiet or as_json)
        elif method is Method.em:
            outcome = fit_batch(estimator, rows, before, kept, quiet or as_json)
        else:
            line = ProgressLine(quiet, as_json)
            outcome = fit_online(estimator, rows, passes, before, kept, line, continues)
    if not estimator.has_started:
        print_message("stopped before there was a model: there is nothing to save.")
        raise typer.Exit(outcome.code)
    write_model(estimator, save, rows.columns, arguments=command_line(context))
    if not quiet:
        print_result(estimator, outcome, method, passes, save, time.monotonic() - began, as_json)
    if not outcome.progress.done:
        go_on = f"; the same command with --resume goes on from {checkpoint}" if checkpoint else ""
        print_message(f"stopped after {outcome.progress.rows:,} rows: the model so far is in {save}{go_on}.")
        raise typer.Exit(outcome.code)
