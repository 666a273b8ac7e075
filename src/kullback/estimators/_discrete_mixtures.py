"""Mixtures of bits, of counts and of categories."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from kullback.estimators._family_mixture import FamilyMixture
from kullback.estimators._mixture_estimator import MIXTURE_CONSTRAINTS
from kullback.models import Mixture as MixtureModel


class DiscreteMixture(FamilyMixture):
    """A mixture of independent columns of one discrete family."""

    _width = 0.0

    def _mixture(self, weights: np.ndarray, components: Any) -> MixtureModel:
        return MixtureModel(weights, components, self.temperature)

    @classmethod
    def _parameters_of(cls, model: MixtureModel) -> dict[str, Any]:
        return {"n_components": len(model.weights), "temperature": model.temperature}


class BernoulliMixture(DiscreteMixture):
    """A mixture of independent coins, for tables of yes and no.

    Parameters
    ----------
    n_components : int
        The number of components.
    binarize : float or None
        Entries above it are 1, others 0. With None entries must be 0 or 1.
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
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        binarize: float | None = 0.0,
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
        self.n_components = n_components
        self.binarize = binarize
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.rate = rate
        self.temperature = temperature

    _families = "bernoulli"

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

    def __init__(
        self,
        n_components: int = 1,
        *,
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
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.rate = rate
        self.temperature = temperature

    _families = "poisson"

    def _entries(self, X: np.ndarray) -> np.ndarray:
        return X

    def __sklearn_tags__(self) -> Any:
        return _whole_numbers(super().__sklearn_tags__())


class CategoricalMixture(DiscreteMixture):
    """A mixture of independent categories, numbered from 0.

    Parameters
    ----------
    n_components : int
        The number of components.
    tol, max_iter, n_init, init_params, random_state, warm_start, verbose, rate, temperature
        As in `GaussianMixture`.

    Attributes
    ----------
    weights_, probabilities_
        Of shapes (n_components,) and (n_components, n_features, categories).
    n_categories_
        How many categories each column has; those that it does not have in `probabilities_` are never drawn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[0, 2, 1], [3, 0, 0]], 50, axis=0)
    >>> CategoricalMixture(n_components=2, random_state=0).fit(X).n_categories_.tolist()
    [4, 3, 2]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = MIXTURE_CONSTRAINTS

    def __init__(
        self,
        n_components: int = 1,
        *,
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
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.rate = rate
        self.temperature = temperature

    _families = "categorical"

    def _entries(self, X: np.ndarray) -> np.ndarray:
        return X

    def __sklearn_tags__(self) -> Any:
        return _whole_numbers(super().__sklearn_tags__())


def _whole_numbers(tags: Any) -> Any:
    """Say to scikit-learn that X holds 0, 1, 2, …"""
    tags.input_tags.categorical = True
    tags.input_tags.positive_only = True
    return tags
