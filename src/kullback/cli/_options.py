"""Options of the command from the constructor of an estimator: there is no second list of them."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from kullback.cli._docstring import parameter_texts
from kullback.estimators import ParameterValues, parameter_values

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
    texts, values = parameter_texts(kind), parameter_values(kind)
    parameters = inspect.signature(kind).parameters.values()
    return [_option(p, values[p.name], texts.get(p.name, "")) for p in parameters if p.name not in NOT_HERE]


def _option(parameter: inspect.Parameter, values: ParameterValues, text: str) -> inspect.Parameter:
    name, default = parameter.name, DEFAULTS.get(parameter.name, parameter.default)
    flag = "--" + name.replace("_", "-")
    if values.truth:
        annotation: Any = Annotated[bool, typer.Option(f"{flag}/--no-{flag[2:]}", help=text)]
    else:
        option = typer.Option(flag, help=text, parser=_parser(values), metavar=_metavar(values))
        annotation = Annotated[Any, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _metavar(values: ParameterValues) -> str:
    if values.choices:
        return "[" + "|".join(values.choices) + "]"
    if values.array:
        return "NUMBER,…|FILE.npy"
    if values.words or values.text:
        return "WORD,…" if values.words else "TEXT"
    return "NUMBER" if values.real else "INTEGER"


def _parser(values: ParameterValues) -> Callable[[Any], Any]:
    """Return a function that reads what was typed; the library itself checks the range."""

    def parse(text: Any) -> Any:
        if not isinstance(text, str):  # a default
            return text
        if values.none and text.lower() == "none":
            return None
        if values.choices:
            if text not in values.choices:
                raise typer.BadParameter(f"{text!r} is none of {', '.join(values.choices)}.")
            return text
        if values.text or values.words:
            parts = [part.strip() for part in text.split(",")]
            return parts if len(parts) > 1 or not values.text else text
        if values.array and text.endswith(".npy"):
            return _array(text)
        numbers = [_number(part, values.real) for part in text.split(",")]
        if len(numbers) > 1 and not values.array:
            raise typer.BadParameter(f"{text!r} has several numbers: it must be one.")
        return numbers if len(numbers) > 1 else numbers[0]

    return parse


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
