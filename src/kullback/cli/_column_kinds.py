"""What columns hold, and what a model can learn from: words are for families of categories."""

from collections.abc import Sequence
from typing import Any

from kullback.cli._registry import command_name

#: Columns that a sentence names.
_SOME = 10


def choose_families(estimator: Any, values: dict[str, str], inputs: dict[str, str]) -> None:
    """Choose the families that are left to the columns, and refuse words where a model learns from numbers.

    `values` says what each column of the model holds, `inputs` what each column holds that is known from outside.
    """
    choice = estimator.get_params(deep=False).get("family")
    if choice == "auto":
        estimator.set_params(family=estimator.auto_family(list(values.values())))
    elif isinstance(choice, Sequence) and not isinstance(choice, str) and len(choice) != len(values):
        raise ValueError(
            f"--family has {len(choice)} names, and the columns are {_quote_labels(list(values))}: each needs one."
        )
    families = estimator.column_families
    names = dict.fromkeys(values, families) if isinstance(families, str) else dict(zip(values, families, strict=True))
    words = [label for label, kind in values.items() if kind == "words" and names[label] != "categorical"]
    if words:
        _refuse(estimator, words, [label for label in values if label not in words], names[words[0]], choice)
    truths = [label for label, kind in values.items() if kind == "truth" and names[label] == "categorical"]
    if truths:
        way = "use bernoulli or auto there" if choice is not None else "use mixture or hmm with --family auto"
        raise ValueError(f"{_hold(truths)} true and false, and categories are words or numbers: {way}.")
    strange = [label for label, kind in inputs.items() if kind == "words"]
    if strange:
        raise ValueError(f"{_hold(strange)} words, and inputs are numbers: leave them out of --input-columns.")


def set_category_counts(estimator: Any, values: dict[str, str], codes: dict[str, list[str]]) -> None:
    """Set how many words each column of a model of categories has, where that is left open and all are known."""
    families = estimator.column_families
    names = [families] * len(values) if isinstance(families, str) else list(families)
    if any(name == "categorical" and kind == "number" for name, kind in zip(names, values.values(), strict=True)):
        return  # categories that are numbers already are counted by the model
    parameters = estimator.get_params(deep=False)
    many = [max(len(codes.get(label, ())), 2) for label in values]
    for name, numbers in (("n_categories", many), ("n_features", many[0])):
        if name in parameters and parameters[name] is None:
            estimator.set_params(**{name: numbers})


def _refuse(estimator: Any, words: list[str], others: list[str], family: str, choice: Any) -> None:
    if choice is not None:
        raise ValueError(f"{_hold(words)} words, and family {family} is for numbers: use categorical or auto there.")
    kind = command_name(type(estimator).__name__)
    other = "hmm" if kind.endswith("hmm") or "dynamical" in kind else "mixture"
    left = f"--columns {_join_labels(others)}" if others else "--columns"
    raise ValueError(
        f"{_hold(words)} words, and {kind} learns from numbers: leave {'it' if len(words) == 1 else 'them'} out "
        f"({left}), or use {other}, which takes words."
    )


def _hold(labels: list[str]) -> str:
    return f"column {labels[0]!r} holds" if len(labels) == 1 else f"columns {_quote_labels(labels)} hold"


def _quote_labels(labels: list[str]) -> str:
    more = f" and {len(labels) - _SOME} more" if len(labels) > _SOME else ""
    return ", ".join(repr(label) for label in labels[:_SOME]) + more


def _join_labels(labels: list[str]) -> str:
    return ",".join(labels[:_SOME]) + (",…" if len(labels) > _SOME else "")
