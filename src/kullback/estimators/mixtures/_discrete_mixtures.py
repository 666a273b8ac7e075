"""Mixtures of bits, of counts and of categories."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from kullback.estimators._model_estimator import check_kind
from kullback.estimators.constraints import Interval
from kullback.estimators.data._families import family_of
from kullback.estimators.mixtures._family_mixture import N_CATEGORIES, FamilyMixture
from kullback.estimators.mixtures._mixture_estimator import MIXTURE_CONSTRAINTS, check_free_weights
from kullback.estimators.mixtures._smoothing import PseudoCounts
from kullback.models import Mixture as MixtureModel


class DiscreteMixture(FamilyMixture):
    """A mixture of independent columns of one discrete family."""

    def _mixture(self, weights: np.ndarray, components: Any) -> MixtureModel:
        return MixtureModel(weights, components, self.temperature)

    @classmethod
    def _parameters_of(cls, model: MixtureModel) -> dict[str, Any]:
        check_kind(model, MixtureModel, cls)
        check_free_weights(model, cls)
        family = family_of(model.components)
        if family != cls._families:
            raise ValueError(f"model has components of family {family!r}: {cls.__name__} needs {cls._families!r}.")
        return {"n_components": len(model.weights), "temperature": model.temperature}


class BernoulliMixture(DiscreteMixture):
    """A mixture of independent coins, for tables of yes and no.

    Parameters
    ----------
    n_components : int
        The number of components.
    binarize : float or None
        Entries above it are 1, others 0. With None entries must be 0 or 1.
    smoothing : float
        How often every component has seen a 0 and a 1 in each column before the data came, so that what was never seen
        is not impossible. `fit` adds it to what it counts; a stream begins with it, and it fades like other old data.
    tol, max_iter, n_init, init_params, random_state, warm_start, verbose, rate, temperature
        As in `GaussianMixture`.

    Attributes
    ----------
    weights_, probability_
        Of shapes (n_components,) and (n_components, n_features).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 50, axis=0)
    >>> BernoulliMixture(n_components=2, random_state=0).fit(X).weights_.tolist()
    [0.5, 0.5]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MIXTURE_CONSTRAINTS,
        "binarize": [Interval(Real, None, None, closed="neither"), None],
        "smoothing": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        binarize: float | None = 0.0,
        smoothing: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        rate: Any = None,
        temperature: float = 1.0,
    ):
        super().__init__(
            n_components, tol=tol, max_iter=max_iter, n_init=n_init, init_params=init_params, random_state=random_state,
            warm_start=warm_start, verbose=verbose, rate=rate, temperature=temperature,
        )  # fmt: skip
        self.binarize = binarize
        self.smoothing = smoothing

    _families = "bernoulli"

    @property
    def _prior(self) -> PseudoCounts | None:
        return PseudoCounts.of_sides(self.smoothing, self.n_features_in_) if self.smoothing else None

    def _entries(self, X: np.ndarray) -> np.ndarray:
        return X if self.binarize is None else np.where(np.isnan(X), X, (self.binarize < X).astype(X.dtype))


class PoissonMixture(DiscreteMixture):
    """A mixture of independent counts.

    Parameters
    ----------
    n_components : int
        The number of components.
    tol, max_iter, n_init, init_params, random_state, warm_start, verbose, rate, temperature
        As in `GaussianMixture`.

    Attributes
    ----------
    weights_, rate_
        Of shapes (n_components,) and (n_components, n_features).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).poisson(np.repeat([[1, 9], [20, 3]], 200, axis=0))
    >>> PoissonMixture(n_components=2, random_state=0).fit(X).rate_.round().astype(int).tolist() in (
    ...     [[1, 9], [20, 3]],
    ...     [[20, 3], [1, 9]],
    ... )
    True

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = MIXTURE_CONSTRAINTS

    _families = "poisson"

    def __sklearn_tags__(self) -> Any:
        return _whole_numbers(super().__sklearn_tags__())


class CategoricalMixture(DiscreteMixture):
    """A mixture of independent categories, as text or numbered from 0.

    Parameters
    ----------
    n_components : int
        The number of components.
    n_categories : int, list of int or None
        How many categories each column has, one number for all or one for each. None counts them in the first rows; a
        stream may later show others only if it is given.
    smoothing : float
        How often every component has seen each category in each column before the data came, so that what was never
        seen is not impossible. `fit` adds it to what it counts; a stream begins with it, and it fades like other old
        data.
    tol, max_iter, n_init, init_params, random_state, warm_start, verbose, rate, temperature
        As in `GaussianMixture`.

    Attributes
    ----------
    weights_, probabilities_
        Of shapes (n_components,) and (n_components, n_features, categories).
    n_categories_
        How many categories each column has; those that it does not have in `probabilities_` are never drawn.
    categories_
        Where columns hold text: the categories of each, by its name, in the order of their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[0, 2, 1], [3, 0, 0]], 50, axis=0)
    >>> CategoricalMixture(n_components=2, random_state=0).fit(X).n_categories_.tolist()
    [4, 3, 2]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MIXTURE_CONSTRAINTS,
        "n_categories": N_CATEGORIES,
        "smoothing": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_categories: Any = None,
        smoothing: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        rate: Any = None,
        temperature: float = 1.0,
    ):
        super().__init__(
            n_components, tol=tol, max_iter=max_iter, n_init=n_init, init_params=init_params, random_state=random_state,
            warm_start=warm_start, verbose=verbose, rate=rate, temperature=temperature,
        )  # fmt: skip
        self.n_categories = n_categories
        self.smoothing = smoothing

    _families = "categorical"

    @property
    def _known_categories(self) -> Any:
        return self.n_categories

    @property
    def _prior(self) -> PseudoCounts | None:
        return PseudoCounts.of_categories(self.smoothing, self.n_categories_) if self.smoothing else None

    def __sklearn_tags__(self) -> Any:
        return _whole_numbers(super().__sklearn_tags__())


def _whole_numbers(tags: Any) -> Any:
    """Say to scikit-learn that X holds 0, 1, 2, …"""
    tags.input_tags.categorical = True
    tags.input_tags.positive_only = True
    return tags
