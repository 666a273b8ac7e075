"""Groups of commands: one turns every error into one sentence, the other makes its commands when they are asked for."""

import contextlib
import re
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import typer
from typer.core import TyperGroup

from kullback.cli._messages import print_message


class ErrorGroup(TyperGroup):
    """The command itself. What went wrong is one sentence on standard error, and 2 to the shell."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, the first thing to do first."""
        return sorted(super().list_commands(ctx), key=lambda name: name != "fit")

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run, and leave with an exit code."""
        try:
            with _terminable():
                code = super().main(*args, **{**kwargs, "standalone_mode": False})
        except _Terminated:
            code = 128 + signal.SIGTERM
        except Exception as error:
            sentence = error_sentence(error)
            if sentence is None:
                raise
            print_message(sentence)
            code = 2
        sys.exit(code or 0)


class LazyGroup(TyperGroup):
    """One command for every estimator, made from its signature; importing them takes a while."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all estimators."""
        from kullback.cli._registry import estimator_commands

        return list(estimator_commands())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command that fits an estimator."""
        from kullback.cli._registry import estimator_commands

        name = estimator_commands().get(cmd_name)
        if name is None:
            return None
        from kullback.cli._fit_command import fit_command
        from kullback.estimators import estimator_class

        return fit_command(cmd_name, estimator_class(name))


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
        return re.sub(r"\b(skip|max|n)_(bad|categories)\b", r"--\1-\2", str(error))  # as they are spelled here
    return None


def single_command(name: str, function: Any, epilog: str) -> Any:
    """Return a function as a command."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, epilog=epilog)(function)
    return typer.main.get_command(app)
