"""The front door of `complete`: tables and frames, with NaN for what is missing."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from kullback import models
from kullback.core import Batch, ClosedFormModel, Completion, Model, TimeIndex
from kullback.estimators._count import check_count
from kullback.estimators._model_estimator import ModelEstimator
from kullback.estimators._registry import REGISTRY
from kullback.estimators._sequence_estimator import SequenceEstimator
from kullback.estimators._table_estimator import TableEstimator
from kullback.estimators.data._preparation import check_width
from kullback.estimators.data._sequences import check_lengths
from kullback.estimators.mixtures._spares import Spares
from kullback.learning import adaptive_jit
from kullback.models import check_temperature, check_want
from kullback.runtime import computing


def complete(
    model: Any,
    X: Any,
    *,
    want: Any = ("h", "v"),
    temperature: float = 0.0,
    n: int | None = None,
    lengths: Any = None,
    inputs: Any = None,
    random_state: Any = None,
) -> Completion:
    """Find the missing part of rows: what is hidden, the entries that are NaN, or both.

    To classify, cluster, represent, decode and impute is one question: which unknowns have the lowest energy
    −log p(h, v), or, at temperature 1, which are drawn from p. What is wanted is found, and what is not wanted is
    summed out. The caller says which, because it makes a difference: the component in the lowest joint energy may be
    one that is unlikely given what is observed. A lowest energy over real numbers depends on their units, for
    densities are compared; the mean of `impute(method="mean")` and the class of `predict` do not.

    Parameters
    ----------
    model : fitted estimator, or a model of `kullback.models` or `kullback.families`
        What the rows are like.
    X : array-like of shape (n_rows, n_columns)
        Rows with NaN for what is missing; frames as the estimator takes them.
    want : "h", "v" or both
        "h" is what is hidden: components, states, factors; "v" the missing entries.
    temperature : float
        0 is the lowest energy, 1 a draw. Other temperatures draw from p^(1/T) where that is exact: components, paths of
        states, Gaussians, both together, and what can be enumerated. Elsewhere they are refused.
    n : int, optional
        How many different draws to return, along a leading axis.
    lengths : array-like of int, optional
        For models with time: the rows of each sequence; all are one sequence by default.
    inputs : array-like of shape (n_rows, n_inputs), optional
        What is known from outside, for models that take inputs. Of a `Regressor` X has the targets, with NaN for
        those to be found, and these are its inputs.
    random_state : int, RandomState or None
        The seed of draws; that of the estimator by default.

    Returns
    -------
    Completion
        `v`: the rows, completed, as X came in (a list of n frames for n draws of frames), or None. `h`: what is hidden
        of each row, or None. `energy`: one number for each row, or for each sequence of a model with time: −log p(h, v)
        where both were wanted, −log p(v) where v was, −log p(h, what is observed) where h was. `exact`: whether it is
        the lowest energy or an exact draw; if not, a search has found it and there may be a lower one.

    Examples
    --------
    >>> import numpy as np
    >>> from kullback import GaussianMixture, complete
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal([0, 0], 1, (200, 2)), rng.normal([6, 6], 1, (200, 2))])
    >>> mixture = GaussianMixture(2, random_state=0).fit(X)
    >>> row = [[5.5, np.nan]]
    >>> found = complete(mixture, row)
    >>> bool(found.h[0] == mixture.predict(row)[0]), bool(abs(found.v[0, 1] - 6) < 0.5), found.exact
    (True, True, True)

    """
    want, temperature = check_want(want), check_temperature(temperature)
    if n is not None:
        n = check_count("n", n)
        if temperature == 0:
            raise ValueError(f"n is {n} and temperature 0: only draws differ from each other, so leave n out.")
    data = _read(model, X, lengths, inputs)
    seed = getattr(model, "random_state", None) if random_state is None else random_state
    random = check_random_state(seed)
    draws, exact = [], True
    for _ in range(1 if n is None else n):
        parts = []
        for here, batch in data.batches:
            with computing(data.bits):
                key = jax.random.key(random.randint(2**31)) if temperature else None
                find = _find_here if data.can_be_enumerated(want, temperature) else _find
                found = find(data.model, batch, key, want, temperature)
                parts.append(_first_rows(found[:3], here.stop - here.start))
            exact = exact and bool(found.exact)
        draws.append(jax.tree.map(lambda *each: np.concatenate(each), *parts))
    v, h, energy = draws[0] if n is None else jax.tree.map(lambda *each: np.stack(each), *draws)
    if np.isnan(energy).any() or (v is not None and not np.isfinite(v).all()):
        raise ValueError(
            "X cannot be completed: what was found is not finite, as numbers are too large or the model has no lowest "
            "energy."
        )
    if v is not None:
        v = np.asarray(v, np.float64).reshape(*v.shape[: v.ndim - (data.known.ndim - 1)], *data.known.shape[1:])
        v = np.where(np.isnan(data.known), v, data.known)  # what is known is not rounded to the numbers of a model
        v = data.restore(v)
    return Completion(v, h, energy if data.starts is None else energy[..., data.starts], exact)


def _first_rows(tree: Any, count: int) -> Any:
    """Return arrays without the rows of padding."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:count], tree)


#: States of a sequence times rows that are looked at, as a power of 2.
_MOST_WORK = 24


class _Data(NamedTuple):
    """Rows as batches, the model that answers, and how answers go back."""

    model: Any
    batches: list[tuple[slice, Batch]]
    known: np.ndarray
    starts: np.ndarray | None
    bits: int
    restore: Any

    def can_be_enumerated(self, want: tuple[str, ...], temperature: float) -> bool:
        """Whether sequences lack few entries of few values, and these are wanted with the path summed out.

        How many each sequence lacks has to be known when such a function is compiled; rows need nothing of the kind.
        """
        if self.starts is None or want != ("v",) or temperature == 1:
            return False
        ((here, batch),) = self.batches
        levels = self.model.visible_levels
        if levels is None or batch.observed is None:
            return False
        missing = ~np.asarray(batch.observed)[: here.stop].reshape(here.stop, -1)
        counts = [len(levels[column]) for column in np.flatnonzero(missing.any(axis=0))]
        most = np.add.reduceat(missing.sum(axis=1), np.flatnonzero(self.starts)).max()
        return bool(all(counts) and most * np.log2(max(counts, default=1)) + np.log2(here.stop) <= _MOST_WORK)


def _read(model: Any, X: Any, lengths: Any, inputs: Any) -> _Data:
    name = type(model).__name__
    if isinstance(model, SequenceEstimator):
        sequences, fitted = model._question(X, lengths, inputs)
        here: Iterable[tuple[slice, Batch]] = [(slice(0, len(sequences)), sequences.batch())]
        return _Data(fitted, list(here), sequences.X, sequences.starts, 64, lambda v: model._restore(v, X))
    if isinstance(model, TableEstimator):
        _refuse_time(name, lengths, inputs)
        rows, fitted = model._question(X, least=1)
        fitted, batches = Spares(rows.X).added(fitted), list(rows.batches_with_places())
        return _Data(fitted, batches, rows.X, None, model._bits, lambda v: model._restore(v, X))
    if isinstance(model, ModelEstimator) and REGISTRY[name].capabilities.data == "pairs":
        fitted, pairs, restore = model.question_of_targets(X, inputs)
        return _Data(fitted, list(pairs.batches()), pairs.targets, None, model._bits, restore)
    if isinstance(model, BaseEstimator):
        raise ValueError(
            f"model is {model!r}, which cannot complete rows: give a model of rows or of sequences, such as "
            "GaussianMixture, or the `estimator_` of an Imputer."
        )
    if not isinstance(model, Model):
        raise ValueError(
            f"model is {model!r}: it must be an estimator or a model of this library, such as GaussianMixture."
        )
    values = np.asarray(X, np.float64)
    if values.ndim == 0 or len(values) == 0:
        raise ValueError(f"X has shape {values.shape}: it must have rows.")
    levels = model.visible_levels
    if levels is not None:
        check_width(name, int(np.prod(values.shape[1:])), len(levels))
    with computing():
        timed = isinstance(model, ClosedFormModel) and model.blank_carry() is not None
    if not timed:
        _refuse_time(name, lengths, None)
    time = TimeIndex.of_lengths(check_lengths(lengths, len(values))) if timed else None
    observed = ~np.isnan(values) if np.isnan(values).any() else None
    batch = Batch(values, observed=observed, time=time, inputs=None if inputs is None else np.asarray(inputs, float))
    starts = None if time is None else np.asarray(time.starts)
    return _Data(model, [(slice(0, len(values)), batch)], values, starts, 64, lambda v: v)


def _refuse_time(name: str, lengths: Any, inputs: Any) -> None:
    for what, given in (("lengths", lengths), ("inputs", inputs)):
        if given is not None:
            raise ValueError(f"{what} are given, and {name} has independent rows: leave them out.")


def _find_here(model: Any, batch: Batch, key: Any, want: tuple[str, ...], temperature: float) -> Any:
    """Complete rows by a function that is compiled for them alone."""
    exact = []

    def find(model: Any, key: Any) -> Any:
        found = models.complete(model, batch, want=want, temperature=temperature, key=key)
        exact.append(found.exact)
        return found[:3]

    v, h, energy = jax.jit(find)(model, key)
    return Completion(v, h, energy, exact[0])


@adaptive_jit
def _find(model: Any, batch: Batch, key: Any, want: tuple[str, ...], temperature: float) -> Any:
    return models.complete(model, batch, want=want, temperature=temperature, key=key)
