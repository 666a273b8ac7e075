"""Mends, each as pieces of text and what to write in their place to undo it."""

#: Name of a mend: files of the library, what is there, and what was there or would be without it.
UNDONE: dict[str, list[tuple[str, str, str]]] = {}
