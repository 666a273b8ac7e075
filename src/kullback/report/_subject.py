"""What a report is about: a fitted estimator, and data to show it with."""

import copy
import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
from sklearn.utils.validation import check_is_fitted

from kullback import families, models
from kullback.core import Batch, TimeIndex
from kullback.estimators._sequences import check_lengths
from kullback.report._columns import Column, columns_of
from kullback.report._text import clean, number
from kullback.runtime import computing, jit


class Subject:
    """A fitted estimator with its model, the names of its columns, and data or None.

    Rows of a model with time are sequences of these `lengths`, one below the other, with `inputs` if it takes some.
    """

    def __init__(self, estimator: Any, data: Any = None, lengths: Any = None, inputs: Any = None, words: Any = None):
        check_is_fitted(estimator)
        self.estimator = _bare(estimator)
        self.kind = type(estimator).__name__
        self.model = self.estimator.to_model()
        self.X, own = _table(data)
        known = getattr(estimator, "feature_names_in_", None)
        if self.X is not None and self.X.shape[1] != self._width(estimator):
            raise ValueError(f"data has {self.X.shape[1]} columns: the model has {self._width(estimator)}.")
        if own is not None and known is not None and own != [str(name) for name in known]:
            raise ValueError(f"data has the columns {own}: the model was fitted to {[str(name) for name in known]}.")
        names = own if own is not None else known
        count = self._width(estimator)
        self.names = [f"column {place}" for place in range(count)] if names is None else [clean(n) for n in names]
        self.categories = _words_of(words or {}, count, names)
        self.lengths = self._checked_lengths(lengths)
        self.inputs = self.checked_inputs("inputs", inputs, 0 if self.X is None else len(self.X))

    def _width(self, estimator: Any) -> int:
        if hasattr(estimator, "n_features_in_"):
            return int(estimator.n_features_in_)
        return int(estimator._shape_of(self.model)["n_features_in_"])  # attributes_ that were set by hand

    def _checked_lengths(self, lengths: Any) -> np.ndarray:
        if lengths is not None and (self.X is None or not self.has_time):
            raise ValueError(f"lengths is given for a {self.kind}: it is for data of a model with time.")
        return check_lengths(lengths, 0 if self.X is None else len(self.X))

    def checked_inputs(self, name: str, inputs: Any, rows: int | None = None) -> np.ndarray | None:
        """Return inputs as a table with a column for each that the system takes, and with so many rows."""
        if inputs is None:
            return None
        if self.X is None or not self.input_count:
            raise ValueError(f"{name} is given for a {self.kind}: it is for data of a system that takes some.")
        table = np.asarray(inputs, dtype=np.float64)
        table = table.reshape(-1, 1) if table.ndim == 1 else table
        wanted = (len(table) if rows is None else rows, self.input_count)
        if table.shape != wanted or len(table) == 0:
            raise ValueError(f"{name} has shape {np.shape(inputs)}: it must be {wanted}.")
        if not np.isfinite(table).all():
            raise ValueError(f"{name} has entries that are not finite: they must be known at every row.")
        return table

    @property
    def is_mixture(self) -> bool:
        """Whether rows come from components."""
        return isinstance(self.model, models.Mixture)

    @property
    def is_hidden_markov(self) -> bool:
        """Whether rows come from states that follow each other."""
        return isinstance(self.model, models.HiddenMarkovModel)

    @property
    def is_linear_system(self) -> bool:
        """Whether rows come from a hidden state that moves linearly."""
        return isinstance(self.model, models.LinearDynamicalSystem)

    @property
    def is_factors(self) -> bool:
        """Whether rows come from a few factors."""
        return isinstance(self.model, (models.ProbabilisticPCA, models.FactorAnalysis))

    @property
    def has_time(self) -> bool:
        """Whether rows follow each other."""
        return self.is_hidden_markov or self.is_linear_system

    @property
    def input_count(self) -> int:
        """How many inputs the system takes at each row."""
        given = [getattr(self.model, name, None) for name in ("input_transition", "input_observation")]
        return max((np.shape(matrix)[1] for matrix in given if matrix is not None), default=0)

    @property
    def lacks_inputs(self) -> bool:
        """Whether rows cannot be explained, for want of inputs."""
        return self.input_count > 0 and self.inputs is None

    @functools.cached_property
    def components(self) -> Any:
        """The components or emissions, batched; one Gaussian for factors; None for a linear system."""
        match self.model:
            case models.Mixture():
                return self.model.components
            case models.HiddenMarkovModel():
                return self.model.emissions
            case models.LinearDynamicalSystem():
                return None
            case models.CompoundDirichlet():
                return models.CompoundDirichlet(np.asarray(self.model.concentration)[None], self.model.trials)
        with computing():
            covariance = np.asarray(self.model.covariance)
        return families.Gaussian(np.asarray(self.model.mean)[None], covariance[None])

    @functools.cached_property
    def weights(self) -> np.ndarray:
        """The share of each component; of states, in the long run."""
        match self.model:
            case models.Mixture():
                return np.asarray(self.model.weights, dtype=float)
            case models.HiddenMarkovModel():
                return np.asarray(self.estimator.get_stationary_distribution(), dtype=float)
        return np.ones(1)

    @functools.cached_property
    def columns(self) -> list[Column]:
        """What the components say of each column."""
        totals = None if self.X is None else self.X.sum(axis=1)
        found = columns_of(self.components, None if totals is None else totals[np.isfinite(totals)])
        return [column.named(words) for column, words in zip(found, self.categories, strict=True)]

    @functools.cached_property
    def complete(self) -> np.ndarray:
        """The rows of the data without missing entries: those that have a place in a picture."""
        return np.zeros(0, int) if self.X is None else np.flatnonzero(np.isfinite(self.X).all(axis=1))

    @property
    def left_out(self) -> str:
        """A sentence that says how many rows have no place in a picture, if there are any."""
        count = 0 if self.X is None else len(self.X)
        return _have_missing(count - len(self.complete), count, " and are not shown")

    def entry(self, row: int, place: int) -> str:
        """Return an entry of the data as it is read: a number, or the word of its code."""
        assert self.X is not None
        value, words = self.X[row, place], self.categories[place]
        return clean(words[int(value)]) if words and value in range(len(words)) else number(value)

    @functools.cached_property
    def log_likelihoods(self) -> np.ndarray | None:
        """The log-likelihood of each row of the data; in a series, given the rows before it."""
        if self.X is None or self.lacks_inputs:
            return None
        if not self.has_time:
            return np.asarray(self.estimator.score_samples(self.X))
        missing = np.isnan(self.X)
        observed = ~missing if missing.any() else None
        steps = TimeIndex.of_lengths(self.lengths, self.inputs)
        batch = Batch(np.where(missing, 0.0, self.X), None, 0.0, observed, None, steps)
        with computing():
            return np.asarray(_log_likelihood(self.model, batch))

    @functools.cached_property
    def labels(self) -> np.ndarray:
        """The most probable component of each row, or the state on the most probable path."""
        given = (self.lengths,) if self.is_hidden_markov else ()
        return np.asarray(self.estimator.predict(self.X, *given))


@jit
def _log_likelihood(model: Any, batch: Batch) -> Any:
    return jnp.asarray(model.log_likelihood(batch))


def missing_in(X: np.ndarray) -> str:
    """Return a sentence that says how many rows of a series have gaps, if there are any."""
    return _have_missing(int(np.isnan(X).any(axis=1).sum()), len(X), ", which are gaps")


def _have_missing(some: int, count: int, then: str) -> str:
    return f" {some:,} of {count:,} rows {'has' if some == 1 else 'have'} missing values{then}." if some else ""


def _words_of(words: Any, count: int, names: Any) -> list[list[str] | None]:
    """Return the words that the categories of each column stand for, where there are some."""
    labels = range(count) if names is None else names
    return [words.get(str(label)) for label in labels]


def _bare(estimator: Any) -> Any:
    """Return the estimator without names of columns: they are checked here, once."""
    bare = copy.copy(estimator)
    vars(bare).pop("feature_names_in_", None)
    return bare


def _table(data: Any) -> tuple[np.ndarray | None, list[str] | None]:
    """Return data as numbers in rows and columns, and the names of its columns if it has some."""
    if data is None:
        return None, None
    named = not isinstance(data, np.ndarray) and hasattr(data, "columns")
    table = np.asarray(data, dtype=np.float64)
    table = table.reshape(-1, 1) if table.ndim == 1 else table
    if table.ndim != 2 or len(table) == 0:
        raise ValueError(f"data has shape {np.shape(data)}: a report needs a table with rows.")
    return table, [str(name) for name in data.columns] if named else None
