"""Sentences on standard error, and answers as text or as JSON that every reader takes."""

import json
import logging
import math
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kullback.cli._activity import clear_activity
from kullback.storage import printable, printable_json, sentence

#: Characters of a sentence: what the library says in 300, and names of files and columns.
_MOST = 1000

#: Parameters that sentences of the library speak of, and that are options here.
_PARAMETERS = re.compile(
    r"(?<![-\w])(skip_bad|max_bad|batch_rows|n_categories|n_components|n_latents|n_init|n_iter|max_iter|init_params|"
    r"covariance_type|reg_covar|random_state|means_init|weights_init|precisions_init|tol)\b(?!\()"
)


#: A parameter whose option has another name.
_MODELS = re.compile(r"\bmethod='(linear|network|trees)'")

#: What the library says of calls, as it is said of commands.
_SPELLED = {
    "leave it out (columns)": "leave it out (--columns names the others)",
    "missing='indicator'": "--missing indicator",
    "format is None: ": "--format is missing: ",
    "ask for more draws or a longer warm_up": "ask for more --draws, or for a smaller model",
    "ask for more refits": "ask for more --refits",
    "refits is ": "--refits is ",
    "draws is ": "--draws is ",
    " If others are to come, pass classes= to partial_fit.": "",
    "Pass all classes to the first call of partial_fit.": "Begin with rows that have all classes (--batch-rows), or "
    "fit to a file.",
}


def count(number: int, name: str, names: str | None = None) -> str:
    """Return a number of things, of which one is called `name`.

    >>> count(1, "row"), count(2000, "row"), count(2, "pass", "passes")
    ('1 row', '2,000 rows', '2 passes')
    """
    return f"{number:,} {name if number == 1 else names or name + 's'}"


def spell_options(text: str) -> str:
    """Return a sentence of the library with parameters as they are spelled on the command line.

    >>> spell_options("increase max_iter, or tol; n_init is 'x' (skip_bad leaves such rows out).")
    "increase --max-iter, or --tol; --n-init is 'x' (--skip-bad leaves such rows out)."
    """
    text = _PARAMETERS.sub(lambda name: "--" + name[0].replace("_", "-"), text)
    text = _MODELS.sub(r"--model \1", text)
    for ours, typed in _SPELLED.items():
        text = text.replace(ours, typed)
    return text


def print_message(text: str) -> None:
    """Write one line on standard error."""
    clear_activity()
    print("kullback: " + printable(sentence(text, _MOST)), file=sys.stderr, flush=True)


def print_answer(text: str) -> None:
    """Write one line on standard output."""
    clear_activity()
    print(printable(text), flush=True)


def json_line(value: Any) -> str:
    r"""Return a value as JSON on one line, null for what is no finite number, without characters that a terminal obeys.

    >>> json_line({"a": float("-inf"), "b": [1.5, "\x9b"]})
    '{"a": null, "b": [1.5, "\\u009b"]}'
    """
    return printable_json(json.dumps(_finite(value), ensure_ascii=False))


def write_json(value: dict[str, Any]) -> None:
    """Write one object as a line on standard output."""
    clear_activity()
    print(json_line(value), flush=True)


def as_json_value(value: Any) -> Any:
    """Return an array or a number of NumPy as JSON can hold it; all else as it is."""
    import numpy as np

    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Notes(logging.Handler):
    """Notes of bad rows, as sentences."""

    def emit(self, record: logging.LogRecord) -> None:
        print_message(record.getMessage())


@contextmanager
def mute_notes() -> Iterator[None]:
    """Print no notes of bad rows, where the same rows are read again."""
    logger = logging.getLogger("kullback")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


@contextmanager
def print_warnings(quiet: bool) -> Iterator[None]:
    """Turn warnings of the library, and its notes of bad rows, into sentences; or into nothing."""

    def show(message: Any, *args: Any, **kwargs: Any) -> None:
        if not quiet:
            print_message(spell_options(str(message)))

    logger, handler = logging.getLogger("kullback"), logging.NullHandler() if quiet else _Notes()
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show
            yield
    finally:
        logger.removeHandler(handler)
