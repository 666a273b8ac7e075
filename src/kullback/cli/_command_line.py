"""The command that made a model, as it is kept in the file of the model."""

from pathlib import Path
from typing import Any

import typer

#: Options that change where things go and what is printed, and nothing in the model.
_NOT_KEPT = frozenset({"save", "checkpoint", "checkpoint_every", "resume", "scheduler", "quiet", "as_json"})


def command_line(context: typer.Context) -> list[str]:
    """Return the words of the running command, without what says nothing of the model.

    Equal runs have equal words: options stand in the order of the help, files have their names alone, for their folders
    are another matter on each machine, and what was not typed is left out.
    """
    words: list[str] = []
    above: Any = context
    while above.parent is not None:
        words.insert(0, str(above.info_name))
        above = above.parent
    words.insert(0, "kullback")
    for parameter in context.command.params:
        name = str(parameter.name)
        if name not in _NOT_KEPT and was_typed(context, name):
            words += _words(parameter, context.params[name])
    return words


def was_typed(context: typer.Context, name: str) -> bool:
    """Whether an option was given in the command, and is no default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _words(parameter: Any, value: Any) -> list[str]:
    """Return an argument, or an option and its value, as they are typed."""
    if parameter.param_type_name == "argument":
        return [Path(each).name for each in (value if isinstance(value, list | tuple) else [value])]
    if isinstance(value, bool):
        return [(parameter.opts if value else parameter.secondary_opts)[0]]
    return [parameter.opts[0], _text(value)]


def _text(value: Any) -> str:
    if isinstance(value, Path):
        return value.name
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    if hasattr(value, "shape") and value.shape:  # an array of a file
        return "×".join(map(str, value.shape)) + " numbers"
    return "none" if value is None else str(value)
