"""Array types checked at run time: dtypes and shapes by jaxtyping, with beartype to look at each argument.

Only what is declared as an array is checked. Wrong words and numbers are left to the library's own messages,
which have tests of their own.
"""

from typing import Any, get_args

from beartype import beartype
from jaxtyping import AbstractArray


def _is_array(hint):
    parts = get_args(hint)
    if parts:
        return all(part is type(None) or _is_array(part) for part in parts)
    return isinstance(hint, type) and issubclass(hint, AbstractArray)


def checked(function):
    """Check the arrays a function takes and returns."""
    hints = getattr(function, "__annotations__", {})
    function.__annotations__ = {name: hint if _is_array(hint) else Any for name, hint in hints.items()}
    return beartype(function)
