"""Combination: the model nearest to several fitted ones."""

import functools
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from kullback.core import ClosedFormModel, Extent
from kullback.learning._learner import ClosedFormT, Scalar
from kullback.models import Conditional, LinearConditional, combine_linear, ensemble
from kullback.runtime import jit

CombinedT = TypeVar("CombinedT", bound=ClosedFormModel | LinearConditional | Conditional)


def combine(
    models: Sequence[CombinedT],
    weights: ArrayLike | None = None,
    align: bool = True,
    like: Extent | Sequence[Extent] | None = None,
) -> CombinedT:
    """Return argmin Σ α_m D(Θ_m, Θ): the model with the average of the models' own statistics.

    Hidden labels have no names: with `align` all models are lined up with the first before they are averaged. `like` is
    what the models speak of, one point by default, or one extent for each model; models with time need the length of a
    sequence, `Extent.of_lengths(100)`, for their hidden states are used more or less often as time goes by.

    Of linear conditionals it is the nearest model to second order: coefficients are weighted by `weights`, the points
    each was learned from, and by their information per point. Of other conditionals, such as networks, it is the
    ensemble: the mixture of what they foretell, as large as all of them.

    >>> from kullback.families import Poisson
    >>> from kullback.models import Mixture
    >>> a = Mixture(weights=[0.5, 0.5], components=Poisson(rate=[1.0, 9.0]))
    >>> b = Mixture(weights=[0.5, 0.5], components=Poisson(rate=[11.0, 3.0]))
    >>> combine([a, b]).components.rate.round(3).tolist()
    [2.0, 10.0]
    """
    if not models:
        raise ValueError("models is empty: there is nothing to combine.")
    alpha = shares(weights, len(models))
    first = models[0]
    for place, model in enumerate(models):
        if type(model) is not type(first):
            raise ValueError(
                f"models[{place}] is a {type(model).__name__}, models[0] a {type(first).__name__}: all must be alike."
            )
    several: Any = tuple(models)
    if isinstance(first, LinearConditional):
        nearest: Any = combine_linear(several, alpha)
        return nearest
    if isinstance(first, Conditional):
        mixture: Any = ensemble(several, alpha)
        return mixture
    lined_up = tuple(model.aligned_to(first) for model in several) if align else several
    extents = [like or Extent()] * len(models) if like is None or isinstance(like, Extent) else list(like)
    combined: CombinedT = _from_statistics(lined_up, tuple(extents), alpha)
    return combined


@jit
def _from_statistics(
    models: tuple[ClosedFormT, ...], like: tuple[Extent, ...], alpha: tuple[Scalar, ...]
) -> ClosedFormT:
    own = [model.own_statistics(one.scale(a)) for model, one, a in zip(models, like, alpha, strict=True)]
    return models[0].maximize(functools.reduce(lambda merged, one: merged.merge(one), own))


def shares(weights: ArrayLike | None, count: int) -> tuple[np.float64, ...]:
    """Return weights that sum to 1; equal ones for None."""
    alpha = np.ones(count) if weights is None else np.asarray(weights, dtype=float)
    if alpha.shape != (count,):
        raise ValueError(f"weights has shape {alpha.shape}: there are {count} models.")
    if not (np.isfinite(alpha).all() and (alpha >= 0).all() and alpha.sum() > 0):
        raise ValueError(f"weights is {alpha.tolist()}: they must be finite, not negative, and not all zero.")
    return tuple(alpha / alpha.sum())
