"""Options of the command from the constructor of an estimator: names, types and defaults are those of parameters."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from kullback.cli._texts import option_text
from kullback.estimators import REGISTRY, ParameterValues, parameter_values

#: Parameters that mean nothing here: the command has its own progress and its own way to go on, two are accepted for
#: the sake of other libraries, and what is fixed would have to be set as an attribute_ before.
NOT_HERE = frozenset({"verbose", "verbose_interval", "warm_start", "implementation", "fixed"})

#: The section of the help in which these options are.
MODEL = "Options of the model"

#: Defaults that are others here: the command sees what columns hold, an array does not say it; and batch EM goes on
#: until it converges, where hmmlearn's ten iterations end before.
DEFAULTS = {"family": "auto", "n_iter": 100}

#: Parameters that have another name here: `--method` says how the command learns.
RENAMED = {"method": "model"}


def option_of(parameter: str) -> str:
    """Return what the option of a parameter is called, with underscores."""
    return RENAMED.get(parameter, parameter)


def parameter_of(option: str) -> str:
    """Return the parameter that an option sets."""
    return next((name for name, other in RENAMED.items() if other == option), option)


def default_of(kind: type, parameter: inspect.Parameter) -> Any:
    """Return the default of an option: that of the constructor, or one of DEFAULTS, which has no epochs."""
    capabilities = REGISTRY[kind.__name__].capabilities
    if capabilities.data == "pairs" or (parameter.name == "n_iter" and capabilities.has_epochs):
        return parameter.default
    return DEFAULTS.get(parameter.name, parameter.default)


def options_of(kind: type) -> list[inspect.Parameter]:
    """Return a keyword-only parameter, annotated for typer, for each parameter of an estimator's constructor.

    Names, but for RENAMED, and defaults, but for DEFAULTS, are those of the constructor. Types are those of the
    constraints: yes or no is a pair of flags; one word of several; a number; numbers or words with commas between them;
    for arrays also a .npy file. The word `none` is None where that is allowed.
    """
    values, parameters = parameter_values(kind), inspect.signature(kind).parameters.values()
    return [
        _option(each, default_of(kind, each), values[each.name], option_text(kind.__name__, each.name))
        for each in parameters
        if each.name not in NOT_HERE
    ]


def _option(parameter: inspect.Parameter, default: Any, values: ParameterValues, text: str) -> inspect.Parameter:
    name = option_of(parameter.name)
    flag = "--" + name.replace("_", "-")
    if values.truth:
        option = typer.Option(f"{flag}/--no-{flag[2:]}", help=text, rich_help_panel=MODEL)
        annotation: Any = Annotated[bool, option]
    else:
        option = typer.Option(flag, help=text, parser=_parser(values), metavar=_metavar(values), rich_help_panel=MODEL)
        annotation = Annotated[Any, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _metavar(values: ParameterValues) -> str:
    if values.choices:
        return "[" + "|".join([*values.choices, *(["NUMBER"] if values.number else [])]) + "]"
    if values.array:
        return "NUMBER,…|FILE.npy"
    if values.words or values.text:
        return "NAME,…" if values.words else "TEXT"
    return "NUMBER" if values.real else "INTEGER"


def _parser(values: ParameterValues) -> Callable[[Any], Any]:
    """Return a function that reads what was typed; the library itself checks the range."""

    def parse(text: Any) -> Any:
        if not isinstance(text, str):  # a default
            return text
        if values.none and text.lower() == "none":
            return None
        if text in values.choices:
            return text
        if values.choices and not (values.number and _is_number(text)):
            others = ", and not a number" if values.number else ""
            raise typer.BadParameter(f"{text!r} is none of {', '.join(values.choices)}{others}.")
        if values.text or values.words:
            parts = [part.strip() for part in text.split(",")]
            return parts if len(parts) > 1 or not values.text else text
        if values.array and text.endswith(".npy"):
            return _array(text)
        numbers = [_number(part, values.real) for part in text.split(",")]
        if len(numbers) > 1 and not values.array:
            raise typer.BadParameter(f"{text!r} is several numbers, and one is needed.")
        return numbers if len(numbers) > 1 else numbers[0]

    return parse


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
