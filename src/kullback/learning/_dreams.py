"""Dreams: points that models draw, as data. So models without statistics are combined, and have inertia."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from kullback.core import Batch, Estimate, copy_with
from kullback.learning._combine import shares
from kullback.learning._data import Batches, Chunk
from kullback.learning._fit import Place, begin, fit
from kullback.learning._learner import Learner, ModelT
from kullback.learning._rules import LIMIT, Epochs, check_at_least_one
from kullback.runtime import as_numpy, filter_jit

#: Rows that are scored at once.
_SCORED = 512


class Dreams:
    """Points without end that some models draw, each in proportion to its weight; an epoch is `steps` batches.

    What a step is given depends on the seed and its number only.
    """

    whole, sites = False, 1

    def __init__(self, models: Sequence[Any], weights: ArrayLike | None, rows: int, steps: int, seed: int = 0):
        check_at_least_one("rows", rows)
        check_at_least_one("steps", steps)
        self._models, self._alpha = list(models), np.array(shares(weights, len(models)))
        self._rows, self._steps, self._seed = rows, steps, seed

    def start(self) -> Batch | None:
        """Return some dreams, which do not come again."""
        return Batch(self.draw(2**12, 2**31 - 1))

    def steps(self, position: Any, most: int) -> Chunk | None:
        """Return the next batches."""
        first = 0 if position is None else position
        if not isinstance(first, int) or isinstance(first, bool) or first < 0:
            raise ValueError(f"position is {position!r}: it is none of dreams.")
        count = min(most, self._steps - first % self._steps)
        values = np.stack([self.draw(self._rows, first + number) for number in range(count)])[:, None]
        batches = Batch(values[0, 0])
        weight = np.broadcast_to(batches.weight, (count, 1, self._rows))
        variance = np.broadcast_to(batches.point_variance, (count, 1))
        stacked = copy_with(batches, values=values, weight=weight, point_variance=variance)
        last = first + count
        return Chunk(stacked, np.ones(count, bool), last, last % self._steps == 0)

    def draw(self, rows: int, step: int) -> np.ndarray:
        """Return the points of one step, in an order that says nothing of the models."""
        random = np.random.default_rng([self._seed, step])
        found: list[np.ndarray] = []
        for model, count in zip(self._models, random.multinomial(rows, self._alpha), strict=True):
            size = 1 << max(0, int(count) - 1).bit_length()  # few sizes: few compiled functions
            key = jax.random.key(int(random.integers(2**31)))
            if count:
                found.append(np.asarray(_sample(model, key, size))[:count])
        return np.concatenate(found)[random.permutation(rows)]


class WithDreams:
    """Batches of data, each with points dreamt by a snapshot: the inertia of models without statistics.

    `share`, in [0, 1), is how much of a step the dreams weigh: 0.9 is online EM with a rate of 0.1. Data and dreams
    weigh together what the data does alone, so that points are counted as those of the data.
    """

    whole, sites = False, 1

    def __init__(self, data: Batches, snapshot: Any, share: float, rows: int, seed: int = 0):
        if not 0 <= share < 1:
            raise ValueError(f"share is {share!r}: the share of dreams must be in [0, 1).")
        self._data, self._share = data, share
        self._dreams = Dreams([snapshot], None, rows, 2**31, seed)
        self._rows = rows

    def start(self) -> Batch | None:
        """Return some of the data."""
        return self._data.start()

    def steps(self, position: Any, most: int) -> Chunk | None:
        """Return the next batches of the data, with dreams beside them."""
        at, done = self._read(position)
        chunk = self._data.steps(at, most)
        if chunk is None:
            return None
        batches, count = chunk.batches, len(chunk.active)
        if batches.time is not None or batches.inputs is not None:
            raise ValueError("the data has a time index or inputs: dreams are of independent points.")
        after = [chunk.position, done + count]
        if self._share == 0:
            return chunk._replace(position=after)
        dreamt = np.stack([self._dreams.draw(self._rows, done + number) for number in range(count)])[:, None]
        values = np.concatenate([np.asarray(batches.values), dreamt.astype(batches.values.dtype)], axis=2)
        mass = np.sum(np.asarray(batches.weight), axis=2, keepdims=True) * self._share
        beside = np.repeat(mass / self._rows, self._rows, axis=2).astype(batches.weight.dtype)
        weight = np.concatenate([np.asarray(batches.weight) * (1 - self._share), beside], axis=2)
        observed = batches.observed
        if observed is not None:
            observed = np.concatenate([np.asarray(observed), np.ones(dreamt.shape, bool)], axis=2)
        # which rows are alike, and where they lie, was known of the data alone
        joined = {"values": values, "weight": weight, "observed": observed, "distinct": None, "standardization": None}
        return chunk._replace(batches=copy_with(batches, **joined), position=after)

    @staticmethod
    def _read(position: Any) -> tuple[Any, int]:
        """Return the position of the data and the steps before it; raise unless it is one of these."""
        match position:
            case None:
                return None, 0
            case [at, int(done)] if done >= 0 and not isinstance(done, bool):
                return at, done
        raise ValueError(f"position is {position!r}: it is none of data with dreams.")


class Combined(NamedTuple):
    """A model that has learned from the dreams of several, and how far it is from all of them together.

    `excess` is E[log mix − log p] under the mixture of the models, in nats per point, with its standard error: 0 would
    be the mixture itself, and no model is below. It is None where energies lack their constants. `place` is where its
    learning has ended: it can go on from there.
    """

    model: Any
    excess: Estimate | None
    place: Place[Any, Any, Any]


def combine_by_dreams(
    models: Sequence[ModelT],
    learner: Learner[ModelT, Any, Any, Any],
    weights: ArrayLike | None = None,
    *,
    start: ModelT | None = None,
    rows: int = 64,
    steps: int = 1000,
    seed: int = 0,
    draws: int = 100,
    points: int = 1000,
) -> Combined:
    """Return the model nearest to several by Monte Carlo: the one that learns from what all of them dream.

    argmin Σ α_m D(Θ_m, Θ) is what maximizes the likelihood of points that model m draws with probability α_m. No data
    is needed, neither to learn nor to say how near it has come.

    Parameters
    ----------
    models : sequence of models of one kind
        What is combined.
    learner : Learner
        How the new model learns.
    weights : array-like, optional
        How much each counts.
    start : model, optional
        Where to begin: at the first of the models by default.
    rows, steps : int
        Dreams of a step, which cost little, and steps.
    seed : int
        Of all draws.
    draws, points : int
        Of the yardstick: draws for a likelihood that has to be estimated, and points at which they are compared.

    """
    if not models:
        raise ValueError("models is empty: there is nothing to combine.")
    data, rule = Dreams(models, weights, rows, steps, seed), Epochs(1)
    place = begin(learner, models[0] if start is None else start, data, rule, seed)
    place, reason = fit(learner, place, data, rule, seed=seed)
    if reason != LIMIT:
        raise ValueError(f"the combination has failed: {reason}")
    model = as_numpy(learner.result(place.model, place.state))
    known = model.has_likelihood
    excess = mixture_excess(models, weights, model, draws=draws, points=points, seed=seed + 1) if known else None
    return Combined(model, excess, place)


def mixture_excess(
    models: Sequence[Any], weights: ArrayLike | None, model: Any, *, draws: int = 100, points: int = 1000, seed: int = 0
) -> Estimate:
    """Return E[log mix − log p] of a model p under the mixture of others, by points that these dream.

    Likelihoods that have to be estimated are too low, by half of their squared standard error: where a model guesses
    what is hidden poorly, it takes more `draws`, for the standard error of the excess is that of the points.
    """
    if points < 2:
        raise ValueError(f"points is {points}: a standard error takes two at least.")
    alpha = np.array(shares(weights, len(models)))
    drawn = Dreams(models, weights, points, 1, seed).draw(points, 0)
    key = jax.random.key(seed)
    each = np.stack([_scores(one, drawn, jax.random.fold_in(key, place), draws) for place, one in enumerate(models)])
    with np.errstate(divide="ignore"):
        mixed = np.logaddexp.reduce(each + np.log(alpha)[:, None], axis=0)
    gap = mixed - _scores(model, drawn, jax.random.fold_in(key, len(models)), draws)
    return Estimate(np.mean(gap), np.std(gap, ddof=1) / np.sqrt(points))


def _scores(model: Any, drawn: np.ndarray, key: Any, draws: int) -> np.ndarray:
    found = []
    for number, first in enumerate(range(0, len(drawn), _SCORED)):
        part = drawn[first : first + _SCORED]
        padded = np.concatenate([part, np.repeat(part[:1], _SCORED - len(part), axis=0)])
        scores = _estimate(model, Batch(padded), jax.random.fold_in(key, number), draws)
        found.append(np.asarray(scores, np.float64)[: len(part)])
    return np.concatenate(found)


@filter_jit
def _sample(model: Any, key: Any, size: int) -> Any:
    return model.sample(key, (size,))


@filter_jit
def _estimate(model: Any, batch: Batch, key: Any, draws: int) -> Any:
    return jnp.asarray(model.estimate_log_likelihood(batch, key, draws).value)
