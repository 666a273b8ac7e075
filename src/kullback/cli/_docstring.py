"""What a class says of its parameters, read from the Parameters section of its docstring."""

import inspect
import re
from typing import Any

from kullback.estimators import estimator_class

_AS_IN = re.compile(r"As in `(\w+)`(?:[.;,]\s*|$)")


def parameter_texts(kind: type) -> dict[str, str]:
    """Return the text of each parameter. Where it says "As in `Other`", the text is that of the other class.

    >>> from kullback import PoissonMixture
    >>> parameter_texts(PoissonMixture)["max_iter"]
    'The largest number of iterations of `fit`.'
    """
    found = _parse_parameters(kind)
    for name, text in found.items():
        other = _AS_IN.match(text)
        if other:
            theirs = parameter_texts(estimator_class(other[1])).get(name, "")
            found[name] = f"{theirs} {text[other.end() :]}".strip()
    return found


def summary(kind: Any) -> str:
    """Return the first sentence of a docstring."""
    return (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")


def _parse_parameters(kind: type) -> dict[str, str]:
    lines = (inspect.getdoc(kind) or "").splitlines()
    try:
        start = lines.index("Parameters") + 2
    except ValueError:
        return {}
    found: dict[str, str] = {}
    names: list[str] = []
    for line, after in zip(lines[start:], [*lines[start + 1 :], ""], strict=True):
        if after and set(after) == {"-"}:  # the next section
            break
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
        elif line:
            found.update({name: f"{found.get(name, '')} {line.strip()}".strip() for name in names})
    return found
