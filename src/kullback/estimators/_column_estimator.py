"""Estimators and the columns of their tables: text and true and false become numbers, and numbers frames again."""

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from kullback.estimators.data._collections import encode_collection
from kullback.estimators.data._encoding import (
    Categories,
    Encoded,
    check_kinds,
    encode_first,
    encode_later,
    refuse_numbers,
)
from kullback.estimators.data._families import auto_family, is_discrete
from kullback.estimators.data._frame_output import restore_frame
from kullback.estimators.data._preparation import TABLES, check_width
from kullback.sources import TableColumns, read_columns


class ColumnEstimator(BaseEstimator, metaclass=abc.ABCMeta):
    """An estimator that knows its columns: their names, what they hold, and their categories.

    `categories_` has the categories of columns of text, by name, or by place where columns have no names. It is there
    if there are such columns, and says which number 0, 1, … stands for which category.
    """

    #: What the entries of columns mean: a family for all of them, or one for each.
    _families: Any = "diagonal_gaussian"
    #: Whether rows follow each other.
    _has_time: ClassVar[bool] = False

    def auto_family(self, kinds: Sequence[str]) -> str | list[str]:
        """Return the families that 'auto' chooses for columns that hold numbers, words or truth."""
        return auto_family(kinds)

    @property
    def column_families(self) -> Any:
        """What the entries of columns mean: a family for all of them, or one for each."""
        return self._families

    @property
    def discrete_columns(self) -> list[bool]:
        """Which columns of the fit hold whole numbers: counts, categories, 0 and 1."""
        return is_discrete(self.column_families, self.n_features_in_)

    # --- frames -----------------------------------------------------------------------------------------

    def to_array(self, X: Any) -> np.ndarray:
        """Return a table as the model sees it: categories by their numbers, true and false as 1 and 0, NaN for missing.

        It is the inverse of `to_frame`. Categories that the fit has not seen are refused, as in all questions.
        """
        check_is_fitted(self)
        return self._read_table(X, first=False, learns=False, least=0)

    def to_frame(self, table: Any, like: Any) -> Any:
        """Return a table of numbers, such as a draw, as a frame like one of the fit: with names, types and categories.

        Parameters
        ----------
        table : array-like of shape (n_rows, n_features)
            Rows as the model has them: numbers of categories, 1 and 0 for true and false.
        like : frame
            A frame of pandas or polars, or a table of pyarrow, with the columns of the fit. Its rows do not matter, but
            that an index of pandas is kept if there are as many.

        Returns
        -------
        frame
            Categories by their names, true and false, whole numbers whole, and types that know missing values where
            some are left. What a type cannot hold, such as 2.5 in a column of whole numbers, makes the column one of
            floating-point numbers. If `like` is no frame, it is the table itself.

        """
        values = np.asarray(table)
        if values.ndim != 2 or isinstance(like, np.ndarray) or len(getattr(like, "shape", ())) != 2:
            return table
        expected: int = vars(self).get("n_features_in_") or values.shape[1]
        for width in (values.shape[1], like.shape[1]):
            check_width(type(self).__name__, width, expected)
        categories: Categories = getattr(self, "categories_", {})
        return restore_frame(values, like, [categories.get(label) for label in self._labels(values.shape[1])])

    # --- inside -----------------------------------------------------------------------------------------

    def _restore(self, tables: np.ndarray, like: Any) -> Any:
        """Return one table, or several, as what was asked about: arrays, a frame, or a list of frames."""
        if tables.ndim == 2:
            return self.to_frame(tables, like)
        frames = [self.to_frame(table, like) for table in tables]
        return tables if isinstance(frames[0], np.ndarray) else frames

    def _choose_families(self, kinds: list[str]) -> None:
        """Choose the families that are left to what columns hold."""

    @property
    def _category_room(self) -> Any:
        """How many categories each column has room for; None where entries are no categories."""
        return getattr(self, "n_categories_", None)

    @property
    def _category_limit(self) -> Any:
        """The parameter that says how many categories there may be; None where the first rows say it."""
        return getattr(self, "n_categories", None)

    @property
    def known_categories(self) -> list[int]:
        """How many categories of each column are known by name; 0 where entries are numbers."""
        categories: Categories = getattr(self, "categories_", {})
        return [len(categories.get(label, ())) for label in self._labels(self.n_features_in_)]

    def _labels(self, width: int) -> list[str]:
        """Return the names of the columns, or their places where they have none."""
        names = getattr(self, "feature_names_in_", None)
        return [str(place) for place in range(width)] if names is None else [str(name) for name in names]

    def _read_table(self, X: Any, first: bool, learns: bool, least: int) -> np.ndarray:
        """Return a table as numbers, with the columns of the fit; the first rows say what these are.

        Text becomes numbers of categories: those of the fit, and where it `learns`, new ones while there is room.
        """
        columns = None if isinstance(X, Encoded) else read_columns(X)
        if columns is None:
            return self._read_numbers(X, first, least)
        if first or hasattr(self, "n_features_in_"):
            validate_data(self, X, reset=first, skip_check_array=True)
        if first:
            self._choose_families(columns.kinds)
            self._check_kinds(columns)
            encoded = encode_first(columns, self._category_limit is not None)
        else:
            columns = columns.with_labels(self._labels(len(columns.labels)))
            encoded = encode_later(columns, getattr(self, "categories_", {}), self._category_room if learns else None)
        if first or learns:
            self._keep_categories(encoded.categories)
        return check_array(encoded.table, estimator=self, **TABLES, ensure_min_samples=least)

    def _read_numbers(self, X: Any, first: bool, least: int) -> np.ndarray:
        """Return a table that holds numbers already; `Encoded` says what these numbers mean."""
        X, kinds, categories = X if isinstance(X, Encoded) else (X, None, {})
        if first or hasattr(self, "n_features_in_"):
            table = validate_data(self, X, reset=first, **TABLES, ensure_min_samples=least)
        else:  # attributes_ that were set by hand come without the number of columns
            table = check_array(X, estimator=self, **TABLES, ensure_min_samples=least)
        if first:
            self._choose_families(kinds or ["truth" if _is_bool(X) else "number"] * table.shape[1])
            self._keep_categories(categories)
        elif hasattr(X, "columns") and kinds is None:
            for label, known in getattr(self, "categories_", {}).items():
                raise refuse_numbers(label, known)
        return table

    def _encode_collection(self, X: Any, first: bool) -> tuple[Any, TableColumns | None]:
        """Return a collection that lies elsewhere as numbers, and its columns if they hold more than numbers."""
        found = encode_collection(X, None if first else getattr(self, "categories_", {}))
        if found is None:
            return X, None
        if first:
            validate_data(self, X, reset=True, skip_check_array=True)
            self._choose_families(found[1].kinds)
            self._check_kinds(found[1])
        return found

    def _check_kinds(self, columns: TableColumns) -> None:
        chosen = "family" in self.get_params(deep=False)
        check_kinds(columns, self._families, type(self).__name__, chosen, self._has_time)

    def _keep_categories(self, categories: Categories) -> None:
        """Hold the categories that are known by name as an attribute_, if there are columns of text."""
        self.__dict__.pop("categories_", None)
        if categories:
            self.categories_ = categories


def _is_bool(X: Any) -> bool:
    """Whether a table holds true and false and nothing else."""
    dtype = np.asarray(X[:1]).dtype if isinstance(X, list | tuple) else getattr(X, "dtype", None)
    return str(dtype).endswith("bool")
