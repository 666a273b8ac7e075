"""kullback help."""

from typing import Annotated, Any

import typer


def show_help(
    context: typer.Context,
    command: Annotated[list[str] | None, typer.Argument(help="A command, such as fit gaussian-mixture.")] = None,
) -> None:
    """Print the help of a command."""
    parent = context.parent
    assert parent is not None
    found: Any = parent.command
    here: Any = parent
    for name in command or []:
        if not hasattr(found, "resolve_command"):
            break
        _, found, _ = found.resolve_command(here, [name])
        here = found.context_class(found, info_name=name, parent=here)
    from kullback.cli._activity import clear_activity

    clear_activity()
    print(here.get_help())
