"""The command that fits one kind of estimator, made from its constructor."""

import inspect
from typing import Any

import typer

from kullback.cli._arguments import example
from kullback.cli._command_line import was_typed
from kullback.cli._fit import fit
from kullback.cli._group import single_command
from kullback.cli._options import option_of, options_of, parameter_of
from kullback.cli._texts import SUMMARIES
from kullback.estimators import REGISTRY


def fit_command(name: str, kind: type) -> Any:
    """Return the command: its options are those of `fit` and those of the constructor."""
    common = list(inspect.signature(fit, eval_str=True).parameters.values())[3:]
    settings = options_of(kind)

    def run(context: typer.Context, **given: Any) -> None:
        values = {parameter_of(setting.name): given.pop(setting.name) for setting in settings}
        chosen = {name for name in values if was_typed(context, option_of(name))}
        fit(kind(**values), context, chosen, **given)

    run.__doc__ = SUMMARIES[kind.__name__]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *common, *settings]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    size = next((f" --{s.name.replace('_', '-')} 3" for s in settings if s.name in ("n_components", "n_latents")), "")
    if REGISTRY[kind.__name__].capabilities.data == "pairs":
        size = " --target y"
    return single_command(name, run, example(f"kullback fit {name} data.csv{size} --save model.safetensors"))
