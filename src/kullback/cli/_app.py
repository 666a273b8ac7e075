"""The `kullback` command. Nothing heavy is imported before a command runs."""

import contextlib
import os
from typing import Annotated

import typer

import kullback
from kullback.cli._arguments import example
from kullback.cli._assess import assess
from kullback.cli._combine import combine
from kullback.cli._decode import decode
from kullback.cli._forecast import forecast
from kullback.cli._group import ErrorGroup, LazyGroup
from kullback.cli._help import show_help
from kullback.cli._impute import impute
from kullback.cli._inspect import inspect
from kullback.cli._predict import predict
from kullback.cli._report import report
from kullback.cli._sample import sample
from kullback.cli._score import score

_FIT = "kullback fit gaussian-mixture data.csv --n-components 3 --save model.safetensors"
_SCORE = "kullback score model.safetensors data.csv --output scores.csv"

app = typer.Typer(
    cls=ErrorGroup,
    name="kullback",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=example(_FIT, _SCORE),
)
fitting = typer.Typer(
    cls=LazyGroup,
    rich_markup_mode=None,
    help="Fit a model to a file or a stream, and save it.",
    subcommand_metavar="KIND DATA [OPTIONS]",
    epilog=example(_FIT),
)
app.add_typer(fitting, name="fit")
app.command(epilog=example("kullback combine model.safetensors other.safetensors --save all.safetensors"))(combine)
app.command(epilog=example(_SCORE))(score)
app.command(epilog=example("kullback predict regression.safetensors data.csv --level 0.9 --output predicted.csv"))(
    predict
)
app.command(epilog=example("kullback sample model.safetensors -n 100 --output drawn.csv"))(sample)
app.command(epilog=example("kullback impute model.safetensors data.csv --output filled.csv"))(impute)
app.command(epilog=example("kullback forecast series.safetensors data.csv --steps 5"))(forecast)
app.command(epilog=example("kullback decode series.safetensors data.csv --output states.csv"))(decode)
app.command(epilog=example("kullback inspect model.safetensors"))(inspect)
app.command(epilog=example("kullback report model.safetensors --data data.csv --output report.html"))(report)
app.command(epilog=example("kullback assess model.safetensors data.csv --draws 0 --refits 20"))(assess)
app.command("help", epilog=example("kullback help score"))(show_help)


def _version(requested: bool) -> None:
    if requested:
        print(f"kullback {kullback.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Fit models with hidden variables to files and streams, combine them, and apply them."""
    if context.invoked_subcommand is not None and os.environ.get("KULLBACK_CACHE"):
        with contextlib.suppress(OSError):  # without it everything works, later
            kullback.enable_compilation_cache()
    _help_without_command(context)


@fitting.callback(invoke_without_command=True)
def _help_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def main() -> None:
    """Run the command."""
    app(prog_name="kullback")
