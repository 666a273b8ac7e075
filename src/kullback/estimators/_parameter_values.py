"""Which values the parameters of an estimator may have, for whoever reads them from text."""

from numbers import Integral, Real
from typing import Any, NamedTuple

from kullback.estimators.constraints import Interval, StrOptions


class ParameterValues(NamedTuple):
    """What a parameter may be; a number where it is nothing else."""

    none: bool
    truth: bool
    choices: list[str]  # one of these words
    text: bool  # any word
    words: bool  # a list of words
    array: bool  # numbers, of any shape
    number: bool  # a number
    real: bool  # whether numbers need not be whole


def parameter_values(kind: Any) -> dict[str, ParameterValues]:
    """Return what each parameter of the constructor of an estimator may be."""
    return {name: _values(allowed) for name, allowed in kind._parameter_constraints.items()}


def _values(allowed: list[Any]) -> ParameterValues:
    types = {one.type if isinstance(one, Interval) else one for one in allowed if not isinstance(one, StrOptions)}
    array = "array-like" in types
    return ParameterValues(
        none=None in types,
        truth="boolean" in types,
        choices=sorted(word for one in allowed if isinstance(one, StrOptions) for word in one.options),
        text=str in types,
        words=list in types or tuple in types,
        array=array,
        number=any(isinstance(one, Interval) for one in allowed),
        real=Real in types or (array and Integral not in types),
    )
