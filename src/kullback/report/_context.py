"""What a report is about: a fitted estimator, and data to show it with."""

import copy
import functools
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from sklearn.utils.validation import check_is_fitted

from kullback.core import Batch, ClosedFormModel, TimeIndex
from kullback.estimators import check_lengths
from kullback.report._columns import Column
from kullback.report._images import find_shape
from kullback.report._text import clean, number
from kullback.report._view import view_model
from kullback.runtime import computing, in_float64, jit

#: Rows that are drawn from a model, and rows of the data that say what is usual: at most, and at least.
_DRAWS, _USUAL, _FEW = 2000, 500, 20


class ReportContext:
    """A fitted estimator with its model, the names of its columns and categories, and data or None.

    Rows of a model with time are sequences of these `lengths`, one below the other, with `inputs` if it takes some. Of
    a model of targets given inputs the data are inputs, and `y` the targets of its rows.
    """

    def __init__(
        self,
        estimator: Any,
        data: Any = None,
        lengths: Any = None,
        inputs: Any = None,
        words: Any = None,
        y: Any = None,
        target_names: Sequence[str] | None = None,
        image_shape: Any = None,
    ):
        check_is_fitted(estimator)
        self.estimator = _bare(estimator)
        self.kind = type(estimator).__name__
        self.model = self.estimator.to_model()
        self.view = view_model(self.model, estimator)
        own, known = _names_of(data), getattr(estimator, "feature_names_in_", None)
        if own is not None and len(own) == self.view.columns and known is not None and own != list(map(str, known)):
            raise ValueError(f"data has the columns {own}: the model was fitted to {[str(name) for name in known]}.")
        self.X = _table(data, estimator)
        if self.X is not None and self.X.shape[1] != self.view.columns:
            raise ValueError(f"data has {self.X.shape[1]} columns: the model has {self.view.columns}.")
        names = own if own is not None else known
        count = self.view.columns
        noun = "input" if self.view.targets else "column"
        self.names = [f"{noun} {place}" for place in range(count)] if names is None else [clean(n) for n in names]
        words = getattr(estimator, "categories_", {}) if words is None else words
        self.categories = self._find_categories(words, known if names is None else names)
        self.image_shape = find_shape(image_shape, count, self.kind, self.view.network, self.view.pixels)
        self.lengths = self._check_lengths(lengths)
        self.inputs = self.check_inputs("inputs", inputs, 0 if self.X is None else len(self.X))
        self.targets = self._check_targets(y)
        found = _target_names(y, self.view.targets) if target_names is None else [clean(name) for name in target_names]
        self.target_names = found

    def _check_targets(self, y: Any) -> np.ndarray | None:
        """Return targets as a table of numbers, NaN where they are missing."""
        if y is None:
            return None
        if self.X is None or not self.view.targets:
            raise ValueError(f"y is given for a {self.kind}: it is for data of a model of targets given inputs.")
        if np.ndim(y) == 0 or len(y) != len(self.X):
            raise ValueError(f"y has shape {np.shape(y)}: data has {len(self.X)} rows, and each has its targets.")
        if not hasattr(self.estimator, "classes_"):
            return self.estimator.to_target_array(y)
        labels = np.asarray(y).reshape(len(self.X))
        missing = np.array([label is None or label != label for label in labels.tolist()], dtype=bool)
        found = np.full((len(labels), 1), np.nan)
        if not missing.all():
            known = labels[~missing]
            found[~missing] = self.estimator.to_target_array(
                known.astype(self.estimator.classes_.dtype) if missing.any() else known
            )
        return found

    def _find_categories(self, words: Any, names: Any) -> list[list[str] | None]:
        """Return the names of the categories of each column, where they are known."""
        labels = range(self.view.columns) if names is None else names
        return [words.get(str(label)) for label in labels]

    def _check_lengths(self, lengths: Any) -> np.ndarray:
        if lengths is not None and (self.X is None or not self.has_time):
            raise ValueError(f"lengths is given for a {self.kind}: it is for data of a model with time.")
        return check_lengths(lengths, 0 if self.X is None else len(self.X))

    def check_inputs(self, name: str, inputs: Any, rows: int | None = None) -> np.ndarray | None:
        """Return inputs as a table with a column for each that the system takes, and with so many rows."""
        if inputs is None:
            return None
        if self.X is None or not self.view.inputs:
            raise ValueError(f"{name} is given for a {self.kind}: it is for data of a system that takes some.")
        table = np.asarray(inputs, dtype=np.float64)
        table = table.reshape(-1, 1) if table.ndim == 1 else table
        wanted = (len(table) if rows is None else rows, self.view.inputs)
        if table.shape != wanted or len(table) == 0:
            raise ValueError(f"{name} has shape {np.shape(inputs)}: it must be {wanted}.")
        if not np.isfinite(table).all():
            raise ValueError(f"{name} has entries that are not finite: they must be known at every row.")
        return table

    @property
    def components(self) -> Any:
        """The components or emissions, batched; one Gaussian for factors; None where nothing is known of columns."""
        return self.view.components

    @property
    def weights(self) -> np.ndarray:
        """The share of each component; of states, in the long run."""
        return self.view.weights

    @property
    def has_time(self) -> bool:
        """Whether rows follow each other."""
        return self.view.has_time

    @property
    def lacks_inputs(self) -> bool:
        """Whether rows cannot be explained, for want of inputs."""
        return self.view.inputs > 0 and self.inputs is None

    @functools.cached_property
    def columns(self) -> list[Column]:
        """What the components say of each column; nothing where there are none."""
        if self.components is None:
            return []
        totals = None if self.X is None else self.X.sum(axis=1)
        with computing():
            found = self.components.marginals(None if totals is None else totals[np.isfinite(totals)])
        return [
            Column.of(marginal, len(self.weights), words)
            for marginal, words in zip(found, self.categories, strict=True)
        ]

    @functools.cached_property
    def complete(self) -> np.ndarray:
        """The rows of the data without missing entries: those that have a place in a picture."""
        return np.zeros(0, int) if self.X is None else np.flatnonzero(np.isfinite(self.X).all(axis=1))

    @property
    def omission(self) -> str:
        """A sentence that says how many rows have no place in a picture, if there are any."""
        count = 0 if self.X is None else len(self.X)
        return _describe_missing(count - len(self.complete), count, " and are not shown")

    def entry(self, row: int, place: int) -> str:
        """Return an entry of the data as it is read: a number, or the name of its category."""
        assert self.X is not None
        value, words = self.X[row, place], self.categories[place]
        return clean(words[int(value)]) if words and value in range(len(words)) else number(value)

    @functools.cached_property
    def log_likelihoods(self) -> np.ndarray | None:
        """The log-likelihood of each row of the data; in a series, given the rows before it."""
        if self.X is None or self.lacks_inputs:
            return None
        if not self.has_time:
            if not self.view.targets:
                return np.asarray(self.estimator.score_samples(self.X))
            return self._target_log_likelihoods()
        return np.asarray(self.estimator.score_next(self.X, self.lengths, self.inputs).log_likelihood)

    def _target_log_likelihoods(self) -> np.ndarray | None:
        """Return those of targets given inputs; NaN of rows without targets, and None if there are no others."""
        if self.X is None or self.targets is None or np.isnan(self.targets).all():
            return None
        found = np.asarray(self.estimator.predict_distribution(self.X).by_place.log_prob(self.targets))
        return np.where(np.isnan(self.targets).all(axis=1), np.nan, found)

    def contributions(self, rows: np.ndarray) -> np.ndarray | None:
        """Return how much more surprising each entry of some rows is than most of its column, in nats.

        It is −log p(entry | the rest of its row) less the median of its column: what `estimator.contributions` returns,
        but for what is usual, which is quicker found in the data than in rows that the model draws. None where columns
        cannot be compared: of one column or few rows, and in models that cannot leave out an entry of a row.
        """
        comparable = len(self.names) > 1 and isinstance(self.model, ClosedFormModel) and not self.lacks_inputs
        if self.X is None or len(self.X) < _FEW or not comparable:
            return None
        if self.has_time:
            asked = np.arange(len(self.X))
            surprises = self._surprises(asked, TimeIndex.of_lengths(self.lengths), self.inputs)
            found = surprises[rows]
        else:
            asked = np.random.default_rng(0).permutation(len(self.X))[:_USUAL]
            surprises = self._surprises(np.append(rows, asked))
            found, surprises = np.split(surprises, [len(rows)])
        known = np.ma.masked_invalid(np.where(np.isfinite(self.X[asked]), surprises, np.nan))
        usual = np.ma.median(known, axis=0).filled(0.0)
        return np.where(np.isfinite(self.X[rows]), found - usual, 0.0)

    @in_float64
    def _surprises(self, rows: np.ndarray, time: TimeIndex | None = None, inputs: Any = None) -> np.ndarray:
        """Return −log p(entry | the rest of its row) of some rows, in nats, given the rows before them in time."""
        assert self.X is not None
        missing, threshold = np.isnan(self.X[rows]), self.estimator.get_params(deep=False).get("binarize")
        values = self.X[rows] if threshold is None else (self.X[rows] > threshold).astype(float)
        observed = ~missing if missing.any() else None
        batch = Batch(np.where(missing, 0.0, values), None, 0.0, observed, None, time, inputs=inputs)
        return np.asarray(_surprises(self.model, batch))

    @functools.cached_property
    def draws(self) -> np.ndarray:
        """Rows that the model draws, the same every time."""
        estimator = copy.copy(self.estimator)
        if "random_state" in estimator.get_params(deep=False):
            estimator.random_state = 0
        found = estimator.sample(_DRAWS)
        return np.asarray(found[0] if isinstance(found, tuple) else found, dtype=float)

    @functools.cached_property
    def responsibilities(self) -> np.ndarray:
        """The probability of each component of a mixture given each row of the data."""
        return np.asarray(self.estimator.predict_proba(self.X))

    @functools.cached_property
    def labels(self) -> np.ndarray:
        """The most probable component of each row, or the state on the most probable path."""
        if self.has_time:
            return np.asarray(self.estimator.predict(self.X, self.lengths))
        return self.responsibilities.argmax(axis=1)


@jit
def _surprises(model: Any, batch: Batch) -> Any:
    without = model.leave_one_out(batch)
    # a row that is impossible without the entry as well says nothing of it
    return jnp.where(jnp.isneginf(without), 0.0, without - model.log_likelihood(batch)[:, None])


def describe_gaps(X: np.ndarray) -> str:
    """Return a sentence that says how many rows of a series have gaps, if there are any."""
    return _describe_missing(int(np.isnan(X).any(axis=1).sum()), len(X), ", which are gaps")


def _describe_missing(some: int, count: int, then: str) -> str:
    return f" {some:,} of {count:,} rows {'has' if some == 1 else 'have'} missing values{then}." if some else ""


def _bare(estimator: Any) -> Any:
    """Return the estimator without names of columns: they are checked here, once."""
    bare = copy.copy(estimator)
    vars(bare).pop("feature_names_in_", None)
    return bare


def _names_of(data: Any) -> list[str] | None:
    named = not isinstance(data, np.ndarray) and hasattr(data, "columns")
    return [str(name) for name in data.columns] if named else None


def _target_names(y: Any, count: int) -> list[str]:
    """Return the names of targets: those of a frame or a series, or y."""
    named, own = _names_of(y), getattr(y, "name", None)
    if named is not None and len(named) == count:
        return [clean(name) for name in named]
    if own is not None and count == 1:
        return [clean(own)]
    return ["y"] if count == 1 else [f"y {place}" for place in range(count)]


def _table(data: Any, estimator: Any) -> np.ndarray | None:
    """Return data as numbers in rows and columns."""
    if data is None:
        return None
    of_frame = hasattr(data, "columns") and {"feature_names_in_", "categories_"} & vars(estimator).keys()
    table = np.asarray(estimator.to_array(data) if of_frame else data, dtype=np.float64)
    table = table.reshape(-1, 1) if table.ndim == 1 else table
    if table.ndim != 2 or len(table) == 0:
        raise ValueError(f"data has shape {np.shape(data)}: a report needs a table with rows.")
    return table
