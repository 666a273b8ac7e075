"""Tables of any kind of columns as numbers: true and false are 1 and 0, text becomes numbers of categories.

Categories are numbered as they come, by the `Codes` that files are read with; where the type of a column lists them, in
its order. An estimator keeps them as `categories_`, by the names of columns, or by their places where they have none.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kullback.estimators.data._families import takes_codes
from kullback.sources import Codes, TableColumns, is_missing
from kullback.storage import quote

Categories = dict[str, list[str]]


class Encoded(NamedTuple):
    """A table of numbers, or a frame of them, with what its columns hold and their categories."""

    table: Any
    kinds: list[str]
    categories: Categories


def as_column(X: Any) -> Any:
    """Return a series of single entries as a table of one column, and a table as it is."""
    if isinstance(X, Encoded):
        return X
    if len(getattr(X, "shape", (0, 0))) == 1:
        if hasattr(X, "to_frame") and not np.issubdtype(np.asarray(X).dtype, np.number):
            return X.to_frame()
        return np.asarray(X).reshape(-1, 1)
    if isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) == 0:
        return np.array(X, dtype=object if any(isinstance(each, str) for each in X) else None).reshape(-1, 1)
    return X


def encode_first(columns: TableColumns, limited: bool) -> Encoded:
    """Return the table that a fit begins with; names and texts, which are no categories, are refused.

    Where the number of categories is `limited` by a parameter, nearly all of them may be different.
    """
    has_words = [label for label, kind in zip(columns.labels, columns.kinds, strict=True) if kind == "words"]
    codes = Codes({label: [] for label in has_words}, closed=False)
    table, categories = columns.numbers(codes), codes.words
    if not limited:
        codes.refuse_names()
    for label, order in columns.declared.items():
        place = columns.labels.index(label)
        table[:, place] = _move(table[:, place], [order.index(each) for each in categories[label]])
        categories[label] = order
    return Encoded(table, columns.kinds, categories)


def encode_later(columns: TableColumns, known: Categories, room: Sequence[int] | None) -> Encoded:
    """Return a table by the categories of a fit.

    A column may have as many categories as there is `room` for, where new ones can be learned; with None, only those
    that are known.
    """
    _check_same_kinds(columns, known)
    codes = Codes(known, closed=False)
    table = columns.numbers(codes)
    for place, label in enumerate(columns.labels):
        if label not in known:
            continue
        most = len(known[label]) if room is None else max(int(room[place]), len(known[label]))
        if len(codes.words[label]) > most:
            row = int(np.argmax(np.nan_to_num(table[:, place], nan=-1) >= most))
            raise ValueError(_describe_unseen(label, codes.words[label][int(table[row, place])], row, room, most))
    return Encoded(table, columns.kinds, codes.words)


def _move(column: np.ndarray, places: list[int]) -> np.ndarray:
    """Return numbers of categories in another order."""
    there = ~np.isnan(column)
    moved = np.full(len(column), np.nan)
    moved[there] = np.array(places, dtype=float)[column[there].astype(np.int64)]
    return moved


def _describe_unseen(label: str, category: str, row: int, room: Any, most: int) -> str:
    what = f"column {quote(label)} of X has the category {quote(category)} in row {row}, which the fit has not seen"
    if room is None:
        return f"{what}: make it missing (None), or fit to rows that have it."
    return (
        f"{what}, and there is room for {most}: make it missing (None), or give more room when the fit begins "
        "(n_categories; n_features of a CategoricalHMM)."
    )


def _check_same_kinds(columns: TableColumns, known: Categories) -> None:
    """Raise unless columns of text are those that the fit has seen as text."""
    for label, kind, entries in zip(columns.labels, columns.kinds, columns.entries, strict=True):
        if kind == "words" and label not in known:
            raise ValueError(
                f"column {quote(label)} of X holds text{_such_as(entries)}, where the fit has seen numbers."
            )
        if label in known and kind != "words" and entries.null_count < len(entries):
            raise refuse_numbers(label, known[label])


def refuse_numbers(label: str, known: list[str]) -> ValueError:
    """Return the sentence for a column of numbers in a frame where the fit has seen text."""
    seen = f" such as {quote(known[0], 40)}" if known else ""
    return ValueError(f"column {quote(label)} of X holds numbers, where the fit has seen text{seen}.")


def check_kinds(columns: TableColumns, families: Any, kind: str, chosen: bool, has_time: bool) -> None:
    """Raise where a column of text is for numbers, or one of true and false for categories.

    `kind` is the class of the estimator, and `chosen` says whether its families can be chosen by `family=`.
    """
    wanted = takes_codes(families, len(columns.labels))
    names = families if isinstance(families, list) else [families] * len(wanted)
    other = "HMM" if has_time else "Mixture"
    for label, held, codes, family, entries in zip(
        columns.labels, columns.kinds, wanted, names, columns.entries, strict=True
    ):
        who = f"family {_name(family)!r}" if chosen else kind
        if held == "words" and not codes:
            way = "use 'categorical' or 'auto' there" if chosen else f"use {other}(family='auto'), which takes text"
            if _is_number(_first_text(entries)):
                way = "turn it into numbers, as astype(float) does"
            raise ValueError(
                f"column {quote(label)} of X holds text{_such_as(entries)}, and {who} is for numbers: {way}, or leave "
                "the column out."
            )
        if held == "truth" and codes:
            way = "use 'bernoulli' or 'auto' there" if chosen else f"use {other}(family='auto')"
            raise ValueError(
                f"column {quote(label)} of X holds true and false, and {who} is for categories: {way}, or turn the "
                "column into text or into 0 and 1."
            )


def _name(family: Any) -> str:
    if isinstance(family, str):
        return family
    return family.column_name() or family.family_name()


def _such_as(entries: Any) -> str:
    first = _first_text(entries)
    return "" if first is None else f" such as {quote(first, 40)}"


def _first_text(entries: Any) -> str | None:
    """Return the first text that does not stand for a missing value, among the first thousand."""
    return next((each for each in entries.drop_null()[:1000].to_pylist() if not is_missing(each)), None)


def _is_number(text: str | None) -> bool:
    try:
        return text is not None and math.isfinite(float(text))
    except ValueError:
        return False
