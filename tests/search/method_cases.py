"""One case for each method of the registry: which other method it is made of the same parts as, if any."""

from collections.abc import Iterable
from typing import Any

import pytest

from tiers import each_member

#: The method whose laws `make test` asks in place of most of this one's; None for those that are asked all of them.
CASES: dict[str, str | None] = {
    "cma": None,
    "limited-memory": None,
    "xnes": "cma",
    "snes": "cma",
    "spherical": "cma",
    "natural-gradient": None,
    "expectation-gradient": "natural-gradient",
    "cross-entropy": "cma",
    "diagonal-cross-entropy": "cma",
}


def each_method(slow: Iterable[str] = ()) -> Any:
    """Ask a law of each method, by name."""
    like = {name: other for name, other in CASES.items() if other is not None}
    return pytest.mark.parametrize("name", each_member("methods", {name: name for name in CASES}, like, slow))
