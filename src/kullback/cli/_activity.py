"""A line on a terminal that says what is going on while nothing can be shown yet; what is printed next replaces it."""

import sys

_shown = [False]


def show_activity(text: str, quiet: bool = False) -> None:
    """Show a line in place of the one before it; nothing where standard error is no terminal."""
    if not quiet and sys.stderr.isatty():
        print(f"\r\x1b[K{text} …", end="", file=sys.stderr, flush=True)
        _shown[0] = True


def clear_activity() -> None:
    """Take the line away, if there is one."""
    if _shown[0]:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        _shown[0] = False
