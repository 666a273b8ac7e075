"""Groups of commands: one turns every error into one sentence, the other makes its commands when they are asked for."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from kullback.cli._activity import clear_activity, show_activity
from kullback.cli._messages import print_message, spell_options
from kullback.cli._suggestions import unknown_command, unknown_kind


class ErrorGroup(TyperGroup):
    """The command itself. What went wrong is one sentence on standard error, and 2 to the shell."""

    _asked: Any = None  # the command that is run

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, the first thing to do first."""
        return sorted(super().list_commands(ctx), key=lambda name: (name != "fit", name == "help"))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that arguments begin with; for one that is not there, names that are like it."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise ValueError(unknown_command(args[0], self.list_commands(ctx)))
        if args[0] not in ("fit", "help"):
            _show_loading(ctx, args)
        found = super().resolve_command(ctx, args)
        self._asked = found[1]
        return found

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run, and leave with an exit code."""
        try:
            with _terminable():
                code = super().main(*args, **{**kwargs, "standalone_mode": False})
        except _Terminated:
            code = 128 + signal.SIGTERM
        except typer.Abort:  # an interrupt
            code = 128 + signal.SIGINT
        except Exception as error:
            sentence = error_sentence(error)
            if sentence is None:
                raise
            print_message(self._with_its_options(sentence))
            code = 2
        finally:
            clear_activity()
        sys.exit(code or 0)

    def _with_its_options(self, sentence: str) -> str:
        """Return a sentence without the advice to skip bad rows, where the command that was asked for cannot."""
        asked = self._asked
        if asked is None or isinstance(asked, TyperGroup) or any(each.name == "skip_bad" for each in asked.params):
            return sentence
        return sentence.replace(" (--skip-bad leaves such rows out)", "")


class LazyGroup(TyperGroup):
    """One command for every estimator, made from its signature; importing them takes a while."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all estimators."""
        from kullback.cli._registry import estimator_commands

        return list(estimator_commands())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command as lists show it: its name and one line."""
        from kullback.cli._registry import estimator_commands
        from kullback.cli._texts import SUMMARIES

        name = estimator_commands().get(cmd_name)
        return None if name is None else TyperCommand(cmd_name, help=SUMMARIES[name], rich_markup_mode=None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that arguments begin with, ready to run."""
        if args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        _show_loading(ctx, args)
        return args[0], self.load_command(args[0]), args[1:]

    def load_command(self, name: str) -> Any:
        """Return the command that fits an estimator, with all its options."""
        from kullback.cli._registry import estimator_commands

        kinds = estimator_commands()
        if name not in kinds:
            raise ValueError(unknown_kind(name, list(kinds)))
        from kullback.cli._fit_command import fit_command
        from kullback.estimators import estimator_class

        return fit_command(name, estimator_class(kinds[name]))


def _show_loading(ctx: Any, args: list[str]) -> None:
    """Show that a command is being loaded, unless help was asked for, or no words."""
    silent = {"--quiet", "--json", "-h", "--help"} & set(args)
    show_activity("loading", quiet=bool(silent) or ctx.resilient_parsing or len(args) == 1)


class _Terminated(BaseException):
    """SIGTERM has come: files that are half written are removed on the way out."""


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the command as an exception does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def error_sentence(error: Exception) -> str | None:
    """Return what an error says to a user, or None if it is a fault of the program."""
    if hasattr(error, "format_message"):  # of the parser of the command line
        return str(error.format_message())
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    if isinstance(error, (OSError, ValueError)):
        return spell_options(str(error))
    return None


class SectionedCommand(TyperCommand):
    """A command whose options are listed in sections: each names its own, and `others` is the title of the rest."""

    others = "Options of the run"

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and each section of options under its title."""
        sections: dict[str, list[Any]] = {"Arguments": []}
        others: list[Any] = []
        parameters: list[Any] = self.get_params(ctx)
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            title = "Arguments" if parameter.param_type_name == "argument" else parameter.rich_help_panel
            (others if title is None else sections.setdefault(title, [])).append(record)
        for title, records in {**sections, self.others: others}.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def single_command(name: str, function: Any, epilog: str) -> Any:
    """Return a function as a command."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=SectionedCommand, epilog=epilog)(function)
    return typer.main.get_command(app)
