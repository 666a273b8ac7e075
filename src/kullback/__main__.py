"""`python -m kullback` is the `kullback` command."""

from kullback.cli import main

main()
