"""JSON that every reader takes."""

import json
import math
from typing import Any

from kullback.storage import printable_json


def json_line(value: Any) -> str:
    r"""Return a value as JSON on one line, null for what is no finite number, without characters that a terminal obeys.

    >>> json_line({"a": float("-inf"), "b": [1.5, "\x9b"]})
    '{"a": null, "b": [1.5, "\\u009b"]}'
    """
    return printable_json(json.dumps(_finite(value), ensure_ascii=False))


def write_json(value: dict[str, Any]) -> None:
    """Write one object as a line on standard output."""
    print(json_line(value), flush=True)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
