"""Combining what was fitted apart."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from kullback import learning
from kullback.core import Batch
from kullback.estimators._fit_record import FitRecord
from kullback.estimators._model_estimator import ModelEstimator
from kullback.estimators.conditional._combination import combine_conditionals
from kullback.estimators.conditional._estimator import ConditionalEstimator
from kullback.estimators.gradient._combination import combine_networks
from kullback.estimators.gradient._estimator import GradientEstimator
from kullback.estimators.process._spiking_network import SpikingNetwork
from kullback.geometry import relative_entropy
from kullback.models import Mixture, agreeing, reduce, spread_out, unite
from kullback.numerics import with_article
from kullback.runtime import computing, jit

#: Points drawn from a mixture to stand for it, and starts of reductions besides the inputs.
_DRAWS = 10_000
_STARTS = 4
#: Components nearer than this, in nats, are the same component.
_NEAR = 0.5
#: Two models that were fitted to n points of the same data are about p/2n nats apart, p parameters each. Up to so many
#: times p/n a model may be a draw from the average of all; other local optima are ten times as far.
_BY_CHANCE = 2.0
#: A model that moves by less than this, in nats, when it learns from another's points could have been fitted to them.
_STAYS = 0.25


def combine(
    fitted: Sequence[Any],
    weights: Any = None,
    align: bool = True,
    n_components: int | None = None,
    random_state: Any = 0,
) -> Any:
    """Return one estimator (or model) nearest to several fitted ones, without their data.

    Weights default to the number of points each has seen; models count equally. With `align`, hidden labels are lined
    up first, so that the order in which a fit has numbered them makes no difference.

    Fits that are no further from the nearest model than their numbers of points and parameters make likely are taken
    for fits of the same optimum, and that model is returned.

    Fits from different starts end in different local optima, and then no matching of mixtures one to one is good: two
    clusters that one fit holds in one component blur what the others tell apart. If there is an input from which all
    others could have learned what they are (they hardly move when they learn from its points), the one of least
    entropy is taken, and what agrees with it is averaged. If not, the inputs tell of different data: all components are
    united and reduced to as many as asked for by least relative entropy, from several starts, and the reduction nearest
    to the united mixture is returned. Linear regressors and classifiers are combined by the information of their
    coefficients: the nearest model to second order. Networks, which have no statistics, are combined by one that learns
    from the dreams of all; it says in `combination_excess_` how near it has come. With
    `n_components` mixtures may differ in their number of components.

    >>> import numpy as np
    >>> from kullback import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> sites = [np.concatenate([rng.normal(m, 1, (300, 2)) for m in (-5, 5)]) for _ in range(3)]
    >>> fitted = [GaussianMixture(n_components=2, random_state=i).fit(X) for i, X in enumerate(sites)]
    >>> np.sort(combine(fitted).means_[:, 0]).round().tolist()
    [-5.0, 5.0]
    """
    fitted = list(fitted)
    _check_alike(fitted, n_components)
    if isinstance(fitted[0], SpikingNetwork):
        raise ValueError("networks of spiking units cannot be combined: let one of them learn the other streams too.")
    if isinstance(fitted[0], ConditionalEstimator):
        if n_components is not None:
            raise ValueError(f"n_components is for mixtures: a {type(fitted[0]).__name__} keeps its own number.")
        return combine_conditionals(fitted, weights)
    if isinstance(fitted[0], GradientEstimator):
        if n_components is not None:
            raise ValueError(f"n_components is for mixtures: a {type(fitted[0]).__name__} keeps its own number.")
        return combine_networks(fitted, weights, random_state)
    estimators = isinstance(fitted[0], ModelEstimator)
    records = [FitRecord.of(one) for one in fitted] if estimators else []
    if weights is None and sum(record.counts[1] for record in records) > 0:
        weights = [record.counts[1] for record in records]
    with computing():
        models = [model.to_model() if estimators else jax.tree.map(np.asarray, model) for model in fitted]
        _check_same_shapes(models, n_components)
        # models with time speak of sequences as long as those they have seen
        extents = [one.extent_seen for one in fitted] if estimators else [None]
        like = None if extents[0] is None else extents
        chance = [_by_chance(one) for one in fitted] if estimators else None
        found = _combined_model(models, weights, align, n_components, random_state, like, chance)
        nearest = jax.tree.map(np.asarray, found)
    if not estimators:
        return nearest
    result = clone(fitted[0])
    if n_components is not None:
        result.n_components = n_components
    result.set_model(nearest)
    for name, value in result._shape_of(nearest).items():
        setattr(result, name, value)
    for name in ("feature_names_in_", "categories_", "family_"):
        if hasattr(fitted[0], name):
            setattr(result, name, getattr(fitted[0], name))
    FitRecord.combine(records).write(result)
    return result


def _by_chance(estimator: Any) -> float:
    """Return how far, in nats, a fit may be from the truth for no other reason than the number of its points."""
    _, points = FitRecord.of(estimator).counts
    return _BY_CHANCE * estimator._n_parameters() / points if points > 0 else 0.0


def _combined_model(
    models: list[Any],
    weights: Any,
    align: bool,
    n_components: int | None,
    random_state: Any,
    like: Any,
    chance: list[float] | None,
) -> Any:
    if not isinstance(models[0], Mixture) or not align:
        if n_components is not None and not isinstance(models[0], Mixture):
            raise ValueError(
                f"n_components is for mixtures: {with_article(type(models[0]).__name__)} keeps its own number."
            )
        return learning.combine(models, weights, align, like)
    alpha = np.asarray(learning.shares(weights, len(models)))
    counted = np.flatnonzero(alpha > 0)
    models, alpha = [models[place] for place in counted], alpha[counted]
    few = len(models[0].weights) if n_components is None else n_components
    random = check_random_state(random_state)
    if all(len(model.weights) == few for model in models):
        lined_up = [model.aligned_to(models[0]) for model in models]
        average = learning.combine(lined_up, alpha, align=False)
        if few == 1 or _all_near(lined_up):
            return average
        if chance is not None and _all_by_chance(models, average, [chance[place] for place in counted]):
            return average
        stand_in = _representative(models, random)
        if stand_in is not None:
            return agreeing(models, alpha, stand_in, _NEAR)
    return _reduced(models, alpha, few, random)


def _all_near(models: list[Mixture]) -> bool:
    both = _both_ways(models[0].components, jax.tree.map(lambda *leaves: np.stack(leaves), *models).components)
    return bool(np.max(both) < _NEAR)


def _all_by_chance(models: list[Mixture], average: Any, chance: list[float]) -> bool:
    """Whether each model is as near to the average as a fit to points of the average would be."""
    for place, (model, most) in enumerate(zip(models, chance, strict=True)):
        points = Batch(np.asarray(model.sample(jax.random.key(place), (_DRAWS,))))
        if not float(_score(model, points) - _score(average, points)) < most:
            return False
    return True


@jit
def _both_ways(a: Any, others: Any) -> Any:
    there = jax.vmap(relative_entropy, (None, 0))(a, others)
    return there + jax.vmap(relative_entropy, (0, None))(others, a)


def _representative(models: list[Mixture], random: np.random.RandomState) -> int | None:
    """Return the input of least entropy whose points could have been the data of all others, if there is one."""
    found: list[tuple[float, int]] = []
    for place, model in enumerate(models):
        points = Batch(np.asarray(model.sample(jax.random.key(random.randint(2**31)), (_DRAWS,))))
        moved = [float(_moved(other, points)) for m, other in enumerate(models) if m != place]
        if all(distance < _STAYS for distance in moved):
            found.append((float(_score(model, points)), place))
    return max(found)[1] if found else None


@jit
def _moved(model: Any, batch: Batch) -> Any:
    return relative_entropy(model, model.maximize(model.expected_statistics(batch)[0]))


def _reduced(models: list[Mixture], alpha: np.ndarray, few: int, random: np.random.RandomState) -> Mixture:
    """Return the reduction of the united mixture that is nearest to it, told by points drawn from it."""
    united = unite(models, alpha)
    if few > len(united.weights):
        raise ValueError(f"n_components is {few}: the models have {len(united.weights)} components together.")
    starts = [m.components for m in models if len(m.weights) == few]
    starts += [spread_out(united, few, random) for _ in range(_STARTS)]
    found = [reduce(united, start) for start in starts]
    points = Batch(np.asarray(united.sample(jax.random.key(random.randint(2**31)), (2 * _DRAWS,))))
    return max(found, key=lambda model: np.nan_to_num(float(_score(model, points)), nan=-np.inf))


@jit
def _score(model: Any, batch: Batch) -> Any:
    return model.log_likelihood(batch).mean()


def _check_alike(fitted: list[Any], n_components: int | None) -> None:
    if not fitted:
        raise ValueError("fitted is empty: there is nothing to combine.")
    first = fitted[0]
    for place, other in enumerate(fitted):
        if type(other) is not type(first):
            raise ValueError(
                f"fitted[{place}] is a {type(other).__name__}, fitted[0] a {type(first).__name__}: all must have "
                "the same type."
            )
        columns = getattr(first, "n_features_in_", None)
        if None not in (columns, getattr(other, "n_features_in_", None)) and other.n_features_in_ != columns:
            raise ValueError(
                f"fitted[{place}] has {other.n_features_in_} features, fitted[0] has {columns}: only models of the "
                "same columns can be combined."
            )
        names, others = (list(getattr(one, "feature_names_in_", ())) for one in (first, other))
        if names and others and names != others:
            raise ValueError(
                f"fitted[{place}] has the columns {str(others)[:80]}, fitted[0] {str(names)[:80]}: only models of the "
                "same columns in the same order can be combined."
            )
        mine, theirs = (getattr(one, "categories_", {}) for one in (first, other))
        for label in {**mine, **theirs}:
            if mine.get(label) != theirs.get(label):
                raise ValueError(
                    f"fitted[{place}] and fitted[0] number the categories of column {label!r} differently: fit them "
                    "with a column type that lists all categories, the same everywhere."
                )
        kind = getattr(other, "covariance_type", None)
        if kind != getattr(first, "covariance_type", None):
            raise ValueError(
                f"fitted[{place}] has covariance_type={kind!r}, fitted[0] {first.covariance_type!r}: all must have the "
                "same."
            )
    if n_components is not None and not (isinstance(n_components, (int, np.integer)) and n_components >= 1):
        raise ValueError(f"n_components is {n_components!r}: it must be a whole number, 1 or more.")


def _check_same_shapes(models: list[Any], n_components: int | None) -> None:
    def shapes(model: Any) -> list[tuple[int, ...]]:
        axis = 1 if n_components is not None and isinstance(model, Mixture) else 0
        return [np.shape(leaf)[axis:] for leaf in jax.tree.leaves(model)]

    first = models[0]
    for place, other in enumerate(models):
        if isinstance(other, Mixture) and n_components is None and len(other.weights) != len(first.weights):
            raise ValueError(
                f"fitted[{place}] has {len(other.weights)} components, fitted[0] has {len(first.weights)}: pass "
                "n_components to unite them all and reduce them to as many."
            )
        structures: Any = (jax.tree.structure(other), jax.tree.structure(first))
        alike = structures[0] == structures[1]
        if not alike or shapes(other) != shapes(first):
            raise ValueError(f"fitted[{place}] and fitted[0] differ in their families or columns: they must not.")
