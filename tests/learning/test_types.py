"""Types of the room say what is handed on: `Any` is the exception."""

import ast
from pathlib import Path

import kullback.learning

#: Of all annotations of parameters, results and fields, so many may be or hold `Any`.
LIMIT = 0.20


def annotations(tree):
    """Return the annotations of parameters (but `self`), of results and of fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            yield from (one.annotation for one in every if one is not None and one.annotation is not None)
            if node.returns is not None:
                yield node.returns
        elif isinstance(node, ast.AnnAssign):
            yield node.annotation


def holds_any(annotation):
    names = (node for node in ast.walk(annotation) if isinstance(node, ast.Name | ast.Constant))
    return any((node.id if isinstance(node, ast.Name) else node.value) == "Any" for node in names)


def test_few_annotations_are_any():
    room = Path(kullback.learning.__file__).parent
    found = [one for path in sorted(room.rglob("*.py")) for one in annotations(ast.parse(path.read_text()))]
    share = sum(map(holds_any, found)) / len(found)
    assert share < LIMIT, f"{share:.0%} of {len(found)} annotations hold Any"
