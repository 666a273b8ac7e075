"""Options of the command from the constructor of an estimator: there is no second list of them."""

import inspect
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from kullback.cli._docstring import described
from kullback.estimators.constraints import Interval, StrOptions

#: Parameters that mean nothing here: the command has its own progress and its own way to go on, two are accepted for
#: the sake of other libraries, and what is fixed would have to be set as an attribute_ before.
NOT_HERE = frozenset({"verbose", "verbose_interval", "warm_start", "implementation", "fixed"})

#: Defaults that are others here: the command sees what columns hold, an array does not say it.
DEFAULTS = {"family": "auto"}


def options_of(kind: type) -> list[inspect.Parameter]:
    """Return a keyword-only parameter, annotated for typer, for each parameter of an estimator's constructor.

    Names, texts and, but for DEFAULTS, defaults are those of the constructor and of the docstring. Types are those of
    the constraints: yes or no is a pair of flags; one word of several; a number; numbers or words with commas between
    them; for arrays also a .npy file. The word `none` is None where that is allowed.
    """
    texts = described(kind)
    parameters = inspect.signature(kind).parameters.values()
    return [_option(kind, p, texts.get(p.name, "")) for p in parameters if p.name not in NOT_HERE]


def _option(kind: Any, parameter: inspect.Parameter, text: str) -> inspect.Parameter:
    name, default = parameter.name, DEFAULTS.get(parameter.name, parameter.default)
    flag = "--" + name.replace("_", "-")
    allowed = kind._parameter_constraints[name]
    if "boolean" in allowed:
        annotation: Any = Annotated[bool, typer.Option(f"{flag}/--no-{flag[2:]}", help=text)]
    else:
        option = typer.Option(flag, help=text, parser=_reader(allowed), metavar=_metavar(allowed))
        annotation = Annotated[Any, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _choices(allowed: list[Any]) -> list[str]:
    return sorted(word for one in allowed if isinstance(one, StrOptions) for word in one.options)


def _real(allowed: list[Any]) -> bool:
    """Whether numbers need not be whole."""
    types = {one.type if isinstance(one, Interval) else one for one in allowed}
    return Real in types or ("array-like" in types and Integral not in types)


def _metavar(allowed: list[Any]) -> str:
    if words := _choices(allowed):
        return "[" + "|".join(words) + "]"
    if "array-like" in allowed:
        return "NUMBER,…|FILE.npy"
    if list in allowed or tuple in allowed:
        return "WORD,…"
    if str in allowed:
        return "TEXT"
    return "NUMBER" if _real(allowed) else "INTEGER"


def _reader(allowed: list[Any]) -> Callable[[Any], Any]:
    """Return a function that reads what was typed; the library itself checks the range."""

    def read(text: Any) -> Any:
        if not isinstance(text, str):  # a default
            return text
        if None in allowed and text.lower() == "none":
            return None
        if words := _choices(allowed):
            if text not in words:
                raise typer.BadParameter(f"{text!r} is none of {', '.join(words)}.")
            return text
        if str in allowed or list in allowed or tuple in allowed:
            parts = [part.strip() for part in text.split(",")]
            return parts if len(parts) > 1 or str not in allowed else text
        if "array-like" in allowed and text.endswith(".npy"):
            return _array(text)
        numbers = [_number(part, _real(allowed)) for part in text.split(",")]
        if len(numbers) > 1 and "array-like" not in allowed:
            raise typer.BadParameter(f"{text!r} has several numbers: it must be one.")
        return numbers if len(numbers) > 1 else numbers[0]

    return read


def _number(text: str, real: bool) -> int | float:
    try:
        return int(text)
    except ValueError:
        try:
            if real:
                return float(text)
        except ValueError:
            pass
    raise typer.BadParameter(f"{text!r} is not {'a number' if real else 'a whole number'}.")


def _array(path: str) -> np.ndarray:
    if not Path(path).is_file():
        raise typer.BadParameter(f"There is no file {path}.")
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, OSError) as error:
        raise typer.BadParameter(f"{path} does not hold an array of numbers: {error}.") from None
