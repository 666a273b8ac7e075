"""The `kullback` command."""

from kullback.cli._app import app, main

__all__ = ["app", "main"]
